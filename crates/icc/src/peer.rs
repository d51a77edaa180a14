//! Is the other side still there? Each side counts a beat; silence is all that can be observed.

/// What is known of the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// It has not opened the link yet.
    Absent,
    /// Its beat moved within the patience.
    Alive,
    /// Its beat has stood still for this many nanoseconds: slow, stopped or dead.
    Silent(u64),
    /// It closed the link in order.
    Closed,
}

/// Judges silence from beats and the times at which they were seen. Takes no clock of its own.
#[derive(Debug, Clone)]
pub struct PeerWatch {
    patience_ns: u64,
    beat: u64,
    moved_at_ns: u64,
}

impl PeerWatch {
    /// A watch that calls a peer silent after `patience_ns` without a beat; `now_ns` is any
    /// monotonic time.
    pub fn new(patience_ns: u64, now_ns: u64) -> Self {
        Self {
            patience_ns,
            beat: 0,
            moved_at_ns: now_ns,
        }
    }

    /// Takes the peer's state and beat as read at `now_ns`.
    pub(crate) fn observe(&mut self, state: PeerState, beat: u64, now_ns: u64) -> Peer {
        if beat != self.beat {
            self.beat = beat;
            self.moved_at_ns = now_ns;
        }
        let silent = now_ns.saturating_sub(self.moved_at_ns);
        match state {
            PeerState::Absent => Peer::Absent,
            PeerState::Closed => Peer::Closed,
            PeerState::Open if silent > self.patience_ns => Peer::Silent(silent),
            PeerState::Open => Peer::Alive,
        }
    }
}

/// What a side last wrote of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeerState {
    Absent = 0,
    Open = 1,
    Closed = 2,
}

impl PeerState {
    /// A word from shared memory; what cannot be is taken for absence.
    pub(crate) fn of(word: u64) -> Self {
        match word {
            1 => Self::Open,
            2 => Self::Closed,
            _ => Self::Absent,
        }
    }
}

#[cfg(test)]
#[path = "../tests/unit/peer.rs"]
mod tests;
