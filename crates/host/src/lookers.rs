//! A look on each of some cores, every two milliseconds, in front of ordinary work there.
//!
//! What is looked at, [`Look`] says. A looker has a low real-time priority, so it comes before
//! ordinary threads; what the kernel does for packets keeps it waiting all the same. A look takes
//! some microseconds, on a virtual machine up to 15.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::clock::now_ns;
use crate::favour::{Rank, rank};
use crate::{CoreId, Pinned};

/// From one look to the next.
pub const EVERY: Duration = Duration::from_millis(2);
/// Before threads that measure, which have 1.
const PRIORITY: u32 = 2;

/// What looks on one core. It is made and used by the thread that looks.
pub trait Look: Default + Send + 'static {
    /// Looks once: it was due at `due_ns`, and it is `now_ns` ([`now_ns`]).
    fn look(&mut self, due_ns: u64, now_ns: u64);

    /// The last look has been taken.
    fn end(&mut self) {}
}

/// Lookers on some cores, until they are ended or dropped.
#[derive(Debug)]
pub struct Lookers<T> {
    end: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Option<T>>>,
}

impl<T: Look> Lookers<T> {
    /// Looks on `cores`, each from the return of this call on.
    pub fn on(cores: &[CoreId]) -> Self {
        let end = Arc::new(AtomicBool::new(false));
        let ready = Arc::new(Barrier::new(cores.len() + 1));
        let look = |&core: &CoreId| {
            let (end, ready) = (Arc::clone(&end), Arc::clone(&ready));
            std::thread::spawn(move || {
                let pinned = Pinned::to(core);
                let urgent = rank(0, Rank::First(PRIORITY));
                ready.wait();
                let able = pinned.is_ok() && urgent.is_ok();
                able.then(|| watch(&end))
            })
        };
        let threads = cores.iter().map(look).collect();
        ready.wait();
        Self { end, threads }
    }

    /// What was seen on each core, in their order; `None` where the core or the priority was
    /// refused, so that nobody looked.
    pub fn end(mut self) -> Vec<Option<T>> {
        self.end.store(true, Ordering::Relaxed);
        let found = self.threads.drain(..).map(JoinHandle::join);
        found.map(Result::unwrap_or_default).collect()
    }
}

impl<T> Drop for Lookers<T> {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
    }
}

fn watch<T: Look>(end: &AtomicBool) -> T {
    let mut seen = T::default();
    while !end.load(Ordering::Relaxed) {
        let due = now_ns() + EVERY.as_nanos() as u64;
        std::thread::sleep(EVERY);
        seen.look(due, now_ns());
    }
    seen.end();
    seen
}
