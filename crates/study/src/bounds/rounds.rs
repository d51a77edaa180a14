//! Every subject in interleaved rounds.

use std::time::{Duration, Instant};

use dut::device::Device;
use dut::error::Error;
use dut::kind::Kind;
use figures::{Random, Rounds};
use host::CoreId;
use report::Progress;

use crate::claims::{Place, Subject};
use crate::evidence::{self, Measured};
use crate::observer::{self, Observer};

/// How often everything is measured.
const ROUNDS: usize = 30;
/// The same where an order is enough.
pub(super) const QUICK_ROUNDS: usize = 5;
/// Length of a trial. A neighbour on a core comes and goes within some hundred milliseconds: shorter
/// trials are disturbed less often, and more of them say more.
const TRIAL: Duration = Duration::from_millis(120);
/// Shortest trial.
const TRIAL_MIN: Duration = Duration::from_millis(20);
/// What a trial takes beyond it: half of that is warming up ([`observer::warm_up`]).
const OVERHEAD: Duration = Duration::from_millis(130);
/// Share of the time that is kept for waiting until nobody slows the cores, and for measuring again
/// what others disturbed.
const RESERVE: f64 = 0.7;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Effort {
    pub(super) rounds: usize,
    trial: Duration,
    /// For all rounds, where much is measured again.
    time: Duration,
}

impl Effort {
    /// Of so many subjects, within `time` where it is given: there may be fewer rounds then, and at
    /// last shorter trials.
    pub(super) fn within(subjects: usize, quick: bool, time: Option<Duration>) -> Self {
        let all = subjects.max(1) as u32;
        let most = if quick { QUICK_ROUNDS } else { ROUNDS };
        let once = (TRIAL + OVERHEAD) * all;
        let time = time.unwrap_or_else(|| (once * most as u32).div_f64(1.0 - RESERVE));
        let first = time.mul_f64(1.0 - RESERVE);
        let rounds = (first.div_duration_f64(once) as usize).max(QUICK_ROUNDS);
        let share = first / (all * rounds as u32);
        Self {
            rounds,
            trial: share.saturating_sub(OVERHEAD).clamp(TRIAL_MIN, TRIAL),
            time,
        }
    }
}

/// Every subject in interleaved rounds.
pub(super) fn in_rounds(
    subjects: &[Subject],
    devices: &mut [(Place, Box<dyn Device>)],
    cores: &[CoreId],
    effort: Effort,
    seed: u64,
) -> Result<Rounds<Measured>, Error> {
    let mut observer = Observer::default();
    let mut progress = Progress::new(effort.rounds * subjects.len());
    let mut orders = Random::new(seed);
    let mut rounds: Rounds<Measured> = Rounds::new(subjects.len(), seed);
    let begun = Instant::now();
    let mut begun_trials = 0;
    let count = effort.rounds;
    for round in 1..=count {
        let planned = effort.time.mul_f64(round as f64 / count as f64);
        let order = orders.order(subjects.len());
        let attempt = |wanted: &[usize]| {
            let mut measured = Vec::with_capacity(wanted.len());
            for &index in wanted {
                host::cleanup::check()?;
                begun_trials += 1;
                let share = begun_trials as f64 / (count * subjects.len()) as f64;
                let until = begun + effort.time.mul_f64(share.min(1.0));
                let subject = &subjects[index];
                progress.step(&format!(
                    "round {round} of {count}: {}",
                    subject.place.name()
                ));
                let device = serving(devices, subject.place).ok_or("a subject without device")?;
                let (case, own) = (subject.case(), subject.cores(cores));
                observer::warm_up(device, &case)?;
                measured.push((
                    index,
                    observer.measure(device, &case, own, (effort.trial, until))?,
                ));
            }
            Ok::<_, Error>(measured)
        };
        let measured = evidence::calmer(&order, attempt, |took| begun.elapsed() + took <= planned)?;
        rounds.round_in(order, |index| {
            let own = measured.iter().find(|(other, _)| *other == index);
            own.map(|&(_, one)| one)
                .ok_or("a subject that was not measured")
        })?;
    }
    Ok(rounds)
}

/// The opened device of a place; one without a network has all tables.
pub(super) fn serving(
    devices: &mut [(Place, Box<dyn Device>)],
    place: Place,
) -> Option<&mut dyn Device> {
    let same = |other: Place| {
        let both = [other.kind(), place.kind()];
        other == place || both.iter().all(|kind| matches!(kind, Kind::Memory(_)))
    };
    let found = devices.iter_mut().find(|(other, _)| same(*other))?;
    Some(&mut *found.1)
}

#[cfg(test)]
#[path = "../../tests/unit/bounds_rounds.rs"]
mod tests;
