//! From the sinks' counts to the record of a trial.

use fastpath::generate::Generator;
use fastpath::sink::Sink;

use super::sending::{Seen, Sending};
use crate::disturbance::Disturbance;
use crate::latency::Delays;
use crate::rig::Result;
use crate::sizes::FCS;
use crate::trial::{Counts, Direction, Order, Trial};

/// The record of the trial `named` (its number and what it was for).
pub(super) fn record(
    named: (u32, &str),
    order: &Order,
    (generators, sinks): (&[(usize, Generator)], &[Sink]),
    (sending, seen): (&[Sending], &Seen),
    noise: &Disturbance,
) -> Result<Trial> {
    let mut counts = Counts::default();
    let mut delays = Delays::new();
    let (mut last_lost_ns, mut lost_before_ns) = (None, None);
    for ((from, generator), state) in generators.iter().zip(sending) {
        let sent = generator.sent() - state.base;
        counts.intended += order.schedule.frames();
        counts.sent += sent;
        let sink = &sinks[from ^ 1];
        let at = sink.counts()?;
        let length = u64::from(order.sizes[0].bytes() - FCS);
        // Lengths are known only as a sum: with frames of one size, what is missing in it tells
        // how many at least were cut.
        let cut = if order.sizes.len() == 1 {
            (at.frames * length).abs_diff(at.bytes).div_ceil(length)
        } else {
            0
        };
        let came = at.frames - at.duplicate - at.late;
        let whole = came - cut.min(came);
        counts.arrivals += at.frames + at.other;
        counts.received += whole;
        counts.corrupt += came - whole;
        counts.duplicate += at.duplicate;
        counts.late += at.late;
        counts.reordered += at.reordered;
        counts.stray += at.other;
        if at.stamped > 0 {
            let sum = u128::from(at.latency_sum_ns);
            delays.take_histogram(
                &sink.latencies()?.buckets().collect::<Vec<_>>(),
                sum,
                at.latency_min_ns,
                at.latency_max_ns,
            );
            delays.take_variations(&sink.variations()?.buckets().collect::<Vec<_>>());
        }
        let first = state.base as u32 + 1;
        let gaps = sink.gaps(0, first, state.base as u32 + sent as u32);
        counts.loss_runs += gaps.runs;
        counts.longest_loss_run = counts.longest_loss_run.max(u64::from(gaps.longest));
        let due = |number: u32| {
            let place = state.pacer.place(u64::from(number - first));
            order.schedule.departure_ns(place)
        };
        last_lost_ns = last_lost_ns.max(gaps.last.map(due));
        // A frame that was cut came under its number, so its place is not among the missing.
        if gaps.missing == 0 && gaps.from > first && cut == 0 && whole < sent {
            lost_before_ns = lost_before_ns.max(Some(due(gaps.from)));
        }
        if order.direction == Direction::OneWay {
            let back = sinks[*from].counts()?;
            counts.misdirected += back.frames;
            counts.stray += back.other;
            counts.arrivals += back.frames + back.other;
        }
    }
    counts.unsent = counts.intended.saturating_sub(counts.sent);
    counts.lost = counts.sent.saturating_sub(counts.received);
    let seconds = seen.elapsed_ns as f64 / 1e9;
    Ok(Trial {
        latency: delays.summary(),
        worst_lateness_ns: seen.worst_lateness_ns,
        largest_burst: seen.largest_burst,
        last_lost_ns,
        lost_before_ns,
        longest_silence_ns: (seen.silence_ns > 0).then_some(seen.silence_ns),
        ..Trial::new(named, order, sending.len(), seconds, counts, noise)
    })
}
