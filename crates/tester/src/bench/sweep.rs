//! UDP payload from 64 to 1464 bytes against throughput, delay and jitter.
//!
//! The comparison of SMP and AMP on a dual-core telecom board (De Witte and others, 2013) swept the
//! payload and could measure neither delay nor jitter with its tools. This is that sweep with both,
//! run once for each assignment of cores.

use super::{Subject, complaint, entry, latency, noise, throughput};
use crate::honest::{self, Grade};
use crate::result::{Details, Entry, SweepPoint, Test};
use crate::session::Session;

/// Smallest payload, largest, and step, bytes.
pub const PAYLOADS: (u32, u32, u32) = (64, 1464, 100);

/// The payloads in order.
pub fn payloads() -> impl Iterator<Item = u32> {
    let (first, last, step) = PAYLOADS;
    (first..=last).step_by(step as usize)
}

/// One payload: throughput, then delays at half of it.
pub fn run(mut session: Session<'_>, subject: &Subject, payload_bytes: u32) -> Entry {
    let high = throughput::high(&session, subject);
    let found = throughput::search(&mut session, high);
    let Some(rate) = found.lower else {
        let verdict = (Grade::Failed, complaint(&session));
        return entry(session, Test::Sweep, subject, None, verdict, Details::None);
    };
    let verdict = honest::grade(
        rate,
        subject.selftest,
        found.limit,
        noise(&session).as_deref(),
    );
    let delay = latency::point(&mut session, rate, 0.5);
    let details = Details::Sweep(SweepPoint {
        payload_bytes,
        goodput: rate * f64::from(payload_bytes) * 8.0,
        delay,
    });
    entry(session, Test::Sweep, subject, Some(rate), verdict, details)
}
