//! Threads stay where they are pinned.

use host::{CoreId, Pinned, allowed_cores};

#[test]
fn pins_and_gives_back() {
    let _alone = needs::cores();
    let before = allowed_cores().unwrap();
    let last = *before.last().unwrap();
    let pinned = Pinned::to(last).unwrap();
    assert_eq!(allowed_cores().unwrap(), [last]);
    assert_eq!(pinned.core(), last);
    drop(pinned);
    assert_eq!(allowed_cores().unwrap(), before);
}

#[test]
fn a_core_that_is_not_there_is_named() {
    let error = Pinned::to(CoreId(1023)).unwrap_err().to_string();
    assert!(
        error.contains("core 1023") && error.contains("choose among"),
        "{error}"
    );
}
