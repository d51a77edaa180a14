//! Of `tester/src/search/mlr/classify.rs`.

use super::*;

/// ETSI GS NFV-TST 009's binary search with loss verification.
const TST_009: Goal = Goal {
    duration_sum: 120.0,
    exceed_ratio: 0.5,
    ..Goal::RFC_2544
};

fn trials(count: usize, duration: f64, loss_ratio: f64) -> Vec<TrialResult> {
    vec![
        TrialResult {
            intended_duration: duration,
            effective_duration: duration,
            loss_ratio
        };
        count
    ]
}

/// The draft's worked example; points 5 and 6 as its own pseudocode gives them (it prints
/// "lower" for the last goal there).
#[test]
fn the_drafts_example_by_its_own_pseudocode() {
    use Class::{Lower, Undecided, Upper};
    let one_second = Goal {
        final_trial_duration: 1.0,
        duration_sum: 120.0,
        loss_ratio: 0.005,
        ..TST_009
    };
    let goals = [
        Goal::RFC_2544,
        TST_009,
        one_second,
        Goal {
            loss_ratio: 0.005,
            exceed_ratio: 0.2,
            ..Goal::RFC_2544
        },
    ];
    let points = [
        (
            trials(59, 1.0, 0.0),
            [Undecided, Undecided, Undecided, Undecided],
        ),
        (
            trials(1, 1.0, 0.01),
            [Upper, Undecided, Undecided, Undecided],
        ),
        (trials(59, 1.0, 0.01), [Upper, Undecided, Undecided, Upper]),
        (trials(1, 1.0, 0.0), [Upper, Undecided, Lower, Upper]),
        (trials(1, 60.0, 0.001), [Upper, Undecided, Lower, Upper]),
        (trials(1, 60.0, 0.0), [Upper, Lower, Lower, Upper]),
    ];
    let mut all = Vec::new();
    for (number, (more, expected)) in points.into_iter().enumerate() {
        all.extend(more);
        for (goal, class) in goals.iter().zip(expected) {
            assert_eq!(
                classify(goal, &all),
                class,
                "after point {}: {goal:?}",
                number + 1
            );
        }
    }
}

#[test]
fn eleven_equal_trials_decide_a_load() {
    for (loss, class) in [(0.0, Class::Lower), (0.1, Class::Upper)] {
        assert_eq!(
            classify(
                &Goal::NDR,
                &trials(10, Goal::NDR.final_trial_duration, loss)
            ),
            Class::Undecided
        );
        assert_eq!(
            classify(
                &Goal::NDR,
                &trials(11, Goal::NDR.final_trial_duration, loss)
            ),
            class
        );
    }
}

#[test]
fn conditional_throughput_takes_the_quantile_by_time() {
    let mut mixed = trials(11, 1.0, 0.0);
    mixed.extend(trials(10, 1.0, 0.25));
    assert!((conditional_throughput(&Goal::NDR, 1000.0, &mixed) - 1000.0).abs() < 1e-9);
    let mut mixed = trials(10, 1.0, 0.0);
    mixed.extend(trials(11, 1.0, 0.25));
    assert!((conditional_throughput(&Goal::NDR, 1000.0, &mixed) - 750.0).abs() < 1e-9);
    assert!(
        conditional_throughput(&Goal::NDR, 1000.0, &trials(5, 1.0, 0.0)).abs() < 1e-9,
        "missing time is lost"
    );
}
