//! What the router did in each of the last seconds, as lines of JSON (`corelane-console/1`), for those
//! who look later.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use host::topology::Topology;
use serde::Serialize;

use crate::control_plane::follower::Follower;
use crate::engine::Counters;
use crate::instance::Second;
use crate::log::{self, Said};
use crate::management_plane::answers::link_name;
use crate::management_plane::forms;
use crate::management_plane::metrics::Fitness;

/// Name and version of a point's form.
const SCHEMA: &str = "corelane-console/1";
/// How far back: a quarter of an hour.
const POINTS: usize = 900;
/// Bytes of all points at most. A router of very many ports and cores has fewer of them.
const BYTES: usize = 8 << 20;
/// Time between two points.
pub(crate) const INTERVAL: Duration = Duration::from_secs(1);

/// The last points, each with its number.
#[derive(Debug, Default)]
pub(crate) struct History {
    points: VecDeque<Arc<str>>,
    bytes: usize,
    /// The number of the next point.
    next: u64,
}

impl History {
    fn add(&mut self, point: String) {
        self.bytes += point.len();
        self.points.push_back(point.into());
        self.next += 1;
        while self.points.len() > POINTS || self.bytes > BYTES {
            let Some(oldest) = self.points.pop_front() else {
                break;
            };
            self.bytes -= oldest.len();
        }
    }

    /// The latest points, so many at most.
    pub(crate) fn latest(&self, points: u64) -> Vec<Arc<str>> {
        self.since(self.next.saturating_sub(points)).0
    }

    /// The points from a number on that are still there, and the number of the next.
    pub(crate) fn since(&self, number: u64) -> (Vec<Arc<str>>, u64) {
        let first = self.next - self.points.len() as u64;
        let skipped = number.saturating_sub(first) as usize;
        let points = self.points.iter().skip(skipped).cloned();
        (points.collect(), self.next)
    }
}

/// What happened in a second.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Point {
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    schema: &'static str,
    /// When it ended, milliseconds since 1970.
    time_ms: u64,
    /// How long it was.
    seconds: f64,
    engine: &'static str,
    /// Cores of the machine that may have frames.
    cores: usize,
    healthy: bool,
    ready: bool,
    draining: bool,
    /// Why it is not ready, what is left to the kernel, what has failed.
    why: Vec<String>,
    /// Prefixes of IPv4 and IPv6.
    routes: [usize; 2],
    /// From an announcement of the kernel to the engine, latest.
    lag_seconds: f64,
    /// Whether the latest comparison with the kernel found no difference; absent before the first.
    equal: Option<bool>,
    /// Port, core, frames and bytes received, frames and bytes forwarded; those with any.
    carried: Vec<(String, u32, [u64; 4])>,
    /// Port, core, reason, whether the kernel got them, frames; those with any.
    left: Vec<(String, u32, &'static str, bool, u64)>,
    /// Lines of the log.
    events: Vec<Event>,
}

/// A line of the log.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Event {
    /// Milliseconds since 1970.
    time_ms: u64,
    /// `info`, `warning` or `error`.
    level: &'static str,
    /// As in the log, under `event`.
    name: String,
    /// The pairs behind it there.
    text: String,
}

impl From<Said> for Event {
    fn from(said: Said) -> Self {
        let (name, text) = said.text.split_once(' ').unwrap_or((&said.text, ""));
        Self {
            time_ms: (said.seconds * 1e3) as u64,
            level: said.level.name(),
            name: name.to_owned(),
            text: text.to_owned(),
        }
    }
}

/// Makes points of counters.
#[derive(Debug)]
pub(crate) struct Recorder {
    before: Option<(Instant, Arc<Counters>)>,
    /// The number of the next line of the log.
    events: u64,
    cores: usize,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        log::keep();
        Self {
            before: None,
            events: 0,
            cores: Topology::read().cores.len(),
        }
    }

    /// Is the next point due?
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        let since = |before: &(Instant, _)| now.duration_since(before.0) >= INTERVAL;
        self.before.as_ref().is_none_or(since)
    }

    /// Adds a point to the history, but for the first counters. What was counted in it.
    pub(crate) fn record(
        &mut self,
        history: &mut History,
        follower: &Follower,
        counters: &Arc<Counters>,
        (fitness, why): (Fitness, Vec<String>),
        now: Instant,
    ) -> Option<Second> {
        let (began, before) = self.before.replace((now, Arc::clone(counters)))?;
        let (events, next) = log::since(self.events);
        self.events = next;
        let time = SystemTime::now().duration_since(UNIX_EPOCH);
        let (v4, v6) = follower.mirror().routes();
        let point = Point {
            schema: SCHEMA,
            time_ms: time.map_or(0, |time| time.as_millis() as u64),
            seconds: now.duration_since(began).as_secs_f64(),
            engine: follower.engine().name(),
            cores: self.cores,
            healthy: fitness.healthy,
            ready: fitness.ready,
            draining: fitness.draining,
            why,
            routes: [v4, v6],
            lag_seconds: follower.health().lag.as_secs_f64(),
            equal: follower.verified().map(|result| result.different == 0),
            carried: carried(follower, &before, counters),
            left: left(follower, &before, counters),
            events: events.into_iter().map(Event::from).collect(),
        };
        history.add(forms::line(&point).trim_end().to_owned());
        Some(Second::of(&point))
    }
}

impl Second {
    fn of(point: &Point) -> Self {
        let sum = |at: usize| {
            point
                .carried
                .iter()
                .map(|(_, _, figures)| figures[at])
                .sum()
        };
        let mut left = BTreeMap::new();
        for (_, _, reason, _, frames) in &point.left {
            *left.entry(*reason).or_default() += frames;
        }
        Self {
            seconds: point.seconds,
            received: sum(0),
            forwarded: sum(2),
            left,
            equal: point.equal,
        }
    }
}

/// What came since; a counter that began again counts from zero.
fn more(before: u64, after: u64) -> u64 {
    after.checked_sub(before).unwrap_or(after)
}

fn carried(
    follower: &Follower,
    before: &Counters,
    after: &Counters,
) -> Vec<(String, u32, [u64; 4])> {
    let rows = after.ports.iter().filter_map(|(&(ifindex, core), count)| {
        let old = before
            .ports
            .get(&(ifindex, core))
            .cloned()
            .unwrap_or_default();
        let figures = [
            more(old.received, count.received),
            more(old.received_bytes, count.received_bytes),
            more(old.forwarded, count.forwarded),
            more(old.forwarded_bytes, count.forwarded_bytes),
        ];
        (figures != [0; 4]).then(|| (link_name(follower, ifindex), core, figures))
    });
    rows.collect()
}

fn left(
    follower: &Follower,
    before: &Counters,
    after: &Counters,
) -> Vec<(String, u32, &'static str, bool, u64)> {
    let old: BTreeMap<_, u64> = before
        .reasons
        .iter()
        .map(|one| ((one.ifindex, one.core, one.reason, one.punted), one.frames))
        .collect();
    let rows = after.reasons.iter().filter_map(|one| {
        let key = (one.ifindex, one.core, one.reason, one.punted);
        let frames = more(old.get(&key).copied().unwrap_or(0), one.frames);
        let name = || link_name(follower, one.ifindex);
        (frames > 0).then(|| (name(), one.core, one.reason, one.punted, frames))
    });
    rows.collect()
}

#[cfg(test)]
#[path = "../../../tests/unit/history.rs"]
mod tests;
