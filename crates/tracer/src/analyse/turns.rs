//! Threads that take turns: one runs while another waits for a signal, and then the other does.
//!
//! An interpreter's lock (that of Python), a lock made of a condition variable, or a mutex whose
//! threads park on words of their own (Go, Java, `parking_lot`) shows no lock in its futex calls.
//! That it serialises shows in the schedule; the place is in the stacks.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::budget::{WaitFor, wait_for};
use super::classify::Class;
use super::locks::tells;
use super::waits::Waited;
use crate::event::Tid;
use crate::timeline::{Cause, Doing, Timeline};
use crate::trace::Trace;

/// Who waits longer than this waits for work or for an end, and not for its turn.
pub(super) const LONG: u64 = 50_000_000;

/// What the schedule shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turns {
    /// How long each thread ran while no other ran or could, and one waited for a signal; longest
    /// first.
    pub alone: Vec<(Tid, u64)>,
    /// How often the one that ran so was another one than before.
    pub changes: u64,
    /// Where threads waited for signals, most frequent first.
    pub places: Vec<(String, u64)>,
}

/// What changes at an instant: a thread begins or ends to run; more or fewer could run, or wait for
/// a signal.
enum Change {
    Runs(Tid),
    Stops(Tid),
    Could(i64),
    Waits(i64),
}

impl Turns {
    /// Looks at the schedule of the threads under study.
    pub fn new(trace: &Trace, timeline: &Timeline, classes: &[Class], waited: &[Waited]) -> Self {
        let mut turns = Self::default();
        let mut alone: BTreeMap<Tid, u64> = BTreeMap::new();
        let (mut running, mut could, mut waits) = (Vec::new(), 0, 0);
        let (mut since, mut last) = (timeline.start, None);
        for (time, change) in changes(timeline, classes) {
            if let [tid] = running[..]
                && could == 0
                && waits > 0
                && time > since
            {
                *alone.entry(tid).or_default() += time - since;
                turns.changes += u64::from(last.replace(tid).is_some_and(|last| last != tid));
            }
            since = time;
            match change {
                Change::Runs(tid) => running.push(tid),
                Change::Stops(tid) => running.retain(|other| *other != tid),
                Change::Could(by) => could += by,
                Change::Waits(by) => waits += by,
            }
        }
        turns.alone = alone.into_iter().collect();
        turns
            .alone
            .sort_by_key(|(tid, time)| (Reverse(*time), *tid));
        turns.places = places(trace, classes, waited);
        turns
    }

    /// How long one thread ran alone while another waited for a signal.
    pub fn time(&self) -> u64 {
        self.alone.iter().map(|(_, time)| time).sum()
    }

    /// The threads that take turns; none when one thread has most of the time, when they change
    /// seldom, or when they mostly run beside each other for the `program`'s time.
    pub fn takers(&self, program: u64) -> usize {
        const MOST: f64 = 0.5;
        const PART: f64 = 0.1;
        const OFTEN: u64 = 20;
        let time = self.time() as f64;
        let part = |(_, alone): &&(Tid, u64)| *alone as f64 >= time * PART;
        let takers = self.alone.iter().filter(part).count();
        let turns = time >= MOST * program as f64 && self.changes >= OFTEN && takers > 1;
        if turns { takers } else { 0 }
    }
}

/// All changes in the order of time.
fn changes(timeline: &Timeline, classes: &[Class]) -> Vec<(u64, Change)> {
    let mut changes = Vec::new();
    for life in timeline.targets() {
        for segment in &life.segments {
            let (begin, end) = match segment.doing {
                Doing::Running(_) => (Change::Runs(life.tid), Change::Stops(life.tid)),
                Doing::Runnable => (Change::Could(1), Change::Could(-1)),
                Doing::Blocked(cause) => match wait_for(cause, classes) {
                    // It would run if it had the lock: the lock is known.
                    WaitFor::Lock(_) => (Change::Could(1), Change::Could(-1)),
                    _ if segment.end - segment.start > LONG => continue,
                    _ if is_signal(cause, classes) => (Change::Waits(1), Change::Waits(-1)),
                    _ => continue,
                },
            };
            changes.extend([(segment.start, begin), (segment.end, end)]);
        }
    }
    changes.sort_by_key(|(time, _)| *time);
    changes
}

/// True for a wait for other threads that shows no lock.
fn is_signal(cause: Cause, classes: &[Class]) -> bool {
    match wait_for(cause, classes) {
        WaitFor::Signal(_) | WaitFor::Parking(_) | WaitFor::Thread => true,
        // It gives up now and then, to ask for its turn.
        WaitFor::Time => matches!(cause, Cause::Futex(_)),
        _ => false,
    }
}

/// The functions in which threads waited for signals.
fn places(trace: &Trace, classes: &[Class], waited: &[Waited]) -> Vec<(String, u64)> {
    /// They only wait, whatever for.
    const WAITS: [&str; 5] = ["wait", "cond", "park", "sem_", "sleep"];
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (one, class) in waited.iter().zip(classes) {
        if !matches!(class, Class::Signal | Class::Parking | Class::TimedWait) {
            continue;
        }
        for (stack, count) in &one.places {
            let says = |frame: &&String| {
                let frame = frame.to_lowercase();
                tells(&frame) && !WAITS.iter().any(|word| frame.contains(word))
            };
            let frames = trace.trailer.stacks.get(*stack as usize);
            if let Some(place) = frames.and_then(|frames| frames.iter().find(says)) {
                *counts.entry(place).or_default() += count;
            }
        }
    }
    let places = counts.into_iter();
    let mut places: Vec<_> = places
        .map(|(place, count)| (place.to_owned(), count))
        .collect();
    places.sort_by_key(|(_, count)| Reverse(*count));
    places
}
