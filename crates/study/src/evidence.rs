//! Which rounds others disturbed: what took their cores says so, never what came out of them.
//! Whether rounds are evidence for a figure, [`figures::judge`] says. A figure for which they are
//! none is shown as "–".

use std::time::{Duration, Instant};

use dut::case::Case;
use dut::kind::Kind;
use figures::{Estimate, Interval, Rounds};
use host::noise::NOISY_STEAL;
use router::engine::EngineKind;

use crate::observer::Seen;

/// Of a core's time while it is counted, what counts misses at most this share. Beside a program that
/// computes on each core, 19 of 20 rates of a quick study of `memory` were disturbed. How often a thread
/// is taken off its core says nothing: 91 times a second on a silent machine, 138 times beside one.
const MOST_MISSED: f64 = 0.3;
/// How often what was disturbed is measured again.
const AGAIN: usize = 6;

/// What a case gave in a round, and whether others had its cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    /// Frames forwarded a second, over all workers, while nobody slowed their cores; where somebody
    /// did for nearly all of it, all the time.
    pub(crate) frames_per_second: f64,
    /// Route changes a second that were really made.
    pub(crate) changes_per_second: f64,
    pub(crate) disturbed: bool,
}

/// Whether what happened to the cores of `case` disturbed it.
pub(crate) fn is_disturbed(case: &Case, seen: &Seen) -> bool {
    let missed_much = seen.calm.missed > MOST_MISSED;
    seen.calm.slowed || seen.noise.steal > NOISY_STEAL || (has_cores_to_itself(case) && missed_much)
}

/// Whether it has as many threads as cores, which all work all the time.
fn has_cores_to_itself(case: &Case) -> bool {
    let with_workers = [EngineKind::AfXdp, EngineKind::AfPacket].map(Kind::Router);
    case.changes == 0 && !with_workers.contains(&case.kind)
}

/// What `attempt` gives for `all`, and again for those that were disturbed, at most [`AGAIN`] times,
/// while there is time for as long as the last attempt took. A calm attempt counts, and before the first
/// calm one the first, whatever they gave.
///
/// # Errors
/// Those of `attempt`.
pub(crate) fn calmer<E>(
    all: &[usize],
    mut attempt: impl FnMut(&[usize]) -> Result<Vec<(usize, Measured)>, E>,
    mut has_time: impl FnMut(Duration) -> bool,
) -> Result<Vec<(usize, Measured)>, E> {
    let mut begun = Instant::now();
    let mut measured = attempt(all)?;
    for _ in 0..AGAIN {
        let disturbed = measured.iter().filter(|(_, of)| of.disturbed);
        let disturbed: Vec<usize> = disturbed.map(|&(index, _)| index).collect();
        if disturbed.is_empty() || !has_time(begun.elapsed()) {
            break;
        }
        begun = Instant::now();
        for (index, again) in attempt(&disturbed)? {
            let own = measured.iter_mut().find(|(other, _)| *other == index);
            if let Some((_, own)) = own
                && !again.disturbed
            {
                *own = again;
            }
        }
    }
    Ok(measured)
}

/// The rate of `settings` in each round, the mean of those measured in it, and whether one of them
/// was disturbed; `None` where none was measured, or nothing came of one.
pub(crate) fn rates(rounds: &Rounds<Measured>, settings: &[usize]) -> Vec<Option<(f64, bool)>> {
    let rates = rounds.means(settings, |measured| measured.frames_per_second);
    let share = |measured: &Measured| 1.0 + f64::from(u8::from(measured.disturbed));
    let disturbed = rounds.means(settings, share).into_iter();
    let both = rates.into_iter().zip(disturbed);
    both.map(|(rate, disturbed)| Some((rate?, disturbed? > 1.0)))
        .collect()
}

/// The rates of some settings over those of others, round by round.
pub(crate) fn ratios(
    rounds: &Rounds<Measured>,
    over: &[usize],
    under: &[usize],
) -> Vec<(f64, bool)> {
    let pairs = rates(rounds, over).into_iter().zip(rates(rounds, under));
    let ratio = |(over, under)| {
        let ((over, one), (under, other)): ((f64, bool), (f64, bool)) = (over?, under?);
        Some((over / under, one || other))
    };
    pairs.filter_map(ratio).collect()
}

/// Fewer calm trials of a setting have no interval of 95 %.
const FEWEST: usize = 6;
/// Ends of an interval of calm trials may lie apart by this factor.
const APART: f64 = 1.5;

/// The rate of some settings by their calm trials, whatever the rounds they were in, and how many there
/// were of each at least: the mean of the settings' medians. Calm trials are alike, so they need no
/// pairs; where rounds seldom have all of what is compared calm, there are more of them. `None` where
/// one setting has too few.
pub(crate) fn calm_rate(
    rounds: &Rounds<Measured>,
    settings: &[usize],
    seed: u64,
) -> Option<(usize, Estimate)> {
    let calm = |&setting: &usize| -> Vec<f64> {
        let calm = rounds.of(setting).filter(|measured| !measured.disturbed);
        calm.map(|measured| measured.frames_per_second).collect()
    };
    let calm: Vec<Vec<f64>> = settings.iter().map(calm).collect();
    let fewest = calm.iter().map(Vec::len).min()?;
    let each: Vec<Estimate> = calm.iter().map(|rates| Estimate::of(rates, seed)).collect();
    let mean = |of: fn(&Estimate) -> f64| each.iter().map(of).sum::<f64>() / each.len() as f64;
    let interval = Interval::new(mean(|one| one.interval.low), mean(|one| one.interval.high));
    let told = fewest >= FEWEST && interval.low > 0.0 && interval.high <= APART * interval.low;
    let value = mean(|one| one.value);
    told.then_some((fewest, Estimate { value, interval }))
}

/// The rate of `over` over that of `under` by calm trials, as [`calm_rate`]: the interval is from the
/// least that both intervals allow to the most, so it is wider than it must be.
pub(crate) fn calm_ratio(
    rounds: &Rounds<Measured>,
    over: &[usize],
    under: &[usize],
    seed: u64,
) -> Option<(usize, Estimate)> {
    let (count, over) = calm_rate(rounds, over, seed)?;
    let (other, under) = calm_rate(rounds, under, seed)?;
    let interval = Interval::new(
        over.interval.low / under.interval.high,
        over.interval.high / under.interval.low,
    );
    let value = over.value / under.value;
    let told = interval.high <= APART * interval.low;
    told.then_some((count.min(other), Estimate { value, interval }))
}

#[cfg(test)]
#[path = "../tests/unit/evidence.rs"]
mod tests;
