//! Loss ratio goals (draft-ietf-bmwg-mlrsearch): the highest load whose loss stays below a share.

use crate::result::GoalBounds;
use crate::schedule::Schedule;
use crate::search::mlr::{Controller, Goal, TrialResult};
use crate::session::Session;

/// What holds a goal down: the device, unless trials at its upper bound were the tester's failure.
fn limit_of(upper: Option<f64>, botched: &[f64]) -> &'static str {
    /// Loads closer than this share are the same.
    const SAME: f64 = 1e-9;
    let same = |upper: f64| {
        let near = |load: &f64| (load - upper).abs() <= SAME * upper;
        botched.iter().any(near)
    };
    match upper {
        Some(upper) if same(upper) => "tester",
        Some(_) => "device",
        None => "range",
    }
}

/// Pursues each goal, over loads up to `high` frames/s.
pub(super) fn pursue(
    session: &mut Session<'_>,
    high: f64,
    goals: &[(&str, Goal)],
) -> Vec<GoalBounds> {
    let controller = Controller {
        min_load: high / 1000.0,
        max_load: high,
        goals: goals.iter().map(|(_, goal)| *goal).collect(),
        max_trials: 500,
    };
    let mut botched = Vec::new();
    let outcome = controller.run(|request| {
        session.say(&format!(
            "loss ratio search at {:.4} M frames/s",
            request.load / 1e6
        ));
        let schedule = Schedule::constant(request.load, request.duration);
        let trial = session.counted_trial(&schedule, "loss-ratio")?;
        if !trial.validity.counts() {
            botched.push(request.load);
        }
        // Frames that the tester failed to send count as lost: it must not make the device look
        // better.
        let lost = trial.counts.lost + trial.counts.unsent + trial.counts.duplicate;
        Some(TrialResult {
            intended_duration: request.duration,
            effective_duration: request.duration,
            loss_ratio: lost as f64 / trial.counts.intended.max(1) as f64,
        })
    });
    goals
        .iter()
        .zip(&outcome.goals)
        .map(|((name, goal), result)| GoalBounds {
            name: (*name).to_owned(),
            loss_ratio: goal.loss_ratio,
            exceed_ratio: goal.exceed_ratio,
            duration_sum: goal.duration_sum,
            lower: result.relevant_lower_bound,
            upper: result.relevant_upper_bound,
            conditional: result.conditional_throughput,
            limit: limit_of(result.relevant_upper_bound, &botched).to_owned(),
            regular: result.regular,
        })
        .collect()
}
