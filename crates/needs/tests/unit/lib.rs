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
