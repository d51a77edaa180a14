//! The workloads that are built in: what three articles of 1998 to 2001 measured on their first
//! machines with two processors, and what else the question "what does another core buy" needs.
//!
//! A workload is a sentence and a loop. The harness owns the rest: processes, cores, rounds,
//! statistics. Two kinds: a [`Kind::Loop`] is run by a process of its own for a fixed time and says
//! how much it did, so it is swept like any other command; a [`Kind::Program`] is a command of
//! somebody else's; a [`Kind::Experiment`] needs threads that see each other and measures by
//! itself.

pub mod bench;
pub mod blocks;
pub mod compile;
pub mod contention;
pub mod control_loop;
pub mod delivery;
pub mod fifo;
pub mod findings;
pub mod interactive;
pub mod jobs;
pub mod keysearch;
pub mod list;
pub mod logger;
pub mod memory;
pub mod migration;
pub mod other_load;
pub mod periodic;
pub mod plan;
pub mod poll;
pub mod raytrace;
pub mod realtime;
pub mod reverse;
pub mod simulation;
pub mod unix;

use std::thread;
use std::time::{Duration, Instant};

use bench::{Bench, Unable};
use findings::Findings;

use crate::harness::plan::{CORES, Mode, Placement};
use crate::measure::Request;
use crate::result::{PointResult, ScaleResult};
use host::pressure::Caches;

/// A built-in workload.
pub struct Workload {
    /// What it is called.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub sentence: &'static str,
    /// What the article's author saw then; empty when no article speaks of it.
    pub then: &'static str,
    /// The loop.
    pub kind: Kind,
}

/// How a workload is run.
pub enum Kind {
    /// Copies of a loop, swept over the cores.
    Loop(Loop),
    /// Somebody else's commands, swept over the cores.
    Program {
        /// Makes the commands ready; each is, or says why it is not.
        prepare: fn(&Bench) -> Vec<Result<Prepared, Unable>>,
        /// How long the sweeps take.
        planned: fn(&Bench) -> Duration,
    },
    /// Threads of ours that see each other.
    Experiment {
        /// The experiment.
        run: fn(&Bench) -> Result<Findings, Unable>,
        /// How long it takes.
        planned: fn(&Bench) -> Duration,
    },
}

/// A loop that a process runs for a fixed time.
pub struct Loop {
    /// What it counts.
    pub unit: &'static str,
    /// Its sizes or tests: a label, and a number that [`Loop::start`] understands.
    pub variants: fn(&Caches) -> Vec<(String, usize)>,
    /// Sets up a variant and returns a piece of the loop: each call does some work and returns how
    /// much.
    pub start: fn(usize) -> Body,
    /// Whether it is also swept as threads of one process.
    pub threads: bool,
    /// Puts the sweeps of the variants in words.
    pub now: fn(&[(String, ScaleResult)]) -> String,
}

/// A piece of a loop: does some work, returns how many units it was.
pub type Body = Box<dyn FnMut() -> f64>;

/// One of several loops, by name, with what sets it up.
type Test = (&'static str, fn() -> Body);

impl Loop {
    /// A command for each variant of the loop that is called `name`, and another where it is also
    /// swept as threads: this program, which does it for a fixed time and prints the rate behind
    /// [`MARK`].
    pub fn prepare(&self, name: &str, bench: &Bench) -> Vec<Result<Prepared, Unable>> {
        let variants = (self.variants)(&bench.caches).into_iter();
        let commands = variants.flat_map(|(label, variant)| {
            let by = |who: &str| format!("{label}, {who}");
            if self.threads {
                vec![
                    self.command(name, by("processes"), variant, Mode::Copies, bench),
                    self.command(name, by("threads"), variant, Mode::Threads, bench),
                ]
            } else {
                vec![self.command(name, label, variant, Mode::Copies, bench)]
            }
        });
        commands.map(Ok).collect()
    }

    fn command(
        &self,
        name: &str,
        label: String,
        variant: usize,
        mode: Mode,
        bench: &Bench,
    ) -> Prepared {
        let milliseconds = plan::lap(bench.quick).as_millis().to_string();
        let variant = variant.to_string();
        let own = [&bench.program, "scale", "work", name];
        let lap = ["--variant", &variant, "--milliseconds", &milliseconds];
        let threads: &[&str] = if mode == Mode::Threads {
            &["--threads", CORES]
        } else {
            &[]
        };
        let command = own.into_iter().chain(lap).chain(threads.iter().copied());
        Prepared {
            request: Request {
                mode: Some(mode),
                progress: Some(MARK.to_owned()),
                unit: Some(self.unit.to_owned()),
                rounds: Some(plan::rounds(bench.quick)),
                ..bench.request(command)
            },
            shown: Some(vec![name.to_owned(), label.clone()]),
            label,
            note: None,
            keep: None,
        }
    }

    /// Does the loop for `time` on so many threads; returns how much they did a second.
    pub fn rate(&self, variant: usize, threads: usize, time: Duration) -> f64 {
        thread::scope(|scope| {
            let others = (1..threads).map(|_| scope.spawn(|| self.rate_of_one(variant, time)));
            let others: Vec<_> = others.collect();
            let own = self.rate_of_one(variant, time);
            // A thread that ended early did nothing.
            let others = others.into_iter().map(|other| other.join().unwrap_or(0.0));
            own + others.sum::<f64>()
        })
    }

    fn rate_of_one(&self, variant: usize, time: Duration) -> f64 {
        let mut body = (self.start)(variant);
        body(); // the first turn finds caches and branch history empty
        let (start, mut units) = (Instant::now(), 0.0);
        while start.elapsed() < time {
            units += body();
        }
        units / start.elapsed().as_secs_f64()
    }
}

/// Text before the rate that a process of ours prints; the sweep looks for it.
pub const MARK: &str = "units a second:";

/// A command that is ready to be swept.
pub struct Prepared {
    /// Which variant it is.
    pub label: String,
    /// The sweep.
    pub request: Request,
    /// What its result shows as its command, if not that.
    pub shown: Option<Vec<String>>,
    /// What the reader of its result has to know.
    pub note: Option<String>,
    /// Directory to be kept until the sweep is over.
    pub keep: Option<host::temporary::Directory>,
}

/// The workloads of this crate, in the order of the list. Callers add their own to them.
pub fn all() -> &'static [Workload] {
    &[
        memory::MEMORY,
        memory::CACHE,
        reverse::WORKLOAD,
        blocks::WORKLOAD,
        migration::WORKLOAD,
        compile::WORKLOAD,
        jobs::WORKLOAD,
        raytrace::WORKLOAD,
        keysearch::WORKLOAD,
        unix::WORKLOAD,
        contention::WORKLOAD,
        interactive::WORKLOAD,
        simulation::WORKLOAD,
        control_loop::CONTROL_LOOP,
        control_loop::INTERRUPTS,
        delivery::WORKLOAD,
        poll::WORKLOAD,
        logger::WORKLOAD,
        fifo::WORKLOAD,
    ]
}

/// The workload with this name.
pub fn find(name: &str) -> Option<&'static Workload> {
    all().iter().find(|workload| workload.name == name)
}

/// The point of a sweep on the most cores, under its first placement.
pub(crate) fn last(result: &ScaleResult) -> Option<&PointResult> {
    let first = result.points.first()?.placement;
    result.points.iter().rfind(|point| point.placement == first)
}

/// The gain of the last point of a sweep over one core, with its interval, in words; beside it that
/// of the same number free to move, where both were swept.
pub(crate) fn gain(result: &ScaleResult) -> String {
    let Some(point) = last(result) else {
        return String::new();
    };
    let (cores, range) = (point.cores, point.range());
    let words = format!("{cores} at once do {range} times the work of one");
    let same = |other: &&PointResult| other.cores == cores && other.placement == Placement::Free;
    match result.points.iter().find(same) {
        Some(free) if point.placement == Placement::Pinned => {
            format!(
                "{words} on cores of their own, {} free to move",
                free.range()
            )
        }
        _ => words,
    }
}

/// The units of a turn that succeeded; next to nothing of one that failed, which the table shows.
fn done(units: f64, succeeded: bool) -> f64 {
    if succeeded { units } else { f64::MIN_POSITIVE }
}

/// A loop that cannot run here.
fn nothing() -> Body {
    Box::new(|| done(1.0, false))
}

/// Whether `program` is in `PATH`.
pub fn installed(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|place| place.join(program).is_file()))
}

#[cfg(test)]
#[path = "../../tests/unit/workloads.rs"]
mod tests;
