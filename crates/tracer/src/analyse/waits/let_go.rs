//! When a lock had been let go and nobody was known to have it again, as far as looks fell into it.
//!
//! A thread that lets go of a mutex at which others sleep wakes one of them. From that call on the lock
//! is free, unless a thread takes it that did not wait. That ends when a thread that was woken goes on,
//! which takes the lock or waits for it again, or when another comes to wait.

use std::iter::Peekable;
use std::vec::IntoIter;

use crate::event::Tid;

/// A thread lets go so long before its call at most, ns: between the two lie some instructions and the
/// way into the kernel.
pub const BEFORE_CALL: u64 = 1_000;

/// A stretch that begins with a wake call at the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LetGo {
    /// The call.
    pub from: u64,
    /// A thread that was woken goes on, or another comes to wait.
    pub to: u64,
    /// That one found it taken: a thread that had not waited took it meanwhile.
    pub taken: bool,
}

/// Finds the stretches of one lock that contain an instant for which a look was meant.
pub(super) struct Finder {
    instants: Peekable<IntoIter<u64>>,
    open: Option<u64>,
    found: Vec<LetGo>,
    /// The thread whose return ended the last one that was found.
    last: Option<Tid>,
}

impl Finder {
    /// For looks that were meant for these instants, in time order.
    pub(super) fn new(instants: Vec<u64>) -> Self {
        Self {
            instants: instants.into_iter().peekable(),
            open: None,
            found: Vec::new(),
            last: None,
        }
    }

    /// `tid` wakes others.
    pub(super) fn wakes(&mut self, tid: Tid, time: u64) {
        self.last.take_if(|last| *last == tid);
        self.open.get_or_insert(time);
    }

    /// `tid` comes to wait.
    pub(super) fn waits(&mut self, tid: Tid, time: u64) {
        if self.last.take_if(|last| *last == tid).is_some()
            && let Some(last) = self.found.last_mut()
        {
            last.taken = true;
        }
        self.end(time, true);
    }

    /// `tid` has been woken and goes on.
    pub(super) fn goes_on(&mut self, tid: Tid, time: u64) {
        if self.end(time, false) {
            self.last = Some(tid);
        }
    }

    /// Events are missing.
    pub(super) fn forget(&mut self) {
        (self.open, self.last) = (None, None);
    }

    pub(super) fn finish(self) -> Vec<LetGo> {
        self.found
    }

    /// Whether a look was meant in the stretch that ends here.
    fn end(&mut self, to: u64, taken: bool) -> bool {
        let Some(from) = self.open.take() else {
            return false;
        };
        let first = from.saturating_sub(BEFORE_CALL);
        while self.instants.next_if(|instant| *instant < first).is_some() {}
        let within = self.instants.peek().is_some_and(|instant| *instant < to);
        if within {
            self.last = None;
            self.found.push(LetGo { from, to, taken });
        }
        within
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/let_go.rs"]
mod tests;
