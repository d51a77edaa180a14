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
//! Each frame that waits in the first costs the kernel a timer. On a virtual machine that takes some
//! microseconds of the device's core, so from 200,000 frames/s on the device joins what waits in front
//! of it (`rx-gro-list` of ethtool(8)): up to 64 frames of a flow pass the bucket at once, and the
//! cable has them one by one. At a million frames/s the core has no time even so: it takes frames in
//! no faster than the bucket gives them out. They wait in the ring in front of the device instead (256
//! frames), and are lost there.
//!
//! The counters of the interfaces say where each frame was lost. Where some were lost in front of the
//! device, nothing is claimed of the bucket's queue. Its rate is claimed even then if the same device
//! carries more without the bucket: what holds it down is the bucket.

use std::collections::BTreeMap;

use tester::bench::{self, Subject};
use tester::places::{Place, Placing, Way};
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
/// Rates offered, as multiples of the truth, from a rate on, frames/s: the higher the less, for all of
/// them have to reach the bucket.
const OFFERED: [(f64, f64); 3] = [(1e6, 1.1), (50_000.0, 1.25), (0.0, 3.0)];
/// From this rate on, frames/s, the device joins frames.
const JOINED: f64 = 200_000.0;
/// What the device has to carry without its bucket, as a multiple of the rate.
const BEYOND: f64 = 1.02;
/// Of the frames lost, the share that must have been lost in the bucket.
const IN_BUCKET: f64 = 0.99;
/// The quick profile, with disturbed trials run again once instead of three times: beside other load
/// every trial is disturbed, and then four in place of one take most of the time and decide nothing.
const PROFILE: Profile = Profile {
    retries: 1,
    ..Profile::QUICK
};
/// Tokens that the second keeps, s: with more of them it takes a longer trial to show the rate than
/// the quick profile has time for.
const SAVED_SECONDS: f64 = 0.005;
/// And frames: a few, and no more than the ring in front of the device holds, which come at once when
/// the device has been kept from its core.
const SAVED: (f64, f64) = (5.0, 256.0);

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
    across(&testbed, "")?;
    if rate >= JOINED {
        let line = format!("-K {} rx-gro-list on", testbed.ports[0]);
        run(&testbed, "ethtool", &line)?;
    }
    let rig = testbed.rig("a token bucket", 1)?;
    let mut rig = Placing::new(rig, Way::through(&testbed, Box::new(Vec::new)));
    let offered = offered(rate);
    let mut silent = |_: &str| ();

    let mut session = Session::new(&mut rig, PROFILE, order(bytes)?, &mut silent);
    let above = Schedule::constant(offered * rate, PROFILE.loss_seconds);
    let free = session.valid_trial(&above, "without the bucket", None);
    let free = free.map_or(0.0, |trial| trial.forwarded_rate());
    run(&testbed, "tc", &line)?;

    // The bucket is full after an eighth of the trial.
    let seconds = 8.0 * waiting / (rate * (offered - 1.0));
    let mut session = Session::new(&mut rig, PROFILE, order(bytes)?, &mut silent);
    session.order.time_every_frame = true;
    let above = Schedule::constant(offered * rate, seconds);
    let trial = session.valid_trial(&above, "delay of the full buffer", None);
    let mut elsewhere = lost_elsewhere(trial.iter());
    let delay = trial.and_then(|trial| {
        let latency = trial.latency.filter(|_| trial.validity.counts())?;
        latency.percentile(50.0).map(|ns| ns as f64)
    });

    let held_by_bucket = free >= BEYOND * rate;
    let mut found = Found::default();
    // Below its rate the bucket has nothing to do with a loss in front of it.
    let mut early = None;
    if held_by_bucket || elsewhere.is_none() {
        let session = Session::new(&mut rig, PROFILE, order(bytes)?, &mut silent);
        let subject = Subject {
            label: bytes.to_string(),
            selftest: Some(offered * rate),
        };
        let entry = bench::throughput::run(session, &subject, &[]);
        elsewhere = elsewhere.or_else(|| lost_elsewhere(entry.trials.iter()));
        let below = |trial: &&Trial| trial.intended_rate.is_some_and(|asked| asked <= rate);
        early = lost_elsewhere(entry.trials.iter().filter(below));
        found = Found::of(entry);
    }
    let elsewhere = elsewhere
        .map(|why| format!("{why}; without the bucket the device gave out {free:.0} frames/s"));
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
            found: match (early, found.rate) {
                (Some(why), _) => Err(format!("below the bucket's rate, {why}")),
                (None, Some(rate)) if held_by_bucket => Ok(rate),
                (None, rate) => told(rate, &found.because),
            },
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
    let saved = (rate * SAVED_SECONDS).clamp(SAVED.0, SAVED.1);
    let rule = format!("limit rate over {rate:.0}/second burst {saved:.0} packets drop;");
    across(&testbed, &rule)?;
    let rig = testbed.rig("a limit of nftables", 1)?;
    let mut rig = Placing::new(rig, Way::through(&testbed, Box::new(Vec::new)));
    let mut silent = |_: &str| ();
    let session = Session::new(&mut rig, PROFILE, order(bytes)?, &mut silent);
    let offered = offered(rate);
    let subject = Subject {
        label: bytes.to_string(),
        selftest: Some(offered * rate),
    };
    let entry = bench::throughput::run(session, &subject, &[]);
    let elsewhere = lost_elsewhere(entry.trials.iter());
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

/// Runs a program in the device.
fn run(testbed: &Testbed, program: &str, line: &str) -> Result<(), super::Error> {
    let made = testbed
        .device
        .command(program)
        .args(line.split(' '))
        .output()?;
    if !made.status.success() {
        return Err(format!(
            "{program} {line}: {}",
            String::from_utf8_lossy(&made.stderr)
        )
        .into());
    }
    Ok(())
}

/// What is offered to a bucket of a rate, as a multiple of that.
fn offered(rate: f64) -> f64 {
    let fits = OFFERED.iter().find(|(from, _)| rate >= *from);
    fits.map_or(1.0, |(_, multiple)| *multiple)
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
/// all: nothing else in the device drops frames.
fn lost_elsewhere<'a>(trials: impl Iterator<Item = &'a Trial>) -> Option<String> {
    let mut before: BTreeMap<&str, u64> = BTreeMap::new();
    let mut all = 0;
    // Trials that others disturbed are run again, and decide nothing.
    let deciding = trials.filter(|trial| !trial.repeated);
    for one in deciding.flat_map(|trial| &trial.lost_at) {
        all += one.frames;
        if one.place != Place::Device {
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
