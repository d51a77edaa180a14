//! The user-space engine: one thread that sends by the timetable and checks what arrives, over any
//! [`Link`].
//!
//! One loop does both, so a trial needs one core and no two threads share a line. Each turn reads
//! the clock once, builds what is due (at most 64 frames for each port), hands it over, then takes
//! at most a burst from each port and checks every frame of it. All frames of a burst carry the
//! same departure time, read before the burst is handed over; the time of arrival is read after the
//! burst was taken in. The burst sizes are in the record, for they bound the error of a delay.
//!
//! Memory: the engine owns the pool; frames are the link's between transmit and receive.

mod agent;
mod clocks;
mod protocol;
mod receiver;
mod record;
mod reflect;
mod remote;
mod sender;

pub use agent::serve;
use host::CoreId;
use port::pool::Layout;
use port::{Burst, Pool};
pub use protocol::Open;
use receiver::Receiver;
use record::{record, sent_by_stream};
pub use remote::{Course, Far, Remote};
use sender::{Run, Sender};

use crate::addresses;
use crate::capture::Departures;
use crate::clock::{Clock, Monotonic};
use crate::conduct::conducted;
use crate::disturbance::Disturbance;
use crate::frame::Ends;
use crate::link::Link;
use crate::privilege::Privilege;
use crate::rig::{Event, Result, Rig, RigError};
use crate::trial::{Order, Trial};

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
    /// Where trials run; `None` for wherever the caller runs.
    core: Option<CoreId>,
    /// Kernel threads that take part.
    threads: Vec<u32>,
    seed: u64,
}

impl<L: Link> Engine<L> {
    /// An engine for frames up to `largest` bytes with FCS. `ceiling` is the rate at which searches
    /// begin, frames/s.
    ///
    /// # Errors
    /// No memory for the frames.
    pub fn new(link: L, macs: Vec<Macs>, largest: u16, ceiling: f64, seed: u64) -> Result<Self> {
        Engine::with_clock(link, Monotonic, macs, largest, ceiling, seed)
    }
}

impl<L: Link, C: Clock> Engine<L, C> {
    /// As [`Engine::new`], with another clock.
    ///
    /// # Errors
    /// As [`Engine::new`].
    pub fn with_clock(
        link: L,
        clock: C,
        macs: Vec<Macs>,
        largest: u16,
        ceiling: f64,
        seed: u64,
    ) -> Result<Self> {
        let layout = if largest > crate::sizes::STANDARD_MAXIMUM {
            Layout::chunks(BUFFERS / 4, JUMBO_STRIDE, 64)
        } else {
            Layout::ordinary(BUFFERS)
        };
        let pool = Pool::new(layout)?;
        Ok(Self::with_pool(link, clock, pool, macs, ceiling, seed))
    }

    /// An engine whose frames live in `pool`, which the link's ports may share with the kernel.
    pub fn with_pool(
        mut link: L,
        clock: C,
        pool: Pool,
        macs: Vec<Macs>,
        ceiling: f64,
        seed: u64,
    ) -> Self {
        let missed = link.missed();
        Self {
            link,
            clock,
            pool,
            macs,
            number: 0,
            missed,
            ceiling,
            line_rate: None,
            core: None,
            threads: Vec::new(),
            seed,
        }
    }

    /// Names kernel threads that take part: a trial in which they had to wait for their core is
    /// noisy.
    #[must_use]
    pub fn watching(mut self, threads: &[u32]) -> Self {
        self.threads = threads.to_vec();
        self
    }

    /// Trials run on `core`, if this process may use it.
    #[must_use]
    pub fn on(mut self, core: CoreId) -> Self {
        self.core = Some(core);
        self
    }

    /// States the rate of the medium, bits per second.
    #[must_use]
    pub fn with_line_rate(mut self, bits_per_second: Option<f64>) -> Self {
        self.line_rate = bits_per_second;
        self
    }

    fn ends(&self, port: u8) -> Ends {
        let macs = self.macs.get(usize::from(port)).copied();
        let macs = macs.unwrap_or_default();
        Ends {
            source_mac: macs.tester,
            destination_mac: macs.device,
            source_v4: addresses::tester_v4(port),
            source_v6: addresses::tester_v6(port),
        }
    }

    /// Takes what is still under way from before, so that it is not counted here.
    fn drain(&mut self) -> Result<()> {
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

    /// One frame to the first destinations of every stream, and the wait for what it makes the
    /// device learn (RFC 2544 §23 b).
    fn learn(&mut self, senders: &mut [Sender], waits_ns: u64) -> Result<()> {
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

    /// Sends by the timetable and receives until all has come or the wait is over. Without a
    /// receiver what arrives is nobody's, and the trial ends with the last frame.
    fn traffic(
        &mut self,
        senders: &mut [Sender],
        mut receiver: Option<&mut Receiver>,
        order: &Order,
    ) -> Result<()> {
        let start = self.clock.now_ns() + LEAD_NS;
        let mut burst = Burst::new();
        for sender in senders.iter_mut() {
            sender.start(start);
        }
        if let Some(receiver) = &mut receiver {
            receiver.start(start);
        }
        let ports = self.link.ports();
        let mut sent_ns = None;
        loop {
            if host::interrupted() {
                return Err(RigError::Interrupted);
            }
            let now = self.clock.now_ns();
            if sent_ns.is_none() {
                for sender in senders.iter_mut() {
                    sender.turn(&mut self.link, &mut self.pool, now)?;
                    if let Some(receiver) = &mut receiver {
                        receiver.follow(sender.port, sender.skips());
                    }
                }
                if senders.iter().all(Sender::finished) {
                    sent_ns = Some(now);
                    if let Some(receiver) = &mut receiver {
                        receiver.expect(&sent_by_stream(senders, receiver.streams()));
                    }
                } else if senders.iter().any(|one| one.stuck_for(now) > STUCK_NS) {
                    return Ok(());
                }
            }
            let Some(receiver) = &mut receiver else {
                if sent_ns.is_some() {
                    // The rings are emptied, or they would be full one day.
                    return self.drain();
                }
                continue;
            };
            let mut idle = true;
            for port in 0..ports {
                if self.link.receive(port, &mut self.pool, &mut burst, now)? > 0 {
                    receiver.take(port, &self.pool, &burst, self.clock.now_ns());
                    self.pool.release_all(&mut burst);
                    idle = false;
                }
            }
            if idle && sent_ns.is_some_and(|since| receiver.is_done(since, now, &order.waits)) {
                return Ok(());
            }
        }
    }

    /// What each sending port sends in a trial with these streams between `ports` ports.
    fn senders(
        &self,
        streams: &[(u8, u8)],
        ports: u8,
        order: &Order,
        trial: u8,
        departures: &Departures,
    ) -> Vec<Sender> {
        let run = Run {
            trial,
            seed: self.seed,
            departures,
        };
        let mut sending: Vec<u8> = streams.iter().map(|&(from, _)| from).collect();
        sending.dedup();
        sending
            .into_iter()
            .map(|port| Sender::new(port, &self.ends(port), streams, ports, order, &run))
            .collect()
    }
}

impl<L: Link, C: Clock> Rig for Engine<L, C> {
    fn run(&mut self, order: &Order, purpose: &str, event: Option<Event<'_>>) -> Result<Trial> {
        let ports = self.link.ports();
        let streams = order.direction.streams(ports);
        self.trial(&streams, (&streams, ports), order, purpose, event)
    }

    fn describe(&self) -> String {
        let place = match self.core {
            Some(core) => format!("core {core}"),
            None => "one thread".to_owned(),
        };
        format!("user-space engine on {place}, {}", self.link.describe())
    }

    fn line_rate(&self) -> Option<f64> {
        self.line_rate
    }

    fn ceiling(&self) -> f64 {
        self.ceiling
    }

    fn is_real(&self) -> bool {
        self.clock.is_real()
    }
}

impl<L: Link, C: Clock> Engine<L, C> {
    /// Runs one trial. Frames are addressed as `addressed` says, of so many ports of the device,
    /// and come out as `streams` says: the same, unless somebody sends them back.
    fn trial(
        &mut self,
        streams: &[(u8, u8)],
        addressed: (&[(u8, u8)], u8),
        order: &Order,
        purpose: &str,
        event: Option<Event<'_>>,
    ) -> Result<Trial> {
        self.number += 1;
        let trial = self.number as u8;
        let departures = Departures::new();
        let mut senders = self.senders(addressed.0, addressed.1, order, trial, &departures);
        let mut receiver = Receiver::new(streams, order, trial, &departures);
        self.drain()?;
        self.learn(&mut senders, order.waits.learning_ns)?;
        let threads = std::mem::take(&mut self.threads);
        // Sockets do part of their work in the kernel's threads; over memory there is nobody to
        // wait for.
        let privilege = (!threads.is_empty())
            .then(|| Privilege::during(&order.schedule, &threads, event.is_none()));
        let (ran, noise) = conducted(self.core, event, &threads, || {
            self.traffic(&mut senders, Some(&mut receiver), order)
        });
        drop(privilege);
        self.threads = threads;
        for sender in &mut senders {
            sender.give_back(&mut self.pool);
        }
        ran?;
        let mut arrived = receiver.finish(&sent_by_stream(&senders, streams.len()));
        arrived.counts.tester_dropped = self.link.missed() - self.missed;
        let noise = if self.clock.is_real() {
            noise
        } else {
            Disturbance::default()
        };
        let record = record(self.number, order, purpose, &senders, arrived, &noise);
        self.clock.wait_until(
            self.clock.now_ns() + order.waits.settle_ns,
            host::interrupted,
        );
        Ok(record)
    }
}
