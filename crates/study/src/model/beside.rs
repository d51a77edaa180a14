//! One core that forwards while the others read memory: what the readers cost it, and what it costs
//! them.

use std::time::Duration;

use dut::case::{Case, SMALLEST};
use dut::device::Device;
use dut::error::Error;
use dut::kind::Kind;
use figures::Estimate;

use super::machine::Site;
use super::probe::Work;

/// Shortest trial: it only has a device's way in and out in it.
const SHORT: Duration = Duration::from_millis(10);
/// How much longer the long one is, at least and at most.
const MORE: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(100)];
/// Rounds of one engine, at least and at most.
const ROUNDS: [usize; 2] = [3, figures::BOOTSTRAP_MINIMUM];
/// Trials of a round.
const TRIALS: u32 = 3;

/// One engine beside readers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Beside {
    pub(super) rounds: usize,
    /// How many times longer a frame takes.
    pub(super) slowed: Estimate,
    /// What a reader keeps of its rate without the engine.
    pub(super) reader: Estimate,
}

/// How often, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    pub(super) rounds: usize,
    pub(super) more: Duration,
}

impl Pace {
    /// What fits into `time` when a trial costs `overhead` besides: rounds first, then length.
    pub(super) fn within(time: Duration, overhead: Duration) -> Self {
        let round = TRIALS * (overhead + SHORT) + 3 * MORE[0];
        let rounds = time.as_secs_f64() / round.as_secs_f64();
        let rounds = (rounds as usize).clamp(ROUNDS[0], ROUNDS[1]);
        let each = (time / rounds as u32).saturating_sub(TRIALS * (overhead + SHORT));
        // Two trials are long, and readers alone are looked at as long.
        let more = (each / 3).clamp(MORE[0], MORE[1]);
        Self { rounds, more }
    }
}

/// What one round shows.
struct Round {
    slowed: f64,
    reader: f64,
}

impl Beside {
    /// Measures `kind` on each core in turn, the other cores reading.
    ///
    /// # Errors
    /// Those of the device, and when the user interrupts. `None` where no frame came through, or
    /// the readers got no time.
    pub(super) fn measure(
        device: &mut dyn Device,
        kind: Kind,
        site: &Site,
        pace: Pace,
        seed: u64,
    ) -> Result<Option<Self>, Error> {
        let mut rounds = Vec::new();
        for round in 0..pace.rounds {
            rounds.push(one_round(device, kind, site, round, pace.more)?);
        }
        let of = |figure: fn(&Round) -> f64| {
            let values: Vec<f64> = rounds.iter().map(figure).collect();
            let usable = values.iter().all(|value| value.is_finite() && *value > 0.0);
            usable.then(|| Estimate::of(&values, seed))
        };
        let found = of(|round| round.slowed).zip(of(|round| round.reader));
        Ok(found.map(|(slowed, reader)| Self {
            rounds: rounds.len(),
            slowed,
            reader,
        }))
    }
}

/// One round: alone, then beside readers for two lengths. What readers did in the longer trial more
/// than in the shorter was while frames went, and not while the device started or ended.
fn one_round(
    device: &mut dyn Device,
    kind: Kind,
    site: &Site,
    round: usize,
    more: Duration,
) -> Result<Round, Error> {
    let case = Case {
        kind,
        first: round % site.cores.len(),
        workers: 1,
        frame_bytes: SMALLEST,
        changes: 0,
    };
    let (_, others) = site.split(round);
    let mut measure = |trial| {
        host::cleanup::check()?;
        let sample = device.measure(&case, trial);
        host::cleanup::check()?;
        let sample = sample.map_err(|error| Error::from(format!("{case}: {error}")))?;
        Ok::<f64, Error>(sample.frames_per_second)
    };
    let mut beside = |trial| site.probe.beside(&others, Work::Read, || measure(trial));
    let (short, short_bytes, short_time) = beside(SHORT);
    let (long, long_bytes, long_time) = beside(SHORT + more);
    short?;
    let long = long?;
    let alone = measure(SHORT + more)?;
    let readers = site.probe.rate(&others, Work::Read, more);
    let time = long_time.as_secs_f64() - short_time.as_secs_f64();
    Ok(Round {
        slowed: alone / long,
        reader: (long_bytes - short_bytes) / time / readers,
    })
}

#[cfg(test)]
#[path = "../../tests/unit/model/beside.rs"]
mod tests;
