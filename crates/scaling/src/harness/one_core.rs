//! Looking at one core only: how many tasks of the command want it at a time, what memory pressure from the other cores
//! does to it, and how the clock changes when all cores work. From that [`OneCore`] makes its forecast.

use super::{
    aggressor::{Aggressor, Caches},
    keeper::{Exit, Keeper, Outcome},
    plan::{Job, Placement, Setting},
    sweep::SweepError,
};
use crate::{cause::pressure::Channel, laws::forecast::OneCore, loops, statistics::median};
use host::{cores::CoreId, pin::Pinned, topology::Topology};
use std::{
    fs,
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Time between two looks at the tasks.
const LOOK: Duration = Duration::from_millis(3);

/// Runs `job` with the structure of `most` cores, but confined to one core, and looks at its tasks meanwhile.
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
    let mut spec = job.spec(&Setting {
        cores: most,
        placement: Placement::Pinned,
    })?;
    for copy in &mut spec.copies {
        *copy = Some(vec![core.0]);
    }
    spec.timeout *= most;
    let mut keeper = Keeper::start(&spec, interrupted)?;
    let (stop, session) = (Arc::new(AtomicBool::new(false)), keeper.pid());
    let their_stop = Arc::clone(&stop);
    keeper.begin()?;
    let watcher = thread::spawn(move || watch(session, &their_stop));
    let outcome = keeper.finish();
    stop.store(true, Ordering::Release);
    let wanting = watcher.join().unwrap_or_default();
    succeeded(&outcome?)?;
    Ok(OneCore {
        wanting,
        under_pressure: under_pressure(job, topology, interrupted)?,
        clock: clock(&job.order[..most as usize]),
    })
}

fn succeeded(outcome: &Outcome) -> Result<(), SweepError> {
    if outcome.exit == Exit::Success {
        return Ok(());
    }
    Err(SweepError::Command {
        what: format!(
            "the command did not succeed confined to one core ({:?})",
            outcome.exit
        ),
        printed: String::new(),
    })
}

/// Seconds during which k tasks of the session wanted a core.
fn watch(session: i32, stop: &AtomicBool) -> Vec<f64> {
    let mut seconds: Vec<f64> = Vec::new();
    let mut last = Instant::now();
    while !stop.load(Ordering::Acquire) {
        let count = runnable(session);
        let now = Instant::now();
        if seconds.len() <= count {
            seconds.resize(count + 1, 0.0);
        }
        seconds[count] += (now - last).as_secs_f64();
        last = now;
        thread::sleep(LOOK);
    }
    seconds
}

/// Tasks of the session, the keeper itself left out, that run or wait for a core now.
fn runnable(session: i32) -> usize {
    let Ok(processes) = fs::read_dir("/proc") else {
        return 0;
    };
    let mut count = 0;
    for process in processes.flatten() {
        let name = process.file_name();
        let Some(pid) = name.to_str().and_then(|n| n.parse::<i32>().ok()) else {
            continue;
        };
        if pid == session
            || !fs::read_to_string(process.path().join("stat"))
                .is_ok_and(|s| fields(&s).1 == Some(session))
        {
            continue;
        }
        let Ok(tasks) = fs::read_dir(process.path().join("task")) else {
            continue;
        };
        count += tasks
            .flatten()
            .filter(|task| {
                fs::read_to_string(task.path().join("stat"))
                    .is_ok_and(|s| fields(&s).0 == Some('R'))
            })
            .count();
    }
    count
}

/// State and session of a process, from its `stat`.
fn fields(stat: &str) -> (Option<char>, Option<i32>) {
    let mut words = stat
        .rsplit_once(')')
        .map_or("", |(_, rest)| rest)
        .split_ascii_whitespace();
    let state = words.next().and_then(|w| w.chars().next());
    (state, words.nth(2).and_then(|w| w.parse().ok()))
}

/// How many times longer a run on one core takes while every other core reads memory as fast as it can.
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
    let mut keeper = Keeper::start(
        &job.spec(&Setting {
            cores: 1,
            placement: Placement::Pinned,
        })?,
        interrupted,
    )?;
    let mut ratios = Vec::with_capacity(PAIRS);
    for _ in 0..PAIRS {
        let calm = keeper.run()?;
        succeeded(&calm)?;
        let others: Vec<Aggressor> = job.order[1..]
            .iter()
            .map(|&core| Aggressor::start(Channel::MemoryReads, core, 1.0, caches))
            .collect();
        let pressed = keeper.run()?;
        drop(others);
        succeeded(&pressed)?;
        ratios.push(pressed.wall.as_secs_f64() / calm.wall.as_secs_f64());
    }
    Ok(Some(median(&ratios)))
}

/// Speed of a loop in registers with all of `cores` busy, over its speed alone. `None` with a single core.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_and_session_are_read_past_a_strange_name() {
        assert_eq!(fields("7 (a) S (b) R 1 7 5 0 -1"), (Some('R'), Some(5)));
        assert_eq!(fields(""), (None, None));
    }
}
