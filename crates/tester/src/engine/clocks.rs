//! Whether the clocks of two machines may be compared.
//!
//! Frames carry the sender's monotonic clock. On one kernel that is the receiver's too. Two
//! kernels' monotonic clocks have nothing in common; but when both keep their real-time clocks to a
//! standard (NTP, PTP), the difference of real time and monotonic time on each side leads from one
//! to the other, with the sum of what the kernels state as their largest errors. Otherwise one-way
//! delays are not measured.

use std::fs;
use std::mem::MaybeUninit;

use serde::{Deserialize, Serialize};

/// The state of a machine's clocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Clocks {
    /// Names the running kernel.
    boot: String,
    /// Real time less monotonic time, ns.
    real_less_monotonic_ns: i64,
    /// The kernel's bound on the error of its real time, ns; `None` when nothing disciplines it.
    largest_error_ns: Option<u64>,
}

/// What follows for delays between two machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// One kernel, one clock.
    Same,
    /// The receiver's monotonic time plus this is the sender's.
    Disciplined {
        /// ns.
        receiver_plus_ns: i64,
        /// Largest error of that, ns.
        error_ns: u64,
    },
    /// Nothing can be said.
    Unknown,
}

impl Clocks {
    /// Reads this machine's.
    pub(super) fn read() -> Self {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Self {
            boot: boot.trim().to_owned(),
            real_less_monotonic_ns: real_ns() - host::clock::now_ns().cast_signed(),
            largest_error_ns: largest_error_ns(),
        }
    }

    /// How a sender's clocks relate to a receiver's.
    pub(super) fn relation(sender: &Self, receiver: &Self) -> Relation {
        if !sender.boot.is_empty() && sender.boot == receiver.boot {
            return Relation::Same;
        }
        match (sender.largest_error_ns, receiver.largest_error_ns) {
            (Some(one), Some(other)) => Relation::Disciplined {
                receiver_plus_ns: receiver.real_less_monotonic_ns - sender.real_less_monotonic_ns,
                error_ns: one + other,
            },
            _ => Relation::Unknown,
        }
    }
}

impl std::fmt::Display for Relation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Same => f.write_str("one clock: both ends are on one kernel"),
            Self::Disciplined { error_ns, .. } => write!(
                f,
                "both clocks are disciplined, delays are one-way and wrong by at most {} us",
                error_ns / 1000
            ),
            Self::Unknown => f.write_str(
                "the clocks are not disciplined: delays are not measured (run NTP or PTP on both \
                 machines)",
            ),
        }
    }
}

/// The kernel's bound on the error of its real time, ns; `None` when nothing disciplines it.
fn largest_error_ns() -> Option<u64> {
    // SAFETY: all-zero is a valid `timex`: integers; with no modes set the call only reads.
    let mut state: libc::timex = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: writes to a struct of ours of the size that it expects.
    let answer = unsafe { libc::adjtimex(&raw mut state) };
    let disciplined =
        answer >= 0 && answer != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0;
    // In microseconds (adjtimex(2)).
    disciplined.then(|| state.maxerror.unsigned_abs() * 1000)
}

fn real_ns() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as i64)
}

#[cfg(test)]
#[path = "../../tests/unit/clocks.rs"]
mod tests;
