//! A session: a rig, a profile, and every trial run so far. Tests ask it for trials; it repeats
//! those that the tester botched.

use crate::profile::Profile;
use crate::rig::{Event, Rig, RigError};
use crate::schedule::Schedule;
use crate::search::TrialOutcome;
use crate::trial::{Order, Trial, Validity};

/// What the outside shows while trials run.
pub type Progress<'a> = &'a mut dyn FnMut(&str);

/// A rig at work.
pub struct Session<'a> {
    rig: &'a mut dyn Rig,
    /// The parameters.
    pub profile: Profile,
    /// What every order of this session has in common.
    pub order: Order,
    progress: Progress<'a>,
    trials: Vec<Trial>,
    stopped: Option<RigError>,
}

impl<'a> Session<'a> {
    /// A session for one frame size (or mix), whose orders are `order` with other timetables.
    pub fn new(
        rig: &'a mut dyn Rig,
        profile: Profile,
        order: Order,
        progress: Progress<'a>,
    ) -> Self {
        Self {
            rig,
            profile,
            order,
            progress,
            trials: Vec::new(),
            stopped: None,
        }
    }

    /// Highest rate worth asking for, frames/s: the medium's, less the tolerance of its clock (RFC
    /// 8239 §2.2), or the rig's guess.
    pub fn ceiling(&self) -> f64 {
        /// Share of a nominal rate that may be offered, for clocks differ.
        const CLOCK: f64 = 0.9998;
        self.theoretical().map_or(self.rig.ceiling(), |rate| {
            (rate * CLOCK).min(self.rig.ceiling())
        })
    }

    /// Rate of the medium at this size, or at a mix of sizes by turns, frames/s.
    pub fn theoretical(&self) -> Option<f64> {
        let line = self.rig.line_rate()?;
        let sizes = &self.order.sizes;
        let seconds: f64 = sizes
            .iter()
            .map(|size| 1.0 / size.theoretical_rate(line))
            .sum();
        (!sizes.is_empty()).then(|| sizes.len() as f64 / seconds)
    }

    /// Shows words on the terminal.
    pub fn say(&mut self, words: &str) {
        (self.progress)(words);
    }

    /// Runs one trial; `None` once the session has been stopped. The trial is kept, whatever it is
    /// worth.
    pub fn trial(
        &mut self,
        schedule: &Schedule,
        purpose: &str,
        event: Option<Event<'_>>,
    ) -> Option<Trial> {
        if self.stopped.is_some() {
            return None;
        }
        let order = self.order.with(schedule.clone());
        match self.rig.run(&order, purpose, event) {
            Ok(trial) => {
                self.trials.push(trial.clone());
                Some(trial)
            }
            Err(error) => {
                self.stopped = Some(error);
                None
            }
        }
    }

    /// As [`Session::trial`], again while the tester fails to do as intended or others have its
    /// cores, at most [`Profile::retries`] times more. What the device did is not looked at: that
    /// would choose the result. The last trial stands, the others are marked.
    pub fn valid_trial(
        &mut self,
        schedule: &Schedule,
        purpose: &str,
        event: Option<Event<'_>>,
    ) -> Option<Trial> {
        self.repeated(schedule, purpose, event, |trial| {
            trial.validity != Validity::Valid
        })
    }

    /// As [`Session::valid_trial`], for tests that allow for disturbances themselves.
    pub fn counted_trial(&mut self, schedule: &Schedule, purpose: &str) -> Option<Trial> {
        self.repeated(schedule, purpose, None, |trial| !trial.validity.counts())
    }

    fn repeated(
        &mut self,
        schedule: &Schedule,
        purpose: &str,
        event: Option<Event<'_>>,
        again: impl Fn(&Trial) -> bool,
    ) -> Option<Trial> {
        let mut last = self.trial(schedule, purpose, event)?;
        for _ in 0..self.profile.retries {
            if !again(&last) {
                break;
            }
            let superseded = self.trials.len() - 1;
            last = self.trial(schedule, purpose, event)?;
            self.trials[superseded].repeated = true;
        }
        Some(last)
    }

    /// A trial at a rate, as the searches want it.
    pub fn outcome(&mut self, rate: f64, seconds: f64, purpose: &str) -> TrialOutcome<f64> {
        let schedule = Schedule::constant(rate, seconds);
        let Some(trial) = self.valid_trial(&schedule, purpose, None) else {
            return TrialOutcome::Stop;
        };
        if trial.passes() {
            TrialOutcome::Pass
        } else if trial.validity.counts() {
            TrialOutcome::Fail {
                carried: Some(trial.forwarded_each()),
            }
        } else {
            let offered =
                Some(trial.offered_rate).filter(|&offered| offered > 0.0 && offered < rate);
            TrialOutcome::Invalid { offered }
        }
    }

    /// Why the session stopped, if it did.
    pub fn stopped(&self) -> Option<&RigError> {
        self.stopped.as_ref()
    }

    /// Every trial so far.
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// Ends the session with its trials, and why it was stopped early.
    pub fn finish(self) -> (Vec<Trial>, Option<RigError>) {
        (self.trials, self.stopped)
    }
}
