//! The environment of a result.

use host::Environment;
use host::environment::utc;

#[test]
fn this_machine_has_a_kernel_cores_and_memory() {
    let environment = Environment::read("1.2.3", 7);
    assert!(environment.kernel.starts_with("Linux ") && environment.kernel.len() > 8);
    assert!(environment.cores_online >= 1 && environment.memory_bytes > 1 << 20);
    assert_eq!(environment.versions, ["corelane 1.2.3"]);
    assert!(
        environment
            .facts()
            .iter()
            .any(|fact| fact == &("seed".to_owned(), "7".to_owned()))
    );
}

#[test]
fn survives_json() {
    let environment = Environment::read("1.2.3", 7);
    let text = serde_json::to_string(&environment).unwrap();
    assert_eq!(
        serde_json::from_str::<Environment>(&text).unwrap(),
        environment
    );
}

#[test]
fn dates_are_right() {
    assert_eq!(utc(0), "1970-01-01 00:00 UTC");
    assert_eq!(utc(951_782_400), "2000-02-29 00:00 UTC");
    assert_eq!(utc(1_798_761_599), "2026-12-31 23:59 UTC");
    assert_eq!(utc(4_107_542_400), "2100-03-01 00:00 UTC");
}
