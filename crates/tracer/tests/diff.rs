//! Before and after.

use tracer::analyse::locks::Cost;
use tracer::diff::compare;
use tracer::summary::{LockSummary, Summary};

fn run(wall: u64, lock: Option<[f64; 2]>) -> Summary {
    let mut summary = Summary {
        command: "program".into(),
        ..Summary::default()
    };
    summary.budget.spent.wall = wall;
    summary.locks.extend(lock.map(|gain| LockSummary {
        name: "table".into(),
        kind: "mutex".into(),
        blamed: true,
        cost: Cost {
            mean_waiters: 0.8,
            ..Cost::default()
        },
        predicted_gain: Some(gain),
        ..LockSummary::default()
    }));
    summary
}

#[test]
fn a_prediction_is_judged() {
    let judged = |gain, after| compare(&run(2_000, Some(gain)), &run(after, None)).join(" ");
    assert!(judged([1.5, 2.1], 1_000).contains("the prediction held"));
    assert!(judged([1.5, 2.1], 1_800).contains("less than predicted"));
    assert!(judged([1.1, 1.3], 1_000).contains("more than predicted"));
    assert!(judged([1.5, 2.1], 1_000).contains("nobody after"));
}
