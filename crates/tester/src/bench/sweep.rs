//! UDP payload from 64 to 1464 bytes against throughput, delay and jitter.
//!
//! The comparison of SMP and AMP on a dual-core telecom board (De Witte and others, 2013) swept the
//! payload and could measure neither delay nor jitter with its tools. This is that sweep with both,
//! run once for each assignment of cores.

use super::{Finding, Subject, complaint, entry, failed, latency, throughput};
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
pub fn run(session: Session<'_>, subject: &Subject, payload_bytes: u32) -> Entry {
    entry(session, Test::Sweep, subject, |session| {
        let high = throughput::high(session, subject);
        let found = throughput::search(session, high);
        let rate = found.lower.ok_or_else(|| failed(complaint(session)))?;
        let verdict = subject.grade(session, rate, found.limit);
        Ok(Finding {
            rate: Some(rate),
            verdict,
            details: Details::Sweep(SweepPoint {
                payload_bytes,
                goodput: rate * f64::from(payload_bytes) * 8.0,
                delay: latency::point(session, rate, 0.5),
            }),
        })
    })
}
