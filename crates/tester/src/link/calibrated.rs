//! A calibrated device in memory: what a test finds must be what was set here.
//!
//! One server with a rate and a buffer in front of it, in the time of the engine's clock: a frame
//! that arrives when the buffer is full is lost; one that is served leaves after a fixed delay
//! more. Faults come at set shares: loss, duplication, corruption, the wrong port, reordering. An
//! outage and a sulk after overload give reset and recovery times that are known.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use port::{Burst, Frame, Pool, PortError};

use super::{Link, Moved};

/// What a device is set to; [`Settings::default`] is a perfect one.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Frames per second that it forwards, each direction.
    pub rate: f64,
    /// Frames that wait in front of the server at most.
    pub buffer: u64,
    /// Frames that it forwards at once after a rest, as a token bucket does.
    pub burst: u64,
    /// Delay of every frame beyond waiting and service, ns.
    pub delay_ns: u64,
    /// Share of frames lost at any load.
    pub loss: f64,
    /// Share of frames sent twice.
    pub duplicate: f64,
    /// Share of frames with a changed byte.
    pub corrupt: f64,
    /// Share of frames that come out where they went in.
    pub misdirect: f64,
    /// Share of frames held back, to leave after those behind them.
    pub reorder: f64,
    /// How long a reordered frame is held back, ns.
    pub hold_ns: u64,
    /// After its buffer was full it loses every twentieth frame for this long, ns.
    pub sulk_ns: u64,
    /// After so many frames nothing passes for this long, ns.
    pub outage: Option<(u64, u64)>,
    /// The port vanishes after so many frames.
    pub vanish_after: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rate: f64::INFINITY,
            buffer: u64::MAX,
            burst: 0,
            delay_ns: 0,
            loss: 0.0,
            duplicate: 0.0,
            corrupt: 0.0,
            misdirect: 0.0,
            reorder: 0.0,
            hold_ns: 0,
            sulk_ns: 0,
            outage: None,
            vanish_after: None,
        }
    }
}

/// Turns a device off for a while from another thread, as a reset does.
#[derive(Debug, Clone, Default)]
pub struct Switch {
    dark_until_ns: Arc<AtomicU64>,
}

impl Switch {
    /// Nothing passes from now on for `duration_ns`.
    pub fn off_for(&self, duration_ns: u64) {
        self.dark_until_ns
            .store(host::clock::now_ns() + duration_ns, Ordering::Relaxed);
    }
}

/// Strikes an exact share of the frames, evenly spread: the fractions of multiples of an irrational
/// number fill an interval evenly (Weyl), and those of different square roots do so independently,
/// so faults do not fall on the same frames.
#[derive(Debug)]
struct Every {
    share: f64,
    step: f64,
    at: f64,
}

impl Every {
    fn of(share: f64, prime: u32) -> Self {
        Self {
            share,
            step: f64::from(prime).sqrt().fract(),
            at: 0.5,
        }
    }

    fn strikes(&mut self) -> bool {
        self.at = (self.at + self.step).fract();
        self.at < self.share
    }
}

/// One direction's server.
#[derive(Debug)]
struct Server {
    /// When it will have served all that waits, ns; fractions matter at millions of frames a
    /// second.
    free_at_ns: f64,
    sulks_until_ns: u64,
    sulk: Every,
    loss: Every,
    duplicate: Every,
    corrupt: Every,
    misdirect: Every,
    reorder: Every,
}

/// The device, between an even number of ports: what enters port 2k leaves port 2k+1 and the other
/// way round.
#[derive(Debug)]
pub struct Calibrated {
    settings: Settings,
    servers: Vec<Server>,
    /// For each port the frames that wait for their departure: by its time in ns, then in the order
    /// of their arrival, a copy before its original.
    leaving: Vec<BTreeMap<(u64, u64, bool), Frame>>,
    /// Frames that have entered.
    number: u64,
    /// End of the outage that was set.
    dark_until_ns: u64,
    switch: Switch,
}

impl Calibrated {
    /// A device with `ports` ports, rounded up to an even number.
    pub fn new(settings: Settings, ports: u8) -> Self {
        let ports = ports.next_multiple_of(2).max(2);
        let server = || Server {
            free_at_ns: 0.0,
            sulks_until_ns: 0,
            sulk: Every::of(0.05, 2),
            loss: Every::of(settings.loss, 3),
            duplicate: Every::of(settings.duplicate, 5),
            corrupt: Every::of(settings.corrupt, 7),
            misdirect: Every::of(settings.misdirect, 11),
            reorder: Every::of(settings.reorder, 13),
        };
        Self {
            servers: (0..ports).map(|_| server()).collect(),
            leaving: (0..ports).map(|_| BTreeMap::new()).collect(),
            settings,
            number: 0,
            dark_until_ns: 0,
            switch: Switch::default(),
        }
    }

    /// The switch that turns it off.
    pub fn switch(&self) -> Switch {
        self.switch.clone()
    }

    /// One frame enters at `port`.
    fn enter(&mut self, port: u8, pool: &mut Pool, frame: Frame, now_ns: u64) {
        self.number += 1;
        let set = &self.settings;
        let server = &mut self.servers[usize::from(port)];
        let waiting = (server.free_at_ns - now_ns as f64).max(0.0) * set.rate / 1e9;
        let full = set.rate.is_finite() && waiting >= set.buffer as f64;
        if full {
            server.sulks_until_ns = now_ns + set.sulk_ns;
        }
        let sulks = now_ns < server.sulks_until_ns && server.sulk.strikes();
        if let Some((after, ns)) = set.outage
            && self.number == after
        {
            self.dark_until_ns = now_ns + ns;
        }
        let dark = now_ns < self.dark_until_ns
            || now_ns < self.switch.dark_until_ns.load(Ordering::Relaxed);
        if full || sulks || dark || server.loss.strikes() {
            pool.release(frame);
            return;
        }
        // An infinite rate takes no time. A frame that finds a token leaves at once.
        let tokens_ns = set.burst as f64 * 1e9 / set.rate;
        let rested_ns = now_ns as f64 - tokens_ns;
        server.free_at_ns = server.free_at_ns.max(rested_ns) + 1e9 / set.rate;
        let held = if server.reorder.strikes() {
            set.hold_ns
        } else {
            0
        };
        let leaves_ns = server.free_at_ns.max(now_ns as f64) as u64 + set.delay_ns + held;
        let out = usize::from(if server.misdirect.strikes() {
            port
        } else {
            port ^ 1
        });
        if server.corrupt.strikes() {
            let bytes = pool.bytes_mut(&frame);
            let at = bytes.len() - 17;
            bytes[at] ^= 0x5A;
        }
        if server.duplicate.strikes()
            && let Some(copy) = pool.allocate(frame.length())
        {
            let bytes = pool.bytes(&frame).to_vec();
            pool.bytes_mut(&copy).copy_from_slice(&bytes);
            self.leaving[out].insert((leaves_ns, self.number, false), copy);
        }
        self.leaving[out].insert((leaves_ns, self.number, true), frame);
    }
}

impl Link for Calibrated {
    fn ports(&self) -> u8 {
        self.servers.len() as u8
    }

    fn transmit(&mut self, port: u8, pool: &mut Pool, burst: &mut Burst, now_ns: u64) -> Moved {
        let vanish_after = self.settings.vanish_after;
        if vanish_after.is_some_and(|frames| self.number >= frames) {
            let name = format!("memory{port}");
            return Err(PortError::Gone { name });
        }
        let count = burst.len();
        burst.take_front(count, |frame| self.enter(port, pool, frame, now_ns));
        Ok(count)
    }

    fn receive(&mut self, port: u8, _: &mut Pool, burst: &mut Burst, now_ns: u64) -> Moved {
        let queue = &mut self.leaving[usize::from(port)];
        let before = burst.len();
        while burst.room() > 0
            && let Some(next) = queue.first_entry()
            && next.key().0 <= now_ns
        {
            let pushed = burst.push(next.remove());
            debug_assert!(pushed.is_ok(), "there was room");
        }
        Ok(burst.len() - before)
    }

    fn describe(&self) -> String {
        "calibrated device in memory".to_owned()
    }
}
