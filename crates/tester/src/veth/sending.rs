//! Sending by the timetable.

use fastpath::generate::Generator;
use fastpath::sink::Sink;
use host::clock::now_ns;

use super::timetable::{Timetable, hand_over};
use crate::clock::wait_until;
use crate::rig::{Result, RigError};
use crate::schedule::Pacer;
use crate::trial::Order;

/// Most frames in one call, where the rate makes so many due at once.
const BATCH: u32 = 256;
/// Lead of the timetable over the first look at the clock, ns.
const LEAD_NS: u64 = 50_000;
/// Frames that are not kept waiting for company.
const ENOUGH: u64 = 64;
/// Frames wait so long for company, ns: a call costs microseconds, however few frames it makes.
const CALL_NS: u64 = 40_000;
/// How long one call keeps the timetable, ns; shorter when silences are watched for.
const SLICE_NS: u64 = 20_000_000;
/// The same while a silence is to be timed.
const WATCH_NS: u64 = 1_000_000;
/// Frames of about this much of the timetable are handed over together, ns.
const FLUSH_NS: f64 = 20_000.0;

/// How one sending end is doing.
pub(super) struct Sending {
    pub(super) pacer: Pacer,
    /// Frames made before the trial.
    pub(super) base: u64,
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
}

impl Sending {
    pub(super) fn new(order: &Order, base: u64) -> Self {
        Self {
            pacer: Pacer::new(&order.schedule, BATCH),
            base,
            first_ns: 0,
            last_ns: 0,
        }
    }
}

/// What the sending loop saw besides the frames.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) worst_lateness_ns: u64,
    pub(super) largest_burst: u32,
    pub(super) silence_ns: u64,
    pub(super) elapsed_ns: u64,
}

/// Sends by the timetable. The calling thread is on the generator's core.
pub(super) fn send(
    generators: &mut [(usize, Generator)],
    sinks: &[Sink],
    order: &Order,
    sending: &mut [Sending],
) -> Result<Seen> {
    let mut seen = Seen::default();
    let start = now_ns() + LEAD_NS;
    wait_until(start, host::interrupted);
    let mut newest = vec![(0_u32, 0_u64); sinks.len()];
    loop {
        if host::interrupted() {
            return Err(RigError::Interrupted);
        }
        let mut finished = true;
        for ((_, generator), state) in generators.iter_mut().zip(sending.iter_mut()) {
            let now = now_ns();
            let since = now - start;
            if state.pacer.finished() {
                continue;
            }
            finished = false;
            let due = state.pacer.allowed(since);
            let few = due < state.pacer.left().min(ENOUGH);
            if due == 0 || (state.pacer.paced() && few && state.pacer.lateness_ns(since) < CALL_NS)
            {
                continue;
            }
            let made = hand_over(generator, due.min(1 << 16) as u32)?;
            if state.first_ns == 0 {
                state.first_ns = now;
            }
            state.last_ns = now_ns();
            state.pacer.went(u64::from(made), since);
            seen.largest_burst = seen.largest_burst.max(made);
        }
        let now = now_ns();
        for (sink, (largest, at)) in sinks.iter().zip(&mut newest) {
            let number = sink.largest(0);
            if number != *largest {
                if *largest != 0 {
                    seen.silence_ns = seen.silence_ns.max(now - *at);
                }
                (*largest, *at) = (number, now);
            }
        }
        if finished {
            break;
        }
    }
    for state in sending.iter() {
        seen.worst_lateness_ns = seen.worst_lateness_ns.max(state.pacer.worst_lateness_ns());
        let span = state.last_ns.saturating_sub(state.first_ns);
        let elapsed = match order.schedule.duration_ns() {
            Some(intended) => intended.max(state.last_ns.saturating_sub(start)),
            None => span,
        };
        seen.elapsed_ns = seen.elapsed_ns.max(elapsed);
    }
    Ok(seen)
}

/// Sends one way by a timetable that the program in the kernel keeps: one call for many frames,
/// so that no call's cost falls between two of them.
pub(super) fn send_by_timetable(
    generator: &mut Generator,
    sink: &Sink,
    order: &Order,
    state: &mut Sending,
    watch: bool,
) -> Result<Seen> {
    let mut seen = Seen::default();
    let slice_ns = if watch { WATCH_NS } else { SLICE_NS };
    let start = now_ns() + LEAD_NS;
    state.first_ns = start;
    let mut begun = start;
    let (mut largest, mut at) = (0, start);
    for segment in order.schedule.segments() {
        let interval_ns = 1e9 / segment.rate;
        let timetable = Timetable {
            start_ns: begun,
            interval_ns,
            frames: segment.frames,
            batch: (segment.rate * FLUSH_NS / 1e9).clamp(1.0, 64.0) as u32,
            slice_ns,
        };
        seen.largest_burst = seen.largest_burst.max(timetable.batch);
        begun = timetable.end_ns() + segment.rest_ns;
        let late = timetable.keep(generator, |generator, now, skipped| {
            if skipped > 0 {
                state.pacer.skip(generator.sent() - state.base, skipped);
            }
            let number = sink.largest(0);
            if number != largest {
                let silent = if largest == 0 { 0 } else { now - at };
                seen.silence_ns = seen.silence_ns.max(silent);
                (largest, at) = (number, now);
            }
        })?;
        seen.worst_lateness_ns = seen.worst_lateness_ns.max(late);
    }
    // The program's last look at the clock was for the last frame.
    let end = generator.last_look_ns().max(start);
    seen.elapsed_ns = order.schedule.duration_ns().unwrap_or(0).max(end - start);
    state.last_ns = end;
    Ok(seen)
}
