//! Looking at one core only: how many tasks of the command want it at a time, what memory pressure
//! from the other cores does to it, and how the clock changes when all cores work. From that
//! [`OneCore`] makes its forecast.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Instant;

use figures::{Rounds, median};
use host::cores::CoreId;
use host::loops;
use host::pin::Pinned;
use host::pressure::{Aggressor, Caches, Channel};
use host::topology::Topology;

use super::plan::{Job, Placement};
use super::runs::{Runs, SweepError};
use crate::laws::forecast::OneCore;

/// Runs `job` with the structure of `most` cores, but confined to one core, and looks at its tasks
/// meanwhile.
///
/// # Errors
/// When the command fails or hangs, and when interrupted.
pub fn look(job: &Job, most: u32, topology: &Topology) -> Result<OneCore, SweepError> {
    let Some(&core) = job.order.first() else {
        return Ok(OneCore {
            wanting: Vec::new(),
            under_pressure: None,
            clock: None,
        });
    };
    let (_, watched) = Runs::confined(job, Placement::Pinned.on(most), core)?.watch()?;
    Ok(OneCore {
        wanting: watched.wanting,
        under_pressure: under_pressure(job, topology)?,
        clock: clock(&job.order[..most as usize]),
    })
}

/// How many times longer a run on one core takes while every other core reads memory as fast as it
/// can.
fn under_pressure(job: &Job, topology: &Topology) -> Result<Option<f64>, SweepError> {
    const PAIRS: usize = 3;
    if job.order.len() < 2 {
        return Ok(None);
    }
    let caches = Caches::read(topology);
    let mut runs = Runs::start(job, Placement::Pinned.on(1))?;
    let mut seconds = Rounds::new(2, job.seed);
    seconds.run(PAIRS, |pressed| {
        runs.prepare()?;
        let others = job.order.iter().skip(1).filter(|_| pressed == 1);
        let company: Vec<Aggressor> = others
            .map(|&core| Aggressor::start(Channel::MemoryReads, core, 1.0, caches))
            .collect();
        let outcome = runs.run_prepared()?;
        drop(company);
        Ok::<_, SweepError>(outcome.wall.as_secs_f64())
    })?;
    Ok(Some(seconds.ratio(1, 0, f64::clone).value))
}

/// Speed of a loop in registers with all of `cores` busy, over its speed alone. `None` with a
/// single core.
pub fn clock(cores: &[CoreId]) -> Option<f64> {
    const STEPS: u64 = 4_000_000;
    if cores.len() < 2 {
        return None;
    }
    let speed = |together: &[CoreId]| -> f64 {
        let barrier = Arc::new(Barrier::new(together.len()));
        let threads: Vec<_> = together
            .iter()
            .map(|&core| {
                let barrier = Arc::clone(&barrier);
                thread::spawn(move || {
                    let _pin = Pinned::to(core);
                    barrier.wait();
                    let start = Instant::now();
                    loops::spin(STEPS, 1);
                    start.elapsed().as_secs_f64()
                })
            })
            .collect();
        let seconds: Vec<f64> = threads.into_iter().filter_map(|t| t.join().ok()).collect();
        1.0 / median(&seconds)
    };
    let ratios: Vec<f64> = (0..5).map(|_| speed(cores) / speed(&cores[..1])).collect();
    Some(median(&ratios))
}
