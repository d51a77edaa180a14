//! What the tests make of trials that are written here: no device, no clock.

use std::time::Duration;

use tester::bench;
use tester::honest::Grade;
use tester::latency::Delays;
use tester::profile::Profile;
use tester::result::{Details, Entry};
use tester::rig::{Event, Result, Rig};
use tester::search::mlr::Goal;
use tester::session::Session;
use tester::sizes::{Family, FrameSize};
use tester::trial::{Direction, Order, Trial, Validity};

use crate::support::scripted::{Scripted, lose};
use crate::support::{smallest, subject};

fn session(change: impl FnMut(&mut Trial), test: impl FnOnce(Session<'_>) -> Entry) -> Entry {
    crate::support::session(&mut Scripted(change), Profile::QUICK, test)
}

fn reset(change: impl FnMut(&mut Trial), direction: Direction) -> Entry {
    let order = Order {
        direction,
        ..smallest(tester::schedule::Schedule::burst(1))
    };
    let mut rig = Scripted(change);
    let mut silent = |_: &str| ();
    let session = Session::new(&mut rig, Profile::QUICK, order, &mut silent);
    bench::reset::run(session, &subject(), Some(1_000.0), "nothing", &|| ())
}

#[test]
fn a_loss_at_an_unknown_place_is_no_return_and_no_recovery() {
    let lost = |trial: &mut Trial| lose(trial, 100);
    let entry = reset(lost, Direction::OneWay);
    assert_eq!(
        (entry.frames_per_second, entry.verdict),
        (None, Grade::Invalid)
    );
    let entry = session(lost, |session| {
        bench::recovery::run(session, &subject(), Some(1_000.0), None)
    });
    assert_eq!(
        (entry.frames_per_second, entry.verdict),
        (None, Grade::Invalid)
    );
    assert!(
        entry.because.contains("nobody knows when"),
        "{}",
        entry.because
    );
}

#[test]
fn a_loss_before_all_that_is_remembered_lets_the_device_return() {
    let lost = |trial: &mut Trial| {
        lose(trial, 100);
        trial.lost_before_ns = Some(2_000_000_000);
    };
    let entry = reset(lost, Direction::OneWay);
    assert_eq!(entry.verdict, Grade::Clean, "{}", entry.because);
}

#[test]
fn a_reset_both_ways_lasts_no_longer_than_one_way() {
    for direction in [Direction::OneWay, Direction::BothWays] {
        let entry = reset(
            |trial| {
                lose(trial, 100 * u64::from(trial.senders));
                trial.last_lost_ns = Some(1_100_000_000);
            },
            direction,
        );
        let Details::Reset(found) = entry.details else {
            panic!("{}", entry.because)
        };
        assert_eq!(found.by_loss_ms, [100.0; 3], "{direction:?}");
    }
}

#[test]
fn one_trial_without_a_return_is_a_failure() {
    let mut trials = 0;
    let entry = reset(
        |trial| {
            trials += 1;
            lose(trial, 100);
            let late = if trials == 2 {
                4_999_000_000
            } else {
                1_100_000_000
            };
            trial.last_lost_ns = Some(late);
        },
        Direction::OneWay,
    );
    assert_eq!(
        (entry.frames_per_second, entry.verdict),
        (None, Grade::Failed)
    );
    assert!(entry.because.contains("1 of 3 trials"), "{}", entry.because);
}

fn rate(trial: &Trial) -> f64 {
    trial.intended_rate.unwrap_or(f64::INFINITY)
}

#[test]
fn a_disturbed_trial_is_run_again_whatever_came_of_it() {
    let mut number = 0;
    let entry = session(
        |trial| {
            number += 1;
            if number % 2 == 1 {
                trial.validity = Validity::Noisy("others".to_owned());
            } else if rate(trial) > 100_000.0 {
                lose(trial, 1);
            }
        },
        |session| bench::throughput::run(session, &subject(), &[]),
    );
    let found = entry.frames_per_second.unwrap();
    assert!((99_000.0..=100_000.0).contains(&found), "{found}");
    assert_eq!(entry.verdict, Grade::Clean, "{}", entry.because);
}

#[test]
fn what_the_tester_could_not_offer_is_no_failure_of_the_device() {
    let entry = session(
        |trial| {
            if rate(trial) > 100_000.0 {
                lose(trial, 1);
                trial.validity = Validity::Invalid("too fast".to_owned());
            }
        },
        |session| bench::throughput::run(session, &subject(), &[]),
    );
    let Details::Throughput(found) = entry.details else {
        panic!("{}", entry.because)
    };
    assert_eq!(
        (found.limit.as_str(), entry.verdict),
        ("tester", Grade::Limited)
    );
    assert!(
        entry.because.contains("could not offer"),
        "{}",
        entry.because
    );
}

#[test]
fn frames_that_our_own_receiver_lost_bound_no_loss_ratio_of_the_device() {
    let goal = Goal {
        final_trial_duration: 0.1,
        duration_sum: 0.3,
        ..Goal::NDR
    };
    for (own, limit) in [(true, "tester"), (false, "device")] {
        let entry = session(
            |trial| {
                if rate(trial) > 100_000.0 {
                    lose(trial, 1);
                    if own {
                        trial.validity = Validity::Invalid("own".to_owned());
                    }
                }
            },
            |session| bench::throughput::run(session, &subject(), &[("NDR", goal)]),
        );
        let Details::Throughput(found) = entry.details else {
            panic!("{}", entry.because)
        };
        assert_eq!(found.goals[0].limit, limit);
    }
}

#[test]
fn one_disturbed_trial_of_those_that_count_is_said() {
    let mut number = 0;
    let entry = session(
        |trial| {
            number += 1;
            trial.last_lost_ns = Some(1_500_000_000);
            lose(trial, 10);
            if number == 1 {
                trial.validity = Validity::Noisy("others".to_owned());
            }
        },
        |session| {
            let rate = Some(1_000.0);
            bench::reset::run(session, &subject(), rate, "nothing", &|| ())
        },
    );
    assert_eq!(entry.verdict, Grade::Noisy, "{}", entry.because);
    assert!(entry.because.contains("1 of 3 trials"), "{}", entry.because);
}

#[test]
fn a_recovery_is_the_mean_of_all_trials_also_of_those_that_lost_nothing() {
    let mut number = 0;
    let entry = session(
        |trial| {
            number += 1;
            if number == 1 {
                lose(trial, 10);
                trial.last_lost_ns = Some(1_300_000_000);
            }
        },
        |session| bench::recovery::run(session, &subject(), Some(1_000.0), None),
    );
    let Details::Recovery(found) = entry.details else {
        panic!("{}", entry.because)
    };
    assert_eq!(found.seconds.len(), 3);
    assert!((found.average - 0.1).abs() < 0.001, "{found:?}");
}

#[test]
fn the_most_is_the_most_of_all_trials() {
    let mut number = 0;
    let entry = session(
        |trial| {
            number += 1;
            let mut delays = Delays::new();
            delays.take(1_000 * (number % 3 + 1));
            trial.latency = delays.summary();
        },
        |session| bench::latency::run(session, &subject(), Some(1_000.0)),
    );
    let Details::Latency { points } = entry.details else {
        panic!("{}", entry.because)
    };
    assert!(
        points
            .iter()
            .all(|point| (point.min_ns, point.max_ns) == (1_000, 3_000))
    );
    // One sample each has no median with ten beyond it.
    assert!(points.iter().all(|point| point.typical_spread_ns.is_none()));
}

#[test]
fn the_spread_is_that_of_the_repetitions() {
    let mut number = 0;
    let entry = session(
        |trial| {
            number += 1;
            let mut delays = Delays::new();
            (0..50).for_each(|_| delays.take(1_000 * (number % 3 + 1)));
            trial.latency = delays.summary();
        },
        |session| bench::latency::run(session, &subject(), Some(1_000.0)),
    );
    let Details::Latency { points } = entry.details else {
        panic!("{}", entry.because)
    };
    for point in points {
        let middle = (point.typical_ns, point.typical_spread_ns);
        assert_eq!(middle, (Some(2_000), Some((1_000, 3_000))));
    }
}

#[test]
fn the_rate_of_a_medium_for_a_mix_is_that_of_all_its_sizes() {
    struct Cable;
    impl Rig for Cable {
        fn run(&mut self, _: &Order, _: &str, _: Option<Event<'_>>) -> Result<Trial> {
            unreachable!("nothing is sent")
        }
        fn describe(&self) -> String {
            String::new()
        }
        fn line_rate(&self) -> Option<f64> {
            Some(1e9)
        }
        fn ceiling(&self) -> f64 {
            f64::INFINITY
        }
    }
    let sizes = [64, 1518].map(|size| FrameSize::new(size, Family::Ipv4, 1500).unwrap());
    let order = Order {
        sizes: sizes.to_vec(),
        ..smallest(tester::schedule::Schedule::burst(1))
    };
    let (mut cable, mut silent) = (Cable, |_: &str| ());
    let session = Session::new(&mut cable, Profile::QUICK, order, &mut silent);
    let expected = 1e9 / 8.0 / f64::midpoint(84.0, 1538.0);
    assert!((session.theoretical().unwrap() - expected).abs() < 1.0);
}

#[test]
fn a_search_ends_with_what_it_knows_when_its_time_is_over() {
    let profile = Profile {
        size_seconds: 1.0,
        final_seconds: 0.2,
        ..Profile::QUICK
    };
    // No trial of the device is without a disturbance, so each would be run again.
    for (slow, wanted) in [("confirm", Grade::Limited), ("search", Grade::Invalid)] {
        let mut trials = 0;
        let change = |trial: &mut Trial| {
            if trial.purpose == slow {
                std::thread::sleep(Duration::from_millis(1_100));
                trials += 1;
                lose(trial, 1);
            }
            trial.validity = Validity::Noisy("others ran".to_owned());
        };
        let entry = crate::support::session(&mut Scripted(change), profile, |session| {
            bench::throughput::run(session, &subject(), &[])
        });
        assert_eq!(trials, 1, "{slow}");
        assert_eq!(entry.verdict, wanted, "{}", entry.because);
        assert!(
            entry.because.starts_with("stopped after 1 s"),
            "{}",
            entry.because
        );
    }
}

#[test]
fn trials_after_a_search_that_had_no_time_left_are_repeated_as_ever() {
    let profile = Profile {
        size_seconds: 0.5,
        final_seconds: 0.2,
        ..Profile::QUICK
    };
    let change = |trial: &mut Trial| {
        if trial.purpose == "confirm" {
            std::thread::sleep(Duration::from_millis(600));
        }
        if trial.purpose.starts_with("latency") {
            trial.validity = Validity::Noisy("others ran".to_owned());
        }
    };
    let entry = crate::support::session(&mut Scripted(change), profile, |session| {
        bench::latency::run(session, &subject(), None)
    });
    let latency = |trial: &&Trial| trial.purpose.starts_with("latency");
    let trials: Vec<_> = entry.trials.iter().filter(latency).collect();
    let repeated = trials.iter().filter(|trial| trial.repeated).count();
    assert!(repeated > 0, "{}", entry.because);
    // Each is run four times, and the last stands.
    assert_eq!(trials.len() * 3, repeated * 4);
}

#[test]
fn a_disturbed_long_look_does_not_say_that_buffers_bridged_the_search() {
    let entry = session(
        |trial| {
            if trial.purpose == "long look" {
                lose(trial, trial.counts.received / 10);
                trial.waited = 0.06;
                trial.validity = Validity::Noisy("others ran".to_owned());
            }
        },
        |session| bench::throughput::run(session, &subject(), &[]),
    );
    assert!(
        entry.because.contains("may have bridged its trials"),
        "{}",
        entry.because
    );
    assert_eq!(entry.frames_per_second, Some(1e6));
}

/// What a search finds of a device that loses a frame in each trial above 500,000 frames/s, and in
/// long ones above 100,000 in so many of their eight stretches.
fn found_beside_long_losses(stretches: Option<u32>) -> Entry {
    session(
        |trial| {
            let is_long = trial.seconds > 0.3;
            if rate(trial) > 500_000.0 || is_long && rate(trial) > 100_000.0 {
                lose(trial, 1);
                trial.lossy_stretches = stretches.filter(|_| is_long);
            }
        },
        |session| bench::throughput::run(session, &subject(), &[]),
    )
}

#[test]
fn a_rate_at_which_a_long_look_loses_frames_most_of_the_time_is_not_found() {
    for stretches in [Some(5), None] {
        let entry = found_beside_long_losses(stretches);
        let rate = entry.frames_per_second.unwrap();
        assert!((99_000.0..=100_000.0).contains(&rate), "{rate}");
        assert!(entry.because.contains("too short"), "{}", entry.because);
    }
}

#[test]
fn a_rate_at_which_a_long_look_loses_frames_as_rarely_as_trials_may_is_found() {
    let entry = found_beside_long_losses(Some(4));
    let rate = entry.frames_per_second.unwrap();
    assert!((495_000.0..=500_000.0).contains(&rate), "{rate}");
}
