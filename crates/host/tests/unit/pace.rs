use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;

#[test]
fn pieces_that_were_interrupted_do_not_count() {
    let mut pieces = vec![1000; 18];
    pieces.extend([9_000, 900_000]);
    assert_eq!(Pieces(pieces).mean(), Some(1000.0));
    assert_eq!(Pieces(Vec::new()).mean(), None);
    assert_eq!(Pieces(vec![1000]).mean(), None);
}

/// A core is watched while an ordinary thread has it.
#[test]
fn a_core_that_works_is_watched() {
    if !needs::root("for a real-time priority") {
        return;
    }
    let cores = crate::allowed_cores().unwrap();
    let end = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for &core in &cores {
            let end = &end;
            scope.spawn(move || {
                let _pinned = crate::Pinned::to(core).unwrap();
                while !end.load(Ordering::Relaxed) {}
            });
        }
        let watch = Watch::on(&cores);
        std::thread::sleep(Duration::from_millis(100));
        let found = watch.end();
        end.store(true, Ordering::Relaxed);
        assert_eq!(found.len(), cores.len());
        assert!(
            found
                .iter()
                .all(|piece| piece.is_some_and(|ns| ns > 100.0 && ns < 1e6)),
            "{found:?}"
        );
    });
}
