//! Lists of cores.

use host::allowed_cores;
use host::cores::{CoreId, parse_list, write_list};

fn numbers(text: &str) -> Vec<u32> {
    parse_list(text)
        .unwrap()
        .into_iter()
        .map(|core| core.0)
        .collect()
}

#[test]
fn lists_read_as_the_kernel_writes_them() {
    assert_eq!(numbers("0-3,8\n"), [0, 1, 2, 3, 8]);
    assert_eq!(numbers("2,1,2"), [1, 2]);
    assert_eq!(numbers("\n"), [0; 0]);
}

#[test]
fn cores_are_written_as_the_kernel_writes_them() {
    assert_eq!(write_list(&[4, 0, 1, 2].map(CoreId)), "0-2,4");
    assert_eq!(write_list(&[CoreId(7)]), "7");
}

#[test]
fn bad_lists_are_named() {
    assert!(parse_list("0,x").unwrap_err().contains("\"x\""));
    assert!(parse_list("3-1").unwrap_err().contains("write 1-3"));
    assert!(parse_list("0-99999999").unwrap_err().contains("0-99999999"));
}

#[test]
fn this_thread_may_run_somewhere() {
    assert!(!allowed_cores().unwrap().is_empty());
}
