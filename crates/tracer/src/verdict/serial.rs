//! The serial fraction: the share of the program's work that only one core can do.

use super::lock::title;
use super::{ENOUGH_WAITS, UNTOLD, WORTH_SAYING, polling, untold};
use crate::analyse::Analysis;
use crate::analyse::budget::Budget;
use crate::analyse::locks::Range;
use crate::timeline::Life;

/// A smaller serial share is not told.
const LEAST_SERIAL: f64 = 0.02;
/// A serial share that is known no better than this is not told.
const WIDEST: f64 = 0.6;

/// What one core alone must do: stretches in which nothing else could run, and the busiest lock's
/// holds beside them.
///
/// # Errors
/// In words, why nothing is said: threads waited for each other in a way that shows no lock, or for
/// a lock whose holds are not known, or the evidence is too weak.
pub(super) fn serial(analysis: &Analysis) -> Result<Range, String> {
    evidence(analysis)?;
    let range = range(analysis);
    let Range { low, high } = range;
    if low < LEAST_SERIAL {
        return Err(format!(
            "it lies between {low:.2} and {high:.2}, so there may be none"
        ));
    }
    if high - low > WIDEST {
        return Err(format!(
            "it lies between {low:.2} and {high:.2}, which is too wide; record longer"
        ));
    }
    Ok(range)
}

/// Whether what serialises the program can be seen.
fn evidence(analysis: &Analysis) -> Result<(), String> {
    let unseen = analysis.locks.iter().find(|lock| {
        let waits = lock.waited.waits.count >= ENOUGH_WAITS;
        let costs = waits || lock.cost.spinning >= WORTH_SAYING;
        !lock.class.is_kernel() && lock.demand.is_none() && costs
    });
    if let Some(lock) = unseen {
        return Err(format!("how long {} is held is not known", title(lock)));
    }
    if polling(analysis).is_some() {
        return Err("threads polled for a lock that nothing names".to_owned());
    }
    if untold(analysis) >= UNTOLD {
        return Err("threads waited for each other in a way that shows no lock".to_owned());
    }
    Ok(())
}

/// Where the serial share lies.
fn range(analysis: &Analysis) -> Range {
    let budget = &analysis.budget;
    // As in the locks' demands, with the interrupts on top of threads.
    let ran: u64 = analysis.timeline.targets().map(Life::ran).sum();
    let program = (ran as f64).max(1.0);
    let locks = analysis.locks.iter().filter(|lock| !lock.class.is_kernel());
    let busiest = locks
        .filter_map(|lock| lock.demand)
        .max_by(|a, b| a.held().low.total_cmp(&b.held().low));
    // A thread that had no core finishes late, and then perhaps alone: that is no serial work.
    let alone = Range {
        low: budget.alone.saturating_sub(budget.runnable) as f64,
        high: budget.alone as f64,
    };
    let Some(demand) = busiest else {
        // While the others are on their way to idle cores, one may work alone or wait for them.
        let high = (alone.high + budget.arriving as f64) / program;
        return Range {
            low: alone.low / program,
            high: high.max(most_serial(budget)).min(1.0),
        };
    };
    // What the lock causes is no work.
    let work = (program - demand.overhead).max(program * 0.01);
    let share = |time: f64| (time / work).min(1.0);
    Range {
        low: share(demand.held().low.max(alone.low + demand.beside.low)),
        high: share(alone.high + demand.beside.high),
    }
}

/// The largest serial share that lets the program keep as many cores busy as it did (Amdahl's law,
/// turned round): what serialises it unseen cannot be more.
fn most_serial(budget: &Budget) -> f64 {
    let (cores, used) = (budget.cores as f64, budget.cores_used());
    if cores < 2.0 || used <= 0.0 {
        return 1.0;
    }
    ((cores / used - 1.0) / (cores - 1.0)).clamp(0.0, 1.0)
}
