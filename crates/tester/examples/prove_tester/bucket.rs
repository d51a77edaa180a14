//! The kernel's forwarding with its own token bucket behind it (tc-tbf(8)), over veth: root.
//!
//! Each frame that waits in the bucket costs the kernel a timer: on a slow core the frames of a
//! high rate are lost before they reach it. The kernel counts what the bucket dropped, and where
//! that was not all, nothing is claimed of the bucket.

use tester::bench::{self, Subject};
use tester::profile::Profile;
use tester::result::Details;
use tester::schedule::Schedule;
use tester::session::Session;
use tester::sizes::FCS;
use tester::trial::Trial;
use tester::veth::Testbed;

use super::claim::{BUFFER, Claim, DELAY, RATE};
use super::order;

/// Tokens that the bucket keeps, s: a timer of the kernel that is later loses some for good.
const TOKENS_SECONDS: f64 = 0.002;
/// What waits behind it, s, and at least so many frames.
const WAITING: (f64, f64) = (0.005, 200.0);
/// Rates offered, as multiples of the truth.
const OFFERED: f64 = 3.0;

/// Why nothing is claimed of a bucket that did not see all frames.
const LOST_BEFORE: &str = "frames were lost before the bucket";

/// Rate, buffer and the delay of that buffer, of a bucket of `rate` frames/s.
pub(crate) fn claims(rate: f64, bytes: u32) -> Result<Vec<Claim>, super::Error> {
    let testbed = Testbed::new(1500, true)?;
    let length = f64::from(bytes - u32::from(FCS));
    let waiting = (rate * WAITING.0).max(WAITING.1).round();
    let tokens = (rate * TOKENS_SECONDS).max(4.0).round();
    let line = format!(
        "qdisc replace dev {} root tbf rate {:.0}bit burst {} limit {}",
        testbed.ports[1],
        rate * length * 8.0,
        tokens * length,
        waiting * length
    );
    let made = testbed
        .device
        .command("tc")
        .args(line.split(' '))
        .output()?;
    if !made.status.success() {
        return Err(String::from_utf8_lossy(&made.stderr).into());
    }
    let mut rig = testbed.rig("a token bucket", 1)?;
    let subject = Subject {
        label: bytes.to_string(),
        selftest: Some(OFFERED * rate),
    };
    let mut silent = |_: &str| ();
    let session = Session::new(&mut rig, Profile::QUICK, order(bytes)?, &mut silent);
    let entry = bench::throughput::run(session, &subject, &[]);
    let (drain, unlooked) = match &entry.details {
        Details::Throughput(found) => (found.drain_ns, found.unlooked.clone()),
        _ => (None, None),
    };
    // A bucket's tokens bridge short trials: the tester vouches for no rate of these alone.
    let throughput = match unlooked {
        Some(why) => Err(format!("no long trial was valid: {why}")),
        None => entry.frames_per_second.ok_or(entry.because),
    };

    // The bucket is full after an eighth of the trial.
    let seconds = 8.0 * waiting / rate;
    let mut session = Session::new(&mut rig, Profile::QUICK, order(bytes)?, &mut silent);
    session.order.time_every_frame = true;
    let twice = Schedule::constant(2.0 * rate, seconds);
    let trial = session.valid_trial(&twice, "delay of the full buffer", None);
    let lost: u64 = entry
        .trials
        .iter()
        .chain(&trial)
        .map(|trial| trial.counts.lost)
        .sum();
    let bottleneck = 100 * dropped(&testbed)? >= 99 * lost;
    let behind = |figure: Option<f64>| {
        let figure = figure.filter(|_| bottleneck);
        figure.ok_or_else(|| LOST_BEFORE.to_owned())
    };
    let delay = |trial: Trial| {
        let latency = trial.latency.filter(|_| trial.validity.counts())?;
        latency.percentile(50.0).map(|ns| ns as f64)
    };
    Ok(vec![
        Claim {
            what: "throughput, frames/s",
            asked: format!("tbf rate {:.0}bit", rate * length * 8.0),
            truth: rate,
            found: throughput.and_then(|rate| behind(Some(rate))),
            within: RATE,
        },
        Claim {
            what: "buffer by its drain, frames",
            asked: format!("tbf limit {}", waiting * length),
            truth: waiting,
            found: behind(drain.map(|ns| ns as f64 * rate / 1e9)),
            within: BUFFER,
        },
        Claim {
            what: "median delay, buffer full, ns",
            asked: format!("tbf limit {}", waiting * length),
            truth: waiting / rate * 1e9,
            found: behind(trial.and_then(delay)),
            within: DELAY,
        },
    ])
}

/// Frames that the bucket dropped, as the kernel counts.
fn dropped(testbed: &Testbed) -> Result<u64, super::Error> {
    let words = ["-s", "qdisc", "show", "dev", &testbed.ports[1]];
    let shown = testbed.device.command("tc").args(words).output()?;
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    let (_, rest) = text.split_once("dropped ").ok_or("tc tells no drops")?;
    let digits = rest.split(|one: char| !one.is_ascii_digit()).next();
    Ok(digits.unwrap_or_default().parse()?)
}
