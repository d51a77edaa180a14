//! How much of the threads' running time a lock is held, from looks at the lock's word.
//!
//! In glibc, musl and Rust's standard library alike a mutex is free when its word is 0. Writers of
//! Rust's read-write lock wait at a word that only counts; the word before it tells of a writer.
//!
//! A look that finds the lock taken counts when the holder is on a core: a holder that was put off
//! its core does no serial work. glibc tells the holder. Without it, a taken lock whose holder may
//! be one of several threads, some of them off their cores, counts for the upper end alone. A thread
//! that was woken at the lock and has no core yet is not the holder: it takes the lock when it runs.
//!
//! A look comes some microseconds after its instant, and later on a core that slept, as one does whose
//! thread sleeps at the lock. The lock may be free by then, or another's. But a mutex that a thread
//! sleeps at is taken, whatever a late look says, until its holder wakes one: events tell both of the
//! instant itself. From then on it is free, until the woken thread goes on or another takes it
//! ([`super::waits::LetGo`]). A look tells of that time when it comes within it. Of the other instants looks tell,
//! whose delays are short and alike.

use super::budget::Budget;
use super::classify::{Class, written};
use super::locks::Range;
use super::waits::Waited;
use crate::event::Tid;
use crate::threads::Role;
use crate::timeline::{Cause, Doing, Life, Object, Segment, Timeline};
use crate::trace::{Look, Trace};

/// Fewer looks than this that found one of the threads on a core say nothing.
const ENOUGH_LOOKS: usize = 30;

/// What the looks at one lock came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    /// Of the time that the threads at the lock were on cores between the first look and the last,
    /// the share for which one of them held it: 95 of 100 such ranges contain it.
    pub share: Range,
    /// The same without the holds of a thread that ran alone (see [`Budget::alone`]): what they add
    /// to the serial work that is known already.
    pub beside: Range,
    /// The instants of the first look and the last.
    pub from: u64,
    /// See `from`.
    pub to: u64,
    /// Processor time of the threads at the lock between them.
    pub ran: u64,
    /// The lock's word has its holder beside it.
    pub tells_holder: bool,
}

impl Held {
    /// Counts the looks at `waited`, which is a `class`; `None` where they do not tell. `budget` knows
    /// when one thread ran alone.
    pub fn new(
        trace: &Trace,
        timeline: &Timeline,
        waited: &Waited,
        class: Class,
        budget: &Budget,
    ) -> Option<Self> {
        let object = waited.object;
        let looks = trace
            .trailer
            .looks
            .iter()
            .find(|looks| (looks.process, looks.address) == (object.process, object.address))?;
        // Others were at a lock that lay there before or after.
        let at = |look: &&Look| {
            timeline
                .lifetimes
                .number(object.process, object.address, timeline.inside(look.time))
                == object.number
        };
        let looks: Vec<Look> = looks.looks.iter().filter(at).copied().collect();
        let looks = looks.as_slice();
        let (first, last) = (looks.first()?, looks.last()?);
        let (from, to) = (timeline.inside(first.time), timeline.inside(last.time));
        if looks.len() < ENOUGH_LOOKS || from >= to {
            return None;
        }
        let taken = taken(class, looks)?;
        let tells_holder = class != Class::RwLock && tells_holder(timeline, object.process, looks);
        let parts: Vec<&Life> = timeline
            .targets()
            .filter(|life| waited.parts.contains_key(&life.tid))
            .collect();
        let words = words(timeline, object, class);
        let (mut surely, mut perhaps, mut running) = (Vec::new(), Vec::new(), Vec::new());
        let mut beside = Vec::new();
        for look in looks {
            let instant = look.meant();
            let inside = timeline.inside(instant);
            let gone = waited.let_go_at(inside).filter(|_| class == Class::Mutex);
            let meant = Now::at(timeline, &parts, &words, instant);
            let holder = tells_holder.then_some(look.after).filter(|tid| *tid != 0);
            let calls = gone.is_some_and(|gone| inside < gone.from);
            let late = gone.filter(|gone| !calls && timeline.inside(look.time) >= gone.to);
            let (sure, possible) = if let Some(gone) = late {
                // When somebody took it meanwhile is not known.
                (false, gone.taken && !meant.working.is_empty())
            } else if class == Class::Mutex
                && (calls || gone.is_none())
                && !meant.waiting.is_empty()
            {
                let own = holder.filter(|tid| !meant.waiting.contains(tid));
                let (sure, possible) = meant.holder_works(own);
                // In front of its call it may have let go already.
                (sure && !calls, possible)
            } else if taken(look) {
                Now::at(timeline, &parts, &words, look.time).holder_works(holder)
            } else {
                (false, false)
            };
            let alone = budget.alone_at(inside);
            beside.push(f64::from(u8::from(!alone)));
            surely.push(f64::from(u8::from(sure)));
            perhaps.push(f64::from(u8::from(possible)));
            running.push(meant.working.len() as f64);
        }
        if running.iter().filter(|running| **running > 0.0).count() < ENOUGH_LOOKS {
            return None;
        }
        let ran = ran_between(&parts, from, to);
        let rate = ran as f64 / (to - from) as f64;
        let range = |surely: &[f64], perhaps: &[f64]| Range {
            low: share(surely, &running, rate).low,
            high: share(perhaps, &running, rate).high,
        };
        let only = |held: &[f64]| -> Vec<f64> {
            let both = held.iter().zip(&beside);
            both.map(|(held, beside)| held * beside).collect()
        };
        Some(Self {
            share: range(&surely, &perhaps),
            beside: range(&only(&surely), &only(&perhaps)),
            from,
            to,
            ran,
            tells_holder,
        })
    }
}

/// How a look tells that a lock of this class is taken; `None` where the words do not tell.
fn taken(class: Class, looks: &[Look]) -> Option<fn(&Look) -> bool> {
    if class != Class::RwLock {
        return Some(|look| look.word != 0);
    }
    // Rust's; glibc's has neither.
    let has_writer = looks.iter().any(|look| written(look.before));
    has_writer.then_some(|look: &Look| written(look.before))
}

/// The indices of the words whose sleepers do not have the lock when they wake: those of Rust's
/// read-write lock are two. With priority inheritance the kernel gives the lock to whom it wakes.
fn words(timeline: &Timeline, lock: Object, class: Class) -> Vec<u32> {
    const WORD: u64 = 4;
    let reach = match class {
        Class::PriorityMutex => return Vec::new(),
        Class::RwLock => WORD,
        _ => 0,
    };
    let is_its = |object: &Object| {
        object.process == lock.process && object.address.abs_diff(lock.address) <= reach
    };
    let numbered = timeline.objects.iter().zip(0..);
    let its = numbered.filter(|(object, _)| is_its(object));
    its.map(|(_, index)| index).collect()
}

/// Time on a core of these threads between two instants.
fn ran_between(parts: &[&Life], from: u64, to: u64) -> u64 {
    let segments = parts.iter().flat_map(|life| &life.segments);
    segments
        .filter(|segment| matches!(segment.doing, Doing::Running(_)))
        .map(|segment| segment.end.min(to).saturating_sub(segment.start.max(from)))
        .sum()
}

/// What the threads at a lock do at an instant.
struct Now {
    working: Vec<Tid>,
    /// They sleep at the lock.
    waiting: Vec<Tid>,
    put_off: bool,
}

impl Now {
    /// `words` are those whose sleepers do not have the lock when they wake.
    fn at(timeline: &Timeline, parts: &[&Life], words: &[u32], time: u64) -> Self {
        let mut now = Self {
            working: Vec::new(),
            waiting: Vec::new(),
            put_off: false,
        };
        for life in parts {
            let Some((before, segment)) = segments(life, time) else {
                continue;
            };
            match segment.doing {
                Doing::Running(_) => now.working.push(life.tid),
                Doing::Runnable if displaced_by_recorder(timeline, life, time) => {
                    now.working.push(life.tid);
                }
                Doing::Runnable => now.put_off |= !before.is_some_and(|b| waited_at(b, words)),
                Doing::Blocked(_) if waited_at(segment, words) => now.waiting.push(life.tid),
                Doing::Blocked(_) => {}
            }
        }
        now
    }

    /// Whether the holder surely works, and whether it perhaps does.
    fn holder_works(&self, holder: Option<Tid>) -> (bool, bool) {
        if let Some(holder) = holder {
            let works = self.working.contains(&holder);
            return (works, works);
        }
        let somebody = !self.working.is_empty();
        (somebody && !self.put_off, somebody)
    }
}

/// The share of the threads' running time for which the lock was held, from looks that found it
/// `held` and so many threads `running`, when `rate` of them run on average. 95 of 100 such ranges
/// contain it.
///
/// Either the looks are compared with that average, or with the running threads that they found
/// themselves: where others take the cores in turns, the second knows better. Looks that follow
/// each other may see the same turn, so the spread is that of groups of them.
fn share(held: &[f64], running: &[f64], rate: f64) -> Range {
    const Z: f64 = 2.1;
    const GROUP: usize = 5;
    let looks = held.len() as f64;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / looks;
    let (held_mean, running_mean) = (mean(held), mean(running));
    let spread = |slope: f64| {
        let left =
            |(held, running): (&f64, &f64)| held - held_mean - slope * (running - running_mean);
        let left: Vec<f64> = held.iter().zip(running).map(left).collect();
        let groups = left
            .chunks(GROUP)
            .map(|group| group.iter().sum::<f64>().powi(2));
        groups.sum::<f64>().sqrt() / looks
    };
    let seen = running_mean.max(f64::MIN_POSITIVE);
    let by_average = (held_mean / rate, spread(0.0) / rate);
    let by_looks = (held_mean / seen, spread(held_mean / seen) / seen);
    let (middle, spread) = if by_looks.1 < by_average.1 && running_mean > 0.0 {
        by_looks
    } else {
        by_average
    };
    // What no group of looks has seen may still be there.
    let reach = Z * spread + GROUP as f64 / looks / rate.max(running_mean);
    Range {
        low: (middle - reach).max(0.0),
        high: (middle + reach).min(1.0),
    }
}

/// True when the word beside the lock is nearly always that of a thread while the lock is taken.
fn tells_holder(timeline: &Timeline, process: Tid, looks: &[Look]) -> bool {
    let is_thread = |look: &&Look| {
        let thread = timeline.threads.get(look.after);
        look.after > 1 && thread.is_some_and(|thread| thread.process == process)
    };
    let taken = looks.iter().filter(|look| look.word != 0);
    let told = taken.clone().filter(is_thread).count();
    told > 0 && told * 10 >= taken.count() * 9
}

/// The stretch of a thread's life just before the one at this instant, and that one.
fn segments(life: &Life, time: u64) -> Option<(Option<&Segment>, &Segment)> {
    let all = &life.segments;
    let after = all.partition_point(|segment| segment.start <= time);
    let segment = all.get(after.checked_sub(1)?)?;
    let before = after.checked_sub(2).and_then(|at| all.get(at));
    let before = before.filter(|before| before.end == segment.start);
    (time < segment.end).then_some((before, segment))
}

/// True for a wait at one of these words.
fn waited_at(segment: &Segment, words: &[u32]) -> bool {
    matches!(segment.doing, Doing::Blocked(Cause::Futex(word)) if words.contains(&word))
}

/// Who looks takes a core for it: the thread that had it an instant before counts as on its core.
fn displaced_by_recorder(timeline: &Timeline, life: &Life, time: u64) -> bool {
    timeline.runs.iter().any(|runs| {
        let after = runs.partition_point(|run| run.start <= time);
        let Some([before, now]) = after.checked_sub(2).and_then(|at| runs.get(at..after)) else {
            return false;
        };
        timeline.threads.role(now.tid) == Role::Recorder && before.tid == life.tid
    })
}
