//! How following the kernel goes.

use std::time::Duration;

use super::mirror::Swept;
use super::troubles::Troubles;

/// How following goes: for people and metrics.
#[derive(Debug, Clone, Default)]
pub struct Health {
    /// Messages taken in, dumps included.
    pub messages: u64,
    /// Changes handed to the engine.
    pub changes: u64,
    /// Whole re-reads of the kernel's tables since the first.
    pub resyncs: u64,
    /// How often messages were lost.
    pub overruns: u64,
    /// From reading an announcement to the engine's having it: the latest batch.
    pub lag: Duration,
    /// The longest such time.
    pub lag_max: Duration,
    /// How long the first dump took, from request to forwarding.
    pub load: Duration,
    /// How long the latest re-read took.
    pub resync: Duration,
    /// What the latest re-read found that had not been announced.
    pub swept: Swept,
    /// Neighbours that were refreshed because traffic used them.
    pub refreshed: u64,
    /// What has failed and is tried again.
    pub troubles: Troubles,
}

/// What a comparison with the kernel needs next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checking {
    /// Nothing: there is none under way.
    No,
    /// The kernel's tables are being read by another thread.
    Waiting,
    /// The next slice of answers can be compared.
    Comparing,
}
