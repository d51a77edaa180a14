//! The user-space engine over the wire and the calibrated device: what was set must be what is
//! found.

use tester::clock::{Clock, Simulated};
use tester::engine::Engine;
use tester::link::Link;
use tester::link::calibrated::{Calibrated, Settings};
use tester::link::wire::Wire;
use tester::rig::{Rig, RigError};
use tester::schedule::Schedule;
use tester::sizes::{Family, FrameSize};
use tester::trial::{Direction, Order, Trial, Validity, Waits};

use crate::support::smallest as order;

/// One trial with a simulated clock: a busy machine changes nothing.
fn run<L: Link>(link: L, order: &Order) -> Trial {
    let mut engine =
        Engine::with_clock(link, Simulated::new(300), Vec::new(), 1518, 1e6, 1).unwrap();
    let trial = engine.run(order, "test", None).unwrap();
    assert!(trial.counts.closes(), "{:?}", trial.counts);
    trial
}

#[test]
fn a_wire_loses_nothing() {
    for (direction, destinations, family, size) in [
        (Direction::OneWay, 1, Family::Ipv4, 64),
        (Direction::BothWays, 256, Family::Ipv4, 1518),
        (Direction::OneWay, 1000, Family::Ipv6, 84),
    ] {
        let order = Order {
            direction,
            destinations,
            family,
            sizes: vec![FrameSize::new(size, family, 1500).unwrap()],
            ..order(Schedule::constant(20_000.0, 0.05))
        };
        let trial = run(Wire::new(2), &order);
        assert!(trial.passes(), "{trial:?}");
        assert_eq!(trial.counts.received, 1000 * u64::from(trial.senders));
        assert_eq!(trial.counts.reordered, 0);
        assert!(trial.rate_error().unwrap().abs() < 0.001);
        assert_eq!(trial.latency.unwrap().samples, trial.counts.received);
    }
}

#[test]
fn every_fault_is_told_from_every_other() {
    let settings = Settings {
        loss: 0.01,
        duplicate: 0.02,
        corrupt: 0.005,
        misdirect: 0.004,
        reorder: 0.01,
        hold_ns: 2_000_000,
        ..Settings::default()
    };
    let trial = run(
        Calibrated::new(settings.clone(), 2),
        &order(Schedule::constant(50_000.0, 0.2)),
    );
    let counts = trial.counts;
    assert_eq!(counts.sent, 10_000);
    let near = |value: u64, expected: f64| (value as f64 - expected).abs() <= 0.05 * expected + 2.0;
    // Duplicates of corrupt or misdirected frames are again corrupt or misdirected.
    assert!(near(counts.duplicate, 200.0), "{counts:?}");
    assert!(near(counts.corrupt, 50.0), "{counts:?}");
    assert!(near(counts.misdirected, 40.0), "{counts:?}");
    assert!(near(counts.reordered, 100.0), "{counts:?}");
    assert!(near(counts.lost, 100.0 + 50.0 + 40.0), "{counts:?}");
    assert!(!trial.passes());
    let words = trial.complaint().unwrap();
    assert!(
        words.contains("wrong port") && words.contains("corrupted") && words.contains("twice"),
        "{words}"
    );
}

/// A clock that jumps once, as a sender's does that lost its core.
struct Jumping {
    simulated: Simulated,
    at_ns: u64,
    by_ns: u64,
    jumped: std::cell::Cell<u64>,
}

impl Clock for Jumping {
    fn now_ns(&self) -> u64 {
        let now = self.simulated.now_ns();
        if now > self.at_ns {
            self.jumped.set(self.by_ns);
        }
        now + self.jumped.get()
    }

    fn wait_until(&self, deadline_ns: u64, stop: impl Fn() -> bool) {
        self.simulated
            .wait_until(deadline_ns.saturating_sub(self.jumped.get()), stop);
    }
}

#[test]
fn what_was_left_out_makes_no_later_frame_late() {
    let clock = Jumping {
        simulated: Simulated::new(300),
        at_ns: 50_000_000,
        by_ns: 40_000_000,
        jumped: std::cell::Cell::default(),
    };
    let mut engine = Engine::with_clock(Wire::new(2), clock, Vec::new(), 1518, 1e6, 1).unwrap();
    let trial = engine
        .run(&order(Schedule::constant(10_000.0, 1.0)), "test", None)
        .unwrap();
    assert!(trial.counts.unsent > 0, "{:?}", trial.counts);
    let response = trial.response.unwrap();
    assert!(response.percentile(50.0).unwrap() < 100_000, "{response:?}");
}

#[test]
fn streams_of_one_port_wait_for_their_turns_and_are_not_late_by_that() {
    let trial = run(
        Wire::new(4),
        &Order {
            direction: Direction::Mesh,
            ..order(Schedule::constant(9_000.0, 0.1))
        },
    );
    let (latency, response) = (trial.latency.unwrap(), trial.response.unwrap());
    // From one frame of a port to the next 111 us pass.
    let difference = response.mean_ns - latency.mean_ns;
    assert!(difference < 20_000.0, "{difference}");
}

#[test]
fn a_device_that_forwards_nothing_is_named() {
    let settings = Settings {
        loss: 1.0,
        ..Settings::default()
    };
    let trial = run(
        Calibrated::new(settings.clone(), 2),
        &order(Schedule::constant(10_000.0, 0.02)),
    );
    assert_eq!(trial.counts.received, 0);
    assert_eq!(trial.complaint().unwrap(), "the device forwards nothing");
    assert_eq!(trial.counts.longest_loss_run, 200);
}

#[test]
fn a_set_delay_is_found() {
    for delay_ns in [200_000, 5_000_000] {
        let settings = Settings {
            delay_ns,
            ..Settings::default()
        };
        let trial = run(
            Calibrated::new(settings.clone(), 2),
            &order(Schedule::constant(20_000.0, 0.3)),
        );
        let latency = trial.latency.unwrap();
        let least = latency.min_ns as f64;
        assert!(
            least >= delay_ns as f64 && least < delay_ns as f64 * 1.01,
            "{least} of {delay_ns}"
        );
        assert!(latency.percentile(99.0).unwrap() >= delay_ns);
    }
}

#[test]
fn a_rate_beyond_the_tester_is_invalid_and_no_number() {
    let trial = run(Wire::new(2), &order(Schedule::constant(500e6, 0.02)));
    assert!(matches!(trial.validity, Validity::Invalid(_)), "{trial:?}");
    assert!(!trial.passes());
    assert!(trial.largest_burst <= 64);
    assert!(trial.counts.unsent > 0 && trial.counts.lost == 0);
}

#[test]
fn frames_of_the_trial_before_are_not_counted_as_this_ones() {
    // The device answers after the first trial has stopped waiting.
    let settings = Settings {
        delay_ns: 700_000_000,
        ..Settings::default()
    };
    let mut engine = Engine::with_clock(
        Calibrated::new(settings, 2),
        Simulated::new(300),
        Vec::new(),
        1518,
        1e6,
        1,
    )
    .unwrap();
    let first = engine
        .run(&order(Schedule::constant(1000.0, 0.02)), "test", None)
        .unwrap();
    assert_eq!(first.counts.received, 0);
    let waits = Waits {
        residual_ns: 2_000_000_000,
        ..Waits::QUICK
    };
    let second = engine
        .run(
            &Order {
                waits,
                ..order(Schedule::constant(1000.0, 0.3))
            },
            "test",
            None,
        )
        .unwrap();
    assert_eq!(second.counts.received, 300, "{:?}", second.counts);
    // Learning frames of both trials are as old.
    assert!(second.counts.residual >= 20, "{:?}", second.counts);
    assert!(second.counts.closes());
}

#[test]
fn a_port_that_vanishes_ends_the_trial_with_its_name() {
    let settings = Settings {
        vanish_after: Some(500),
        ..Settings::default()
    };
    let mut engine = Engine::with_clock(
        Calibrated::new(settings, 2),
        Simulated::new(300),
        Vec::new(),
        1518,
        1e6,
        1,
    )
    .unwrap();
    let error = engine
        .run(&order(Schedule::constant(50_000.0, 0.1)), "test", None)
        .unwrap_err();
    assert!(
        matches!(error, RigError::Port(_)) && error.to_string().contains("memory0"),
        "{error}"
    );
}

#[test]
fn a_mesh_checks_every_pair() {
    let order = Order {
        direction: Direction::Mesh,
        ..order(Schedule::constant(9_000.0, 0.05))
    };
    // The wire joins neighbours only: of three streams from each of four ports one arrives where it
    // should.
    let trial = run(Wire::new(4), &order);
    assert_eq!(trial.senders, 4);
    assert_eq!(trial.counts.sent, 4 * 450);
    assert_eq!(
        (trial.counts.received, trial.counts.misdirected),
        (600, 1200)
    );
}

#[test]
fn a_mix_of_sizes_takes_turns() {
    let sizes = [64, 64, 570, 1518]
        .map(|size| FrameSize::new(size, Family::Ipv4, 1500).unwrap())
        .to_vec();
    let trial = run(
        Wire::new(2),
        &Order {
            sizes: sizes.clone(),
            ..order(Schedule::constant(20_000.0, 0.1))
        },
    );
    assert!(trial.passes(), "{trial:?}");
    assert!((trial.frame_bytes - 554.0).abs() < 1e-9);
}

#[test]
fn a_device_that_answers_after_minutes_forwards_nothing_in_time() {
    let settings = Settings {
        delay_ns: 120_000_000_000,
        ..Settings::default()
    };
    let trial = run(
        Calibrated::new(settings, 2),
        &order(Schedule::constant(10_000.0, 0.02)),
    );
    assert_eq!((trial.counts.sent, trial.counts.lost), (200, 200));
    assert_eq!(trial.complaint().unwrap(), "the device forwards nothing");
}
