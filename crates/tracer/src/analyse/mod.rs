//! The analyses: from a trace to what it means. Pure: no clock, no files.
//!
//! One idea, one file, in the order in which they must be asked: first where every core's time went
//! ([`budget`]), only then which lock ([`waits`], [`classify`], [`locks`], [`held`], [`demand`],
//! [`queueing`], [`spinning`], [`turns`]), then the chain to the end ([`critical_path`]), moves
//! ([`migrations`]), interrupts ([`interrupts`]) and disturbed cores ([`noise`]).

pub mod budget;
pub mod classify;
pub mod critical_path;
pub mod demand;
pub mod held;
pub mod interrupts;
pub mod locks;
pub mod migrations;
pub mod noise;
pub mod queueing;
pub mod spinning;
pub mod turns;
pub mod waits;

use budget::Budget;
use classify::Class;
use critical_path::Link;
use locks::Lock;

use crate::event::Tid;
use crate::fast_map::FastMap;
use crate::timeline::Timeline;
use crate::trace::{Probe, Trace};

/// Everything the analyses found.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// What every core and thread did.
    pub timeline: Timeline,
    /// Where the cores' time went.
    pub budget: Budget,
    /// What each of the timeline's objects is.
    pub classes: Vec<Class>,
    /// Contended locks, the costliest first.
    pub locks: Vec<Lock>,
    /// Samples of the running code.
    pub spinning: spinning::Spinning,
    /// Threads that take turns.
    pub turns: turns::Turns,
    /// What the end waited for.
    pub path: Vec<(Link, u64)>,
    /// Threads that changed cores.
    pub migrations: Vec<migrations::Moves>,
    /// Interrupts by core.
    pub interrupts: Vec<interrupts::Placement>,
    /// Disturbances of quiet cores.
    pub noise: Vec<noise::Noise>,
}

/// What each object is, what idle cores waited for, the samples, the turns, the locks.
type Contention = (
    Vec<Class>,
    Budget,
    spinning::Spinning,
    turns::Turns,
    Vec<Lock>,
);

impl Analysis {
    /// Analyses a trace.
    pub fn new(trace: &Trace) -> Self {
        let timeline = Timeline::new(trace);
        // What needs nothing but the timeline is found beside the locks.
        let (locks, others) = std::thread::scope(|scope| {
            let others = scope.spawn(|| {
                (
                    critical_path::critical_path(&timeline),
                    migrations::migrations(&timeline),
                    interrupts::interrupts(&timeline),
                    noise::noise(&timeline, &trace.header.isolated),
                )
            });
            let locks = Self::contention(trace, &timeline);
            let others = others
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (locks, others)
        });
        let (classes, budget, spinning, turns, locks) = locks;
        let (path, migrations, interrupts, noise) = others;
        Self {
            timeline,
            budget,
            classes,
            locks,
            spinning,
            turns,
            path,
            migrations,
            interrupts,
            noise,
        }
    }

    /// The contended lock at the timeline's object `index`.
    pub fn lock(&self, index: u32) -> Option<&Lock> {
        self.locks.iter().find(|lock| lock.index == index)
    }

    /// What has to do with waiting.
    fn contention(trace: &Trace, timeline: &Timeline) -> Contention {
        let waited = waits::gather(trace, timeline);
        let mut probes: FastMap<(Tid, u64), Vec<&Probe>> = FastMap::default();
        for probe in &trace.trailer.probes {
            let Probe {
                process, address, ..
            } = *probe;
            probes.entry((process, address)).or_default().push(probe);
        }
        let classes: Vec<Class> = waited
            .iter()
            .map(|waited| {
                let object = waited.object;
                let found = probes.get(&(object.process, object.address));
                classify::classify(waited, found.map_or(&[], Vec::as_slice))
            })
            .collect();
        let budget = Budget::new(timeline, &classes);
        let spinning = spinning::Spinning::new(trace, timeline, &waited);
        let turns = turns::Turns::new(trace, timeline, &classes, &waited);
        let locks = locks::locks(trace, timeline, waited, &classes, &budget, &spinning);
        (classes, budget, spinning, turns, locks)
    }
}
