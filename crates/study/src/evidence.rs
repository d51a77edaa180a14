//! Which rounds others disturbed: what took their cores says so, never what came out of them.
//! Whether rounds are evidence for a figure, [`figures::judge`] says. A figure for which they are
//! none is shown as "–".

use std::ops::Deref;
use std::time::{Duration, Instant};

use dut::case::{Case, Sample};
use dut::kind::Kind;
use figures::Rounds;
use host::Noise;
use host::noise::NOISY_STEAL;
use router::engine::EngineKind;

/// Of its cores' time, what measures misses at most this share. On a silent machine it missed 0 to
/// 0.05 in the median, beside a program that computes on each core 0.46 and more. How often a thread
/// is taken off its core says nothing: 91 times a second there, 138 times here.
const MOST_MISSED: f64 = 0.3;
/// How often what was disturbed is measured again.
const AGAIN: usize = 6;
/// Less is within what the readings take themselves, s.
const UNTOLD: f64 = 0.001;

/// What a case gave in a round, and whether others had its cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    pub(crate) sample: Sample,
    pub(crate) disturbed: bool,
}

impl Deref for Measured {
    type Target = Sample;

    fn deref(&self) -> &Sample {
        &self.sample
    }
}

/// Whether what happened to the cores of `case` in `seconds` disturbed it.
pub(crate) fn is_disturbed(case: &Case, noise: &Noise, seconds: f64) -> bool {
    let due = seconds * case.workers as f64;
    let missed_much = due - noise.ran_seconds > UNTOLD.max(MOST_MISSED * due);
    noise.steal > NOISY_STEAL || (has_cores_to_itself(case) && missed_much)
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

#[cfg(test)]
#[path = "../tests/unit/evidence.rs"]
mod tests;
