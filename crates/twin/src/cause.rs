//! Why something differed once and not again.

/// What the beds had to say about a difference when it was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
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
