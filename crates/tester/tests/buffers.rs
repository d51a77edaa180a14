//! A device whose buffers bridge short trials, before a tester that fails in long ones.

use tester::bench;
use tester::latency::Delays;
use tester::profile::Profile;
use tester::result::{Details, Entry};
use tester::trial::{Trial, Validity};

use crate::support::scripted::{Scripted, lose};
use crate::support::subject;

/// What the device forwards, frames/s.
const RATE: f64 = 100_000.0;
/// Tokens that it has saved up, frames.
const TOKENS: f64 = 200.0;
/// What waits in it, frames.
const BUFFER: f64 = 500.0;
/// The least delay, ns.
const LEAST_NS: u64 = 2_000;

/// What the quick profile finds behind a token bucket when trials longer than `valid` seconds are
/// the tester's failure.
fn found(valid: f64) -> Entry {
    let bucket = |trial: &mut Trial| {
        let waiting = trial.counts.sent as f64 - TOKENS - RATE * trial.seconds;
        if waiting > BUFFER {
            lose(trial, (waiting - BUFFER).ceil() as u64);
        }
        let drain_ns = (waiting.clamp(0.0, BUFFER) / RATE * 1e9) as u64;
        let mut delays = Delays::new();
        delays.take(LEAST_NS);
        delays.take(LEAST_NS + drain_ns);
        trial.latency = delays.summary();
        trial.drain_ns = Some(drain_ns);
        if trial.seconds > valid {
            trial.validity = Validity::Invalid("the tester was held up".to_owned());
        }
    };
    crate::support::session(&mut Scripted(bucket), Profile::QUICK, |session| {
        bench::throughput::run(session, &subject(), &[])
    })
}

fn off(entry: &Entry) -> f64 {
    entry.frames_per_second.unwrap() / RATE - 1.0
}

#[test]
fn a_long_trial_that_the_tester_botched_is_followed_by_a_shorter_one() {
    for (valid, decide) in [(1.0, 0.8), (0.5, 0.4)] {
        let entry = found(valid);
        assert!(off(&entry).abs() < 0.01, "{valid} s: {}", off(&entry));
        let words = format!("those of {decide} s decide");
        assert!(entry.because.contains(&words), "{}", entry.because);
    }
}

#[test]
fn a_rate_that_no_longer_trial_confirms_is_doubtful() {
    let entry = found(0.15);
    assert!(off(&entry) > 0.015, "{}", off(&entry));
    assert!(entry.because.contains("held up"), "{}", entry.because);
    let Details::Throughput(found) = entry.details else {
        panic!("{}", entry.because)
    };
    assert_eq!(found.unlooked.unwrap(), "the tester was held up");
}
