//! Looking at one core only: how many tasks of the command want it at a time, what memory pressure
//! from the other cores does to it, and how the clock changes when all cores work. From that
//! [`OneCore`] makes its forecast.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Instant;

use figures::median;
use host::cores::CoreId;
use host::loops;
use host::pin::Pinned;
use host::pressure::{Aggressor, Caches, Channel};
use host::topology::Topology;

use super::plan::{Job, Placement, Setting};
use super::runs::{Runs, SweepError};
use crate::laws::forecast::OneCore;

/// Runs `job` with the structure of `most` cores, but confined to one core, and looks at its tasks
/// meanwhile.
///
/// # Errors
/// When the command fails or hangs, and when interrupted.
pub fn look(
    job: &Job,
    most: u32,
    topology: &Topology,
    interrupted: fn() -> bool,
) -> Result<OneCore, SweepError> {
    let Some(&core) = job.order.first() else {
        return Ok(OneCore {
            wanting: Vec::new(),
            under_pressure: None,
            clock: None,
        });
    };
    let structure = Setting {
        cores: most,
        placement: Placement::Pinned,
    };
    let (_, watched) = Runs::confined(job, &structure, core, interrupted)?.watch()?;
    Ok(OneCore {
        wanting: watched.wanting,
        under_pressure: under_pressure(job, topology, interrupted)?,
        clock: clock(&job.order[..most as usize]),
    })
}

/// How many times longer a run on one core takes while every other core reads memory as fast as it
/// can.
fn under_pressure(
    job: &Job,
    topology: &Topology,
    interrupted: fn() -> bool,
) -> Result<Option<f64>, SweepError> {
    const PAIRS: usize = 3;
    if job.order.len() < 2 {
        return Ok(None);
    }
    let caches = Caches::read(topology);
    let one = Setting {
        cores: 1,
        placement: Placement::Pinned,
    };
    let mut runs = Runs::start(job, &one, interrupted)?;
    let mut ratios = Vec::with_capacity(PAIRS);
    for _ in 0..PAIRS {
        let calm = runs.run()?;
        runs.prepare()?;
        let others: Vec<Aggressor> = job.order[1..]
            .iter()
            .map(|&core| Aggressor::start(Channel::MemoryReads, core, 1.0, caches))
            .collect();
        let pressed = runs.run_prepared()?;
        drop(others);
        ratios.push(pressed.wall.as_secs_f64() / calm.wall.as_secs_f64());
    }
    Ok(Some(median(&ratios)))
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
