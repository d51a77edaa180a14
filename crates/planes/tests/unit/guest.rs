use super::*;

#[test]
fn a_program_with_a_loader_is_none_for_a_guest() {
    let own = std::env::current_exe().unwrap();
    assert!(
        !is_static(&fs::read(own).unwrap()),
        "tests are linked dynamically"
    );
    assert!(!is_static(b"#!/bin/sh\n"));
    assert!(!is_static(b"\x7fELF\x02"));
    match program() {
        Some(program) => assert!(is_static(&fs::read(program).unwrap())),
        None => needs::skipped!("no static guest program; build it with \"make guest\""),
    }
}
