//! Trials with the generator and the sink of crate `fastpath`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicU32, Ordering};

use fastpath::attach::{Attachment, Request};
use fastpath::generate::{Destinations, Frames, Generator, LENGTH_MAX};
use fastpath::sink::{Checks, Sink};
use host::{CoreId, Namespace, Pinned};

use crate::addresses;
use crate::clock::{now_ns, wait_until};
use crate::engine::Macs;
use crate::frame::{DESTINATION_PORT, SOURCE_PORT, TIME_TO_LIVE};
use crate::latency::Delays;
use crate::rig::{Event, Rig, RigError};
use crate::schedule::{OWED_NS, Pacer};
use crate::sizes::{FCS, Family};
use crate::trial::{Counts, Direction, Order, Trial, judge};

/// Lead of the timetable over the first look at the clock, ns.
const LEAD_NS: u64 = 50_000;
/// Most frames in one call, where the rate makes so many due at once.
const BATCH: u32 = 256;
/// Frames that are not kept waiting for company.
const ENOUGH: u64 = 64;
/// Frames wait so long for company, ns: a call costs microseconds, however few frames it makes.
const CALL_NS: u64 = 40_000;
/// How long one call keeps the timetable, ns; shorter when silences are watched for.
const SLICE_NS: u64 = 20_000_000;
/// The same while a silence is to be timed.
const WATCH_NS: u64 = 1_000_000;
/// A run of the paced program with nothing to send waits so long, ns.
const SPIN_NS: u64 = 2_000;
/// Frames of about this much of the timetable are handed over together, ns.
const FLUSH_NS: f64 = 20_000.0;
/// Between two looks for residual frames, ns.
const LOOK_NS: u64 = 200_000;
/// Every so many frames carry a time when not every frame has to.
const STAMP_SOME: u32 = 16;
/// Sequence numbers remembered for a stream: what a trial may send for its losses to be located.
const WINDOW: u32 = 1 << 21;
/// Sequence numbers that a generator may use up before it is made anew, long before 32 bits are full.
const SEQUENCES: u64 = 1 << 31;

/// Interfaces of the attic.
const PARKING: [&str; 2] = ["park0", "park1"];

/// One end of the tester.
#[derive(Debug, Clone)]
pub struct End {
    /// Where the interface is; `None` for the namespace of the process.
    pub namespace: Option<Namespace>,
    /// Its name.
    pub interface: String,
    /// Its index there.
    pub index: u32,
    /// Hardware addresses on both sides of the cable.
    pub macs: Macs,
}

/// What a generator was made for.
#[derive(Debug, Clone, PartialEq)]
struct Made {
    lengths: Vec<u16>,
    family: Family,
    destinations: u32,
    direction: Direction,
    stamp_every: u32,
    timetable: bool,
}

/// Two ends with something between them.
pub struct XdpRig {
    ends: Vec<End>,
    sinks: Vec<Sink>,
    generators: Vec<(usize, Generator)>,
    /// Where the generators' programs are parked, so that short calls are quick.
    attic: Namespace,
    parked: Vec<Attachment>,
    made: Option<Made>,
    core: CoreId,
    number: u32,
    seed: u64,
    ceiling: f64,
    line_rate: Option<f64>,
    description: String,
}

impl XdpRig {
    /// Attaches a sink to both ends. Trials generate on `core`.
    ///
    /// # Errors
    /// A port has an XDP program already, or the kernel refuses ours.
    pub fn new(ends: &[End; 2], core: CoreId, what: &str, seed: u64) -> Result<Self, RigError> {
        let checks = Checks {
            streams: 1,
            window: WINDOW,
            ..Checks::ALL
        };
        let mut modes = Vec::new();
        let mut sinks = Vec::new();
        for end in ends {
            let mut sink = Sink::new(checks)?;
            modes.push(within(end, || sink.attach(&end.interface, Request::Any))??.to_string());
            sinks.push(sink);
        }
        let names: Vec<String> = ends
            .iter()
            .zip(&modes)
            .map(|(end, mode)| format!("{} ({mode} XDP)", end.interface))
            .collect();
        Ok(Self {
            description: format!(
                "in-kernel generator on core {core} and in-kernel sink, {} through {what}; payload bytes not compared",
                names.join(" and ")
            ),
            ends: ends.to_vec(),
            sinks,
            generators: Vec::new(),
            attic: attic()?,
            parked: Vec::new(),
            made: None,
            core,
            number: 0,
            seed,
            ceiling: 20e6,
            line_rate: None,
        })
    }

    /// States the rate of the medium, bits per second.
    #[must_use]
    pub fn with_line_rate(mut self, bits_per_second: Option<f64>) -> Self {
        self.line_rate = bits_per_second;
        self
    }

    /// Makes the generators for an order, unless those of the last one serve.
    fn prepare(&mut self, order: &Order) -> Result<(), RigError> {
        if order.direction == Direction::Mesh {
            return Err(RigError::Unable {
                rig: "the in-kernel generator",
                what: "send in a mesh".to_owned(),
                remedy: "send one way or both ways",
            });
        }
        let made = Made {
            lengths: order.sizes.iter().map(|size| size.bytes() - FCS).collect(),
            family: order.family,
            destinations: order.destinations,
            direction: order.direction,
            timetable: order.direction == Direction::OneWay
                && order
                    .schedule
                    .segments()
                    .iter()
                    .all(|segment| segment.rate.is_finite()),
            stamp_every: if order.time_every_frame {
                1
            } else {
                STAMP_SOME
            },
        };
        if let Some(&length) = made.lengths.iter().find(|&&length| length > LENGTH_MAX) {
            return Err(RigError::Unable {
                rig: "the in-kernel generator",
                what: format!("make frames of {} bytes", length + FCS),
                remedy: "use frames of at most 3404 bytes",
            });
        }
        let used = self
            .generators
            .iter()
            .map(|(_, generator)| generator.sent())
            .max()
            .unwrap_or(0);
        if self.made.as_ref() == Some(&made) && used < SEQUENCES {
            return Ok(());
        }
        self.parked.clear();
        self.generators.clear();
        for (from, to) in order.direction.streams(2) {
            let end = &self.ends[usize::from(from)];
            let frames = Frames {
                source_mac: end.macs.tester,
                destination_mac: end.macs.device,
                vlan: None,
                source: match order.family {
                    Family::Ipv4 => IpAddr::V4(addresses::tester_v4(from)),
                    Family::Ipv6 => IpAddr::V6(addresses::tester_v6(from)),
                },
                destinations: self.destinations(order, to),
                source_port: SOURCE_PORT,
                source_ports: 1,
                destination_port: DESTINATION_PORT,
                ttl: TIME_TO_LIVE,
                lengths: made.lengths.clone(),
                stream: 0,
                stamp_every: made.stamp_every,
            };
            let make = if made.timetable {
                Generator::with_timetable
            } else {
                Generator::new
            };
            let generator = within(end, || make(end.index, &frames))??;
            let place = PARKING[self.parked.len() % PARKING.len()];
            self.parked
                .push(self.attic.enter(|| generator.park(place))??);
            self.generators.push((usize::from(from), generator));
        }
        self.made = Some(made);
        Ok(())
    }

    fn destinations(&self, order: &Order, port: u8) -> Destinations {
        let count = order
            .destinations
            .clamp(1, fastpath::generate::DESTINATIONS_MAX as u32);
        let indices = addresses::shuffled(count, self.seed);
        match order.family {
            Family::Ipv4 => Destinations::V4(
                indices
                    .map(|index| addresses::destination_v4(port, 2, index, count))
                    .collect::<Vec<Ipv4Addr>>(),
            ),
            Family::Ipv6 => Destinations::V6(
                indices
                    .map(|index| addresses::destination_v6(port, index, count))
                    .collect::<Vec<Ipv6Addr>>(),
            ),
        }
    }

    /// Frames that the sinks have seen, ours and others.
    fn arrived(&self) -> Result<u64, RigError> {
        let mut sum = 0;
        for sink in &self.sinks {
            sum += sink.counts()?.frames;
        }
        Ok(sum)
    }

    /// Waits until nothing has come for `quiet_ns`, `all` have, or `limit_ns` is over.
    fn settle(&self, limit_ns: u64, quiet_ns: u64, all: u64) -> Result<(), RigError> {
        let start = now_ns();
        let (mut seen, mut since) = (self.arrived()?, start);
        loop {
            let now = now_ns();
            if seen >= all || now - start >= limit_ns || (seen > 0 && now - since >= quiet_ns) {
                return Ok(());
            }
            if host::interrupted() {
                return Err(RigError::Interrupted);
            }
            wait_until(now + LOOK_NS, host::interrupted);
            let arrived = self.arrived()?;
            if arrived != seen {
                (seen, since) = (arrived, now_ns());
            }
        }
    }

    fn clear(&self) -> Result<(), RigError> {
        for sink in &self.sinks {
            sink.clear()?;
        }
        Ok(())
    }
}

/// A namespace with a cable that nothing is ever sent through.
fn attic() -> Result<Namespace, RigError> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let attic = Namespace::new(&format!("attic{}", COUNT.fetch_add(1, Ordering::Relaxed)))?;
    attic.ip([
        "link", "add", PARKING[0], "type", "veth", "peer", "name", PARKING[1],
    ])?;
    Ok(attic)
}

/// Runs something in the namespace of an end.
fn within<R: Send>(end: &End, work: impl FnOnce() -> R + Send) -> Result<R, RigError> {
    match &end.namespace {
        Some(namespace) => Ok(namespace.enter(work)?),
        None => Ok(work()),
    }
}

/// How one sending end is doing.
struct Sending {
    pacer: Pacer,
    /// Frames made before the trial.
    base: u64,
    first_ns: u64,
    last_ns: u64,
}

impl Sending {
    /// Notes that `places` of the timetable stay empty before the frame after `sent`.
    fn skip(&mut self, sent: u64, places: u64) {
        self.pacer.skip(sent - self.base, places);
    }
}

/// What the sending loop saw besides the frames.
#[derive(Default)]
struct Seen {
    worst_lateness_ns: u64,
    largest_burst: u32,
    silence_ns: u64,
    elapsed_ns: u64,
}

impl XdpRig {
    /// Sends by the timetable. The calling thread is on the generator's core.
    fn send(&mut self, order: &Order, sending: &mut [Sending]) -> Result<Seen, RigError> {
        let mut seen = Seen::default();
        let start = now_ns() + LEAD_NS;
        wait_until(start, host::interrupted);
        let mut newest = vec![(0_u32, 0_u64); self.sinks.len()];
        loop {
            if host::interrupted() {
                return Err(RigError::Interrupted);
            }
            let mut finished = true;
            for ((_, generator), state) in self.generators.iter_mut().zip(sending.iter_mut()) {
                let now = now_ns();
                let since = now - start;
                if state.pacer.finished() {
                    continue;
                }
                finished = false;
                let due = state.pacer.allowed(since);
                let few = due < state.pacer.left().min(ENOUGH);
                if due == 0
                    || (state.pacer.paced() && few && state.pacer.lateness_ns(since) < CALL_NS)
                {
                    continue;
                }
                let made = generator.send(due.min(1 << 16) as u32)?;
                if state.first_ns == 0 {
                    state.first_ns = now;
                }
                state.last_ns = now_ns();
                state.pacer.went(u64::from(made), since);
                seen.largest_burst = seen.largest_burst.max(made);
            }
            let now = now_ns();
            for (sink, (largest, at)) in self.sinks.iter().zip(&mut newest) {
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

    /// Sends one way by a timetable that the program in the kernel keeps: one call for many frames, so that no call's cost falls
    /// between two of them.
    fn send_by_timetable(
        &mut self,
        order: &Order,
        state: &mut Sending,
        watch: bool,
    ) -> Result<Seen, RigError> {
        let mut seen = Seen::default();
        let Some((from, generator)) = self.generators.first_mut() else {
            return Ok(seen);
        };
        let sink = &self.sinks[*from ^ 1];
        let slice_ns = if watch { WATCH_NS } else { SLICE_NS };
        let start = now_ns() + LEAD_NS;
        state.first_ns = start;
        let mut begun = start;
        let (mut largest, mut at) = (0, start);
        for segment in order.schedule.segments() {
            let interval = 1e9 / segment.rate;
            let batch = (segment.rate * FLUSH_NS / 1e9).clamp(1.0, 64.0) as u32;
            generator.set_batch(batch)?;
            generator.pace(begun, interval, segment.frames);
            seen.largest_burst = seen.largest_burst.max(batch);
            begun += (segment.frames as f64 * interval) as u64 + segment.rest_ns;
            while generator.remaining() > 0 {
                if host::interrupted() {
                    return Err(RigError::Interrupted);
                }
                let left_ns = begun.saturating_sub(now_ns()).min(slice_ns);
                let frames = ((left_ns as f64 / interval) as u64 + 1).min(generator.remaining());
                let runs = frames + left_ns / SPIN_NS + u64::from(batch);
                generator.send(runs.min(u64::from(u32::MAX)) as u32)?;
                let now = now_ns();
                if generator.remaining() > 0 {
                    let late = now.saturating_sub(generator.next_due_ns());
                    seen.worst_lateness_ns = seen.worst_lateness_ns.max(late);
                    if late > OWED_NS {
                        let places = ((late - OWED_NS) as f64 / interval) as u64;
                        let places = places.min(generator.remaining());
                        state.skip(generator.sent(), places);
                        generator.skip(places);
                    }
                }
                let number = sink.largest(0);
                if number != largest {
                    let silent = if largest == 0 { 0 } else { now - at };
                    seen.silence_ns = seen.silence_ns.max(silent);
                    (largest, at) = (number, now);
                }
            }
        }
        // The program's last look at the clock was for the last frame.
        let end = generator.last_look_ns().max(start);
        seen.elapsed_ns = order.schedule.duration_ns().unwrap_or(0).max(end - start);
        state.last_ns = end;
        Ok(seen)
    }

    fn record(
        &self,
        order: &Order,
        purpose: &str,
        sending: &[Sending],
        seen: &Seen,
        noise: &host::Noise,
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
            // Lengths are known only as a sum: with frames of one size, what is missing in it tells how many at least were cut.
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
            involuntary_switches: noise.involuntary_switches,
            validity: judge(&counts, error, noise.steal),
        })
    }
}

impl Rig for XdpRig {
    fn run(
        &mut self,
        order: &Order,
        purpose: &str,
        event: Option<Event<'_>>,
    ) -> Result<Trial, RigError> {
        self.number += 1;
        self.prepare(order)?;
        let _pinned = Pinned::to(self.core);
        for (_, generator) in &mut self.generators {
            generator.pace(0, 1.0, 1);
            generator.send(1)?;
        }
        wait_until(now_ns() + order.waits.learning_ns, host::interrupted);
        self.clear()?;
        let mut sending: Vec<Sending> = self
            .generators
            .iter()
            .map(|(_, generator)| Sending {
                pacer: Pacer::new(&order.schedule, BATCH),
                base: generator.sent(),
                first_ns: 0,
                last_ns: 0,
            })
            .collect();
        let cores = [self.core];
        let before = host::noise::Reading::now(&cores);
        let sent = std::thread::scope(|scope| {
            if let Some(event) = event {
                let at = now_ns() + event.at_ns;
                scope.spawn(move || {
                    wait_until(at, host::interrupted);
                    (event.action)();
                });
            }
            if self.made.as_ref().is_some_and(|made| made.timetable) {
                self.send_by_timetable(order, &mut sending[0], event.is_some())
            } else {
                self.send(order, &mut sending)
            }
        });
        let noise = before.until(&host::noise::Reading::now(&cores));
        let seen = sent?;
        let expected = sending
            .iter()
            .zip(&self.generators)
            .map(|(state, (_, generator))| generator.sent() - state.base)
            .sum();
        self.settle(order.waits.residual_ns, order.waits.quiet_ns, expected)?;
        // What has been counted last may still be duplicates; a moment more costs nothing.
        let record = self.record(order, purpose, &sending, &seen, &noise)?;
        wait_until(now_ns() + order.waits.settle_ns, host::interrupted);
        Ok(record)
    }

    fn describe(&self) -> String {
        self.description.clone()
    }

    fn line_rate(&self) -> Option<f64> {
        self.line_rate
    }

    fn ceiling(&self) -> f64 {
        self.ceiling
    }
}
