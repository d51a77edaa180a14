//! What the tests make of trials that are written here: no device, no clock.

use tester::bench;
use tester::disturbance::Disturbance;
use tester::honest::Grade;
use tester::profile::Profile;
use tester::result::{Details, Entry};
use tester::rig::{Event, Result, Rig};
use tester::session::Session;
use tester::trial::{Counts, Direction, Order, Trial};

use crate::support::{smallest, subject};

/// Answers each order with a trial that was conducted as intended, as `change` leaves it.
struct Scripted<F>(F);

impl<F: FnMut(&mut Trial)> Rig for Scripted<F> {
    fn run(&mut self, order: &Order, purpose: &str, _: Option<Event<'_>>) -> Result<Trial> {
        let senders = order.direction.streams(2).len();
        let frames = order.schedule.frames() * senders as u64;
        let counts = Counts {
            intended: frames,
            sent: frames,
            received: frames,
            arrivals: frames,
            ..Counts::default()
        };
        let seconds = order.schedule.duration_ns().unwrap_or(1_000) as f64 / 1e9;
        let mut trial = Trial::new(
            (1, purpose),
            order,
            senders,
            seconds,
            counts,
            &Disturbance::default(),
        );
        (self.0)(&mut trial);
        Ok(trial)
    }

    fn describe(&self) -> String {
        "scripted".to_owned()
    }

    fn ceiling(&self) -> f64 {
        1e6
    }
}

fn lose(trial: &mut Trial, frames: u64) {
    trial.counts.lost = frames;
    trial.counts.received -= frames;
    trial.counts.arrivals -= frames;
}

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
