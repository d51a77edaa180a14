//! What the traced processes have mapped where, read as seldom as possible: a large process' list
//! takes a millisecond to read, and ten readings a second of a few such processes would cost more
//! than everything else that the recorder does.
//!
//! A list is read when an address is asked for that the known one does not contain, once in a turn
//! at most. For code places, which come at every tick, a reading that did not help (generated code,
//! a process that is gone) puts off the next one of that process, twice as long each time.

use std::collections::HashMap;

use super::symbols::{self, Mapping};
use crate::event::Tid;

/// A process is read again after this many turns at the latest, if there is a reason.
const LONGEST_WAIT: u32 = 64;

/// See the file's beginning.
#[derive(Default)]
pub(crate) struct Maps {
    processes: HashMap<Tid, Known>,
    turn: u32,
}

#[derive(Default)]
struct Known {
    mappings: Vec<Mapping>,
    /// The turn in which it was read last.
    read: Option<u32>,
    /// Turns from the last reading to the next one for a code place.
    wait: u32,
}

/// What an address is that is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// A word that a thread waits at; asked for once.
    Word,
    /// A code place of a sample or a call.
    Code,
}

impl Maps {
    /// Begins a new turn.
    pub(crate) fn turn(&mut self) {
        self.turn += 1;
    }

    /// The mapping of `process` that `address` lies in.
    pub(crate) fn around(&mut self, process: Tid, address: u64, what: What) -> Option<&Mapping> {
        self.around_since(process, address, what)
            .map(|(mapping, _)| mapping)
    }

    /// The same, and the turn in which the list that it stands in was read.
    pub(crate) fn around_since(
        &mut self,
        process: Tid,
        address: u64,
        what: What,
    ) -> Option<(&Mapping, u32)> {
        self.around_by(process, address, what, symbols::mappings)
    }

    fn around_by(
        &mut self,
        process: Tid,
        address: u64,
        what: What,
        read: impl FnOnce(Tid) -> Vec<Mapping>,
    ) -> Option<(&Mapping, u32)> {
        let known = self.processes.entry(process).or_default();
        let contains = |known: &Known| symbols::containing(&known.mappings, address).is_some();
        let wait = if what == What::Code { known.wait } else { 1 };
        if !contains(known) && known.read.is_none_or(|read| self.turn - read >= wait) {
            let mappings = read(process);
            // Of a process that is gone the last list stays good.
            if !mappings.is_empty() {
                known.mappings = mappings;
            }
            known.wait = if contains(known) {
                1
            } else {
                (known.wait * 2).clamp(1, LONGEST_WAIT)
            };
            known.read = Some(self.turn);
        }
        symbols::containing(&known.mappings, address).zip(known.read)
    }

    /// What is known of `process`.
    pub(crate) fn of(&self, process: Tid) -> &[Mapping] {
        self.processes
            .get(&process)
            .map_or(&[], |known| known.mappings.as_slice())
    }
}

#[cfg(test)]
#[path = "../../tests/unit/record_maps.rs"]
mod tests;
