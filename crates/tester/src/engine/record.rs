//! The record of a trial, from what was sent and what arrived.

use port::Burst;
use serde::{Deserialize, Serialize};

use super::sender::Sender;
use crate::disturbance::Disturbance;
use crate::latency::Latency;
use crate::trial::{Counts, Order, Trial};

/// What the receiving half knows at the end of a trial; with two machines it travels between them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Arrived {
    /// Of the counts, those of the receiving side.
    pub(super) counts: Counts,
    pub(super) latency: Option<Latency>,
    pub(super) response: Option<Latency>,
    /// Largest missing sequence number of each stream that lost frames.
    pub(super) last_lost: Vec<(u8, u32)>,
    pub(super) longest_silence_ns: Option<u64>,
    pub(super) drain_ns: Option<u64>,
}

/// Puts the two halves together.
pub(super) fn record(
    number: u32,
    order: &Order,
    purpose: &str,
    senders: &[Sender],
    arrived: Arrived,
    noise: &Disturbance,
) -> Trial {
    let mut counts = arrived.counts;
    let mut longest_ns = 0;
    let (mut lateness, mut largest) = (0, 0);
    for sender in senders {
        counts.intended += order.schedule.frames();
        counts.sent += sender.sent();
        counts.modifiers += sender.modifiers();
        longest_ns = longest_ns.max(sender.elapsed_ns());
        lateness = lateness.max(sender.worst_lateness_ns());
        largest = largest.max(sender.largest_burst);
    }
    counts.unsent = counts.intended - counts.sent - counts.modifiers;
    counts.lost = counts.sent.saturating_sub(counts.received);
    let lost_at = arrived.last_lost.iter().filter_map(|&(stream, sequence)| {
        senders
            .iter()
            .find_map(|sender| sender.planned_ns(stream, sequence))
    });
    let seconds = longest_ns as f64 / 1e9;
    let trial = Trial::new(
        (number, purpose),
        order,
        senders.len(),
        seconds,
        counts,
        noise,
    );
    Trial {
        latency: arrived.latency,
        response: trial
            .intended_rate
            .and(arrived.response)
            .map(Latency::without_distribution),
        worst_lateness_ns: lateness,
        largest_burst: largest,
        batch: Burst::CAPACITY as u32,
        last_lost_ns: lost_at.max(),
        drain_ns: arrived.drain_ns,
        longest_silence_ns: arrived.longest_silence_ns,
        ..trial
    }
}

/// Frames of each stream that the ports took, in the order of the streams.
pub(super) fn sent_by_stream(senders: &[Sender], streams: usize) -> Vec<u32> {
    (0..=u8::MAX)
        .take(streams)
        .map(|stream| {
            senders
                .iter()
                .find_map(|sender| sender.sent_of(stream))
                .unwrap_or(0)
        })
        .collect()
}
