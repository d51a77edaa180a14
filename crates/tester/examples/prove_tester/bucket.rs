//! The kernel's own token buckets between two veths: root.
//!
//! What comes in at one port goes out at the other without a look at the routes (`fwd to` of
//! nft(8)), for a device has to take in more than its bucket gives out. There are two buckets.
//! The first (tc-tbf(8)) has a queue: a rate, a buffer and the delay of that. The second (`limit`
//! of nft(8)) has none, and drops what it has no token for: a rate alone.
//!
//! `limit` is the length of what may wait for tokens, headers with it and FCS not, so it is a number
//! of frames of one size. What waits is seen by its drain only if the first trial fills it: its
//! frames less those that leave meanwhile must be more.
//!
//! Each frame that waits in the first costs the kernel a timer, or a turn of the loop that sends
//! while there are tokens. At a million frames/s the core of the device has no time beside that: it
//! takes frames in no faster than the bucket gives them out. They wait in the ring in front of the
//! device instead (256 frames), and are lost there. The counters of the interfaces and of the bucket
//! say where each frame was lost. Where some were lost elsewhere, nothing is claimed of the bucket: if
//! that shows in the first trial, no rate is searched for.

use std::collections::BTreeMap;

use host::Namespace;
use tester::bench::{self, Subject};
use tester::places::{Lost, Place, Placing, Way};
use tester::profile::Profile;
use tester::result::{Details, Entry};
use tester::schedule::Schedule;
use tester::session::Session;
use tester::sizes::FCS;
use tester::trial::Trial;
use tester::veth::Testbed;

use super::claim::{BUFFER, Claim, DELAY, RATE};
use super::order;

/// Tokens that the first bucket keeps, s: a timer of the kernel that is later loses some for good.
const TOKENS_SECONDS: f64 = 0.002;
/// What waits behind it, s, and at least so many frames.
const WAITING: (f64, f64) = (0.005, 100.0);
/// Rates offered, as multiples of the truth: from this rate on, frames/s, less, for all of them
/// have to reach the bucket.
const HIGH: f64 = 50_000.0;
const OFFERED: [f64; 2] = [3.0, 1.25];
/// Of the frames lost, the share that must have been lost in the bucket.
const IN_BUCKET: f64 = 0.99;
/// The quick profile, with disturbed trials run again once instead of three times: beside other load
/// every trial is disturbed, and then four in place of one take most of the time and decide nothing.
const PROFILE: Profile = Profile {
    retries: 1,
    ..Profile::QUICK
};
/// Tokens that the second keeps, frames: as many as the ring in front of the device holds, which come
/// at once when the device has been kept from its core.
const TOKENS: u32 = 256;
/// How the bucket's drops are called.
const BUCKET: &str = "token bucket";

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
    across(&testbed, "")?;
    let (device, port) = (testbed.device.clone(), testbed.ports[1].clone());
    let reasons = move || vec![(BUCKET.to_owned(), dropped(&device, &port))];
    let rig = testbed.rig("a token bucket", 1)?;
    let mut rig = Placing::new(rig, Way::through(&testbed, Box::new(reasons)));
    let offered = OFFERED[usize::from(rate >= HIGH)];
    let mut silent = |_: &str| ();

    // The bucket is full after an eighth of the trial.
    let seconds = 8.0 * waiting / (rate * (offered - 1.0));
    let mut session = Session::new(&mut rig, PROFILE, order(bytes)?, &mut silent);
    session.order.time_every_frame = true;
    let above = Schedule::constant(offered * rate, seconds);
    let trial = session.valid_trial(&above, "delay of the full buffer", None);
    let in_bucket = |one: &Lost| one.reason.as_deref() == Some(BUCKET);
    let mut elsewhere = lost_elsewhere(trial.iter(), in_bucket);
    let delay = trial.and_then(|trial| {
        let latency = trial.latency.filter(|_| trial.validity.counts())?;
        latency.percentile(50.0).map(|ns| ns as f64)
    });

    let mut found = Found::default();
    if elsewhere.is_none() {
        let session = Session::new(&mut rig, PROFILE, order(bytes)?, &mut silent);
        let subject = Subject {
            label: bytes.to_string(),
            selftest: Some(offered * rate),
        };
        let entry = bench::throughput::run(session, &subject, &[]);
        elsewhere = lost_elsewhere(entry.trials.iter(), in_bucket);
        found = Found::of(entry);
    }
    let told = |figure: Option<f64>, otherwise: &str| match &elsewhere {
        Some(why) => Err(why.clone()),
        None => figure.ok_or_else(|| otherwise.to_owned()),
    };
    let drain = found.drain_ns.map(|ns| ns as f64 * rate / 1e9);
    Ok(vec![
        Claim {
            what: "throughput, frames/s",
            asked: format!("tbf rate {:.0}bit", rate * length * 8.0),
            truth: rate,
            found: told(found.rate, &found.because),
            within: RATE,
        },
        Claim {
            what: "buffer by its drain, frames",
            asked: format!("tbf limit {}", waiting * length),
            truth: waiting,
            found: told(drain, "the first trial did not fill it"),
            within: BUFFER,
        },
        Claim {
            what: "median delay, buffer full, ns",
            asked: format!("tbf limit {}", waiting * length),
            truth: waiting / rate * 1e9,
            found: told(delay, "no trial was valid"),
            within: DELAY,
        },
    ])
}

/// Rate of a bucket of `rate` frames/s without a queue.
pub(crate) fn claims_without_queue(rate: f64, bytes: u32) -> Result<Vec<Claim>, super::Error> {
    let testbed = Testbed::new(1500, true)?;
    let rule = format!("limit rate over {rate:.0}/second burst {TOKENS} packets drop;");
    across(&testbed, &rule)?;
    let rig = testbed.rig("a limit of nftables", 1)?;
    let mut rig = Placing::new(rig, Way::through(&testbed, Box::new(Vec::new)));
    let mut silent = |_: &str| ();
    let session = Session::new(&mut rig, PROFILE, order(bytes)?, &mut silent);
    let offered = OFFERED[usize::from(rate >= HIGH)];
    let subject = Subject {
        label: bytes.to_string(),
        selftest: Some(offered * rate),
    };
    let entry = bench::throughput::run(session, &subject, &[]);
    // Nothing else in the device drops frames.
    let elsewhere = lost_elsewhere(entry.trials.iter(), |one| one.place == Place::Device);
    let found = Found::of(entry);
    Ok(vec![Claim {
        what: "throughput, frames/s",
        asked: format!("nft limit {rate:.0}/second"),
        truth: rate,
        found: elsewhere.map_or(found.rate.ok_or(found.because), Err),
        within: RATE,
    }])
}

/// Has the device send all that comes in at its first port, but what `rule` drops, out of its
/// second.
fn across(testbed: &Testbed, rule: &str) -> Result<(), super::Error> {
    let [from, to] = [0, 1].map(|port| &testbed.ports[port]);
    let ruleset = format!(
        "table netdev across {{\n chain in {{\n type filter hook ingress device \"{from}\" priority \
         0; {rule} fwd to \"{to}\";\n }}\n }}"
    );
    let made = testbed.device.command("nft").arg(ruleset).output()?;
    if !made.status.success() {
        return Err(String::from_utf8_lossy(&made.stderr).into());
    }
    Ok(())
}

/// What the search found.
#[derive(Default)]
struct Found {
    rate: Option<f64>,
    /// Of a buffer that was full.
    drain_ns: Option<u64>,
    /// Why there is no rate.
    because: String,
}

impl Found {
    fn of(entry: Entry) -> Self {
        let Details::Throughput(bounds) = &entry.details else {
            return Self {
                because: entry.because,
                ..Self::default()
            };
        };
        let first = entry.trials.first();
        let is_full = first.is_some_and(|trial| trial.counts.lost > 0);
        let drain_ns = bounds.drain_ns.filter(|_| is_full);
        // A bucket's tokens bridge short trials: the tester vouches for no rate of these alone.
        let (rate, because) = match &bounds.unlooked {
            Some(why) => (None, format!("no long trial was valid: {why}")),
            None => (entry.frames_per_second, entry.because),
        };
        Self {
            rate,
            drain_ns,
            because,
        }
    }
}

/// Where frames were lost that the bucket never saw, by the counters; `None` where it saw nearly
/// all.
fn lost_elsewhere<'a>(
    trials: impl Iterator<Item = &'a Trial>,
    in_bucket: impl Fn(&Lost) -> bool,
) -> Option<String> {
    let mut before: BTreeMap<&str, u64> = BTreeMap::new();
    let mut all = 0;
    // Trials that others disturbed are run again, and decide nothing.
    let deciding = trials.filter(|trial| !trial.repeated);
    for one in deciding.flat_map(|trial| &trial.lost_at) {
        all += one.frames;
        if !in_bucket(one) {
            *before.entry(one.place.words()).or_default() += one.frames;
        }
    }
    let missed: u64 = before.values().sum();
    let parts = before.iter();
    let parts: Vec<String> = parts
        .map(|(place, frames)| format!("{frames} {place}"))
        .collect();
    let parts = parts.join(", ");
    (missed as f64 > (1.0 - IN_BUCKET) * all as f64)
        .then(|| format!("of {all} frames lost the bucket did not see {missed}: {parts}"))
}

/// Frames that the bucket dropped, as the kernel counts.
fn dropped(device: &Namespace, port: &str) -> u64 {
    let words = ["-s", "qdisc", "show", "dev", port];
    let shown = device.command("tc").args(words).output();
    let text = shown.map(|shown| String::from_utf8_lossy(&shown.stdout).into_owned());
    let text = text.unwrap_or_default();
    let rest = text.split_once("dropped ").map_or("", |(_, rest)| rest);
    let digits = rest.split(|one: char| !one.is_ascii_digit()).next();
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}
