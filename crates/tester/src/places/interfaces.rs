//! What the kernel counts of an interface (`proc_pid_net(5)`).

use std::ops::{Add, Sub};

use host::Namespace;

use crate::rig::Result;

/// Frames of an interface, or of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// Dropped of those that came.
    pub(crate) receive_drops: u64,
    /// Sent.
    pub(crate) transmitted: u64,
    /// Refused by the other end, or not sent.
    pub(crate) transmit_drops: u64,
}

impl Counters {
    /// Reads the counters of an interface in a namespace, or in that of the calling thread; `None`
    /// where the kernel does not tell.
    pub(crate) fn read(namespace: Option<&Namespace>, interface: &str) -> Result<Option<Self>> {
        // Of the thread: the process's own is another namespace's.
        let read = || std::fs::read_to_string("/proc/thread-self/net/dev");
        let table = match namespace {
            Some(namespace) => namespace.enter(read)?,
            None => read(),
        };
        Ok(table.ok().and_then(|table| Self::of(&table, interface)))
    }

    /// From the kernel's table: eight columns of what was received, eight of what was sent.
    fn of(table: &str, interface: &str) -> Option<Self> {
        const RECEIVE_DROPS: usize = 3;
        const TRANSMITTED: usize = 9;
        const TRANSMIT_DROPS: usize = 11;
        let line = |line: &str| {
            let (name, figures) = line.split_once(':')?;
            (name.trim() == interface).then(|| figures.to_owned())
        };
        let figures = table.lines().find_map(line)?;
        let column = |number| figures.split_ascii_whitespace().nth(number)?.parse().ok();
        Some(Self {
            receive_drops: column(RECEIVE_DROPS)?,
            transmitted: column(TRANSMITTED)?,
            transmit_drops: column(TRANSMIT_DROPS)?,
        })
    }
}

impl Add for Counters {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            receive_drops: self.receive_drops + other.receive_drops,
            transmitted: self.transmitted + other.transmitted,
            transmit_drops: self.transmit_drops + other.transmit_drops,
        }
    }
}

/// An interface that was made anew counts from nothing.
impl Sub for Counters {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            receive_drops: self.receive_drops.saturating_sub(before.receive_drops),
            transmitted: self.transmitted.saturating_sub(before.transmitted),
            transmit_drops: self.transmit_drops.saturating_sub(before.transmit_drops),
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/places_interfaces.rs"]
mod tests;
