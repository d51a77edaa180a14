//! Latency by load: RFC 2544 §26.2 with the tags, median and worst case of RFC 8219 §7.2 and the
//! variation of §7.3.
//!
//! At the throughput itself a delay is the depth of a buffer rather than the device; so the test
//! starts at a tenth of it.

use super::{Subject, complaint, entry, noise, throughput};
use crate::honest::{self, Grade};
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
pub fn run(mut session: Session<'_>, subject: &Subject, rate: Option<f64>) -> Entry {
    let high = throughput::high(&session, subject);
    let rate = rate.or_else(|| throughput::search(&mut session, high).lower);
    let Some(rate) = rate else {
        let verdict = (
            Grade::Failed,
            format!(
                "no throughput to measure delays at: {}",
                complaint(&session)
            ),
        );
        return entry(
            session,
            Test::Latency,
            subject,
            None,
            verdict,
            Details::None,
        );
    };
    let points: Vec<LatencyPoint> = LOADS
        .iter()
        .filter_map(|&share| point(&mut session, rate, share))
        .collect();
    let verdict = if points.is_empty() {
        (
            Grade::Invalid,
            "no trial of the latency test was valid".to_owned(),
        )
    } else {
        // What matters here is whether the tester still has room at this rate.
        honest::grade(
            rate,
            subject.selftest,
            Limit::Device,
            noise(&session).as_deref(),
        )
    };
    let found = (!points.is_empty()).then_some(rate);
    entry(
        session,
        Test::Latency,
        subject,
        found,
        verdict,
        Details::Latency { points },
    )
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
        let trial = session.valid_trial(
            &Schedule::constant(rate, seconds),
            &format!("latency at {:.0} %", share * 100.0),
        )?;
        if trial.validity.counts() && trial.latency.is_some() {
            valid.push(trial);
        }
    }
    summarise(share, rate, &valid)
}

/// The median of a figure; `None` of nothing.
fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    Some(figures::median(values)).filter(|median| !median.is_nan())
}

/// The same of whole nanoseconds, rounded to the next one.
fn median_ns(values: impl Iterator<Item = u64>) -> Option<u64> {
    median(values.map(|ns| ns as f64)).map(|ns| ns.round() as u64)
}

/// The median of every figure over the trials (RFC 8219 §7.2).
fn summarise(share: f64, rate: f64, trials: &[Trial]) -> Option<LatencyPoint> {
    let latencies: Vec<_> = trials
        .iter()
        .filter_map(|trial| trial.latency.as_ref())
        .collect();
    let percentile = |percent| {
        median_ns(
            latencies
                .iter()
                .filter_map(|latency| latency.percentile(percent)),
        )
    };
    let typical = percentile(50.0);
    let middle = latencies.iter().min_by_key(|latency| {
        latency
            .percentile(50.0)
            .map(|ns| ns.abs_diff(typical.unwrap_or(0)))
    })?;
    let ipdv = |pick: fn(&crate::latency::Ipdv) -> i64| {
        let seen = latencies.iter().filter_map(|latency| latency.ipdv.as_ref());
        median(seen.map(|ipdv| pick(ipdv) as f64)).map(|ns| ns.round() as i64)
    };
    Some(LatencyPoint {
        share,
        rate,
        repeats: latencies.len() as u32,
        min_ns: median_ns(latencies.iter().map(|latency| latency.min_ns))?,
        mean_ns: median(latencies.iter().map(|latency| latency.mean_ns))?,
        typical_ns: typical,
        p99_ns: percentile(99.0),
        worst_ns: percentile(99.9),
        p9999_ns: percentile(99.99),
        max_ns: median_ns(latencies.iter().map(|latency| latency.max_ns))?,
        pdv_ns: median_ns(latencies.iter().filter_map(|latency| latency.pdv_ns)),
        ipdv_ns: ipdv(|ipdv| ipdv.min_ns)
            .zip(ipdv(|ipdv| ipdv.median_ns))
            .zip(ipdv(|ipdv| ipdv.max_ns))
            .map(|((least, middle), most)| (least, middle, most)),
        variation_ns: median(
            latencies
                .iter()
                .filter_map(|latency| latency.mean_variation_ns),
        ),
        response_mean_ns: median(
            trials
                .iter()
                .filter_map(|trial| trial.response.as_ref().map(|response| response.mean_ns)),
        ),
        lost: trials.iter().map(|trial| trial.counts.lost).sum(),
        sent: trials.iter().map(|trial| trial.counts.sent).sum(),
        distribution: middle.distribution.clone(),
    })
}
