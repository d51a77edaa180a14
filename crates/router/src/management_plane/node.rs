//! What a router says to `corelane fleet`: how it does, and by which routes, so that two boxes can be
//! compared with few questions.
//!
//! First each says a [`Node`], with the digests of its tables. Of a table that differs each says the
//! digests of its [`Ranges`]; of ranges that differ, the routes themselves ([`Listed`]).

mod asked;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::SystemTime;

use fib::{IpPrefix, Prefix};
use serde::{Deserialize, Serialize};

pub use self::asked::Asked;
use self::asked::What;
use super::forms;
use super::metrics::Fitness;
use super::pieces::Pieces;
use crate::control_plane::digest::{self, RANGES, of_prefix, range_of};
use crate::control_plane::family::Family;
use crate::control_plane::follower::Follower;
use crate::control_plane::routed::Routed;
use crate::control_plane::routes::WayId;
use crate::control_plane::slots::PARTS;
use crate::engine::Counters;

/// Name and version of the form of [`Node`].
pub const NODE: &str = "corelane-node/1";
/// Name and version of the form of [`Ranges`].
pub const NODE_RANGES: &str = "corelane-node-ranges/1";
/// Name and version of the form of [`Listed`].
pub const NODE_ROUTES: &str = "corelane-node-routes/1";
/// So many ranges are listed at once.
pub const LISTED_AT_ONCE: usize = 64;
/// Prefixes looked at in a step of an answer.
const AT_ONCE: usize = 16;

/// A router among others. Counts are since the start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Node {
    #[cfg_attr(feature = "schema", schemars(extend("const" = NODE)))]
    /// The form.
    pub schema: String,
    /// Of the program.
    pub version: String,
    /// Its name on its machine.
    pub instance: String,
    /// What moves the frames.
    pub engine: String,
    /// Its clock: seconds since 1970.
    pub time: f64,
    /// Somebody vouches for the routes.
    pub healthy: bool,
    /// It does all that it was asked to, and may have traffic.
    pub ready: bool,
    /// Somebody wants it out of traffic.
    pub draining: bool,
    /// Why it is not ready, or soon will not be.
    pub reasons: Vec<String>,
    /// Frames received by all ports.
    pub received_frames: u64,
    /// Their bytes, without FCS.
    pub received_bytes: u64,
    /// Frames forwarded.
    pub forwarded_frames: u64,
    /// Their bytes, without FCS.
    pub forwarded_bytes: u64,
    /// Frames that were not.
    pub not_forwarded: Vec<NotForwarded>,
    /// The tables that packets are looked up in.
    pub tables: Vec<TableDigest>,
}

/// Frames that were not forwarded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NotForwarded {
    /// Why.
    pub reason: String,
    /// The kernel has them.
    pub to_kernel: bool,
    /// How many.
    pub frames: u64,
}

/// The digest of a table. Routes that each box has of its own are not in it: addresses, connected
/// networks, neighbours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TableDigest {
    /// The kernel's number.
    pub table: u32,
    /// The VRF whose table it is.
    pub vrf: Option<String>,
    /// Which addresses.
    pub family: Addresses,
    /// Routes in the digest.
    pub routes: u64,
    /// Of the prefixes alone, in hexadecimal digits.
    pub prefixes: String,
    /// Of prefixes and ways.
    pub ways: String,
}

/// A family of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Addresses {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
}

impl Addresses {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
        }
    }
}

/// What two tables are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The prefixes alone.
    Prefixes,
    /// Prefixes, kinds, gateways and weights.
    Ways,
}

impl By {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prefixes => "prefixes",
            Self::Ways => "ways",
        }
    }
}

/// The digests of a table's ranges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ranges {
    #[cfg_attr(feature = "schema", schemars(extend("const" = NODE_RANGES)))]
    /// The form.
    pub schema: String,
    /// By their numbers, in hexadecimal digits.
    pub ranges: Vec<String>,
}

/// The routes of some ranges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Listed {
    #[cfg_attr(feature = "schema", schemars(extend("const" = NODE_ROUTES)))]
    /// The form.
    pub schema: String,
    /// By prefix: what the route says.
    pub routes: BTreeMap<String, String>,
}

/// What a router says of itself.
pub(crate) fn node(
    follower: &Follower,
    counters: &Counters,
    instance: String,
    fitness: Fitness,
    reasons: Vec<String>,
) -> String {
    let sum = |of: fn(&fastpath::forward::PortCount) -> u64| counters.ports.values().map(of).sum();
    let mut frames: BTreeMap<(&str, bool), u64> = BTreeMap::new();
    for count in counters.reasons.iter().filter(|count| count.frames > 0) {
        *frames.entry((count.reason, count.punted)).or_default() += count.frames;
    }
    let not_forwarded = frames.into_iter().map(|((reason, to_kernel), frames)| {
        let reason = reason.to_owned();
        NotForwarded {
            reason,
            to_kernel,
            frames,
        }
    });
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    forms::line(&Node {
        schema: NODE.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        instance,
        engine: follower.engine().name().to_owned(),
        time: time.map_or(0.0, |time| time.as_secs_f64()),
        healthy: fitness.healthy,
        ready: fitness.ready,
        draining: fitness.draining,
        reasons,
        received_frames: sum(|count| count.received),
        received_bytes: sum(|count| count.received_bytes),
        forwarded_frames: sum(|count| count.forwarded),
        forwarded_bytes: sum(|count| count.forwarded_bytes),
        not_forwarded: not_forwarded.collect(),
        tables: tables(follower),
    })
}

/// The digests of all tables.
pub(crate) fn tables(follower: &Follower) -> Vec<TableDigest> {
    let mirror = follower.mirror();
    let of = |(&table, family): (&u32, Addresses)| {
        let digest = mirror.digest(table, family == Addresses::Ipv6);
        TableDigest {
            table,
            vrf: mirror.around().vrf(table).map(str::to_owned),
            family,
            routes: digest.routes,
            prefixes: format!("{:032x}", digest.prefixes),
            ways: format!("{:032x}", digest.ways),
        }
    };
    let families = [Addresses::Ipv4, Addresses::Ipv6];
    let all = mirror.domains().iter();
    all.flat_map(|table| families.map(|family| (table, family)))
        .map(of)
        .collect()
}

/// What a router says of one table.
pub fn about(asked: Asked) -> Pieces {
    match asked.family {
        Addresses::Ipv4 => said(asked, |follower| follower.mirror().v4(), IpPrefix::V4),
        Addresses::Ipv6 => said(asked, |follower| follower.mirror().v6(), IpPrefix::V6),
    }
}

/// The routes of a family.
type Of<A> = fn(&Follower) -> &Family<A>;

fn said<A: Routed + Send + 'static>(
    asked: Asked,
    family: Of<A>,
    name: fn(Prefix<A>) -> IpPrefix,
) -> Pieces {
    let mut walk = Walk {
        table: asked.table,
        family,
        part: 0,
        waiting: Vec::new(),
    };
    let table = asked.table;
    let mut pieces = Pieces::default();
    match asked.what {
        What::Ranges(by) => {
            let mut sums = vec![0_u64; RANGES];
            pieces.part(Box::new(move |follower, text| {
                let more = walk.step(
                    follower,
                    |_| true,
                    |prefix, way| {
                        let objects = follower.mirror().objects();
                        // A way may have become another since: then a range differs for a moment.
                        let Some(said) = family(follower).said(way, objects) else {
                            return;
                        };
                        let of_it = of_prefix(prefix);
                        let hash = match by {
                            By::Prefixes => of_it,
                            By::Ways => digest::joined(of_it, said),
                        };
                        let sum = &mut sums[digest::range_by(prefix, of_it)];
                        *sum = sum.wrapping_add(hash as u64);
                    },
                );
                if !more {
                    let ranges = sums.iter().map(|sum| format!("{sum:016x}")).collect();
                    let schema = NODE_RANGES.to_owned();
                    text.push_str(&forms::line(&Ranges { schema, ranges }));
                }
                more
            }));
        }
        What::Routes(ranges) => {
            let mut wanted = [false; PARTS];
            for &range in &ranges {
                wanted[digest::part_of_range(range)] = true;
            }
            let mut comma = "";
            pieces.text(format!("{{\"schema\":\"{NODE_ROUTES}\",\"routes\":{{"));
            pieces.part(Box::new(move |follower, text| {
                walk.step(
                    follower,
                    |part| wanted[part],
                    |prefix, _| {
                        if !ranges.contains(&range_of(prefix)) {
                            return;
                        }
                        let objects = follower.mirror().objects();
                        if let Some(said) = family(follower).best_said(table, prefix, objects) {
                            let name = name(prefix);
                            // Writing to a string does not fail.
                            let _ = write!(text, "{comma}\"{name}\":\"{said}\"");
                            comma = ",";
                        }
                    },
                )
            }));
            pieces.text("}}\n".to_owned());
        }
    }
    pieces
}

/// A walk through a table, some prefixes at a time.
struct Walk<A> {
    table: u32,
    family: Of<A>,
    /// The next part of the table.
    part: usize,
    /// Prefixes of the parts before, with their ways.
    waiting: Vec<(Prefix<A>, WayId)>,
}

impl<A: Routed> Walk<A> {
    /// Looks at a few more prefixes of the parts that are wanted; false at the end.
    fn step(
        &mut self,
        follower: &Follower,
        wanted: impl Fn(usize) -> bool,
        mut look: impl FnMut(Prefix<A>, WayId),
    ) -> bool {
        if self.waiting.is_empty() {
            if self.part >= PARTS {
                return false;
            }
            if wanted(self.part) {
                let part = (self.family)(follower).part_ways(self.table, self.part);
                self.waiting.extend(part);
            }
            self.part += 1;
            return true;
        }
        let left = self.waiting.len().saturating_sub(AT_ONCE);
        for (prefix, way) in self.waiting.drain(left..) {
            look(prefix, way);
        }
        true
    }
}
