//! All interleavings of a writer and readers of the quiescence module, by loom.
//!
//! The module is compiled here a second time, with loom's atomics under the name it imports them
//! by: no separate build with other flags is needed.

#![allow(unreachable_pub, dead_code, clippy::pedantic)]

mod sync {
    pub use loom::sync::Arc;
    pub use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
}

#[path = "../src/quiescence.rs"]
mod quiescence;

use loom::sync::atomic::AtomicUsize;

use self::quiescence::Domain;
use self::sync::{Arc, Ordering};

const GOOD: usize = 7;
const REUSED: usize = 666;

/// Two blocks, and which of them readers should look at.
struct Shared {
    current: AtomicUsize,
    blocks: [AtomicUsize; 2],
}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            current: AtomicUsize::new(0),
            blocks: [AtomicUsize::new(GOOD), AtomicUsize::new(0)],
        })
    }

    fn look(&self) {
        let current = self.current.load(Ordering::Acquire);
        assert_eq!(
            self.blocks[current].load(Ordering::Relaxed),
            GOOD,
            "a reader saw a reused block"
        );
    }

    /// Moves the content to the other block, and overwrites the first one if every reader has moved
    /// on.
    fn replace(&self, domain: &Domain) {
        self.blocks[1].store(GOOD, Ordering::Relaxed);
        self.current.store(1, Ordering::Release);
        let epoch = domain.advance();
        for _ in 0..2 {
            if domain.reached() >= epoch {
                self.blocks[0].store(REUSED, Ordering::Relaxed);
                return;
            }
            loom::thread::yield_now();
        }
    }
}

#[test]
fn nothing_is_reused_under_a_reader_that_quiesces_between_bursts() {
    loom::model(|| {
        let (domain, shared) = (Domain::new(1), Shared::new());
        let mut reader = domain.reader().unwrap();
        let worker = loom::thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                shared.look();
                reader.quiesce();
                shared.look();
                shared.look();
                reader.quiesce();
            }
        });
        shared.replace(&domain);
        worker.join().unwrap();
    });
}

#[test]
fn nothing_is_reused_under_a_reader_that_goes_offline_and_comes_back() {
    loom::model(|| {
        let (domain, shared) = (Domain::new(1), Shared::new());
        let mut reader = domain.reader().unwrap();
        let worker = loom::thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                reader.offline();
                reader.online();
                shared.look();
                shared.look();
            }
        });
        shared.replace(&domain);
        worker.join().unwrap();
    });
}

#[test]
fn nothing_is_reused_under_either_of_two_readers() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let (domain, shared) = (Domain::new(2), Shared::new());
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let (mut reader, shared) = (domain.reader().unwrap(), Arc::clone(&shared));
                loom::thread::spawn(move || {
                    shared.look();
                    reader.quiesce();
                    shared.look();
                })
            })
            .collect();
        shared.replace(&domain);
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

#[test]
fn reuse_does_happen_once_every_reader_is_gone() {
    loom::model(|| {
        let (domain, shared) = (Domain::new(1), Shared::new());
        drop(domain.reader().unwrap());
        shared.replace(&domain);
        assert_eq!(shared.blocks[0].load(Ordering::Relaxed), REUSED);
    });
}
