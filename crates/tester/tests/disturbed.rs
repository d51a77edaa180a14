//! A device on a machine that an agent of its own disturbs: it takes the device's core for some
//! milliseconds each second, and what the ring in front of the device does not hold meanwhile is
//! lost. The search has to find the rate all the same, and in time: time is simulated.

use figures::Random;
use tester::bench;
use tester::disturbance::Disturbance;
use tester::profile::Profile;
use tester::result::Entry;
use tester::rig::{Event, Result, Rig};
use tester::trial::{Counts, Order, STRETCH_SECONDS, Trial, judge};

use crate::support::subject;

/// What the device forwards, frames/s.
const RATE: f64 = 1e6;
/// How much that differs from trial to trial at most, as a share.
const DIFFERS: f64 = 0.004;
/// What the tester offers at most, frames/s.
const CEILING: f64 = 6e6;
/// Frames that wait in front of the device.
const RING: f64 = 256.0;
/// What a trial takes beyond its length, s.
const AROUND: f64 = 0.03;
/// What a search may take, s: with the self-test of a size, about 1 s, eight sizes are done in 60.
const MEAN: f64 = 4.0;
const MOST: f64 = 8.0;

struct Disturbed {
    /// Since the beginning, s.
    now: f64,
    /// When the agent runs next, and for how long, s; none on a silent machine.
    agent: Option<(f64, f64)>,
    random: Random,
    number: u32,
}

impl Disturbed {
    fn new(seed: u64, has_agent: bool) -> Self {
        let mut random = Random::new(seed);
        let first = random.unit();
        Self {
            now: 0.0,
            agent: has_agent.then_some((first, 0.003)),
            random,
            number: 0,
        }
    }

    /// What the agent takes of the next `seconds`.
    fn taken(&mut self, seconds: f64) -> f64 {
        let mut taken = 0.0;
        while let Some((at, long)) = self.agent
            && at < self.now + seconds
        {
            if at >= self.now {
                taken += long;
            }
            self.agent = Some((at + 1.0, 0.002 + 0.002 * self.random.unit()));
        }
        self.now += seconds;
        taken
    }
}

impl Rig for Disturbed {
    fn run(&mut self, order: &Order, purpose: &str, _: Option<Event<'_>>) -> Result<Trial> {
        let seconds = order.schedule.duration_ns().unwrap_or(1_000) as f64 / 1e9;
        let sent = order.schedule.frames();
        let offered = sent as f64 / seconds;
        let taken = self.taken(seconds);
        let carries = RATE * (1.0 + DIFFERS * (self.random.unit() - 0.5));
        let over = (offered - carries).max(0.0) * (seconds - taken);
        let waiting = over + offered * taken;
        let lost = (waiting - RING).max(0.0).ceil() as u64;
        let counts = Counts {
            intended: sent,
            sent,
            received: sent - lost,
            arrivals: sent - lost,
            lost,
            ..Counts::default()
        };
        let noise = Disturbance {
            waited: taken / seconds,
            ..Disturbance::default()
        };
        self.now += AROUND;
        self.number += 1;
        // The device is too slow all the time, the agent is there once.
        let stretches = (seconds / STRETCH_SECONDS).round() as u32;
        let lossy = if over > RING { stretches } else { 1 };
        let drain = waiting.min(RING) / RATE * f64::from(u8::from(over > 0.0));
        Ok(Trial {
            drain_ns: Some((drain * 1e9) as u64),
            lossy_stretches: (lost > 0 && stretches > 1).then_some(lossy),
            validity: judge(&counts, None, &noise),
            ..Trial::new((self.number, purpose), order, 1, seconds, counts, &noise)
        })
    }

    fn describe(&self) -> String {
        "disturbed".to_owned()
    }

    fn ceiling(&self) -> f64 {
        CEILING
    }
}

/// What a search finds, and how long it takes, s.
fn found(seed: u64, has_agent: bool) -> (Entry, f64) {
    let mut rig = Disturbed::new(seed, has_agent);
    let subject = bench::Subject {
        selftest: Some(CEILING),
        ..subject()
    };
    let entry = crate::support::session(&mut rig, Profile::QUICK, |session| {
        bench::throughput::run(session, &subject, &[])
    });
    (entry, rig.now)
}

#[test]
fn an_agent_of_the_machine_costs_little_time_and_no_rate() {
    const SEEDS: u64 = 40;
    for has_agent in [false, true] {
        let (mut sum, mut most) = (0.0, 0.0_f64);
        for seed in 0..SEEDS {
            let (entry, seconds) = found(seed, has_agent);
            let rate = entry.frames_per_second;
            let off = rate.map_or(1.0, |rate| (rate / RATE - 1.0).abs());
            assert!(off <= 0.01, "seed {seed}: {rate:?}, {}", entry.because);
            sum += seconds;
            most = most.max(seconds);
        }
        let mean = sum / SEEDS as f64;
        println!("agent {has_agent}: {mean:.1} s in the mean, {most:.1} s at most");
        assert!(mean <= MEAN && most <= MOST, "{mean} s, {most} s");
    }
}

/// A device that loses a third in each trial is not tried again for an agent's milliseconds.
#[test]
fn what_fails_anyway_is_not_run_again() {
    for seed in 0..40 {
        let (entry, _) = found(seed, true);
        for trial in entry.trials.iter().filter(|trial| trial.repeated) {
            let share = trial.counts.loss_ratio();
            assert!(share < 0.3, "seed {seed}: {trial:?}");
        }
    }
}
