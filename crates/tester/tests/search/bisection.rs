//! The search against devices with known answers.

use proptest::prelude::*;

use tester::search::{Amount, Bisection, Ended, HINTS, Limit, Phase, Probe, TrialOutcome};

use super::simulated::Knee;

fn outcome(pass: bool) -> TrialOutcome<f64> {
    if pass {
        TrialOutcome::Pass
    } else {
        TrialOutcome::Fail { carried: None }
    }
}

#[test]
fn finds_a_sharp_knee_within_the_resolution() {
    for knee in [1.0, 12_345.6, 333_333.0, 999_998.0] {
        let found = Bisection::new(1e6, 0.001).run(|probe| outcome(probe.amount <= knee));
        if knee < 10.0 {
            assert_eq!(found.ended, Ended::NothingPassed, "{knee}");
            assert_eq!(found.lower, None);
            continue;
        }
        assert_eq!(found.ended, Ended::Converged);
        assert_eq!(found.limit, Limit::Device);
        let (lower, upper) = (found.lower.unwrap(), found.upper.unwrap());
        assert!(
            lower <= knee && knee < upper && upper - lower <= 0.001 * upper,
            "{knee}: {lower}..{upper}"
        );
    }
}

/// A tester through which nothing came in a disturbed moment has an empty range.
#[test]
fn nothing_is_tried_where_nothing_can_be_offered() {
    for high in [0.0, f64::MIN_POSITIVE / 2.0, f64::NAN] {
        let found = Bisection::new(high, 0.001).run(|_| TrialOutcome::Pass);
        assert!(found.steps.is_empty(), "{high}: {found:?}");
        assert_eq!(found.ended, Ended::NothingPassed, "{high}");
        assert_eq!(found.limit, Limit::Tester, "{high}");
        assert_eq!((found.lower, found.upper), (None, None), "{high}");
    }
}

#[test]
fn a_tenth_of_a_per_cent_takes_eleven_halvings_and_one_confirmation() {
    let found = Bisection::new(1e6, 0.001).run(|probe| outcome(probe.amount <= 700_123.0));
    assert_eq!(
        found.steps.len(),
        1 + 11 + 1,
        "the range's end, eleven halvings, the confirmation"
    );
    assert_eq!(found.steps.last().unwrap().probe.phase, Phase::Confirm);
}

#[test]
fn the_whole_range_passes_in_two_trials() {
    let found = Bisection::new(1e6, 0.001).run(|_| TrialOutcome::Pass);
    assert_eq!(
        (found.lower, found.upper, found.limit),
        (Some(1e6), None, Limit::Range)
    );
    assert_eq!(found.steps.len(), 2);
}

#[test]
fn a_device_that_forwards_nothing_has_no_throughput() {
    let found = Bisection::new(1e6, 0.001).run(|_| outcome(false));
    assert_eq!((found.lower, found.ended), (None, Ended::NothingPassed));
}

#[test]
fn what_the_tester_cannot_offer_is_the_testers_limit() {
    let found = Bisection::new(1e6, 0.001).run(|probe| {
        if probe.amount > 400_000.0 {
            TrialOutcome::Invalid { offered: None }
        } else {
            TrialOutcome::Pass
        }
    });
    assert_eq!(found.limit, Limit::Tester);
    assert!((399_000.0..=400_000.0).contains(&found.lower.unwrap()));
}

#[test]
fn a_failed_confirmation_moves_the_search_below() {
    // Short trials pass up to 800 000 (buffers hide the loss), long ones only up to 500 000.
    let knee = |phase| {
        if phase == Phase::Confirm {
            500_000.0
        } else {
            800_000.0
        }
    };
    let found = Bisection::new(1e6, 0.01).run(|probe| outcome(probe.amount <= knee(probe.phase)));
    assert_eq!(found.ended, Ended::Converged);
    assert!(
        (490_000.0..=500_000.0).contains(&found.lower.unwrap()),
        "{:?}",
        found.lower
    );
    let failed = found
        .steps
        .iter()
        .filter(|step| step.probe.phase == Phase::Confirm)
        .count();
    assert!((2..=20).contains(&failed), "{failed} confirmations");
}

#[test]
fn an_answer_that_never_confirms_is_no_answer() {
    let found = Bisection::new(1e6, 0.01).run(|probe| outcome(probe.phase == Phase::Search));
    assert_eq!(found.lower, None);
    assert!(matches!(
        found.ended,
        Ended::Unconfirmed | Ended::NothingPassed
    ));
}

#[test]
fn hints_save_trials_and_end_at_the_same_place() {
    let knee = 123_456.0;
    let count = |follow_hints| {
        let search = Bisection {
            follow_hints,
            ..Bisection::new(1e7, 0.000_5)
        };
        let found = search.run(|probe| {
            if probe.amount <= knee {
                TrialOutcome::Pass
            } else {
                TrialOutcome::Fail {
                    carried: Some(knee * 0.999),
                }
            }
        });
        assert!(
            (found.lower.unwrap() - knee).abs() <= 10_000.0,
            "{:?}",
            found.lower
        );
        found.steps.len()
    };
    assert!(
        count(true) < count(false),
        "{} {}",
        count(true),
        count(false)
    );
}

#[test]
fn bursts_are_found_to_the_frame() {
    let search = Bisection {
        confirmations: 0,
        step: 1,
        ..Bisection::new(1_000_000_u64, 0.0)
    };
    let found = search.run(|probe| {
        if probe.amount <= 26_000 {
            TrialOutcome::Pass
        } else {
            TrialOutcome::Fail { carried: None }
        }
    });
    assert_eq!((found.lower, found.upper), (Some(26_000), Some(26_001)));
}

#[test]
fn loss_verification_forgives_rare_loss() {
    // One trial in eight loses a frame for no reason of load: plain bisection ends low,
    // verification does not.
    let run = |repeats, seed| {
        let mut device = Knee::new(600_000.0, seed).rare_loss(0.125);
        let search = Bisection {
            repeats,
            ..Bisection::new(1e6, 0.005)
        };
        search
            .run(|probe| outcome(device.trial(probe.amount, 1.0).lost == 0))
            .lower
            .unwrap_or(0.0)
    };
    let near = |repeats| {
        (0..200)
            .filter(|&seed| run(repeats, seed) > 594_000.0)
            .count()
    };
    let (plain, verified) = (near(1), near(3));
    assert!(
        verified >= 190 && plain < 150,
        "plain {plain}, verified {verified} of 200"
    );
}

#[test]
fn stopping_keeps_what_is_known() {
    let mut trials = 0;
    let found = Bisection::new(1e6, 0.001).run(|probe| {
        trials += 1;
        if trials == 5 {
            TrialOutcome::Stop
        } else {
            outcome(probe.amount <= 300_000.0)
        }
    });
    assert_eq!(
        (found.ended, found.lower, found.steps.len()),
        (Ended::Stopped, Some(250_000.0), 5)
    );
}

#[test]
fn carrying_all_but_nothing_less_than_asked_does_not_hold_the_search_up() {
    // What was carried is so close to what was asked that following it alone would take a million
    // trials.
    let knee = 400_000.0;
    for share in [1.0, 1.0 - 1e-12, 1.0 - 1e-6, 0.999, 1.01] {
        let search = Bisection {
            follow_hints: true,
            ..Bisection::new(1e6, 0.005)
        };
        let found = search.run(|probe| {
            if probe.amount <= knee {
                TrialOutcome::Pass
            } else {
                TrialOutcome::Fail {
                    carried: Some(probe.amount * share),
                }
            }
        });
        assert_eq!(found.ended, Ended::Converged);
        assert!(found.steps.len() <= 40, "{}", found.steps.len());
        let (lower, upper) = (found.lower.unwrap(), found.upper.unwrap());
        assert!(lower <= knee && knee < upper, "{lower}..{upper}");
    }
}

#[test]
fn a_majority_decides_and_no_trial_is_wasted() {
    let search = Bisection {
        repeats: 5,
        passes: 3,
        confirmations: 0,
        ..Bisection::new(100_u64, 0.0)
    };
    // At the range's end by turns: fail, pass, fail, pass, pass.
    let mut answers = [false, true, false, true, true].into_iter();
    let found = search.run(|_| {
        if answers.next().unwrap() {
            TrialOutcome::Pass
        } else {
            TrialOutcome::Fail { carried: None }
        }
    });
    assert_eq!((found.lower, found.steps.len()), (Some(100), 5));
    let sure = search.run(|_| TrialOutcome::Pass);
    assert_eq!(sure.steps.len(), 3);
}

/// A device whose fate at each trial is drawn: more likely to lose the further above its knee,
/// never sure of anything between.
#[derive(Debug, Clone)]
struct Moody {
    knee: f64,
    /// Width of the region in which both happens, as a share of the knee; 0: monotone.
    fog: f64,
    /// Share of trials that fail, and that the tester botches, at any amount.
    unlucky: f64,
    botched: f64,
    /// Share of what was asked that a failed trial claims to have carried.
    claim: f64,
    full_length: f64,
    draws: Vec<f64>,
}

fn moody(fog: bool) -> impl Strategy<Value = Moody> {
    let share = |on: bool| if on { 0.0..0.5_f64 } else { 0.0..1e-300 };
    (
        1.0..1e6_f64,
        share(fog),
        share(fog),
        share(fog),
        prop_oneof![Just(0.0), Just(1.0), 0.9..1.1_f64, 0.0..2.0_f64],
        if fog { 0.3..1.0_f64 } else { 0.999_999..1.0 },
        prop::collection::vec(0.0..1.0_f64, 64),
    )
        .prop_map(
            |(knee, fog, unlucky, botched, claim, full_length, draws)| Moody {
                knee,
                fog,
                unlucky,
                botched,
                claim,
                full_length,
                draws,
            },
        )
}

impl Moody {
    fn answer(&self, number: usize, probe: Probe<f64>) -> TrialOutcome<f64> {
        let draw = |salt: usize| self.draws[(number * 7 + salt * 13) % self.draws.len()];
        if draw(1) < self.botched {
            let offered = (draw(2) < 0.5).then_some(probe.amount * self.claim);
            return TrialOutcome::Invalid { offered };
        }
        let knee = match probe.phase {
            Phase::Search => self.knee,
            Phase::Confirm => self.knee * self.full_length,
        };
        let lost = probe.amount > knee * (1.0 + self.fog * (draw(3) - 0.5));
        if lost || draw(4) < self.unlucky {
            let carried = (draw(5) < 0.9).then_some(probe.amount * self.claim);
            TrialOutcome::Fail { carried }
        } else {
            TrialOutcome::Pass
        }
    }
}

fn any_search() -> impl Strategy<Value = Bisection<f64>> {
    (
        prop_oneof![Just(0.0), 1e-4..0.05_f64],
        1_u32..6,
        1_u32..6,
        0_u32..12,
        any::<bool>(),
    )
        .prop_map(
            |(resolution, repeats, passes, confirmations, follow_hints)| Bisection {
                repeats,
                passes,
                confirmations,
                follow_hints,
                ..Bisection::new(1e6, resolution)
            },
        )
}

/// No search takes more trials than this, whatever the device does.
fn most_trials<A: Amount>(search: &Bisection<A>) -> u32 {
    let high = search.high.value();
    let finest = search.step.value().max(high * 1e-9);
    let doublings = (high / finest).log2().ceil().max(0.0) as u32 + 1;
    let hints = if search.follow_hints { HINTS } else { 0 };
    let searching = 1 + hints * (1 + doublings) + doublings;
    let confirming = if search.confirmations > 0 {
        1 + 2 * doublings
    } else {
        0
    };
    (searching + confirming) * search.repeats.max(1)
}

proptest! {
    /// Whatever the device does, the search ends within its bound, and its answer is between a pass
    /// and a failure that it saw.
    #[test]
    fn every_search_ends(device in moody(true), search in any_search()) {
        let most = most_trials(&search);
        let mut count = 0;
        let found = search.run(|probe| {
            count += 1;
            if count > most { TrialOutcome::Stop } else { device.answer(count as usize, probe) }
        });
        prop_assert!(count <= most, "{count} trials, the bound is {most}");
        let seen = |amount: f64, pass: bool| found.steps.iter()
            .any(|step| {
                step.probe.amount.to_bits() == amount.to_bits()
                    && (step.outcome == TrialOutcome::Pass) == pass
            });
        if let Some(lower) = found.lower {
            prop_assert!(seen(lower, true));
            if let Some(upper) = found.upper {
                prop_assert!(lower < upper && seen(upper, false), "{lower}..{upper}");
            }
        }
    }

    /// A device that does not contradict itself is bracketed, as tightly as was asked, whatever
    /// hints it gives.
    #[test]
    fn a_knee_is_bracketed(device in moody(false), search in any_search()) {
        let device = Moody { full_length: 1.0, fog: 0.0, unlucky: 0.0, botched: 0.0, ..device };
        let mut count = 0;
        let found = search.run(|probe| { count += 1; device.answer(count, probe) });
        prop_assert!(count <= most_trials(&search) as usize);
        match (found.lower, found.upper) {
            (Some(lower), Some(upper)) => {
                prop_assert!(lower <= device.knee && device.knee < upper, "{lower}..{upper}");
                let allowed = (search.resolution * upper).max(search.step);
                prop_assert!(upper - lower <= allowed * 1.000_001, "{lower}..{upper}");
            }
            (Some(lower), None) => {
                prop_assert!(lower <= device.knee && found.limit == Limit::Range);
            }
            (None, _) => prop_assert!(
                device.knee <= search.step * 2.0 || device.claim <= 0.0 && device.knee < 250_000.0,
                "{:?}",
                found.ended
            ),
        }
    }

    /// The same for bursts, where the amounts are whole.
    #[test]
    fn a_buffer_is_found_to_the_frame(
        buffer in 1_u64..2_000_000,
        follow_hints: bool,
        claim in 0.5..1.5_f64,
    ) {
        let search = Bisection {
            step: 1,
            follow_hints,
            confirmations: 0,
            ..Bisection::new(1_000_000_u64, 0.0)
        };
        let found = search.run(|probe| {
            if probe.amount <= buffer {
                TrialOutcome::Pass
            } else {
                TrialOutcome::Fail { carried: Some((probe.amount as f64 * claim) as u64) }
            }
        });
        prop_assert!(found.steps.len() <= most_trials(&search) as usize);
        prop_assert_eq!(found.lower, Some(buffer.min(1_000_000)));
    }
}

/// A ramp's last two steps bound the search: neither is tried again, and the answer lies between
/// them.
#[test]
fn a_bracket_is_taken_at_its_word() {
    let search = Bisection {
        bracket_low: Some(40_000.0),
        confirmations: 0,
        ..Bisection::new(160_000.0, 0.05)
    };
    let mut tried = Vec::new();
    let found = search.run(|probe| {
        tried.push(probe.amount);
        if probe.amount <= 97_000.0 {
            TrialOutcome::Pass
        } else {
            TrialOutcome::Fail { carried: None }
        }
    });
    assert!(
        tried
            .iter()
            .all(|&amount| amount > 40_000.0 && amount < 160_000.0),
        "{tried:?}"
    );
    assert!(tried.len() <= 5, "{tried:?}");
    let lower = found.lower.unwrap();
    assert!((97_000.0 * 0.92..=97_000.0).contains(&lower), "{lower}");
    // With no time for any trial the ramp's step is the answer.
    assert_eq!(search.run(|_| TrialOutcome::Stop).lower, Some(40_000.0));
}
