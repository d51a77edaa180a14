//! Locks: which object, whose, how long, and what its removal would bring.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::budget::{Budget, WaitFor};
use super::classify::{Class, readers_wait_at};
use super::demand::{Demand, Gain, demand, gain};
use super::spinning::Spinning;
use super::waits::Waited;
use crate::event::Tid;
use crate::timeline::{Object, Timeline};
use crate::trace::{NameSource, Trace};

/// Fewer samples than this say nothing about spinning.
pub(crate) const ENOUGH_SAMPLES: u64 = 30;
/// A range in which a value lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Not less than this.
    pub low: f64,
    /// Not more than this.
    pub high: f64,
}

impl Range {
    /// A range of one value.
    pub fn at(value: f64) -> Self {
        Self {
            low: value,
            high: value,
        }
    }

    /// The range of what `change` makes of its values, which keeps their order.
    #[must_use]
    pub fn map(self, change: impl Fn(f64) -> f64) -> Self {
        Self {
            low: change(self.low),
            high: change(self.high),
        }
    }

    /// The value half way.
    pub fn middle(&self) -> f64 {
        f64::midpoint(self.low, self.high)
    }

    /// True when `value` lies in it.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// What a lock costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cost {
    /// Share of the window during which at least one thread waited for it.
    pub contended_share: f64,
    /// Waiting threads on average.
    pub mean_waiters: f64,
    /// Share of the window during which it was free and the next owner had no core yet.
    pub hand_off_share: f64,
    /// Cores that idled because of it.
    pub lost_cores: f64,
    /// Threads polling for it on average, by samples.
    pub spinning: f64,
}

/// One contended lock.
#[derive(Clone, Debug)]
pub struct Lock {
    /// Index into the timeline's objects.
    pub index: u32,
    /// The process; 0 for the kernel.
    pub process: Tid,
    /// The address.
    pub address: u64,
    /// What it is.
    pub class: Class,
    /// Its name; the address where it has none.
    pub name: String,
    /// How the name was found.
    pub named_by: Option<NameSource>,
    /// All counts.
    pub waited: Waited,
    /// What it costs.
    pub cost: Cost,
    /// Demand, where there is evidence.
    pub demand: Option<Demand>,
    /// Predicted gain, where there is evidence.
    pub gain: Option<Gain>,
    /// Samples of polling for it.
    pub polls: u64,
    /// Where it was waited for, most frequent first.
    pub places: Vec<(String, u64)>,
}

/// The locks that threads of the program waited for, the costliest first.
pub fn locks(
    trace: &Trace,
    timeline: &Timeline,
    waited: Vec<Waited>,
    classes: &[Class],
    budget: &Budget,
    spinning: &Spinning,
) -> Vec<Lock> {
    let wall = timeline.wall().max(1) as f64;
    let shared = with_readers(&waited, classes);
    let mut found: Vec<Lock> = waited
        .into_iter()
        .enumerate()
        .filter(|(index, waited)| classes[*index].is_lock() && waited.waits.count > 0)
        .map(|(index, waited)| {
            let class = classes[index];
            let enough = spinning.samples >= ENOUGH_SAMPLES;
            let (polls, sampled) = if enough { spinning.of(index) } else { (0, 0.0) };
            let polled = Range {
                low: sampled,
                high: sampled + spinning.unnamed(waited.object.process),
            };
            let index = index as u32;
            let (name, named_by) = name(trace, timeline, &waited, class);
            let lost = budget
                .waits
                .iter()
                .find(|(reason, _)| *reason == WaitFor::Lock(index))
                .map_or(0, |(_, time)| *time);
            let demand = (!shared.contains(&waited.object))
                .then(|| demand(trace, timeline, &waited, class, polled, budget))
                .flatten();
            Lock {
                index,
                process: waited.object.process,
                address: waited.object.address,
                class,
                name,
                named_by,
                cost: Cost {
                    contended_share: waited.contended.sum as f64 / wall,
                    mean_waiters: waited.waits.sum as f64 / wall,
                    hand_off_share: waited.hand_off.sum as f64 / wall,
                    lost_cores: budget.in_cores(lost),
                    spinning: sampled / wall,
                },
                gain: demand.map(|demand| gain(&demand, timeline, &waited, polled)),
                demand,
                polls,
                places: places(trace, &waited),
                waited,
            }
        })
        .collect();
    found.sort_by(|a, b| {
        let costs = |of: fn(&Cost) -> f64| of(&b.cost).total_cmp(&of(&a.cost));
        costs(|cost| cost.lost_cores)
            .then(costs(|cost| cost.spinning))
            .then(costs(|cost| cost.mean_waiters))
            .then(a.index.cmp(&b.index))
    });
    found
}

/// The words of Rust's read-write locks that readers wait at, and their writers' words behind them.
/// A reader's hold is not serial, and who waited at one word may let go at the other: the visible
/// holds say nothing.
fn with_readers(waited: &[Waited], classes: &[Class]) -> HashSet<Object> {
    let one = waited.iter().zip(classes);
    let states = one.filter(|(one, class)| **class == Class::RwLock && readers_wait_at(one));
    let words = states.flat_map(|(one, _)| {
        let writers = Object {
            address: one.object.address + 4,
            ..one.object
        };
        [one.object, writers]
    });
    words.collect()
}

fn name(
    trace: &Trace,
    timeline: &Timeline,
    waited: &Waited,
    class: Class,
) -> (String, Option<NameSource>) {
    let object = waited.object;
    let address = format!("{:#x}", object.address);
    let found = timeline.lifetimes.name(object).or_else(|| {
        let names = trace.trailer.names.iter();
        names
            .filter(|name| {
                // A read-write lock's writers wait up to three words after its beginning.
                name.source != NameSource::Marker
                    && name.process == object.process
                    && (name.address..name.address + name.length.max(1)).contains(&object.address)
            })
            .min_by_key(|name| name.source)
    });
    match found {
        Some(name) if name.source == NameSource::Place => {
            (format!("{address} ({})", name.name), Some(name.source))
        }
        Some(name) => (name.name.clone(), Some(name.source)),
        None => match places(trace, waited).first() {
            Some((place, _)) if class.is_kernel() => {
                (format!("taken in {place}"), Some(NameSource::Place))
            }
            _ => (address, None),
        },
    }
}

/// Functions that every way to a lock leads through say nothing about which lock it is: words in
/// their names...
const LOCK_WORDS: [&str; 7] = [
    "lock",
    "spin",
    "mutex",
    "futex",
    "syscall",
    "rwsem",
    "contention",
];
/// ...and beginnings of their names, without leading underscores.
const LOCK_BEGINNINGS: [&str; 10] = [
    "down_",
    "up_",
    "perf_",
    "trace_",
    "traceiter_",
    "do_raw",
    "entry_SYSCALL",
    "rt_",
    "percpu_",
    "bpf_",
];

/// True for a function that is neither a lock's own nor nameless.
pub(super) fn tells(frame: &str) -> bool {
    let bare = frame
        .rsplit("::")
        .next()
        .unwrap_or(frame)
        .trim_start_matches('_');
    !frame.starts_with("0x")
        && !LOCK_WORDS.iter().any(|word| bare.contains(word))
        && !LOCK_BEGINNINGS.iter().any(|word| bare.starts_with(word))
}

fn places(trace: &Trace, waited: &Waited) -> Vec<(String, u64)> {
    let mut counts: std::collections::BTreeMap<&str, u64> = std::collections::BTreeMap::new();
    for (stack, count) in &waited.places {
        let Some(frames) = trace.trailer.stacks.get(*stack as usize) else {
            continue;
        };
        let telling = frames.iter().find(|frame| tells(frame));
        if let Some(frame) = telling.or(frames.first()) {
            *counts.entry(frame).or_default() += count;
        }
    }
    let mut places: Vec<_> = counts
        .into_iter()
        .map(|(place, count)| (place.to_owned(), count))
        .collect();
    places.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    places
}

#[cfg(test)]
#[path = "../../tests/unit/locks.rs"]
mod tests;
