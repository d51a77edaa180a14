//! From the sinks' counts to the record of a trial.

use fastpath::generate::Generator;
use fastpath::sink::{self, Gaps, Sink};

use super::sending::{Seen, Sending};
use crate::disturbance::Disturbance;
use crate::latency::Delays;
use crate::rig::Result;
use crate::sizes::FCS;
use crate::trial::{Counts, Direction, Order, STRETCH_SECONDS, Trial, Validity};

/// Why a trial is invalid that has frames of another among its own.
const MIXED: &str = "frames of an earlier trial came among more than 2^21 of this one and cannot \
                     all be told apart; make the trials shorter (--trial)";

/// What came to a sink, told by its numbers.
#[derive(Debug, PartialEq, Eq)]
struct Came {
    /// Different frames of this trial.
    own: u64,
    /// Of earlier ones.
    residual: u64,
    /// There were some of earlier ones, and not all could be told apart.
    mixed: bool,
}

impl Came {
    /// Of `at`, with the `gaps` in the numbers from `first` to `last` that this trial sent.
    /// `stamped` says that every frame carried its departure.
    fn of(at: &sink::Counts, gaps: &Gaps, (first, last): (u32, u32), stamped: bool) -> Self {
        let different = at.frames - at.duplicate - at.late;
        if gaps.from > first {
            return Self {
                own: different,
                residual: at.before,
                mixed: at.before > 0 && !stamped,
            };
        }
        let own = u64::from((last + 1).saturating_sub(first)) - gaps.missing;
        Self {
            own,
            residual: at.before + different.saturating_sub(own),
            mixed: false,
        }
    }
}

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
    let mut mixed = false;
    let mut drain_ns = None;
    let mut lossy = None;
    for ((from, generator), state) in generators.iter().zip(sending) {
        let sent = generator.sent() - state.base;
        counts.intended += order.schedule.frames();
        counts.sent += sent;
        let sink = &sinks[from ^ 1];
        let at = sink.counts()?;
        let first = state.base as u32 + 1;
        let last = state.base as u32 + sent as u32;
        let gaps = sink.gaps(0, first, last);
        let came = Came::of(&at, &gaps, (first, last), order.time_every_frame);
        let length = u64::from(order.sizes[0].bytes() - FCS);
        // Lengths are known only as a sum: with frames of one size, what is missing in it tells
        // how many at least were cut.
        let cut = if order.sizes.len() == 1 {
            (at.frames * length).abs_diff(at.bytes).div_ceil(length)
        } else {
            0
        };
        // Nobody knows how long those of earlier trials were.
        let cut = if came.residual > at.before { 0 } else { cut };
        let whole = came.own - cut.min(came.own);
        counts.arrivals += at.frames + at.before + at.other;
        counts.received += whole;
        counts.corrupt += came.own - whole;
        counts.residual += came.residual;
        mixed |= came.mixed;
        counts.duplicate += at.duplicate;
        counts.late += at.late;
        // Those of earlier trials have smaller numbers.
        counts.reordered += at.reordered.saturating_sub(came.residual - at.before);
        counts.stray += at.other;
        if at.stamped > 0 {
            let sum = u128::from(at.latency_sum_ns);
            drain_ns = drain_ns.max(at.last_latency_ns.checked_sub(at.latency_min_ns));
            delays.take_histogram(
                &sink.latencies()?.buckets().collect::<Vec<_>>(),
                sum,
                at.latency_min_ns,
                at.latency_max_ns,
            );
            delays.take_variations(&sink.variations()?.buckets().collect::<Vec<_>>());
        }
        counts.loss_runs += gaps.runs;
        counts.longest_loss_run = counts.longest_loss_run.max(u64::from(gaps.longest));
        let due = |number: u32| {
            let place = state.pacer.place(u64::from(number - first));
            order.schedule.departure_ns(place)
        };
        last_lost_ns = last_lost_ns.max(gaps.last.map(due));
        if generators.len() == 1 && gaps.missing > 0 && gaps.from == first {
            lossy = lossy_stretches(sink, (first, last), seen.elapsed_ns);
        }
        // A frame that was cut came under its number, so its place is not among the missing.
        if gaps.missing == 0 && gaps.from > first && cut == 0 && whole < sent {
            lost_before_ns = lost_before_ns.max(Some(due(gaps.from)));
        }
        if order.direction == Direction::OneWay {
            let back = sinks[*from].counts()?;
            let gaps = sinks[*from].gaps(0, first, last);
            let came = Came::of(&back, &gaps, (first, last), order.time_every_frame);
            counts.residual += came.residual;
            counts.misdirected += back.frames + back.before - came.residual;
            counts.stray += back.other;
            counts.arrivals += back.frames + back.before + back.other;
        }
    }
    counts.unsent = counts.intended.saturating_sub(counts.sent);
    counts.lost = counts.sent.saturating_sub(counts.received);
    let seconds = seen.elapsed_ns as f64 / 1e9;
    let trial = Trial::new(named, order, sending.len(), seconds, counts, noise);
    let validity = match &trial.validity {
        Validity::Valid | Validity::Noisy(_) if mixed => Validity::Invalid(MIXED.to_owned()),
        judged => judged.clone(),
    };
    Ok(Trial {
        latency: delays.summary(),
        worst_lateness_ns: seen.worst_lateness_ns,
        largest_burst: seen.largest_burst,
        last_lost_ns,
        lossy_stretches: lossy,
        lost_before_ns,
        drain_ns,
        longest_silence_ns: (seen.silence_ns > 0).then_some(seen.silence_ns),
        validity,
        ..trial
    })
}

/// Of the numbers from `first` to `last`, sent in so many ns: in how many stretches some never came.
/// Nothing is told of a trial of a single one.
fn lossy_stretches(sink: &Sink, (first, last): (u32, u32), elapsed_ns: u64) -> Option<u32> {
    let stretches = (elapsed_ns as f64 / 1e9 / STRETCH_SECONDS).round() as u64;
    let sent = u64::from(last - first) + 1;
    let from = |stretch: u64| first + (sent * stretch / stretches) as u32;
    let lossy = |stretch: &u64| {
        let (first, next) = (from(*stretch), from(stretch + 1));
        next > first && sink.gaps(0, first, next - 1).missing > 0
    };
    (stretches > 1).then(|| (0..stretches).filter(lossy).count() as u32)
}

#[cfg(test)]
#[path = "../../tests/unit/veth_record.rs"]
mod tests;
