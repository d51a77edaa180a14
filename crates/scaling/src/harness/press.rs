//! The experiment with aggressors: the command on one core, undisturbed and under each kind of
//! pressure in doses, in rounds of random order.

use std::time::Duration;

use figures::Rounds;
use host::cores::CoreId;
use host::pressure::{Aggressor, Caches, Channel};
use host::topology::Topology;

use super::bandwidth::{LOOKS, QUICK_LOOKS};
use super::plan::{Job, Placement};
use super::runs::{Runs, SweepError};
use crate::cause::pressure::{Pressed, Sensitivity, sensitivity, slower};
use crate::statistics::LEAST;

/// Pressing on everything in all doses is not to last longer than this.
const LONG: Duration = Duration::from_mins(3);

/// How much pressing.
#[derive(Debug, Clone)]
pub struct Pressing {
    /// Rounds.
    pub rounds: usize,
    /// Doses above 0, rising.
    pub doses: Vec<f64>,
    /// Looks at what the memory gives.
    pub looks: usize,
    /// The factor by which the work got dearer on all cores, if that is known.
    pub inflation: Option<f64>,
}

impl Pressing {
    /// Three doses, or the full dose alone when measuring less, or when a run of `seconds` would
    /// make it last too long. In five rounds either way: fewer tell nothing.
    pub fn of(quick: bool, seconds: f64, inflation: Option<f64>) -> Self {
        const RUNS: f64 = (LEAST * (2 + 3 * Channel::ALL.len())) as f64;
        let doses = if quick || RUNS * seconds > LONG.as_secs_f64() {
            vec![1.0]
        } else {
            vec![0.25, 0.5, 1.0]
        };
        Self {
            rounds: LEAST,
            doses,
            looks: if quick { QUICK_LOOKS } else { LOOKS },
            inflation,
        }
    }
}

/// The channels that this machine has, with the core to press from when the command runs on `core`.
pub fn channels(topology: &Topology, allowed: &[CoreId], core: CoreId) -> Vec<(Channel, CoreId)> {
    let siblings = topology.core(core).map_or(&[][..], |c| &c.threads);
    let others = || allowed.iter().copied().filter(|&c| c != core);
    let sibling = others().find(|c| siblings.contains(c));
    let other = others().find(|c| !siblings.contains(c)).or(sibling);
    Channel::ALL
        .into_iter()
        .filter_map(|channel| {
            let from = match channel {
                Channel::Sibling => sibling?,
                Channel::SameCore | Channel::Interrupts => core,
                _ => other?,
            };
            Some((channel, from))
        })
        .collect()
}

/// Presses on everything that `job` on one core shares.
///
/// # Errors
/// When the command fails or hangs, and when interrupted.
pub fn press(
    job: &Job,
    topology: &Topology,
    pressing: &Pressing,
) -> Result<Vec<Sensitivity>, SweepError> {
    let Some(&core) = job.order.first() else {
        return Ok(Vec::new());
    };
    let caches = Caches::read(topology);
    let channels = channels(topology, &job.order, core);
    let mut runs = Runs::start(job, Placement::Pinned.on(1))?;
    // Setting 0 is calm, 1 the control, then every channel in every dose.
    let settings: Vec<(usize, f64)> = (0..channels.len())
        .flat_map(|channel| pressing.doses.iter().map(move |&dose| (channel, dose)))
        .collect();
    let mut seconds = Rounds::new(settings.len() + 2, job.seed);
    seconds.run(pressing.rounds, |place| {
        let company = || {
            let (channel, dose) = settings[place.checked_sub(2)?];
            let (channel, from) = channels[channel];
            Some(Aggressor::start(channel, from, dose, caches))
        };
        runs.prepare()?;
        let company = company();
        let outcome = runs.run_prepared()?;
        drop(company);
        Ok::<_, SweepError>(outcome.wall.as_secs_f64())
    })?;
    let over_calm = |place| seconds.ratio(place, 0, f64::clone);
    let slower = slower(&seconds.rows().collect::<Vec<_>>());
    let judged = channels.iter().enumerate().map(|(channel, &(name, _))| {
        let pressed: Vec<Pressed> = settings
            .iter()
            .zip(&slower)
            .zip(2..)
            .filter(|(((own, _), _), _)| *own == channel)
            .map(|((&(_, duty), &slower), place)| Pressed {
                duty,
                slowdown: over_calm(place),
                slower,
            })
            .collect();
        sensitivity(name, &over_calm(1), &pressed, pressing.inflation)
    });
    Ok(judged.collect())
}
