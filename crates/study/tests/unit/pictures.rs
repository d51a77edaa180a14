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
    let take = || take(&cores, Effort::THOROUGH.picture, 1).expect("root may take traces");
    let calm = || {
        let mut pictures = take();
        for _ in 0..4 {
            if !pictures.iter().any(disturbed) {
                break;
            }
            pictures = take();
        }
        pictures
    };
    // Two threads sometimes fall into step, and then wait for the lock by polling, which costs next to
    // nothing. On a busy machine its holder is sometimes without a core, which is not the lock's doing.
    // So of six looks two have to blame it. None may blame another.
    let mut pictures = calm();
    let mut seen = 0;
    let mut said = Vec::new();
    for look in 0..6 {
        if look > 0 {
            pictures = calm();
        }
        for (picture, expected) in pictures.iter().zip(expected) {
            if disturbed(picture) {
                needs::skipped!("another program has the cores; nothing can be said of the lock");
                return;
            }
            let locks = picture.trace.locks.iter();
            let blamed: Vec<&str> = locks
                .filter(|lock| lock.blamed && !lock.kind.starts_with("kernel"))
                .map(|lock| lock.name.as_str())
                .collect();
            let innocent: Vec<_> = blamed
                .iter()
                .filter(|name| !expected.contains(name))
                .collect();
            assert!(innocent.is_empty(), "{:?}", picture.trace.verdict);
            seen += usize::from(!expected.is_empty() && blamed == expected);
        }
        if seen == 2 {
            break;
        }
        said.push(pictures[1].trace.verdict.clone());
    }
    assert_eq!(seen, 2, "{said:#?}");
    assert!(
        pictures
            .iter()
            .all(|picture| picture.timeline.contains("canvas"))
    );
}
