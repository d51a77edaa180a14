//! From the sinks' counts to the record of a trial.

use super::rig::XdpRig;
use super::sending::{Seen, Sending};
use crate::disturbance::Disturbance;
use crate::latency::Delays;
use crate::rig::RigError;
use crate::sizes::FCS;
use crate::trial::{Counts, Direction, Order, Trial, judge};

impl XdpRig {
    pub(super) fn record(
        &self,
        order: &Order,
        purpose: &str,
        sending: &[Sending],
        seen: &Seen,
        noise: &Disturbance,
    ) -> Result<Trial, RigError> {
        let mut counts = Counts::default();
        let mut delays = Delays::new();
        let mut last_lost_ns = None;
        for ((from, generator), state) in self.generators.iter().zip(sending) {
            let sent = generator.sent() - state.base;
            counts.intended += order.schedule.frames();
            counts.sent += sent;
            let sink = &self.sinks[from ^ 1];
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
            if let Some(gaps) = sink.gaps(0, first, state.base as u32 + sent as u32) {
                counts.loss_runs += gaps.runs;
                counts.longest_loss_run = counts.longest_loss_run.max(u64::from(gaps.longest));
                let planned = gaps.last.map(|last| {
                    order
                        .schedule
                        .departure_ns(state.pacer.place(u64::from(last - first)))
                });
                last_lost_ns = last_lost_ns.max(planned);
            }
            if order.direction == Direction::OneWay {
                let back = self.sinks[*from].counts()?;
                counts.misdirected += back.frames;
                counts.stray += back.other;
                counts.arrivals += back.frames + back.other;
            }
        }
        counts.unsent = counts.intended.saturating_sub(counts.sent);
        counts.lost = counts.sent.saturating_sub(counts.received);
        let each = sending.len().max(1) as f64;
        let seconds = seen.elapsed_ns as f64 / 1e9;
        let intended_seconds = order.schedule.duration_ns().map(|ns| ns as f64 / 1e9);
        let intended_rate =
            intended_seconds.map(|seconds| order.schedule.frames() as f64 / seconds);
        let offered_rate = if seconds > 0.0 {
            counts.sent as f64 / each / seconds
        } else {
            0.0
        };
        let error = intended_rate.map(|rate| offered_rate / rate - 1.0);
        Ok(Trial {
            number: self.number,
            purpose: purpose.to_owned(),
            frame_bytes: order.mean_size(),
            intended_rate,
            offered_rate,
            senders: sending.len() as u8,
            intended_seconds,
            seconds,
            counts,
            latency: delays.summary(),
            response: None,
            worst_lateness_ns: seen.worst_lateness_ns,
            largest_burst: seen.largest_burst,
            batch: 64,
            last_lost_ns,
            longest_silence_ns: (seen.silence_ns > 0).then_some(seen.silence_ns),
            steal: noise.steal,
            waited: noise.waited,
            involuntary_switches: noise.involuntary_switches,
            validity: judge(&counts, error, noise),
        })
    }
}
