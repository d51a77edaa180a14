//! A session: a rig, a profile, and every trial run so far. Tests ask it for trials; it repeats
//! those that the tester botched.

use std::time::{Duration, Instant};

use crate::profile::Profile;
use crate::rig::{Event, Rig, RigError};
use crate::schedule::Schedule;
use crate::search::TrialOutcome;
use crate::trial::{Order, Trial, Validity};

/// What the outside shows while trials run.
pub type Progress<'a> = &'a mut dyn FnMut(&str);

/// A trial of this length decides by loss alone, s (RFC 2544 §24).
pub(crate) const RFC_SECONDS: f64 = 60.0;
/// A trial that leaves a question is run again so many times as long.
pub(crate) const LONGER: f64 = 4.0;
/// How often: a device that holds frames up shows no more of that in a longer trial, one whose
/// buffer fills the same share.
pub(crate) const LENGTHENINGS: usize = 2;
/// And to what length, where the trials that decide are not longer, s.
const LONGEST: f64 = 2.0;

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
    /// When the search ends, if it has not converged by then.
    until: Option<Instant>,
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
            until: None,
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

    /// A trial of so many seconds that asks what the device gives out: again, as in
    /// [`Session::valid_trial`], where that is less than `least` frames/s and it may be for others.
    /// These can only take from it.
    pub(crate) fn long_trial(
        &mut self,
        (rate, least): (f64, f64),
        seconds: f64,
        purpose: &str,
    ) -> Option<Trial> {
        let schedule = Schedule::constant(rate, seconds);
        self.repeated(&schedule, purpose, None, |trial| {
            let is_less = !trial.gives_out(least) && !trial.fails_anyway();
            !trial.validity.counts() || (trial.validity != Validity::Valid && is_less)
        })
    }

    /// What a longer trial says of a rate: it passes where the device gives out at least `least`
    /// frames/s, and loses none by itself in at least half of the trial's stretches.
    pub(crate) fn long_outcome(&mut self, rate: (f64, f64), seconds: f64) -> TrialOutcome<f64> {
        if self.is_late() {
            return TrialOutcome::Stop;
        }
        match self.long_trial(rate, seconds, "search") {
            None => TrialOutcome::Stop,
            Some(trial) if trial.carries(rate.1) => TrialOutcome::Pass,
            // A buffer that fills is no frame lost, but given out later.
            Some(trial) if trial.validity.counts() => TrialOutcome::Fail {
                carried: Some(trial.forwarded_each()),
            },
            Some(trial) => outcome_of(&trial, rate.0),
        }
    }

    /// Begins a search that may take [`Profile::size_seconds`].
    pub(crate) fn begin_search(&mut self) {
        let seconds = self.profile.size_seconds;
        self.until = (seconds > 0.0 && self.rig.is_real())
            .then(|| Instant::now() + Duration::from_secs_f64(seconds));
    }

    /// What follows a search takes the time that it needs.
    pub(crate) fn end_search(&mut self) {
        self.until = None;
    }

    /// Whether the time for the search is over.
    pub(crate) fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
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
            if !again(&last) || self.is_late() {
                break;
            }
            let superseded = self.trials.len() - 1;
            last = self.trial(schedule, purpose, event)?;
            self.trials[superseded].repeated = true;
        }
        Some(last)
    }

    /// A trial at a rate, as the searches want it. One that lost nothing while the device's buffer
    /// filled has not shown that the device carries the rate: it is run again for longer, and fails
    /// where the buffer goes on to fill.
    pub fn outcome(&mut self, rate: f64, seconds: f64, purpose: &str) -> TrialOutcome<f64> {
        let mut seconds = seconds;
        for left in (0..=LENGTHENINGS).rev() {
            if self.is_late() {
                return TrialOutcome::Stop;
            }
            let schedule = Schedule::constant(rate, seconds);
            // A trial of which the device lost far more than others can be blamed for would lose
            // frames without them.
            let disturbed =
                |trial: &Trial| trial.validity != Validity::Valid && !trial.fails_anyway();
            let Some(trial) = self.repeated(&schedule, purpose, None, disturbed) else {
                return TrialOutcome::Stop;
            };
            let share = self.profile.resolution / 2.0;
            let filled = trial.passes() && seconds < RFC_SECONDS && trial.fills(share);
            if !filled {
                return outcome_of(&trial, rate);
            }
            let Some(last) = self.trials.last_mut() else {
                break;
            };
            let longer = seconds * LONGER;
            if left == 0 || longer > self.profile.final_seconds.max(LONGEST) {
                last.filled = true;
                return TrialOutcome::Fail {
                    carried: Some(trial.forwarded_each()),
                };
            }
            last.repeated = true;
            seconds = longer;
        }
        TrialOutcome::Stop
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

/// What a trial at `rate` says.
fn outcome_of(trial: &Trial, rate: f64) -> TrialOutcome<f64> {
    if trial.passes() {
        return TrialOutcome::Pass;
    }
    if trial.validity.counts() {
        return TrialOutcome::Fail {
            carried: Some(trial.forwarded_each()),
        };
    }
    let offered = Some(trial.offered_rate).filter(|&offered| offered > 0.0 && offered < rate);
    TrialOutcome::Invalid { offered }
}
