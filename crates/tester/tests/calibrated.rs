//! Every test against the calibrated device: what was set is found within one per cent. The clock
//! is simulated, so a busy machine changes nothing, and minutes of trials take a second.

use tester::bench;
use tester::clock::Simulated;
use tester::engine::Engine;
use tester::honest::Grade;
use tester::link::calibrated::{Calibrated, Settings};
use tester::link::wire::Wire;
use tester::profile::Profile;
use tester::result::{Details, Entry};
use tester::rig::Rig;
use tester::schedule::Schedule;
use tester::search::mlr::Goal;
use tester::session::Session;

use crate::support::{SELFTEST, subject};

/// A turn of the engine's loop takes three or four readings: some microseconds.
const STEP_NS: u64 = 1000;

fn profile() -> Profile {
    Profile {
        resolution: 0.002,
        search_seconds: 0.2,
        final_seconds: 0.5,
        tries: 2,
        ..Profile::QUICK
    }
}

fn rig(settings: Settings) -> impl Rig {
    Engine::with_clock(
        Calibrated::new(settings, 2),
        Simulated::new(STEP_NS),
        Vec::new(),
        1518,
        SELFTEST,
        1,
    )
    .unwrap()
}

fn with(settings: Settings, profile: Profile, test: impl FnOnce(Session<'_>) -> Entry) -> Entry {
    let mut rig = rig(settings);
    let entry = crate::support::session(&mut rig, profile, test);
    for trial in &entry.trials {
        assert!(trial.counts.closes(), "{trial:?}");
    }
    let text = serde_json::to_string(&entry).unwrap();
    assert!(
        serde_json::from_str::<Entry>(&text).unwrap() == entry,
        "the stored result is the result"
    );
    entry
}

fn within(value: f64, set: f64, what: &str) {
    assert!(
        (value - set).abs() <= set * 0.01,
        "{what}: found {value}, set {set}"
    );
}

#[test]
fn throughput_is_the_set_rate() {
    for rate in [20_000.0, 123_456.0, 400_000.0] {
        let settings = Settings {
            rate,
            buffer: 64,
            ..Settings::default()
        };
        let entry = with(settings, profile(), |session| {
            bench::throughput::run(session, &subject(), &[])
        });
        within(entry.frames_per_second.unwrap(), rate, "throughput");
        assert!(
            matches!(entry.verdict, Grade::Clean | Grade::Noisy),
            "{:?}",
            entry.verdict
        );
    }
}

/// A buffer or a bucket of tokens bridges a trial of a tenth of a second: it must not become rate.
#[test]
fn what_a_buffer_holds_is_no_throughput() {
    for (rate, buffer, burst) in [(41_667.0, 200, 67), (8_256.0, 40, 14), (20_000.0, 100, 400)] {
        let settings = Settings {
            rate,
            buffer,
            burst,
            ..Settings::default()
        };
        let entry = with(settings, Profile::QUICK, |session| {
            bench::throughput::run(session, &subject(), &[])
        });
        within(entry.frames_per_second.unwrap(), rate, "throughput");
        let Details::Throughput(found) = entry.details else {
            panic!("{:?}", entry.details)
        };
        let drain = found.drain_ns.unwrap() as f64;
        let set = (buffer + 1) as f64 * 1e9 / rate;
        assert!((drain / set - 1.0).abs() < 0.05, "drain {drain}, set {set}");
    }
}

/// One frame held up for long at the end is no buffer that fills.
#[test]
fn a_device_that_holds_frames_up_is_not_taken_for_a_slow_one() {
    let settings = Settings {
        rate: 20_000.0,
        buffer: 64,
        reorder: 0.2,
        hold_ns: 3_000_000,
        ..Settings::default()
    };
    let entry = with(settings, Profile::QUICK, |session| {
        bench::throughput::run(session, &subject(), &[])
    });
    within(entry.frames_per_second.unwrap(), 20_000.0, "throughput");
}

#[test]
fn plain_halving_finds_the_same() {
    let settings = Settings {
        rate: 333_000.0,
        buffer: 64,
        ..Settings::default()
    };
    let profile = Profile {
        follow_hints: false,
        tries: 1,
        ..profile()
    };
    let entry = with(settings, profile, |session| {
        bench::throughput::run(session, &subject(), &[])
    });
    within(entry.frames_per_second.unwrap(), 333_000.0, "throughput");
}

#[test]
fn loss_ratio_goals_find_the_knee_and_what_lies_above() {
    let settings = Settings {
        rate: 200_000.0,
        buffer: 64,
        ..Settings::default()
    };
    let short = |goal: Goal| Goal {
        final_trial_duration: 0.1,
        duration_sum: 0.7,
        ..goal
    };
    let goals = [("NDR", short(Goal::NDR)), ("PDR", short(Goal::PDR))];
    let entry = with(settings, profile(), |session| {
        bench::throughput::run(session, &subject(), &goals)
    });
    let Details::Throughput(found) = entry.details else {
        panic!("{:?}", entry.details)
    };
    within(found.goals[0].lower.unwrap(), 200_000.0, "NDR");
    within(found.goals[1].lower.unwrap(), 200_000.0 / 0.995, "PDR");
    assert!(found.goals.iter().all(|goal| goal.regular));
}

#[test]
fn a_device_beyond_the_tester_is_only_a_lower_bound() {
    let entry = with(Settings::default(), profile(), |session| {
        bench::throughput::run(session, &subject(), &[])
    });
    assert_eq!(entry.verdict, Grade::Limited, "{}", entry.because);
    assert_eq!(entry.frames_per_second, Some(SELFTEST));
}

#[test]
fn a_device_that_forwards_nothing_has_no_number() {
    let settings = Settings {
        loss: 1.0,
        ..Settings::default()
    };
    let entry = with(
        settings,
        Profile {
            search_seconds: 0.01,
            ..profile()
        },
        |session| bench::throughput::run(session, &subject(), &[]),
    );
    assert_eq!(
        (entry.frames_per_second, entry.verdict),
        (None, Grade::Failed)
    );
    assert_eq!(entry.because, "the device forwards nothing");
}

#[test]
fn half_twice_and_the_wrong_port_are_named() {
    for (settings, words) in [
        (
            Settings {
                loss: 0.5,
                ..Settings::default()
            },
            "lost",
        ),
        (
            Settings {
                duplicate: 1.0,
                ..Settings::default()
            },
            "came twice",
        ),
        (
            Settings {
                misdirect: 1.0,
                ..Settings::default()
            },
            "wrong port",
        ),
        (
            Settings {
                corrupt: 1.0,
                ..Settings::default()
            },
            "corrupted",
        ),
    ] {
        let entry = with(
            settings,
            Profile {
                search_seconds: 0.01,
                ..profile()
            },
            |session| bench::throughput::run(session, &subject(), &[]),
        );
        assert_eq!(
            (entry.frames_per_second, entry.verdict),
            (None, Grade::Failed)
        );
        assert!(
            entry.because.contains(words),
            "{} lacks {words}",
            entry.because
        );
    }
}

#[test]
fn a_port_that_vanishes_leaves_what_was_measured() {
    let settings = Settings {
        rate: 50_000.0,
        buffer: 64,
        vanish_after: Some(205_000),
        ..Settings::default()
    };
    let entry = with(settings, profile(), |session| {
        bench::throughput::run(session, &subject(), &[])
    });
    assert!(!entry.trials.is_empty());
    assert!(
        matches!(entry.verdict, Grade::Invalid | Grade::Limited),
        "{:?} {}",
        entry.verdict,
        entry.because
    );
}

#[test]
fn latency_is_the_set_delay_at_low_load() {
    let settings = Settings {
        rate: 100_000.0,
        buffer: 64,
        delay_ns: 1_000_000,
        ..Settings::default()
    };
    let entry = with(settings, profile(), |session| {
        bench::latency::run(session, &subject(), Some(100_000.0))
    });
    let Details::Latency { points } = entry.details else {
        panic!("{:?}", entry.details)
    };
    assert_eq!(points.len(), 4);
    for point in &points[..3] {
        // Delay and one service time.
        within(
            point.typical_ns.unwrap() as f64,
            1_000_000.0 + 10_000.0,
            "median delay",
        );
        let worst = point.worst_ns.unwrap_or(1_010_000);
        within(worst as f64, 1_000_000.0 + 10_000.0, "99.9th percentile");
        assert!(point.sent >= 500 && point.lost == 0);
    }
}

#[test]
fn the_loss_curve_is_the_set_loss() {
    let settings = Settings {
        rate: 500_000.0,
        buffer: 64,
        ..Settings::default()
    };
    let entry = with(settings, profile(), |session| {
        bench::loss::run(session, &subject(), None)
    });
    let Details::Loss { points, maximum } = entry.details else {
        panic!("{:?}", entry.details)
    };
    for point in points {
        let expected = (1.0 - 500_000.0 / (maximum * point.share)).max(0.0);
        assert!(
            (point.loss_ratio - expected).abs() < 0.01,
            "{point:?}, set {expected}"
        );
    }
    let settings = Settings {
        loss: 0.03,
        ..Settings::default()
    };
    let entry = with(settings, profile(), |session| {
        bench::loss::run(session, &subject(), None)
    });
    let Details::Loss { points, .. } = entry.details else {
        panic!("{:?}", entry.details)
    };
    assert_eq!(
        points.len(),
        10,
        "loss at every rate: the curve goes down to the last step"
    );
    for point in points {
        within(point.loss_ratio, 0.03, "loss");
    }
}

#[test]
fn back_to_back_finds_the_buffer() {
    let settings = Settings {
        rate: 100_000.0,
        buffer: 2_000,
        ..Settings::default()
    };
    let profile = Profile {
        resolution: 0.002,
        burst_seconds: 0.05,
        ..profile()
    };
    let entry = with(settings, profile, |session| {
        bench::back_to_back::run(session, &subject(), Some(100_000.0))
    });
    let Details::BackToBack(found) = entry.details else {
        panic!("{:?} {}", entry.details, entry.because)
    };
    // While a burst arrives at the burst rate, the device forwards at its own: the corrected time
    // is the buffer's.
    within(
        found.corrected_seconds,
        2_000.0 / 100_000.0 * 100_000.0 / found.burst_rate,
        "corrected buffer time",
    );
    assert!(found.bursts.len() == 5 && found.deviation < found.average * 0.01);
}

#[test]
fn recovery_is_the_set_sulk() {
    let settings = Settings {
        rate: 100_000.0,
        buffer: 64,
        sulk_ns: 300_000_000,
        ..Settings::default()
    };
    let entry = with(settings, profile(), |session| {
        bench::recovery::run(session, &subject(), Some(100_000.0), None)
    });
    let Details::Recovery(found) = entry.details else {
        panic!("{:?}", entry.details)
    };
    within(found.average, 0.3, "recovery time");
    within(found.overload, 110_000.0, "overload");
}

#[test]
fn a_reset_lasts_as_long_as_the_set_outage() {
    let settings = Settings {
        outage: Some((3_000, 250_000_000)),
        ..Settings::default()
    };
    let profile = Profile {
        reset_repeats: 1,
        ..profile()
    };
    let entry = with(settings, profile, |session| {
        bench::reset::run(session, &subject(), Some(2_000.0), "outage", &|| ())
    });
    let Details::Reset(found) = entry.details else {
        panic!("{:?} {}", entry.details, entry.because)
    };
    within(found.by_loss_ms[0], 250.0, "by loss");
    within(found.by_silence_ms[0], 250.0, "by silence");
}

#[test]
fn a_selftest_finds_the_wire_clean() {
    let mut rig = Engine::with_clock(
        Wire::new(2),
        Simulated::new(STEP_NS),
        Vec::new(),
        1518,
        2e6,
        1,
    )
    .unwrap();
    let entry = crate::support::session(&mut rig, profile(), |session| {
        bench::selftest::run(session, "64", None)
    });
    assert!(
        entry.frames_per_second.unwrap() > 1.9e6,
        "{} {}",
        entry.because,
        entry.trials.len()
    );
    let Details::Selftest(found) = entry.details else {
        panic!("{:?}", entry.details)
    };
    assert!(found.rate_error <= 0.001 && found.floor.is_some());
}

#[test]
fn a_sweep_point_has_goodput_and_jitter() {
    let settings = Settings {
        rate: 100_000.0,
        buffer: 64,
        delay_ns: 50_000,
        ..Settings::default()
    };
    let entry = with(settings, profile(), |session| {
        bench::sweep::run(session, &subject(), 18)
    });
    let Details::Sweep(found) = entry.details else {
        panic!("{:?}", entry.details)
    };
    within(found.goodput, 100_000.0 * 18.0 * 8.0, "goodput");
    assert!(found.delay.unwrap().pdv_ns.is_some());
}

#[test]
fn reordered_and_doubled_frames_are_counted() {
    let settings = Settings {
        reorder: 0.02,
        hold_ns: 3_000_000,
        duplicate: 0.01,
        ..Settings::default()
    };
    let order = crate::support::smallest(Schedule::constant(100_000.0, 1.0));
    let trial = rig(settings).run(&order, "test", None).unwrap();
    assert!(trial.counts.closes(), "{:?}", trial.counts);
    within(trial.counts.reordered as f64, 2_000.0, "reordered frames");
    within(trial.counts.duplicate as f64, 1_000.0, "doubled frames");
    assert_eq!((trial.counts.lost, trial.counts.received), (0, 100_000));
}
