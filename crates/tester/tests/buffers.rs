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

/// What the quick profile finds of a device that lets `rate` frames/s through and `tokens` more that
/// it has saved up, and drops the others, when trials longer than `valid` seconds are the tester's
/// failure.
fn policed(rate: f64, tokens: f64, valid: f64) -> Entry {
    /// Between two trials, s.
    const GAP: f64 = 0.06;
    let mut saved = tokens;
    let police = |trial: &mut Trial| {
        let sent = trial.counts.sent as f64;
        let passed = (saved + rate * trial.seconds).min(sent).floor();
        saved = (saved + rate * (trial.seconds + GAP) - passed).min(tokens);
        if passed < sent {
            lose(trial, (sent - passed) as u64);
        }
        let mut delays = Delays::new();
        delays.take(LEAST_NS);
        trial.latency = delays.summary();
        trial.drain_ns = Some(0);
        if trial.seconds > valid {
            trial.validity = Validity::Invalid("the search had no time left".to_owned());
        }
    };
    crate::support::session(&mut Scripted(police), Profile::QUICK, |session| {
        bench::throughput::run(session, &subject(), &[])
    })
}

#[test]
fn what_saved_tokens_add_is_claimed_of_no_device() {
    let mut doubted = 0;
    for (rate, tokens) in [(1e3, 256.0), (1e4, 256.0), (1e5, 256.0), (1e5, 2.0)] {
        for valid in [0.15, 1.0, 4.0, 60.0] {
            let entry = policed(rate, tokens, valid);
            let Details::Throughput(found) = &entry.details else {
                panic!("{}", entry.because)
            };
            let what = format!(
                "{rate} frames/s, {tokens} tokens, {valid} s: {}",
                entry.because
            );
            let is_doubted = found.unlooked.is_some();
            doubted += u32::from(is_doubted);
            let off = entry
                .frames_per_second
                .map_or(0.0, |found| found / rate - 1.0);
            assert!(off.abs() < 0.01 || is_doubted, "{off}, {what}");
        }
    }
    assert!(doubted < 12, "nothing is claimed where it could be");
}
