//! The user-space engine: one thread that sends by the timetable and checks what arrives, over any [`Link`].
//!
//! One loop does both, so a trial needs one core and no two threads share a line. Each turn reads the clock once, builds what is due
//! (at most 64 frames for each port), hands it over, then takes at most a burst from each port and checks every frame of it. All
//! frames of a burst carry the same departure time, read before the burst is handed over; the time of arrival is read after the
//! burst was taken in. The burst sizes are in the record, for they bound the error of a delay.
//!
//! Memory: the engine owns the pool; frames are the link's between transmit and receive.

mod receiver;
mod sender;

use host::CoreId;
use port::pool::Layout;
use port::{Burst, Pool};

use crate::addresses;
use crate::clock::{self, Clock, Monotonic};
use crate::disturbance::{Disturbance, Watch};
use crate::frame::Ends;
use crate::latency::Latency;
use crate::link::Link;
use crate::rig::{Event, Rig, RigError};
use crate::trial::{Counts, Order, Trial, judge};
use receiver::Receiver;
use sender::Sender;

/// Buffers of the pool: what may be under way in a device.
const BUFFERS: u32 = 1 << 15;
/// Bytes of a buffer for frames beyond 1518 bytes.
const JUMBO_STRIDE: u32 = 9216 + 576;
/// Lead of the timetable over the first look at the clock, ns.
const LEAD_NS: u64 = 20_000;
/// A port that takes no frame for this long ends the trial, ns.
const STUCK_NS: u64 = 1_000_000_000;

/// Hardware addresses at one port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Macs {
    /// The tester's.
    pub tester: [u8; 6],
    /// The device's.
    pub device: [u8; 6],
}

/// The engine over one link.
pub struct Engine<L, C = Monotonic> {
    link: L,
    clock: C,
    pool: Pool,
    macs: Vec<Macs>,
    number: u32,
    missed: u64,
    ceiling: f64,
    line_rate: Option<f64>,
    seed: u64,
}

impl<L: Link> Engine<L> {
    /// An engine for frames up to `largest` bytes with FCS. `ceiling` is the rate at which searches begin, frames/s.
    ///
    /// # Errors
    /// No memory for the frames.
    pub fn new(
        link: L,
        macs: Vec<Macs>,
        largest: u16,
        ceiling: f64,
        seed: u64,
    ) -> Result<Self, RigError> {
        Engine::with_clock(link, Monotonic, macs, largest, ceiling, seed)
    }
}

impl<L: Link, C: Clock> Engine<L, C> {
    /// An engine with another clock, for frames up to `largest` bytes with FCS. `ceiling` is the rate at which searches begin, frames/s.
    ///
    /// # Errors
    /// No memory for the frames.
    pub fn with_clock(
        mut link: L,
        clock: C,
        macs: Vec<Macs>,
        largest: u16,
        ceiling: f64,
        seed: u64,
    ) -> Result<Self, RigError> {
        let layout = if largest > crate::sizes::STANDARD_MAXIMUM {
            Layout::chunks(BUFFERS / 4, JUMBO_STRIDE, 64)
        } else {
            Layout::ordinary(BUFFERS)
        };
        let missed = link.missed();
        Ok(Self {
            link,
            clock,
            pool: Pool::new(layout)?,
            macs,
            number: 0,
            missed,
            ceiling,
            line_rate: None,
            seed,
        })
    }

    /// States the rate of the medium, bits per second.
    #[must_use]
    pub fn with_line_rate(mut self, bits_per_second: Option<f64>) -> Self {
        self.line_rate = bits_per_second;
        self
    }

    fn ends(&self, port: u8) -> Ends {
        let macs = self
            .macs
            .get(usize::from(port))
            .copied()
            .unwrap_or_default();
        Ends {
            source_mac: macs.tester,
            destination_mac: macs.device,
            source_v4: addresses::tester_v4(port),
            source_v6: addresses::tester_v6(port),
        }
    }

    /// Takes what is still under way from before, so that it is not counted here.
    fn drain(&mut self) -> Result<(), RigError> {
        let mut burst = Burst::new();
        for port in 0..self.link.ports() {
            loop {
                let count =
                    self.link
                        .receive(port, &mut self.pool, &mut burst, self.clock.now_ns())?;
                self.pool.release_all(&mut burst);
                if count == 0 {
                    break;
                }
            }
        }
        self.missed = self.link.missed();
        Ok(())
    }

    /// One frame to the first destinations of every stream, and the wait for what it makes the device learn (RFC 2544 §23 b).
    fn learn(&mut self, senders: &mut [Sender], waits_ns: u64) -> Result<(), RigError> {
        let mut burst = Burst::new();
        for sender in senders.iter() {
            sender.learning(&mut self.pool, &mut burst);
            self.link
                .transmit(sender.port, &mut self.pool, &mut burst, self.clock.now_ns())?;
            self.pool.release_all(&mut burst);
        }
        self.clock
            .wait_until(self.clock.now_ns() + waits_ns, host::interrupted);
        self.drain()
    }

    /// Sends by the timetable and receives until all has come or the wait is over.
    fn traffic(
        &mut self,
        senders: &mut [Sender],
        receiver: &mut Receiver,
        order: &Order,
    ) -> Result<(), RigError> {
        let start = self.clock.now_ns() + LEAD_NS;
        let mut burst = Burst::new();
        for sender in senders.iter_mut() {
            sender.start(start);
        }
        receiver.start(start);
        let ports = self.link.ports();
        let mut sending = true;
        let mut deadline = u64::MAX;
        loop {
            if host::interrupted() {
                return Err(RigError::Interrupted);
            }
            let now = self.clock.now_ns();
            if sending {
                sending = false;
                for sender in senders.iter_mut() {
                    sender.turn(&mut self.link, &mut self.pool, now)?;
                    sending |= !sender.finished();
                }
                if !sending {
                    deadline = now + order.waits.residual_ns;
                    receiver.expect(senders);
                } else if senders
                    .iter()
                    .any(|sender| sender.stuck_for(now) > STUCK_NS)
                {
                    return Ok(());
                }
            }
            let mut idle = true;
            for port in 0..ports {
                if self.link.receive(port, &mut self.pool, &mut burst, now)? > 0 {
                    receiver.take(port, &self.pool, &burst, self.clock.now_ns());
                    self.pool.release_all(&mut burst);
                    idle = false;
                }
            }
            if !sending && idle {
                let since = deadline - order.waits.residual_ns;
                let quiet = receiver.quiet_ns(since, now);
                if receiver.complete() || now >= deadline || quiet >= order.waits.quiet_ns {
                    return Ok(());
                }
            }
        }
    }

    fn record(
        &mut self,
        order: &Order,
        purpose: &str,
        senders: &[Sender],
        receiver: Receiver,
        noise: &Disturbance,
    ) -> Trial {
        let mut counts = Counts {
            tester_dropped: self.link.missed() - self.missed,
            ..Counts::default()
        };
        let mut longest_ns = 0;
        let (mut lateness, mut largest) = (0, 0);
        for sender in senders {
            counts.intended += order.schedule.frames();
            counts.sent += sender.sent();
            longest_ns = longest_ns.max(sender.elapsed_ns());
            lateness = lateness.max(sender.worst_lateness_ns());
            largest = largest.max(sender.largest_burst);
        }
        counts.unsent = counts.intended - counts.sent;
        let seen = receiver.finish(senders, &mut counts);
        counts.lost = counts.sent.saturating_sub(counts.received);
        let each = senders.len().max(1) as f64;
        let intended_seconds = order.schedule.duration_ns().map(|ns| ns as f64 / 1e9);
        let seconds = longest_ns as f64 / 1e9;
        let intended_rate =
            intended_seconds.map(|seconds| order.schedule.frames() as f64 / seconds);
        let offered_rate = if seconds > 0.0 {
            counts.sent as f64 / each / seconds
        } else {
            0.0
        };
        let error = intended_rate.map(|rate| offered_rate / rate - 1.0);
        Trial {
            number: self.number,
            purpose: purpose.to_owned(),
            frame_bytes: order.mean_size(),
            intended_rate,
            offered_rate,
            senders: senders.len() as u8,
            intended_seconds,
            seconds,
            counts,
            latency: seen.latency.summary(),
            response: intended_rate
                .and_then(|_| seen.response.summary())
                .map(Latency::without_distribution),
            worst_lateness_ns: lateness,
            largest_burst: largest,
            batch: Burst::CAPACITY as u32,
            last_lost_ns: seen.last_lost_ns,
            longest_silence_ns: seen.longest_silence_ns,
            steal: noise.steal,
            waited: noise.waited,
            involuntary_switches: noise.involuntary_switches,
            validity: judge(&counts, error, noise),
        }
    }
}

impl<L: Link, C: Clock> Rig for Engine<L, C> {
    fn run(
        &mut self,
        order: &Order,
        purpose: &str,
        event: Option<Event<'_>>,
    ) -> Result<Trial, RigError> {
        self.number += 1;
        let trial = self.number as u8;
        let streams = order.direction.streams(self.link.ports());
        let mut ports: Vec<u8> = streams.iter().map(|&(from, _)| from).collect();
        ports.dedup();
        let mut senders: Vec<Sender> = ports
            .iter()
            .map(|&port| {
                Sender::new(
                    port,
                    self.ends(port),
                    &streams,
                    self.link.ports(),
                    order,
                    trial,
                    self.seed,
                )
            })
            .collect();
        let mut receiver = Receiver::new(&streams, order, trial);
        self.drain()?;
        self.learn(&mut senders, order.waits.learning_ns)?;
        let cores = host::allowed_cores().unwrap_or_else(|_| vec![CoreId(0)]);
        let watch = Watch::new(&cores, &[]);
        let ran = std::thread::scope(|scope| {
            if let Some(event) = event {
                let at = clock::now_ns() + event.at_ns;
                scope.spawn(move || {
                    clock::wait_until(at, host::interrupted);
                    (event.action)();
                });
            }
            self.traffic(&mut senders, &mut receiver, order)
        });
        let noise = watch.end();
        for sender in &mut senders {
            sender.give_back(&mut self.pool);
        }
        ran?;
        let record = self.record(order, purpose, &senders, receiver, &noise);
        self.clock.wait_until(
            self.clock.now_ns() + order.waits.settle_ns,
            host::interrupted,
        );
        Ok(record)
    }

    fn describe(&self) -> String {
        format!("user-space engine on one thread, {}", self.link.describe())
    }

    fn line_rate(&self) -> Option<f64> {
        self.line_rate
    }

    fn ceiling(&self) -> f64 {
        self.ceiling
    }
}
