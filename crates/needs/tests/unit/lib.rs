use super::*;

#[test]
fn the_cores_are_one_tests_at_a_time() {
    let file = File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
    let cores = cores();
    assert!(file.try_lock().is_err());
    drop(cores);
    // Another test may be quicker.
    file.lock().unwrap();
}

#[test]
fn an_excuse_needs_its_reason() {
    let list = "# needs a printer: a comment\nneeds a browser: no display\nneeds a moon\n";
    assert!(excused(list, "needs a browser, one of two"));
    assert!(!excused(list, "needs a moon"));
    assert!(!excused(list, "needs a printer"));
    assert!(!excused("", "needs a browser"));
}

#[test]
fn a_program_is_found_by_its_place() {
    let command = command("ip").expect("iproute2 is everywhere that tests run");
    assert!(Path::new(command.get_program()).is_absolute());
    assert!(place("no program of this name").is_none());
}
