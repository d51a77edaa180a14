//! Before and after: what changed between two traces of the same program, and whether the
//! prediction held.

use report::units::Nanoseconds;

use crate::summary::Summary;

/// The comparison in sentences.
pub fn compare(before: &Summary, after: &Summary) -> Vec<String> {
    let mut sentences = Vec::new();
    let measured = throughput(before, after, &mut sentences);
    let (used_before, used_after) = (before.budget.cores_used, after.budget.cores_used);
    sentences.push(format!(
        "Cores used: {used_before:.2} before, {used_after:.2} after. Window: {} before, {} after.",
        Nanoseconds(before.budget.wall),
        Nanoseconds(after.budget.wall)
    ));
    for lock in before.locks.iter().filter(|lock| lock.blamed) {
        let now = after.locks.iter().find(|other| other.name == lock.name);
        sentences.push(match now {
            Some(now) => format!(
                "{} `{}`: {:.2} threads waited on average before, {:.2} after; {:.2} cores idled \
                 for it before, {:.2} after.",
                lock.kind,
                lock.name,
                lock.cost.mean_waiters,
                now.cost.mean_waiters,
                lock.cost.lost_cores,
                now.cost.lost_cores
            ),
            None => format!(
                "{} `{}`: {:.2} threads waited on average before, nobody after.",
                lock.kind, lock.name, lock.cost.mean_waiters
            ),
        });
    }
    for lock in after.locks.iter().filter(|lock| {
        lock.blamed
            && !before
                .locks
                .iter()
                .any(|old| old.blamed && old.name == lock.name)
    }) {
        sentences.push(format!(
            "New: {} `{}`, {:.2} waiting threads on average.",
            lock.kind, lock.name, lock.cost.mean_waiters
        ));
    }
    prediction(before, measured, &mut sentences);
    if before.events_lost + after.events_lost > 0 {
        sentences.push(format!(
            "Events lost: {} before, {} after.",
            before.events_lost, after.events_lost
        ));
    }
    sentences
}

/// The measured factor: by a progress point both have, or by the length of two runs of the same
/// command.
fn throughput(before: &Summary, after: &Summary, sentences: &mut Vec<String>) -> Option<f64> {
    for (name, rate) in &before.progress {
        if let Some((_, now)) = after.progress.iter().find(|(other, _)| other == name)
            && *rate > 0.0
        {
            sentences.push(format!(
                "`{name}`: {rate:.0} a second before, {now:.0} after: {:.2} times.",
                now / rate
            ));
            return Some(now / rate);
        }
    }
    if before.command == after.command && after.budget.wall > 0 {
        let factor = before.budget.wall as f64 / after.budget.wall as f64;
        sentences.push(format!(
            "The same command took {:.2} of the time: {factor:.2} times, if it did the same work.",
            1.0 / factor
        ));
        return Some(factor);
    }
    sentences.push(
        "How much faster it became cannot be said: the traces have no progress point in common \
         (marker::Progress)."
            .to_owned(),
    );
    None
}

fn prediction(before: &Summary, measured: Option<f64>, sentences: &mut Vec<String>) {
    /// Runs on a shared machine differ by this much without a cause.
    const NOISE: f64 = 0.05;
    let Some(lock) = before.locks.iter().find(|lock| lock.blamed) else {
        return;
    };
    let (Some([low, high]), Some(measured)) = (lock.predicted_gain, measured) else {
        return;
    };
    let judgement = if (low * (1.0 - NOISE)..=high * (1.0 + NOISE)).contains(&measured) {
        "the prediction held"
    } else if measured < low {
        "less than predicted: something else stands in the way now; see the second trace's verdict"
    } else {
        "more than predicted: waiting that looked like work (spinning, cache lines in flight) went \
         with it"
    };
    sentences.push(format!(
        "For the removal of `{}` {low:.2} to {high:.2} times was predicted, {measured:.2} was \
         measured: {judgement}.",
        lock.name
    ));
}
