//! Why something differed once and not again.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::half::ANSWERED;

/// What the beds had to say about a difference when it was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Of the same neighbour one bed's kernel had an answer, and the other's had given it up: the
    /// machine had no time for it.
    Unanswered,
    /// The beds' kernels had other routes or anycast addresses after the same commands: some of
    /// what they say is done later, by workers. The beds were laid anew.
    Unlike,
    /// The kernel's table of neighbours, one for the whole machine, was full or was swept for room.
    Crowded,
    /// The frames took longer than the kernel waits for a neighbour. It loses what is queued for
    /// one that it gives up while more arrives (`neigh_invalidate`).
    Slow,
    /// A host's socket had no room for frames that had arrived: the machine had no time for it.
    Unheard,
    /// A queue on the way had no room, says who keeps it: an interface of a bed, or the router of a
    /// worker's socket or a port's ring. The machine had no time for who empties it.
    NoRoom,
    /// Neither: the router was late, or lost a frame while something changed.
    Unexplained,
}

/// What the beds show when their outcomes differ; of two, the kernel's first.
#[derive(Default)]
pub(crate) struct Signs {
    /// Frames that the hosts' sockets had no room for since the last look.
    pub(crate) missed: u64,
    /// Routes and anycast addresses.
    pub(crate) ways: [Vec<String>; 2],
    /// Frames for which there was no room on the way since the case began.
    pub(crate) no_room: u64,
    /// How often the tables of neighbours were full or swept since the case began.
    pub(crate) crowding: u64,
    /// Neighbours and their states (`NUD_*`).
    pub(crate) neighbours: [BTreeMap<Vec<u8>, u16>; 2],
    /// The longest time in which nobody listened to the hosts.
    pub(crate) slowest: Duration,
}

impl Signs {
    /// The cause that they show, if any: the one that explains most.
    pub(crate) fn cause(&self) -> Option<Cause> {
        let [kernel, routed] = &self.neighbours;
        let is_given_up = |state: &u16| *state == libc::NUD_FAILED;
        let differs = |(neighbour, state): (&Vec<u8>, &u16)| {
            let other = routed.get(neighbour);
            other.is_some_and(|other| is_given_up(other) != is_given_up(state))
        };
        let shown = [
            (self.missed > 0, Cause::Unheard),
            (self.ways[0] != self.ways[1], Cause::Unlike),
            (self.no_room > 0, Cause::NoRoom),
            (self.crowding > 0, Cause::Crowded),
            (kernel.iter().any(differs), Cause::Unanswered),
            (self.slowest > ANSWERED, Cause::Slow),
        ];
        shown
            .into_iter()
            .find(|(is, _)| *is)
            .map(|(_, cause)| cause)
    }
}

#[cfg(test)]
#[path = "../tests/unit/cause.rs"]
mod tests;
