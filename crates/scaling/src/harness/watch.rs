//! Watching a run from outside: how many of its tasks want a core at a time, how long they wait for
//! one, and whether the kernel saw the machine under pressure.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use serde::{Deserialize, Serialize};

use super::keeper::{Keeper, KeeperError, Outcome};

/// Time between two looks at the tasks.
const LOOK: Duration = Duration::from_millis(3);

/// What was seen of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Watched {
    /// Seconds of the run during which exactly `k` of its tasks wanted a core: `wanting[k]`.
    pub wanting: Vec<f64>,
    /// Seconds that its tasks were ready to run without a core, summed over the tasks; `None`
    /// where the kernel does not count it. What a task waited after the last look at it is not
    /// in the sum.
    pub queued: Option<f64>,
    /// The machine's pressure during the run.
    pub pressure: Option<Stalled>,
}

/// Shares of a time during which some task of the machine was held up
/// (`Documentation/accounting/psi.rst`, "some").
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stalled {
    /// For want of a core.
    pub cpu: f64,
    /// For want of memory.
    pub memory: f64,
    /// For input or output.
    pub io: f64,
}

/// Runs the keeper's command once and watches it.
///
/// # Errors
/// When interrupted, or the keeper is gone.
pub fn watch(keeper: &mut Keeper) -> Result<(Outcome, Watched), KeeperError> {
    let (stop, session) = (Arc::new(AtomicBool::new(false)), keeper.pid());
    let (their_stop, before) = (Arc::clone(&stop), pressed());
    let start = Instant::now();
    keeper.begin()?;
    let watcher = thread::spawn(move || look_until(session, &their_stop));
    let outcome = keeper.finish();
    stop.store(true, Ordering::Release);
    let seconds = start.elapsed().as_secs_f64();
    let (wanting, queued) = watcher.join().unwrap_or_default();
    let pressure = before.zip(pressed());
    let pressure = pressure.map(|(before, after)| stalled(before, after, seconds));
    let watched = Watched {
        wanting,
        queued,
        pressure,
    };
    Ok((outcome?, watched))
}

/// Looks until `stop`: seconds by number of tasks that want a core, and the sum of their waiting
/// for one.
fn look_until(session: i32, stop: &AtomicBool) -> (Vec<f64>, Option<f64>) {
    let mut seconds: Vec<f64> = Vec::new();
    let mut queued: HashMap<i32, u64> = HashMap::new();
    let mut last = Instant::now();
    while !stop.load(Ordering::Acquire) {
        let count = look(session, &mut queued);
        let now = Instant::now();
        if seconds.len() <= count {
            seconds.resize(count + 1, 0.0);
        }
        seconds[count] += (now - last).as_secs_f64();
        last = now;
        thread::sleep(LOOK);
    }
    let counted = fs::metadata("/proc/self/schedstat").is_ok();
    let sum = queued.values().sum::<u64>() as f64 * 1e-9;
    (seconds, counted.then_some(sum))
}

/// Tasks of the session, the keeper itself left out, that run or wait for a core now. Notes how
/// long each has waited so far.
fn look(session: i32, queued: &mut HashMap<i32, u64>) -> usize {
    let entries = |place: &Path| fs::read_dir(place).into_iter().flatten().flatten();
    let read = |place: PathBuf| fs::read_to_string(place).unwrap_or_default();
    let mut count = 0;
    for process in entries(Path::new("/proc")) {
        if number(&process).is_none_or(|pid| pid == session)
            || fields(&read(process.path().join("stat"))).1 != Some(session)
        {
            continue;
        }
        for task in entries(&process.path().join("task")) {
            let runs = fields(&read(task.path().join("stat"))).0 == Some('R');
            count += usize::from(runs);
            let waited = run_queue_wait(&read(task.path().join("schedstat")));
            queued.extend(number(&task).zip(waited));
        }
    }
    count
}

fn number(entry: &fs::DirEntry) -> Option<i32> {
    entry.file_name().to_str()?.parse().ok()
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

/// Nanoseconds that a task has waited for a core: the second number of `/proc/PID/schedstat`
/// (`Documentation/scheduler/sched-stats.rst`).
fn run_queue_wait(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Totals of `/proc/pressure`, in seconds, of cores, memory, and input and output; `None` where the
/// kernel has no such information.
fn pressed() -> Option<[f64; 3]> {
    let of = |resource| total(&fs::read_to_string(format!("/proc/pressure/{resource}")).ok()?);
    Some([of("cpu")?, of("memory")?, of("io")?])
}

/// What grew between two totals, as shares of the time between them.
fn stalled(before: [f64; 3], after: [f64; 3], seconds: f64) -> Stalled {
    let share = |place: usize| ((after[place] - before[place]) / seconds.max(1e-9)).clamp(0.0, 1.0);
    let [cpu, memory, io] = [0, 1, 2].map(share);
    Stalled { cpu, memory, io }
}

/// The total of the line `some`, seconds; the kernel writes microseconds.
fn total(text: &str) -> Option<f64> {
    let some = text.lines().find(|line| line.starts_with("some "))?;
    let microseconds: f64 = some.rsplit_once("total=")?.1.trim().parse().ok()?;
    Some(microseconds * 1e-6)
}

#[cfg(test)]
#[path = "../../tests/unit/harness_watch.rs"]
mod tests;
