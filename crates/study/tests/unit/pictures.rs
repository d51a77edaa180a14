//! Of `study/src/pictures.rs`.

use super::*;
use crate::plan::Effort;

#[test]
fn the_lock_is_named_where_there_is_one() {
    if !needs::root("to open tracepoints") {
        return;
    }
    let cores = host::allowed_cores().expect("Linux tells the cores");
    if !needs::two_cores() {
        return;
    }
    let expected: [&[&str]; 3] = [&[], &[fib::organisation::Locked::LOCK_NAME], &[]];
    // A quarter of a second in which another program had a core shows that program, not the
    // lock.
    let disturbed = |picture: &Picture| {
        let budget = &picture.trace.budget;
        budget.other * 200 > budget.wall
    };
    let mut pictures = take(&cores, Effort::THOROUGH.picture, 1).expect("root may take traces");
    for _ in 0..4 {
        if !pictures.iter().any(disturbed) {
            break;
        }
        pictures = take(&cores, Effort::THOROUGH.picture, 1).expect("root may take traces");
    }
    for (picture, expected) in pictures.iter().zip(expected) {
        if disturbed(picture) {
            needs::skipped!("another program has the cores; nothing can be said of the lock");
            continue;
        }
        let locks = picture.trace.locks.iter();
        let blamed: Vec<&str> = locks
            .filter(|lock| lock.blamed && !lock.kind.starts_with("kernel"))
            .map(|lock| lock.name.as_str())
            .collect();
        assert_eq!(blamed, expected, "{:?}", picture.trace.verdict);
    }
    assert!(
        pictures
            .iter()
            .all(|picture| picture.timeline.contains("canvas"))
    );
}
