//! Every frame that an engine between interfaces was sent, and where those went that did not
//! arrive.

use std::collections::BTreeMap;

use report::units::grouped;
use tester::trial::Validity;
use tester::veth::lanes::Carried;

use crate::error::Error;

/// Sums over all measurements of an engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    sent: u64,
    to_device: u64,
    from_device: u64,
    in_device: u64,
    /// Frames that arrived when their measurement had ended; they are among the lost.
    late: u64,
    /// Frames lost in the device, by the reason that the device itself gives.
    reasons: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// Adds a measurement.
    ///
    /// # Errors
    /// When it cannot be trusted: its sums do not close.
    pub fn add(&mut self, carried: &Carried) -> Result<(), Error> {
        if let Validity::Invalid(why) = &carried.validity {
            return Err(why.as_str().into());
        }
        self.sent += carried.counts.sent;
        self.to_device += carried.losses.to_device;
        self.from_device += carried.losses.from_device;
        self.in_device += carried.losses.in_device;
        self.late += carried.counts.stray;
        Ok(())
    }

    /// Adds what the device says about frames that it did not forward.
    pub fn explain(&mut self, reason: &'static str, frames: u64) {
        if frames > 0 {
            *self.reasons.entry(reason).or_default() += frames;
        }
    }

    /// All of it in a sentence or two.
    pub fn sentence(&self) -> String {
        let lost = self.to_device + self.in_device + self.from_device;
        if lost == 0 {
            return format!("Of {} frames sent none was lost.", grouped(self.sent));
        }
        let explained: u64 = self.reasons.values().sum();
        let places = [
            (
                "in front of the device, whose queue was full",
                self.to_device,
            ),
            ("in the device", self.in_device),
            (
                "behind it, where the sink's queue was full",
                self.from_device,
            ),
        ];
        let mut parts: Vec<String> = places
            .into_iter()
            .filter(|&(_, frames)| frames > 0)
            .map(|(place, frames)| format!("{} {place}", grouped(frames)))
            .collect();
        if self.late > 0 {
            parts.push(format!("of these {} arrived later", grouped(self.late)));
        }
        if explained > 0 {
            let reasons: Vec<String> = self
                .reasons
                .iter()
                .map(|(reason, &frames)| format!("{reason} {}", grouped(frames)))
                .collect();
            parts.push(format!(
                "of those in the device it says itself: {}",
                reasons.join(", ")
            ));
        }
        let unexplained = self.in_device.saturating_sub(explained + self.late);
        if explained + self.late > 0 && unexplained > 0 {
            parts.push(format!(
                "which leaves {} that nothing explains",
                grouped(unexplained)
            ));
        }
        format!(
            "Of {} frames sent {} were lost: {}.",
            grouped(self.sent),
            grouped(lost),
            parts.join("; ")
        )
    }
}

#[cfg(test)]
#[path = "../tests/unit/tally.rs"]
mod tests;
