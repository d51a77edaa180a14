//! The device in memory, by a simulated clock: no other load on the machine changes the answer.

use tester::bench::{self, Subject};
use tester::clock::Simulated;
use tester::engine::Engine;
use tester::link::calibrated::{Calibrated, Settings};
use tester::profile::Profile;
use tester::result::Details;
use tester::schedule::Schedule;
use tester::session::Session;

use super::claim::{BUFFER, Claim, DELAY, RATE};
use super::order;

/// What waits in the device, s, and at most so many frames: the quick profile waits half a second
/// for them.
const WAITING: (f64, f64) = (0.1, 1_000.0);
/// What the device adds to every frame, ns.
const ADDED_NS: u64 = 250_000;
/// A reading of the clock, ns: some hundred a frame at low rates, a few at high ones.
const STEP_NS: (f64, f64) = (200.0, 5_000.0);

/// Rate, delay and buffer of a device of `rate` frames/s.
pub(crate) fn claims(rate: f64, bytes: u32) -> Result<Vec<Claim>, super::Error> {
    let waiting = (rate * WAITING.0).min(WAITING.1);
    let settings = Settings {
        rate,
        buffer: waiting as u64,
        delay_ns: ADDED_NS,
        ..Settings::default()
    };
    let step_ns = (1e8 / rate).clamp(STEP_NS.0, STEP_NS.1) as u64;
    let mut engine = Engine::with_clock(
        Calibrated::new(settings, 2),
        Simulated::new(step_ns),
        Vec::new(),
        1518,
        1e8,
        1,
    )?;
    let profile = Profile {
        burst_repeats: 1,
        ..Profile::QUICK
    };
    let subject = Subject {
        label: bytes.to_string(),
        selftest: Some(3.0 * rate),
    };
    let mut silent = |_: &str| ();
    let session = Session::new(&mut engine, profile, order(bytes)?, &mut silent);
    let throughput = bench::throughput::run(session, &subject, &[]);

    let mut session = Session::new(&mut engine, profile, order(bytes)?, &mut silent);
    session.order.time_every_frame = true;
    let half = Schedule::constant(rate / 2.0, (100.0 / rate).max(0.1));
    let trial = session.valid_trial(&half, "delay", None);
    let latency = trial.and_then(|trial| trial.latency);
    let median = latency.and_then(|latency| latency.percentile(50.0));

    let fast = Subject {
        selftest: Some(1e6_f64.max(3.0 * rate)),
        ..subject
    };
    let session = Session::new(&mut engine, profile, order(bytes)?, &mut silent);
    let bursts = bench::back_to_back::run(session, &fast, Some(rate));
    let buffer = match &bursts.details {
        Details::BackToBack(found) if bursts.frames_per_second.is_some() => {
            Ok(found.corrected_seconds * found.burst_rate)
        }
        _ => Err(bursts.because.clone()),
    };
    Ok(vec![
        Claim {
            what: "throughput, frames/s",
            asked: format!("rate={rate}"),
            truth: rate,
            found: throughput.frames_per_second.ok_or(throughput.because),
            within: RATE,
        },
        Claim {
            what: "median delay at half load, ns",
            asked: format!("delay={ADDED_NS}ns"),
            truth: ADDED_NS as f64 + 1e9 / rate,
            found: median
                .map(|ns| ns as f64)
                .ok_or_else(|| "too few frames came".to_owned()),
            within: DELAY,
        },
        Claim {
            what: "buffer (RFC 9004), frames",
            asked: format!("buffer={waiting}"),
            truth: waiting,
            found: buffer,
            within: BUFFER,
        },
    ])
}
