//! Latency by load: RFC 2544 §26.2 with the tags, median and worst case of RFC 8219 §7.2 and the
//! variation of §7.3.
//!
//! At the throughput itself a delay is the depth of a buffer rather than the device; so the test
//! starts at a tenth of it.

use super::{Finding, Subject, entry, invalid, throughput};
use crate::latency::{Ipdv, Latency};
use crate::result::{Details, Entry, LatencyPoint, Test};
use crate::schedule::Schedule;
use crate::search::Limit;
use crate::session::Session;
use crate::trial::Trial;

/// Loads as shares of the throughput.
pub const LOADS: [f64; 4] = [0.1, 0.5, 0.9, 1.0];
/// Tagged frames that RFC 8219 §7.2 demands.
const TAGGED: u64 = 500;

/// The test, at `rate` or, without one, at the throughput that it searches first.
pub fn run(session: Session<'_>, subject: &Subject, rate: Option<f64>) -> Entry {
    entry(session, Test::Latency, subject, |session| {
        let rate = throughput::or_stated(session, subject, rate, "measure delays at")?;
        let points = LOADS.map(|share| point(session, rate, share));
        let points: Vec<LatencyPoint> = points.into_iter().flatten().collect();
        let (rate, verdict) = if points.is_empty() {
            (None, invalid("no trial of the latency test was valid"))
        } else {
            // What matters here is whether the tester still has room at this rate.
            let verdict = subject.grade(session, rate, Limit::Device);
            (Some(rate), verdict)
        };
        Ok(Finding {
            rate,
            verdict,
            details: Details::Latency { points },
        })
    })
}

/// Delays at a share of a rate; `None` when no trial of it was valid.
pub(super) fn point(session: &mut Session<'_>, rate: f64, share: f64) -> Option<LatencyPoint> {
    let profile = session.profile;
    let rate = rate * share;
    session.order.time_every_frame = true;
    // Long enough for the tags that RFC 8219 wants, even at rates of a few frames a second.
    let seconds = profile.latency_seconds.max(TAGGED as f64 / rate.max(1.0));
    let mut valid = Vec::new();
    for repeat in 1..=profile.latency_repeats {
        session.say(&format!(
            "latency at {:.0} % of the throughput, {repeat} of {}",
            share * 100.0,
            profile.latency_repeats
        ));
        let purpose = format!("latency at {:.0} %", share * 100.0);
        let trial = session.valid_trial(&Schedule::constant(rate, seconds), &purpose, None)?;
        if trial.validity.counts() && trial.latency.is_some() {
            valid.push(trial);
        }
    }
    summarise(share, rate, &valid)
}

/// The median of a figure over those that have it; `None` when none has.
fn median<T>(items: &[T], figure: impl Fn(&T) -> Option<f64>) -> Option<f64> {
    Some(figures::median(items.iter().filter_map(figure))).filter(|median| !median.is_nan())
}

/// The 1st and the 99th percentile of a percentile over the trials that have it (RFC 8219 §7.2); of
/// fewer than a hundred the least and the most.
fn spread(latencies: &[&Latency], percent: f64) -> Option<(u64, u64)> {
    let percentiles = latencies.iter().map(|latency| latency.percentile(percent));
    let mut values: Vec<u64> = percentiles.flatten().collect();
    values.sort_unstable();
    let beyond = values.len() / 100;
    Some((
        *values.get(beyond)?,
        *values.get(values.len().checked_sub(beyond + 1)?)?,
    ))
}

/// The median of every figure over the trials (RFC 8219 §7.2), but the least and the most of all.
fn summarise(share: f64, rate: f64, trials: &[Trial]) -> Option<LatencyPoint> {
    let latencies: Vec<&Latency> = trials
        .iter()
        .filter_map(|trial| trial.latency.as_ref())
        .collect();
    // Of whole nanoseconds, rounded to the next one.
    let whole = |figure: &dyn Fn(&Latency) -> Option<u64>| {
        median(&latencies, |latency| figure(latency).map(|ns| ns as f64))
            .map(|ns| ns.round() as u64)
    };
    let ipdv = |figure: fn(&Ipdv) -> i64| {
        let of = |latency: &&Latency| latency.ipdv.as_ref().map(|ipdv| figure(ipdv) as f64);
        median(&latencies, of).map(|ns| ns.round() as i64)
    };
    let percentile = |percent| whole(&|latency| latency.percentile(percent));
    let typical_ns = percentile(50.0);
    let middle = latencies.iter().min_by_key(|latency| {
        let median = latency.percentile(50.0);
        median.map(|ns| ns.abs_diff(typical_ns.unwrap_or(0)))
    })?;
    let (least, median_ipdv) = (ipdv(|ipdv| ipdv.min_ns), ipdv(|ipdv| ipdv.median_ns));
    let ipdv_ns = least.zip(median_ipdv).zip(ipdv(|ipdv| ipdv.max_ns));
    Some(LatencyPoint {
        share,
        rate,
        repeats: latencies.len() as u32,
        min_ns: latencies.iter().map(|latency| latency.min_ns).min()?,
        mean_ns: median(&latencies, |latency| Some(latency.mean_ns))?,
        typical_ns,
        typical_spread_ns: spread(&latencies, 50.0),
        p99_ns: percentile(99.0),
        worst_ns: percentile(99.9),
        worst_spread_ns: spread(&latencies, 99.9),
        p9999_ns: percentile(99.99),
        max_ns: latencies.iter().map(|latency| latency.max_ns).max()?,
        pdv_ns: whole(&|latency| latency.pdv_ns),
        ipdv_ns: ipdv_ns.map(|((least, middle), most)| (least, middle, most)),
        variation_ns: median(&latencies, |latency| latency.mean_variation_ns),
        response_mean_ns: median(trials, |trial| Some(trial.response.as_ref()?.mean_ns)),
        lost: trials.iter().map(|trial| trial.counts.lost).sum(),
        sent: trials.iter().map(|trial| trial.counts.sent).sum(),
        distribution: middle.distribution.clone(),
    })
}
