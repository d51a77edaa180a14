//! The user plane's load: datagrams at a rate across every pair of cables, and what became of them.
//!
//! The frames are made and checked in the kernel (crate `fastpath`); where only few are due at a
//! time, they are made in user space ([`few`]). The tester proper keeps its
//! timetable by spinning, which would take the management plane's core away on a machine of two;
//! this load sleeps between ticks instead and sends what has become due. So frames come in small
//! bursts, the same in every deployment: delays compare with each other, not with a hardware
//! tester's. The sending thread has a real-time priority where the system grants one, or else the
//! requests on the same core would decide what the user plane is offered.

mod few;
mod stream;

use std::net::IpAddr;
use std::time::{Duration, Instant};

use fastpath::generate::{Destinations, Frames};
use host::clock::now_ns;
use host::{CoreId, Pinned, RealTime};

use crate::deployment::Running;
use crate::error::Error;
use crate::flows::Flow;
use crate::result::is_told;
use crate::routes::Changes;
use crate::site::{Site, flows};
use few::HEAD;
use stream::Stream;

/// What becomes due in this time is sent at once.
const TICK: Duration = Duration::from_micros(250);
/// A sender held up for longer gives up what it owes beyond this, rather than flooding.
const MOST_OWED: Duration = Duration::from_millis(5);
/// After the last frame, before the receiver's counts are read: what comes later is lost.
pub(crate) const RESIDUAL: Duration = Duration::from_millis(30);
/// A user plane that lost frames may hold them yet: the next trial waits until none has come for
/// [`RESIDUAL`], so long at most.
pub(crate) const DRAIN: Duration = Duration::from_millis(150);
const TIME_TO_LIVE: u8 = 16;
/// The lowest real-time priority: above all that has none.
const PRIORITY: u32 = 1;

/// Generators and sinks at both ends of the device.
pub struct Load {
    core: CoreId,
    streams: Vec<Stream>,
}

/// What became of a trial's frames.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observed {
    /// Frames by the timetable.
    pub intended: u64,
    /// Frames sent.
    pub sent: u64,
    /// Different frames received of those that were sent; never more.
    pub received: u64,
    /// Frames of earlier trials that came only now; they are in no other figure.
    pub before: u64,
    /// From the first tick to the last, s.
    pub seconds: f64,
    /// Median delay, ns.
    pub delay_p50_ns: Option<u64>,
    /// 99th percentile, ns.
    pub delay_p99_ns: Option<u64>,
    /// Mean difference between the delays of consecutive frames: where RFC 3550's jitter settles,
    /// ns.
    pub jitter_ns: Option<f64>,
}

impl Observed {
    /// Frames received per second of sending.
    pub fn rate(&self) -> f64 {
        self.received as f64 / self.seconds
    }

    /// Share of the frames sent that did not arrive.
    pub fn loss(&self) -> f64 {
        1.0 - self.received as f64 / self.sent.max(1) as f64
    }

    /// Everything intended was sent, but for one in a thousand.
    pub fn offered_in_full(&self) -> bool {
        self.sent as f64 >= self.intended as f64 * 0.999
    }
}

impl Load {
    /// A load of datagrams with `payload` bytes on the first `planes` pairs of `site`, towards the
    /// hardware addresses that `running` listens to, sent from `core`.
    ///
    /// # Errors
    /// [`Error`].
    pub fn new(
        site: &Site,
        running: &mut Running,
        payload: u32,
        core: CoreId,
    ) -> Result<Self, Error> {
        let mut streams = Vec::new();
        let user_planes = running.planes().len();
        let flows: Vec<Flow> = flows().collect();
        for (number, (pair, plane)) in site.pairs.iter().zip(running.planes()).enumerate() {
            let own: Vec<&Flow> = flows
                .iter()
                .filter(|flow| flow.user_plane(user_planes) == number)
                .collect();
            let Some(first) = own.first() else { continue };
            let frames = Frames {
                source_mac: pair.input.a.mac,
                destination_mac: plane.interfaces()[0].mac,
                vlan: None,
                source: IpAddr::V4(first.source),
                destinations: Destinations::V4(own.iter().map(|flow| flow.destination).collect()),
                source_port: first.source_port,
                source_ports: 1,
                destination_port: first.destination_port,
                ttl: TIME_TO_LIVE,
                lengths: vec![(HEAD as u32 + payload) as u16],
                stream: number as u16,
                stamp_every: 1,
            };
            let share = own.len() as f64 / flows.len() as f64;
            streams.push(Stream::new(site, pair, &frames, share, user_planes)?);
        }
        Ok(Self { core, streams })
    }

    /// Sends `rate` frames a second for `duration`, spread over the streams, while the control
    /// plane makes `changes_per_second` route changes in every user plane.
    ///
    /// # Errors
    /// [`Error`].
    pub fn trial(
        &mut self,
        running: &mut Running,
        changes: &mut Changes,
        changes_per_second: u32,
        rate: f64,
        duration: Duration,
    ) -> Result<Observed, Error> {
        let _pinned = Pinned::to(self.core)?;
        let _priority = RealTime::first_in_first_out(PRIORITY).ok();
        let departures = now_ns();
        for stream in &mut self.streams {
            stream.begin(departures, rate, TICK)?;
        }
        let last_stream = self.streams.len().saturating_sub(1);
        let (mut sent, mut skipped, mut made) = (0_u64, 0_u64, 0.0);
        let begin = Instant::now();
        let mut next = begin;
        // The last turn is the one at which everything of the timetable is due.
        let mut last = false;
        while !last {
            if host::interrupted() {
                return Err(Error::Interrupted);
            }
            let elapsed = begin.elapsed().min(duration);
            last = elapsed == duration;
            let elapsed = elapsed.as_secs_f64();
            let due = (rate * elapsed) as u64;
            let most = (rate * MOST_OWED.as_secs_f64()) as u64 + 1;
            let owed = due.saturating_sub(sent + skipped);
            skipped += owed.saturating_sub(most);
            let now = owed.min(most);
            // The last stream has what rounding left of the others' shares.
            let mut left = now;
            for (index, stream) in self.streams.iter_mut().enumerate() {
                let share = if index == last_stream {
                    left
                } else {
                    stream.carry += now as f64 * stream.share;
                    let whole = (stream.carry as u64).min(left);
                    stream.carry -= whole as f64;
                    whole
                };
                left -= share;
                sent += u64::from(stream.send(share as u32)?);
            }
            let wanted = f64::from(changes_per_second) * elapsed;
            for plane in running.planes() {
                plane.read_counters()?;
            }
            made += changes.send(running.planes(), (wanted - made) as usize)? as f64;
            next = (next + TICK).max(Instant::now());
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        let seconds = begin.elapsed().as_secs_f64();
        std::thread::sleep(RESIDUAL);
        let observed = self.observe((rate * duration.as_secs_f64()) as u64, sent, seconds)?;
        if observed.received < observed.sent {
            self.drain()?;
        }
        Ok(observed)
    }

    /// Waits for frames that the user planes still hold: the next trial shall find their queues as
    /// the first did, empty.
    fn drain(&self) -> Result<(), Error> {
        const LOOK: Duration = Duration::from_millis(5);
        let begin = Instant::now();
        let (mut heard, mut silent_since) = (self.heard()?, begin);
        while silent_since.elapsed() < RESIDUAL && begin.elapsed() < DRAIN {
            std::thread::sleep(LOOK);
            let now = self.heard()?;
            if now != heard {
                (heard, silent_since) = (now, Instant::now());
            }
        }
        Ok(())
    }

    /// All frames that came since the trial's begin.
    fn heard(&self) -> Result<u64, Error> {
        let mut heard = 0;
        for stream in &self.streams {
            let counts = stream.sink.counts()?;
            heard += counts.frames + counts.before;
        }
        Ok(heard)
    }

    /// Frames of the last trial that came through each user plane.
    ///
    /// # Errors
    /// [`Error::Fastpath`].
    pub fn carried(&self) -> Result<Vec<u64>, Error> {
        let counts = self.streams.iter().map(|stream| stream.sink.counts());
        Ok(counts
            .map(|counts| counts.map(|counts| counts.unique()))
            .collect::<Result<_, _>>()?)
    }

    /// Whether a frame of the last trial came through another user plane than its flow's.
    pub fn strayed(&self) -> bool {
        self.streams.iter().any(|stream| {
            let mut others = self.streams.iter().filter(|of| of.number != stream.number);
            others.any(|other| stream.sink.largest(other.number) > 0)
        })
    }

    fn observe(&self, intended: u64, sent: u64, seconds: f64) -> Result<Observed, Error> {
        let mut observed = Observed {
            intended,
            sent,
            seconds,
            ..Observed::default()
        };
        for stream in &self.streams {
            let counts = stream.sink.counts()?;
            observed.received += counts.unique();
            observed.before += counts.before;
            // Of several streams the slowest speaks: a user plane is as late as its latest part.
            let delays = stream.sink.latencies()?;
            observed.delay_p50_ns = observed.delay_p50_ns.max(delays.quantile(0.5));
            let told = is_told(0.99, delays.total() as f64);
            let p99 = delays.quantile(0.99).filter(|_| told);
            observed.delay_p99_ns = observed.delay_p99_ns.max(p99);
            let variations = stream.sink.variations()?;
            let total = variations.total();
            if total > 0 {
                let sum: f64 = variations
                    .buckets()
                    .map(|(low, high, count)| (low + high) as f64 / 2.0 * count as f64)
                    .sum();
                let mean = sum / total as f64;
                observed.jitter_ns = Some(observed.jitter_ns.map_or(mean, |worst| worst.max(mean)));
            }
        }
        if observed.received > sent {
            return Err(Error::MoreThanSent {
                sent,
                received: observed.received,
            });
        }
        Ok(observed)
    }
}
