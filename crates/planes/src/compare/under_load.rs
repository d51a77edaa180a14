//! Running user planes under a load, and the highest rate that they carry.

use std::time::{Duration, Instant};

use tester::search::{Bisection, TrialOutcome};

use crate::deployment::Running;
use crate::error::Error;
use crate::load::{Load, Observed};
use crate::plan::{CHANGES_PER_SECOND, COMMON_RATE, Pass, Schedule};
use crate::routes::Changes;

/// Share of frames that may be lost: on two cores that everything shares, no rate is without any
/// loss.
pub const LOSS: f64 = 0.001;
/// The ramp begins at [`COMMON_RATE`], and each step is so many times the last.
const STEEP: f64 = 4.0;
/// The same near a rate that was found before: from its half to half as much again.
const NEAR: f64 = 3.0;
/// A rate that nothing on veth reaches.
const HIGHEST: f64 = 4e6;

/// Running user planes under a load.
pub(crate) struct UnderLoad<'a> {
    /// The senders and receivers.
    pub(crate) load: &'a mut Load,
    /// The user planes.
    pub(crate) running: &'a mut Running,
    /// What the control plane does meanwhile.
    pub(crate) changes: &'a mut Changes,
    /// Lengths of trials and of the search.
    pub(crate) schedule: Schedule,
}

impl UnderLoad<'_> {
    /// One trial with route changes.
    ///
    /// # Errors
    /// [`Error`].
    pub(crate) fn at(&mut self, rate: f64, duration: Duration) -> Result<Observed, Error> {
        self.load.trial(
            self.running,
            self.changes,
            CHANGES_PER_SECOND,
            rate,
            duration,
        )
    }

    /// The highest rate at which no more than [`LOSS`] is lost, frames a second; `None` when no
    /// rate passes. A ramp finds the first rate that fails, the search goes on between it and
    /// the last that passed. A flood would not do to begin with: a user plane in user space
    /// carries next to nothing when it is flooded. Only what fails twice has failed: one pause of a
    /// machine that others share is no limit, and a ramp that ended there would hold the whole
    /// search down.
    ///
    /// # Errors
    /// [`Error`].
    pub(crate) fn throughput(&mut self, pass: Pass) -> Result<Option<f64>, Error> {
        let begin = Instant::now();
        let (from, steep) = match pass {
            Pass::First => (COMMON_RATE, STEEP),
            Pass::Near(rate) => (rate / 2.0, NEAR),
        };
        let (mut high, mut ramped) = (from, None);
        while high < HIGHEST
            && (self.passes(high)? == TrialOutcome::Pass
                || self.passes(high)? == TrialOutcome::Pass)
        {
            ramped = Some(high);
            high *= steep;
        }
        let search = Bisection {
            bracket_low: ramped,
            repeats: 2,
            confirmations: 0,
            // Below a hundredth of what failed first the search has failed.
            step: high / 100.0,
            ..Bisection::new(high, self.schedule.resolution)
        };
        let mut failed = None;
        let found = search.run(|probe| {
            // What was found so far is the answer of a search that takes longer than there is time
            // for.
            if begin.elapsed() + Schedule::whole(self.schedule.trial) > self.schedule.pass(pass) {
                return TrialOutcome::Stop;
            }
            self.passes(probe.amount).unwrap_or_else(|error| {
                failed = Some(error);
                TrialOutcome::Stop
            })
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(found.lower),
        }
    }

    fn passes(&mut self, rate: f64) -> Result<TrialOutcome<f64>, Error> {
        let seen = self.at(rate, self.schedule.trial)?;
        Ok(if seen.loss() > LOSS {
            TrialOutcome::Fail { carried: None }
        } else if seen.offered_in_full() {
            TrialOutcome::Pass
        } else {
            TrialOutcome::Invalid { offered: None }
        })
    }
}
