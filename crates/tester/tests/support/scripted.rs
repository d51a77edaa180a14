//! A rig whose trials are written by the test: no device, no clock.

use tester::disturbance::Disturbance;
use tester::rig::{Event, Result, Rig};
use tester::trial::{Counts, Order, Trial};

/// Answers each order with a trial that was conducted as intended, as `change` leaves it.
pub(crate) struct Scripted<F>(pub(crate) F);

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

/// Takes frames out of a trial in which all came.
pub(crate) fn lose(trial: &mut Trial, frames: u64) {
    trial.counts.lost = frames;
    trial.counts.received -= frames;
    trial.counts.arrivals -= frames;
}
