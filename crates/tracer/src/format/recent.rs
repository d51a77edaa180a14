//! The threads seen lately on one core, most recent first: writer and reader keep the same list, so
//! a thread costs four bits.

use crate::event::Tid;

/// How many threads the list holds; the place after the last says "not in the list".
pub(crate) const PLACES: usize = 15;

/// The list. Both sides call the same functions in the same order.
#[derive(Clone, Debug)]
pub(crate) struct Recent {
    threads: [Tid; PLACES],
}

impl Default for Recent {
    fn default() -> Self {
        Self {
            threads: [Tid::MAX; PLACES],
        }
    }
}

impl Recent {
    /// The place of `tid` before it moves to the front, or `None` when it was not there (it is
    /// now).
    pub(crate) fn place(&mut self, tid: Tid) -> Option<u8> {
        let found = self.threads.iter().position(|known| *known == tid);
        let upto = found.unwrap_or(PLACES - 1);
        self.threads.copy_within(0..upto, 1);
        self.threads[0] = tid;
        found.map(|place| place as u8)
    }

    /// The thread at `place`, which moves to the front. `None` for a place no writer would name.
    pub(crate) fn take(&mut self, place: u8) -> Option<Tid> {
        let place = usize::from(place);
        let tid = *self.threads.get(place)?;
        if tid == Tid::MAX {
            return None;
        }
        self.threads.copy_within(0..place, 1);
        self.threads[0] = tid;
        Some(tid)
    }

    /// Puts a thread that was written in full at the front.
    pub(crate) fn push(&mut self, tid: Tid) {
        self.place(tid);
    }
}
