//! The highest rate without loss between interfaces: RFC 2544's search, by the tester, on the lanes
//! of the closed loop.
//!
//! The smallest frames are searched in several of the study's rounds, all engines one after the
//! other, so that they are compared within a round like all else; further sizes once, at the end.

use std::time::{Duration, Instant};

use dut::case::{Case, SMALLEST};
use dut::device::Device;
use dut::error::Error;
use dut::offer::Wanted;
use figures::{Estimate, Random, Rounds, Weak, judge};
use host::cleanup;
use report::Progress;
use report::units::FramesPerSecond;
use serde::{Deserialize, Serialize};
use tester::bench::Subject;
use tester::profile::Profile;
use tester::result::{Details, Entry};
use tester::trial::mostly_disturbed;

use crate::measure::engine_of;
use crate::row::Key;

/// How the study searches: the quick profile with fewer and shorter trials of a rate and a coarser
/// end, for each search is made several times.
pub(crate) const PROFILE: Profile = Profile {
    search_seconds: 0.05,
    final_seconds: 0.08,
    resolution: 0.03,
    tries: 2,
    passes: 1,
    retries: 1,
    // The rings of the study's cables hold a fraction of a trial.
    look_seconds: 0.0,
    ..Profile::QUICK
};
/// A search takes about so long.
pub(crate) const SEARCH: Duration = Duration::from_millis(900);
/// For what is searched once, so many times as long is kept: it comes last, and others take longer.
const KEPT: f64 = 1.5;
/// Most rounds with searches.
const MOST: usize = 6;
/// A search begins this far above the closed loop's rate in its round: an offer beyond doubt, which
/// one trial decides, and whose forwarding rate is where to look next.
const ABOVE: f64 = 1.3;
/// No search takes longer.
const LONGEST: Duration = Duration::from_secs(4);

/// One search of a case.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Attempt {
    /// The highest rate at which nothing was lost, frames/s.
    rate: Option<f64>,
    /// The lowest rate above it that was tried and did not hold.
    above: Option<f64>,
    trials: usize,
    /// Why there is no rate, or why it is doubtful; empty when nothing is to be said.
    because: String,
}

impl Attempt {
    /// What an entry of the tester says.
    fn found(entry: Entry) -> Self {
        let Details::Throughput(bounds) = entry.details else {
            return Self::without(entry.because);
        };
        let trials = entry.trials.len();
        // Open bounds are a rate that held, not the highest.
        let (rate, because) = match (entry.frames_per_second, bounds.upper) {
            (_, _) if bounds.ended == "stopped" => (None, entry.because),
            (Some(rate), None) => (Some(rate), "the highest rate offered held".to_owned()),
            (Some(rate), Some(_)) => (
                Some(rate),
                mostly_disturbed(&entry.trials, "").unwrap_or_default(),
            ),
            (None, _) => (None, entry.because),
        };
        Self {
            rate,
            above: bounds.upper,
            trials,
            because,
        }
    }

    fn without(because: impl Into<String>) -> Self {
        Self {
            rate: None,
            above: None,
            trials: 0,
            because: because.into(),
        }
    }
}

/// The rate that was found for a case in each round, and whether it is doubtful.
pub(crate) fn rates(attempts: &Rounds<Attempt>, case: usize) -> Vec<Option<(f64, bool)>> {
    let found = attempts.means(&[case], |attempt| attempt.rate.unwrap_or(0.0));
    let doubt = |attempt: &Attempt| if attempt.because.is_empty() { 1.0 } else { 2.0 };
    let doubts = attempts.means(&[case], doubt).into_iter();
    let both = found.into_iter().zip(doubts);
    both.map(|(rate, doubt)| Some((rate?, doubt? > 1.0)))
        .collect()
}

/// What the searches of a case found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Search {
    #[serde(flatten)]
    pub(crate) key: Key,
    /// The highest rate at which nothing was lost: the median of the rounds that found one and
    /// count.
    pub(crate) no_loss_frames_per_second: Option<FramesPerSecond>,
    /// Lower end of the interval of that median, frames/s; absent of one round.
    #[serde(default)]
    pub(crate) low: Option<f64>,
    /// Its upper end.
    #[serde(default)]
    pub(crate) high: Option<f64>,
    /// Rounds in which it was searched for.
    #[serde(default)]
    pub(crate) rounds: usize,
    /// The lowest rate above one that held that was tried and did not, frames/s.
    pub(crate) above: Option<f64>,
    /// Trials that it took.
    pub(crate) trials: usize,
    /// Why there is no rate; empty where there is one.
    pub(crate) because: String,
    /// Why the rounds are no evidence; absent where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) weak: Option<Weak>,
}

impl Search {
    fn of(case: &Case, attempts: &[&Attempt], seed: u64) -> Self {
        let found = attempts.iter().filter_map(|attempt| {
            let doubtful = !attempt.because.is_empty();
            attempt.rate.map(|rate| (rate, doubtful))
        });
        let found: Vec<(f64, bool)> = found.collect();
        let judged = judge(&found, attempts.len(), seed);
        let rate = Estimate::of(&judged.values, seed);
        let several = judged.values.len() > 1;
        // One round says nothing of how far rounds lie apart: its own doubts have to do.
        let weak = match found[..] {
            [(_, true)] => Some(Weak::Disturbed),
            _ => judged.weak,
        };
        let above = attempts.iter().filter_map(|attempt| attempt.above);
        let why = attempts.iter().find(|attempt| attempt.rate.is_none());
        let because = why.filter(|_| found.is_empty());
        Self {
            key: case.into(),
            no_loss_frames_per_second: rate
                .value
                .is_finite()
                .then_some(FramesPerSecond(rate.value)),
            low: several.then_some(rate.interval.low),
            high: several.then_some(rate.interval.high),
            rounds: attempts.len(),
            above: above.min_by(f64::total_cmp),
            trials: attempts.iter().map(|attempt| attempt.trials).sum(),
            because: because.map_or(String::new(), |attempt| attempt.because.clone()),
            weak,
        }
    }

    /// The rate, where the rounds are evidence for it.
    pub(crate) fn told(&self) -> Option<FramesPerSecond> {
        self.no_loss_frames_per_second
            .filter(|_| self.weak.is_none())
    }
}

/// Why no rate was found, each reason once with the number of cases.
pub(crate) fn reasons(searches: &[Search]) -> Vec<(&str, usize)> {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for search in searches.iter().filter(|search| !search.because.is_empty()) {
        match reasons.iter_mut().find(|(why, _)| *why == search.because) {
            Some((_, cases)) => *cases += 1,
            None => reasons.push((&search.because, 1)),
        }
    }
    reasons
}

/// Searches in the rounds of a study, and what they have found.
pub(crate) struct Searches<'a> {
    cases: &'a [Case],
    /// The positions of the cases that are searched in several rounds.
    compared: Vec<usize>,
    /// Of those that are searched once.
    once: Vec<usize>,
    /// In how many of how many rounds.
    repeats: (usize, usize),
    /// Time for all, and what they have taken.
    time: Duration,
    spent: Duration,
    /// Of the time, for what is searched once.
    kept: Duration,
    seed: u64,
    pub(crate) attempts: Rounds<Attempt>,
}

impl<'a> Searches<'a> {
    /// Of the `wanted` of `cases`, in so many rounds of the study and in `time`.
    pub(crate) fn new(
        cases: &'a [Case],
        wanted: Vec<usize>,
        rounds: usize,
        time: Duration,
        seed: u64,
    ) -> Self {
        let is_compared = |&index: &usize| cases[index].frame_bytes == SMALLEST;
        let (compared, once): (Vec<usize>, Vec<usize>) = wanted.into_iter().partition(is_compared);
        let each = SEARCH.as_secs_f64() * compared.len().max(1) as f64;
        let kept = (SEARCH * once.len() as u32).mul_f64(KEPT).min(time / 3);
        let fit = (time.saturating_sub(kept).as_secs_f64() / each) as usize;
        Self {
            cases,
            compared,
            once,
            repeats: (fit.clamp(1, MOST.min(rounds.max(1))), rounds),
            time,
            kept,
            spent: Duration::ZERO,
            seed,
            attempts: Rounds::new(cases.len(), seed),
        }
    }

    /// After a round of the study, counted from 0, whose closed loop gave `rate` of a case: searches
    /// if it is one of those with searches.
    ///
    /// # Errors
    /// When the user interrupts.
    pub(crate) fn after(
        &mut self,
        round: usize,
        engines: &mut [Box<dyn Device>],
        rate: impl Fn(usize) -> f64,
    ) -> Result<(), Error> {
        let (repeats, of) = self.repeats;
        let until = |round: usize| round * repeats / of.max(1);
        if until(round + 1) == until(round) || self.compared.is_empty() {
            return Ok(());
        }
        let left = repeats - until(round);
        let mut order = self.compared.clone();
        Random::new(self.seed.wrapping_add(round as u64)).shuffle(&mut order);
        let time = self.time.saturating_sub(self.kept);
        let each = time.saturating_sub(self.spent) / (left * order.len()).max(1) as u32;
        self.search(engines, &order, (each, time), rate)
    }

    /// After all rounds: what is searched once.
    ///
    /// # Errors
    /// When the user interrupts.
    pub(crate) fn rest(
        &mut self,
        engines: &mut [Box<dyn Device>],
        rate: impl Fn(usize) -> f64,
    ) -> Result<(), Error> {
        let order = self.once.clone();
        let each = self.time.saturating_sub(self.spent) / order.len().max(1) as u32;
        self.search(engines, &order, (each, self.time), rate)
    }

    fn search(
        &mut self,
        engines: &mut [Box<dyn Device>],
        order: &[usize],
        (each, time): (Duration, Duration),
        rate: impl Fn(usize) -> f64,
    ) -> Result<(), Error> {
        let mut progress = Progress::new(order.len());
        let cases = self.cases;
        let spent = &mut self.spent;
        self.attempts.round_in(order.iter().copied(), |index| {
            let case = &cases[index];
            progress.step(&format!("rate without loss: {case}"));
            let begun = Instant::now();
            let attempt = if *spent >= time {
                Attempt::without("the time for searching was over; give --seconds more")
            } else {
                let until = begun + (each * 2).clamp(LONGEST / 4, LONGEST);
                let engine = engine_of(engines, case)?;
                search(engine.as_mut(), case, rate(index), until)
            };
            *spent += begun.elapsed();
            // After Ctrl-C an engine may fail in any way; the reason to name is the interrupt.
            cleanup::check()?;
            Ok(attempt)
        })
    }

    /// What was found, in the order of importance.
    pub(crate) fn found(&self) -> Vec<Search> {
        let all = self.compared.iter().chain(&self.once);
        let found = all.map(|&index| {
            let attempts: Vec<&Attempt> = self.attempts.of(index).collect();
            Search::of(&self.cases[index], &attempts, self.seed)
        });
        found.collect()
    }
}

fn search(engine: &mut dyn Device, case: &Case, closed_loop: f64, until: Instant) -> Attempt {
    if closed_loop <= 0.0 {
        return Attempt::without("nothing came through in the closed loop");
    }
    let wanted = Wanted {
        ceiling: ABOVE * closed_loop,
        subject: Subject::default(),
        profile: PROFILE,
        until: Some(until),
    };
    match engine.search(case, &wanted) {
        Ok(entry) => Attempt::found(entry),
        Err(error) => Attempt::without(error.to_string()),
    }
}

#[cfg(test)]
#[path = "../tests/unit/no_loss.rs"]
mod tests;
