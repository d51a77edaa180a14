//! The samples of the last seconds, and who most of the traffic is: destinations' prefixes, flows and
//! sources by rate, each with the interval that holds its true rate in 95 of 100 cases.
//!
//! A count of samples is that of frames thinned by chance. So its interval is that of a Poisson count
//! (Byar's approximation), narrower by as much as was not left to chance: where every frame is a sample,
//! the rate is exact. Frames that were drawn in equal distances vary less than that says, never more.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::management_plane::explain::Flow;
use crate::management_plane::forms::{Hitter, Hitters};

/// How far back samples are kept, and how many: some 2 MiB.
const SPAN: Duration = Duration::from_secs(10);
const MOST: usize = 16_384;
/// How many of each kind are told.
const TOLD: usize = 10;
/// Of the normal distribution, for 95 %.
const Z: f64 = 1.96;

/// One sample.
#[derive(Debug, Clone)]
pub(super) struct One {
    pub(super) at: Instant,
    pub(super) flow: Flow,
    /// The longest prefix for its destination, where that is known.
    pub(super) prefix: Option<Arc<str>>,
    /// Frames on the wire that it stands for.
    pub(super) frames: f64,
    /// Bytes of one of them, without FCS.
    pub(super) length: u32,
}

/// The samples of the last seconds, the oldest first.
#[derive(Debug)]
pub(super) struct Window {
    kept: VecDeque<One>,
    /// Since when no sample is missing.
    whole: Instant,
}

impl Window {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            kept: VecDeque::new(),
            whole: now,
        }
    }

    pub(super) fn add(&mut self, one: One) {
        if self.kept.len() >= MOST
            && let Some(oldest) = self.kept.pop_front()
        {
            self.whole = oldest.at;
        }
        self.kept.push_back(one);
    }

    /// Forgets what is too old.
    pub(super) fn age(&mut self, now: Instant) {
        let Some(begin) = now.checked_sub(SPAN) else {
            return;
        };
        self.whole = self.whole.max(begin);
        while self.kept.front().is_some_and(|one| one.at < begin) {
            self.kept.pop_front();
        }
    }

    /// Who most of the traffic is; `every`: one frame in so many is a sample now.
    pub(super) fn hitters(&self, now: Instant, every: u32) -> Hitters {
        let seconds = now.duration_since(self.whole).as_secs_f64();
        let address = |address: IpAddr| address.to_string();
        let prefix = |one: &One| one.prefix.clone();
        let frames: f64 = self.kept.iter().map(|one| one.frames).sum();
        Hitters {
            seconds,
            every,
            samples: self.kept.len() as u64,
            frames_per_second: if seconds > 0.0 { frames / seconds } else { 0.0 },
            prefixes: self.top(seconds, prefix, ToString::to_string),
            flows: self.top(seconds, |one| Some(Key::of(&one.flow)), Key::shown),
            sources: self.top(seconds, |one| Some(one.flow.from), |from| address(*from)),
            failed: None,
        }
    }

    /// Those of a kind with most frames.
    fn top<K: Hash + Eq>(
        &self,
        seconds: f64,
        key: impl Fn(&One) -> Option<K>,
        shown: impl Fn(&K) -> String,
    ) -> Vec<Hitter> {
        let mut sums: HashMap<K, Sum> = HashMap::new();
        for one in &self.kept {
            if let Some(key) = key(one) {
                sums.entry(key).or_default().add(one);
            }
        }
        let mut all: Vec<(K, Sum)> = sums.into_iter().collect();
        all.sort_by(|(_, one), (_, other)| other.frames.total_cmp(&one.frames));
        all.truncate(TOLD);
        let hitter = |(key, sum): &(K, Sum)| sum.told(shown(key), seconds);
        all.iter().map(hitter).collect()
    }
}

/// What tells a flow from others.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    from: IpAddr,
    to: IpAddr,
    protocol: u8,
    ports: Option<(u16, u16)>,
}

impl Key {
    fn of(flow: &Flow) -> Self {
        Self {
            from: flow.from,
            to: flow.to,
            protocol: flow.protocol,
            ports: flow.ports,
        }
    }

    fn shown(&self) -> String {
        let end = |address: IpAddr, port: Option<u16>| match (address, port) {
            (IpAddr::V6(address), Some(port)) => format!("[{address}]:{port}"),
            (address, Some(port)) => format!("{address}:{port}"),
            (address, None) => address.to_string(),
        };
        let protocol = match self.protocol {
            1 => "icmp".to_owned(),
            6 => "tcp".to_owned(),
            17 => "udp".to_owned(),
            58 => "icmpv6".to_owned(),
            number => format!("protocol {number}"),
        };
        let from = end(self.from, self.ports.map(|(from, _)| from));
        let to = end(self.to, self.ports.map(|(_, to)| to));
        format!("{from} > {to} {protocol}")
    }
}

/// Samples of one kind.
#[derive(Debug, Default)]
struct Sum {
    samples: u64,
    frames: f64,
    /// Of the frames that each stands for.
    squares: f64,
    bytes: f64,
}

impl Sum {
    fn add(&mut self, one: &One) {
        self.samples += 1;
        self.frames += one.frames;
        self.squares += one.frames * one.frames;
        self.bytes += one.frames * f64::from(one.length);
    }

    fn told(&self, what: String, seconds: f64) -> Hitter {
        let rate = |frames: f64| if seconds > 0.0 { frames / seconds } else { 0.0 };
        // As many samples of equal weight would vary as much.
        let weight = self.squares / self.frames;
        let (low, high) = interval(self.frames / weight);
        let chance = (1.0 - 1.0 / weight.max(1.0)).sqrt();
        let bound = |count: f64| rate(self.frames + (count * weight - self.frames) * chance);
        Hitter {
            what,
            samples: self.samples,
            frames_per_second: rate(self.frames),
            low: bound(low),
            high: bound(high),
            bits_per_second: rate(self.bytes * 8.0),
        }
    }
}

/// What the mean of a Poisson count is in 95 of 100 cases (Byar's approximation).
fn interval(count: f64) -> (f64, f64) {
    let cubed = |count: f64, z: f64| {
        let root = 1.0 - 1.0 / (9.0 * count) + z / (3.0 * count.sqrt());
        count * root.max(0.0).powi(3)
    };
    (cubed(count, -Z), cubed(count + 1.0, Z))
}

#[cfg(test)]
#[path = "../../tests/unit/window.rs"]
mod tests;
