//! Every frame of a trial, and the sums that must close.

use serde::{Deserialize, Serialize};

/// Every frame of a trial, as integers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// In the timetable.
    pub intended: u64,
    /// Accepted by the port.
    pub sent: u64,
    /// In the timetable but not sent: the tester was late, or the port full.
    pub unsent: u64,
    /// Whole, at the right port, once.
    pub received: u64,
    /// Sent and not received: `sent - received`.
    pub lost: u64,
    /// Came again.
    pub duplicate: u64,
    /// Came after a later frame of the same flow (RFC 4737); they are received.
    pub reordered: u64,
    /// Too old for the sequence window; they stay lost.
    pub late: u64,
    /// Ours, but not the bytes that were sent; they stay lost.
    pub corrupt: u64,
    /// Came out of the wrong port; they stay lost.
    pub misdirected: u64,
    /// Of an earlier trial.
    pub residual: u64,
    /// Not ours at all: neighbour discovery and the like.
    pub stray: u64,
    /// Modifier frames (RFC 2544 §11) sent in the place of test frames.
    #[serde(default)]
    pub modifiers: u64,
    /// What the device answered to them.
    #[serde(default)]
    pub answers: u64,
    /// Lost by the tester's own receiver, as its port tells.
    pub tester_dropped: u64,
    /// Frames taken off the ports in all.
    pub arrivals: u64,
    /// Runs of consecutive lost frames.
    pub loss_runs: u64,
    /// Longest of them, frames.
    pub longest_loss_run: u64,
}

impl Counts {
    /// Frames of the trial that came back somewhere, in whatever state.
    pub fn came(&self) -> u64 {
        self.received + self.duplicate + self.corrupt + self.misdirected
    }

    /// Whether every frame is accounted for, on both sides.
    pub fn closes(&self) -> bool {
        let sending = self.intended == self.sent + self.unsent + self.modifiers;
        let across = self.sent == self.received + self.lost;
        let arriving = self.arrivals
            == self.received
                + self.duplicate
                + self.late
                + self.corrupt
                + self.misdirected
                + self.residual
                + self.stray
                + self.answers;
        sending && across && arriving
    }

    /// Lost frames as a share of those sent (RFC 2544 §26.3).
    pub fn loss_ratio(&self) -> f64 {
        if self.sent == 0 {
            0.0
        } else {
            self.lost as f64 / self.sent as f64
        }
    }
}
