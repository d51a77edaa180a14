//! What is said of one lock.

use std::fmt::Write as _;

use report::units::Nanoseconds;

use super::WORTH_SAYING;
use crate::analyse::locks::{Lock, Range};
use crate::timeline::Timeline;
use crate::trace::NameSource;

/// A lock that has a thread before it for so much of the time moves between cores often.
const OFTEN: f64 = 0.05;

/// A lock's kind and name.
pub fn title(lock: &Lock) -> String {
    match lock.named_by {
        Some(NameSource::Marker | NameSource::Symbol) => {
            format!("{} `{}`", lock.class.name(), lock.name)
        }
        Some(NameSource::Place) => format!("{} {}", lock.class.name(), lock.name),
        None => format!("{} at {}", lock.class.name(), lock.name),
    }
}

/// Who waited, how often, how long, and for whom.
pub(super) fn contention(lock: &Lock, timeline: &Timeline) -> String {
    let waiters = lock.waited.waiters();
    let mut sentence = format!(
        "The {}: {} {} waited {} times, {} on average and {} at most. For {:.0} % of the time at \
         least one stood before it, {:.2} on average.",
        title(lock),
        waiters.len(),
        if waiters.len() == 1 {
            "thread"
        } else {
            "threads"
        },
        lock.waited.waits.count,
        Nanoseconds(lock.waited.waits.mean() as u64),
        Nanoseconds(lock.waited.waits.longest),
        lock.cost.contended_share * 100.0,
        lock.cost.mean_waiters
    );
    let holders = lock.waited.holders();
    let all: u64 = holders.iter().map(|(_, time)| time).sum();
    if all > 0 {
        let list: Vec<String> = holders
            .iter()
            .take(4)
            .map(|(tid, time)| {
                format!(
                    "{} {:.0} %",
                    timeline.threads.name(*tid),
                    *time as f64 / all as f64 * 100.0
                )
            })
            .collect();
        let _ = write!(sentence, " They waited for {}.", list.join(", "));
    }
    let behind = lock.waited.behind;
    let all = behind.running + behind.runnable + behind.blocked + behind.stolen;
    let part = |time: u64, words: &str| {
        let share = time as f64 / all.max(1) as f64;
        (share >= WORTH_SAYING).then(|| format!("{words} for {:.0} %", share * 100.0))
    };
    let others = [
        part(behind.runnable, "had no core"),
        part(behind.blocked, "waited itself"),
        part(behind.stolen, "had its core taken by the host machine"),
    ];
    let others: Vec<String> = others.into_iter().flatten().collect();
    if !others.is_empty() {
        let _ = write!(sentence, " Of that time the holder {}.", others.join(", "));
    }
    if lock.cost.hand_off_share > lock.cost.contended_share * 0.3 && lock.cost.hand_off_share > 0.02
    {
        let _ = write!(
            sentence,
            " For {:.0} % of the time it was free while its next owner was still on the way to a \
             core: a convoy.",
            lock.cost.hand_off_share * 100.0
        );
    }
    if lock.cost.spinning >= WORTH_SAYING {
        let _ = write!(
            sentence,
            " Besides, {:.2} threads on average polled for it without sleeping (by samples of the \
             running code).",
            lock.cost.spinning
        );
    }
    if let Some((place, _)) = lock.places.first()
        && !lock.class.is_kernel()
    {
        let _ = write!(sentence, " It is waited for in `{place}`.");
    }
    sentence
}

/// What its removal is predicted to bring.
pub(super) fn prediction(lock: &Lock) -> String {
    let (Some(demand), Some(gain)) = (lock.demand, lock.gain) else {
        return format!(
            "What the removal of this {} would bring cannot be said: fewer than 30 holds are \
             visible, or the holder is not. Record longer, or mark the lock (marker::NamedLock) \
             to count its holds.",
            lock.class.name()
        );
    };
    let how = if demand.exact {
        "counted by the program"
    } else {
        "from the visible holds; time spent spinning before the wait counts as work, so the true \
         gain may be higher"
    };
    format!(
        "An operation holds it for {} of {} ({:.0} % is serial, {how}). Two such locks are \
         predicted to give {} times the throughput, one for each thread {} times.",
        Nanoseconds(demand.hold as u64),
        Nanoseconds(demand.operation as u64),
        demand.serial * 100.0,
        range(gain.halved),
        range(gain.removed)
    )
}

/// That none stands in the way.
pub(super) fn no_lock(locks: &[Lock]) -> String {
    match locks.first() {
        None => "No lock stands in the way: nobody waited for one.".to_owned(),
        Some(lock)
            if lock.cost.contended_share < WORTH_SAYING
                && lock.cost.lost_cores < WORTH_SAYING
                && lock.cost.spinning < WORTH_SAYING =>
        {
            "No lock stands in the way: none had a thread before it for 1 % of the time.".to_owned()
        }
        Some(lock) => {
            let mut sentence = format!(
                "No lock stands in the way. The most waited for, {}, had a thread before it for \
                 {:.1} % of the time. It cost {:.3} of a core in waiting and {:.3} in polling.",
                title(lock),
                lock.cost.contended_share * 100.0,
                lock.cost.lost_cores,
                lock.cost.spinning
            );
            if lock.cost.contended_share >= OFTEN {
                sentence.push_str(" Time in which it moves from core to core counts as work.");
            }
            sentence
        }
    }
}

fn range(range: Range) -> String {
    if (range.high - range.low) < 0.05 {
        format!("{:.2}", range.high)
    } else {
        format!("{:.2} to {:.2}", range.low, range.high)
    }
}
