//! Our search beside the library `MLRsearch` of FD.io, on the same simulated devices.
//!
//! The library's trials and verdicts are stored in `fixtures/mlrsearch.json`, which
//! `scripts/mlrsearch-oracle` writes. Which loads are tried is left to the controller, and ours
//! tries others; but what a set of trials *says* about a load is the draft's to decide,
//! so every classification and every conditional throughput must be the library's, and both
//! searches must end at the same place.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;

use tester::search::mlr::{Class, Controller, Goal, TrialResult, classify, conditional_throughput};

use super::simulated::Knee;

#[derive(Deserialize)]
struct Fixture {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    min_load: f64,
    max_load: f64,
    device: Settings,
    goals: Vec<Wanted>,
    /// Load, duration, frames sent, frames lost.
    trials: Vec<(f64, f64, u64, u64)>,
    /// For each goal.
    results: Vec<Found>,
}

#[derive(Deserialize)]
struct Settings {
    knee: f64,
    rare: f64,
    fog: f64,
    seed: u64,
}

#[derive(Deserialize)]
struct Wanted {
    loss_ratio: f64,
    exceed_ratio: f64,
    final_trial_duration: f64,
    duration_sum: f64,
    relative_width: f64,
}

#[derive(Deserialize)]
struct Found {
    lower: Option<f64>,
    upper: Option<f64>,
    conditional: Option<f64>,
    classes: Vec<(f64, String)>,
}

impl Case {
    fn goals(&self) -> Vec<Goal> {
        let goal = |wanted: &Wanted| Goal {
            final_trial_duration: wanted.final_trial_duration,
            duration_sum: wanted.duration_sum,
            loss_ratio: wanted.loss_ratio,
            exceed_ratio: wanted.exceed_ratio,
            relative_width: wanted.relative_width,
        };
        self.goals.iter().map(goal).collect()
    }

    /// The library's trials at one load.
    fn trials_at(&self, load: f64) -> Vec<TrialResult> {
        self.trials
            .iter()
            .filter(|trial| trial.0.to_bits() == load.to_bits())
            .map(|&(_, duration, sent, lost)| TrialResult {
                intended_duration: duration,
                effective_duration: duration,
                loss_ratio: lost as f64 / sent as f64,
            })
            .collect()
    }

    fn device(&self) -> Knee {
        let Settings {
            knee,
            rare,
            fog,
            seed,
        } = self.device;
        Knee::new(knee, seed).rare_loss(rare).fog(fog)
    }
}

const STORED: &str = include_str!("../../fixtures/mlrsearch.json");

fn cases() -> Vec<Case> {
    serde_json::from_str::<Fixture>(STORED).unwrap().cases
}

#[test]
fn the_devices_are_the_same_in_both_languages() {
    for case in cases() {
        let mut device = case.device();
        for &(load, duration, sent, lost) in &case.trials {
            let counts = device.trial(load, duration);
            assert_eq!((counts.sent, counts.lost), (sent, lost), "{}", case.name);
        }
    }
}

#[test]
fn every_load_is_classified_as_the_library_does() {
    let mut compared = 0;
    for case in cases() {
        for (goal, found) in case.goals().iter().zip(&case.results) {
            for (load, class) in &found.classes {
                let ours = match classify(goal, &case.trials_at(*load)) {
                    Class::Lower => "lower",
                    Class::Upper => "upper",
                    Class::Undecided => "undecided",
                };
                assert_eq!(ours, class, "{} at {load}: {goal:?}", case.name);
                compared += 1;
            }
        }
    }
    assert!(compared >= 80, "only {compared} classifications compared");
}

#[test]
fn conditional_throughput_is_the_librarys() {
    for case in cases() {
        for (goal, found) in case.goals().iter().zip(&case.results) {
            let Some((lower, conditional)) = found.lower.zip(found.conditional) else {
                continue;
            };
            let ours = conditional_throughput(goal, lower, &case.trials_at(lower));
            // The library rounds a load to its grid, which is much finer than the goal's width.
            assert!(
                (ours - conditional).abs() <= conditional * goal.relative_width * 0.02,
                "{}: {ours}, the library's {conditional}",
                case.name
            );
        }
    }
}

#[test]
fn both_searches_end_at_the_same_place() {
    for case in cases() {
        let goals = case.goals();
        let mut device = case.device();
        let controller = Controller {
            min_load: case.min_load,
            max_load: case.max_load,
            goals: goals.clone(),
            max_trials: 5_000,
        };
        let outcome = controller.run(|request| {
            let counts = device.trial(request.load, request.duration);
            Some(TrialResult {
                intended_duration: request.duration,
                effective_duration: request.duration,
                loss_ratio: counts.loss_ratio(),
            })
        });
        assert!(outcome.complete, "{}", case.name);
        for ((goal, found), ours) in goals.iter().zip(&case.results).zip(&outcome.goals) {
            assert_eq!(
                ours.relevant_upper_bound.is_none(),
                found.upper.is_none(),
                "{}: {ours:?}",
                case.name
            );
            // Both intervals are of the goal's width and hold the answer; what wanders is found
            // within what it wanders.
            let (lower, theirs) = (ours.relevant_lower_bound.unwrap(), found.lower.unwrap());
            let apart = goal.relative_width + case.device.fog;
            assert!(
                (lower - theirs).abs() <= theirs * apart,
                "{}: {lower}, the library's {theirs}",
                case.name
            );
        }
    }
}

#[test]
fn the_library_still_says_what_is_stored() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = root.join("target/mlrsearch/bin/python");
    if !root.join("target/mlrsearch/ready").exists() {
        needs::skipped!(
            "the library MLRsearch is not installed in target/mlrsearch \
             (scripts/mlrsearch-oracle installs it)"
        );
        return;
    }
    let output = Command::new(python)
        .arg(root.join("scripts/mlrsearch-oracle"))
        .arg("-")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let live: Value = serde_json::from_slice(&output.stdout).unwrap();
    let stored: Value = serde_json::from_str(STORED).unwrap();
    assert!(
        live == stored,
        "run scripts/mlrsearch-oracle and look at what changed"
    );
}
