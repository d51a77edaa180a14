//! The controller of the multiple loss ratio search, against devices with known answers.

use tester::search::mlr::{Controller, Goal, Outcome, TrialResult};

use super::simulated::Knee;

fn search(device: &mut Knee, goals: &[Goal], min_load: f64, max_load: f64) -> Outcome {
    let controller = Controller {
        min_load,
        max_load,
        goals: goals.to_vec(),
        max_trials: 5000,
    };
    controller.run(|request| {
        let counts = device.trial(request.load, request.duration);
        Some(TrialResult {
            intended_duration: request.duration,
            effective_duration: request.duration,
            loss_ratio: counts.loss_ratio(),
        })
    })
}

/// The reference library's own example: a device that forwards exactly a million frames per
/// second.
#[test]
fn a_device_of_exactly_a_million() {
    let goals = [
        Goal {
            exceed_ratio: 0.005,
            ..Goal::NDR
        },
        Goal {
            exceed_ratio: 0.005,
            ..Goal::PDR
        },
    ];
    let outcome = search(&mut Knee::new(1e6, 1), &goals, 1e3, 1e9);
    assert!(outcome.complete);
    let [ndr, pdr] = outcome.goals[..] else {
        panic!("two goals, two results")
    };
    // The library finds 997 497.6 and 1 002 508.7; both searches may end anywhere within the
    // width of 0.5 %.
    for (result, exact, library) in [
        (ndr, 1e6, 997_497.602_9),
        (pdr, 1e6 / 0.995, 1_002_508.674_8),
    ] {
        let (lower, upper) = (
            result.relevant_lower_bound.unwrap(),
            result.relevant_upper_bound.unwrap(),
        );
        assert!(
            result.regular && lower <= exact && exact < upper,
            "{lower}..{upper} around {exact}"
        );
        assert!(
            (lower - library).abs() <= library * 0.005,
            "{lower} against the library's {library}"
        );
    }
    assert!((pdr.conditional_throughput.unwrap() - 1e6).abs() < 5000.0);
    assert!(
        outcome.trials.len() < 200,
        "{} trials",
        outcome.trials.len()
    );
}

#[test]
fn rare_loss_does_not_pull_the_non_drop_rate_down() {
    let outcome = search(
        &mut Knee::new(600_000.0, 7).rare_loss(0.2),
        &[Goal::NDR],
        1e3,
        1e6,
    );
    let lower = outcome.goals[0].relevant_lower_bound.unwrap();
    assert!((597_000.0..=600_000.0).contains(&lower), "{lower}");
}

#[test]
fn the_whole_range_is_an_irregular_result() {
    let outcome = search(&mut Knee::new(5e6, 1), &[Goal::NDR], 1e3, 1e6);
    assert_eq!(outcome.goals[0].relevant_lower_bound, Some(1e6));
    assert_eq!(outcome.goals[0].relevant_upper_bound, None);
    assert!(!outcome.goals[0].regular);
}

#[test]
fn a_device_that_forwards_nothing_fails_fast() {
    let outcome = search(&mut Knee::new(0.0, 1), &[Goal::NDR], 1e3, 1e6);
    assert!(outcome.complete && outcome.goals[0].relevant_lower_bound.is_none());
    assert!(
        outcome.trials.len() <= 44,
        "{} trials",
        outcome.trials.len()
    );
}

#[test]
fn stopping_keeps_what_is_known() {
    let controller = Controller {
        min_load: 1e3,
        max_load: 1e6,
        goals: vec![Goal::NDR],
        max_trials: 100,
    };
    let mut left = 15;
    let outcome = controller.run(|request| {
        left -= 1;
        let loss_ratio = if request.load > 5e5 { 0.5 } else { 0.0 };
        (left > 0).then_some(TrialResult {
            intended_duration: 1.0,
            effective_duration: 1.0,
            loss_ratio,
        })
    });
    assert!(!outcome.complete);
    assert_eq!(outcome.trials.len(), 14);
    assert_eq!(outcome.goals[0].relevant_upper_bound, Some(1e6));
}
