//! Which of the locks that lay at an address one after another: a program tells when the time of a
//! lock's name is over.
//!
//! A lock may be named after it was first waited for, so a name reaches back to the end of the one
//! before. What is waited at after the last name's end is a lock without a name.

use super::Object;
use crate::event::Tid;
use crate::trace::{AddressName, NameSource};

/// The names that programs gave.
#[derive(Clone, Debug, Default)]
pub struct Lifetimes {
    /// By process and address.
    names: Vec<AddressName>,
    /// Bytes of the longest.
    longest: u64,
    /// Whether any name's time was over.
    ended: bool,
}

impl Lifetimes {
    /// Of the names of a trace, in the order in which they were given.
    pub fn new(names: &[AddressName]) -> Self {
        let given = names.iter().filter(|n| n.source == NameSource::Marker);
        let mut names: Vec<AddressName> = given.cloned().collect();
        // Stable: names of one place stay in the order of their times.
        names.sort_by_key(|name| (name.process, name.address));
        Self {
            longest: names
                .iter()
                .map(|name| name.length.max(1))
                .max()
                .unwrap_or(0),
            ended: names.iter().any(|name| name.until.is_some()),
            names,
        }
    }

    /// The names that were given to what lies at `address`.
    fn at(&self, process: Tid, address: u64) -> impl Iterator<Item = &AddressName> {
        let lowest = (process, address.saturating_sub(self.longest));
        let first = self
            .names
            .partition_point(|name| (name.process, name.address) < lowest);
        self.names[first..]
            .iter()
            .take_while(move |name| (name.process, name.address) <= (process, address))
            .filter(move |name| address - name.address < name.length.max(1))
    }

    /// How many names of what lies at `address` were over by `time`: the number of the lock there.
    pub fn number(&self, process: Tid, address: u64, time: u64) -> u32 {
        if !self.ended {
            return 0;
        }
        let over = |name: &&AddressName| name.until.is_some_and(|until| until <= time);
        self.at(process, address).filter(over).count() as u32
    }

    /// The name that the program gave to `object`.
    pub fn name(&self, object: Object) -> Option<&AddressName> {
        let mut names: Vec<_> = self.at(object.process, object.address).collect();
        names.sort_by_key(|name| name.until.unwrap_or(u64::MAX));
        names.into_iter().nth(object.number as usize)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/lifetimes.rs"]
mod tests;
