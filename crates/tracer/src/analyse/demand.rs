//! What a lock demands of an operation, and what its removal is predicted to bring.

use super::budget::Budget;
use super::classify::Class;
use super::held::Held;
use super::locks::Range;
use super::queueing;
use super::waits::Waited;
use crate::timeline::{Life, Timeline};
use crate::trace::Trace;

/// Fewer visible holds than this are no evidence about the length of holds.
const ENOUGH_HOLDS: u64 = 30;

/// In so much of the waiting for a lock its holder must have had a core. Else those who wait do so
/// for the work of others, and the wait says little about holds.
const SERVED: f64 = 0.8;

/// At most this many nanoseconds a mutex spins before it sleeps: Rust's makes 100 rounds of PAUSE,
/// 40 cycles each or more. What is spun looks like work and is none, so the upper end of a
/// prediction takes it off.
const SPIN: u64 = 4_000;

/// What the lock demands of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Threads that use the lock.
    pub threads: usize,
    /// Nanoseconds one operation holds the lock.
    pub hold: f64,
    /// Nanoseconds of processor time of one operation in all.
    pub operation: f64,
    /// How many operations there were.
    pub operations: f64,
    /// The share of an operation that only one thread can do at a time.
    pub serial: f64,
    /// Where that share lies, by the evidence.
    pub serial_range: Range,
    /// How long it was held, in nanoseconds, without the holds of a thread that ran alone.
    pub beside: Range,
    /// Nanoseconds of processor time that the threads spent because of the lock: its calls, its
    /// polling.
    pub overhead: f64,
    /// True when the program counted its holds itself.
    pub exact: bool,
}

impl Demand {
    /// How long the lock is held in all, in nanoseconds.
    pub fn held(&self) -> Range {
        let work = self.operation * self.operations;
        self.serial_range.map(|serial| serial * work)
    }
}

/// What a change of the lock is predicted to bring: a factor of throughput.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// Without the lock, or with one for each thread.
    pub removed: Range,
    /// With two locks, each for half of the operations.
    pub halved: Range,
    /// With eight.
    pub eighth: Range,
}

/// Time that the threads that took part were there, whatever they did.
fn lived(timeline: &Timeline, waited: &Waited) -> u64 {
    let lives = timeline.lives.iter();
    let parts = lives.filter(|life| waited.parts.contains_key(&life.tid));
    let segments = parts.flat_map(|life| &life.segments);
    segments.map(|segment| segment.end - segment.start).sum()
}

/// Time on a core of the threads that took part.
fn ran(timeline: &Timeline, waited: &Waited) -> u64 {
    let lives = timeline.lives.iter();
    lives
        .filter(|life| waited.parts.contains_key(&life.tid))
        .map(Life::ran)
        .sum()
}

/// What the lock at `waited`, which is a `class`, demands, where there is evidence.
/// `polled` nanoseconds were spent polling for it; `budget` knows when one thread ran alone.
pub(super) fn demand(
    trace: &Trace,
    timeline: &Timeline,
    waited: &Waited,
    class: Class,
    polled: Range,
    budget: &Budget,
) -> Option<Demand> {
    let threads = waited.parts.len();
    let ran = ran(timeline, waited) as f64;
    let given = timeline.lifetimes.name(waited.object);
    let counted = trace.trailer.holds.iter().find(|hold| {
        hold.process == waited.object.process
            && hold.address == waited.object.address
            && given.is_none_or(|given| given.name == hold.name)
            && hold.holds > 0
    });
    if ran <= 0.0 {
        return None;
    }
    if let Some(counted) = counted {
        let (operations, held) = (counted.holds as f64, counted.held as f64);
        let serial = (held / ran).min(1.0);
        return Some(Demand {
            threads,
            hold: held / operations,
            operation: ran / operations,
            operations,
            serial,
            serial_range: Range::at(serial),
            beside: beside(Range::at(held), budget),
            overhead: 0.0,
            exact: true,
        });
    }
    let holds = waited.holds_on_core;
    if threads < 2 || holds.count == 0 {
        return None;
    }
    let seen = match Held::new(trace, timeline, waited, class, budget) {
        Some(held) => looked(timeline, waited, polled, &held),
        None if holds.count >= ENOUGH_HOLDS && waited.behind.served() >= SERVED => {
            visible(timeline, waited, ran, budget)
        }
        None => return None,
    };
    let operations = (seen.serial * seen.work / holds.mean()).max(1.0);
    Some(Demand {
        threads,
        hold: holds.mean(),
        operation: seen.work / operations,
        operations,
        serial: seen.serial,
        serial_range: seen.range,
        beside: seen.beside,
        overhead: (ran - seen.work).max(0.0),
        exact: false,
    })
}

/// A serial share and the work that it is a share of.
struct Seen {
    serial: f64,
    range: Range,
    /// See [`Demand::beside`].
    beside: Range,
    work: f64,
}

/// Of so many nanoseconds that a lock was held, those that a thread did not run alone. Where it is
/// not known when the lock was held, the one may lie within the other.
fn beside(held: Range, budget: &Budget) -> Range {
    Range {
        low: (held.low - budget.alone as f64).max(0.0),
        high: held.high,
    }
}

/// From looks at the lock. What the lock itself causes (its calls, the switches inside them, its
/// polling) is no work. Interrupts fall on held and free stretches alike.
fn looked(timeline: &Timeline, waited: &Waited, polled: Range, held: &Held) -> Seen {
    /// A call costs at most this much outside of the two instants at which it is told of: the way
    /// into the kernel and back, and the telling.
    const EDGES: u64 = 1_000;
    let part = (held.to - held.from) as f64 / timeline.wall().max(1) as f64;
    let ran = held.ran as f64;
    let calls = waited.in_calls as f64;
    let polls = if held.tells_holder { 0 } else { SPIN };
    let edges = (waited.calls * EDGES) as f64;
    let most = polled.high.max((waited.futex.wait_calls() * polls) as f64);
    let work = |price: f64| (ran - price * part).max(ran * 0.01);
    let (much, little) = (work(calls + polled.low), work(calls + most + edges));
    let share = |held: f64, work: f64| (held * ran / work).min(1.0);
    let range = Range {
        low: share(held.share.low, much),
        high: share(held.share.high, little),
    };
    let work = f64::midpoint(much, little) / part;
    Seen {
        serial: range.middle(),
        range,
        beside: Range {
            low: share(held.beside.low, much) * work,
            high: share(held.beside.high, little) * work,
        },
        work,
    }
}

/// From the holds that somebody waited behind, and what queueing theory adds for the others.
fn visible(timeline: &Timeline, waited: &Waited, ran: f64, budget: &Budget) -> Seen {
    let holds = waited.holds_on_core;
    // The calls are the price of waiting, not of the work: without the wait they are not made.
    let work = (ran - waited.in_calls as f64).max(holds.sum as f64);
    let count = holds.count as f64;
    let low = (holds.sum as f64 / work).min(1.0);
    let threads = waited.parts.len();
    let estimated = queueing::acquisitions(count, holds.mean(), work, threads).unwrap_or(count);
    let high = (estimated * holds.mean() / work).clamp(low, 1.0);
    // Every acquisition is visible while somebody always waits and nobody goes before those who
    // wait.
    let wall = timeline.wall().max(1) as f64;
    let barging = waited.missed as f64 / (waited.missed + holds.count) as f64;
    let all_visible = (waited.contended.sum as f64 / wall).min(1.0) * (1.0 - barging);
    let range = Range { low, high };
    Seen {
        serial: all_visible * low + (1.0 - all_visible) * high,
        range,
        beside: beside(range.map(|share| share * work), budget),
        work,
    }
}

/// What changes of a lock with this `demand` would bring; `polled` nanoseconds were spent polling.
pub(super) fn gain(demand: &Demand, timeline: &Timeline, waited: &Waited, polled: Range) -> Gain {
    let cores = timeline.cores.len();
    let together = demand.threads.min(cores);
    let think = (demand.operation - demand.hold).max(0.0);
    let now = queueing::solve(&[demand.hold], think, together).throughput;
    let measured = demand.operations / timeline.wall().max(1) as f64;
    let ran = ran(timeline, waited) as f64;
    let spun = polled.high.max((waited.futex.wait_calls() * SPIN) as f64);
    // What an operation costs with the price of waiting, and without it.
    let dear = ran / demand.operations;
    let bare = ((ran - waited.in_calls as f64 - spun) / demand.operations).clamp(dear * 0.01, dear);
    // No more can be won than the waiting for it, its calls and its polling.
    let lived = lived(timeline, waited) as f64;
    let price = (waited.waits.sum + waited.in_calls) as f64 + spun;
    let most = lived / (lived - price).max(lived * 0.01);
    let of = |ways: usize| {
        let demands = vec![demand.hold / ways as f64; ways];
        let (theory, limit) = if ways >= together {
            (together as f64 / demand.operation, f64::INFINITY)
        } else {
            let theory = queueing::solve(&demands, think, together).throughput;
            (theory, ways as f64 / demand.hold)
        };
        let bound =
            |cost: f64| (together as f64 / cost).min(limit) / measured.max(f64::MIN_POSITIVE);
        let ends = [theory / now, bound(dear), bound(bare)];
        let end = |end: f64| end.clamp(1.0, most.max(1.0));
        Range {
            low: end(ends.iter().copied().fold(f64::INFINITY, f64::min)),
            high: end(ends.iter().copied().fold(1.0, f64::max)),
        }
    };
    Gain {
        removed: of(together.max(1)),
        halved: of(2),
        eighth: of(8),
    }
}
