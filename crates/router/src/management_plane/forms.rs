//! The forms of what the router answers: `corelane-show/1`, `corelane-verify/1` and
//! `corelane-health/1`. Counts are since the start.

use std::collections::BTreeMap;

use fastpath::forward::LinkCount;
use serde::{Deserialize, Serialize};

use crate::control_plane::verify::Verification;

/// Name and version of the form of `corelane show`.
const SHOW: &str = "corelane-show/1";
/// Name and version of the form of `corelane verify`.
const VERIFY: &str = "corelane-verify/1";
/// Name and version of the form of `corelane health`.
pub(crate) const HEALTH: &str = "corelane-health/1";

/// What `corelane show SUBJECT` answers.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Show {
    #[cfg_attr(feature = "schema", schemars(extend("const" = SHOW)))]
    schema: &'static str,
    #[serde(flatten)]
    about: About,
}

impl From<About> for Show {
    fn from(about: About) -> Self {
        Self {
            schema: SHOW,
            about,
        }
    }
}

/// What is said of a subject, under its name.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "subject", rename_all = "kebab-case")]
pub(crate) enum About {
    /// The ports of the configuration.
    Ports { ports: Vec<PortRow> },
    /// VLAN sub-interfaces of the ports.
    Vlans { vlans: Vec<VlanRow> },
    /// Tables that packets are looked up in.
    Tables { tables: Vec<TableRow> },
    /// Cores that forward.
    Workers { workers: Vec<WorkerRow> },
    /// The routes, or the answer for an address.
    Routes { routes: Routes },
    /// Hosts on the ports' links.
    Neighbours { neighbours: Vec<NeighbourRow> },
    /// Who most of the traffic is, by samples.
    Hitters { hitters: Box<Hitters> },
    /// Frames that were not forwarded.
    Drops { drops: Vec<DropRow> },
    /// The engine, and how it follows the kernel.
    Engine { engine: Box<Following> },
}

/// A port. One that is absent has no index, and nothing after its error.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct PortRow {
    pub(crate) port: String,
    /// Of the interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) index: Option<u32>,
    pub(crate) state: &'static str,
    /// Where the program runs.
    pub(crate) mode: &'static str,
    /// Why it does not forward.
    pub(crate) error: Option<String>,
    #[serde(flatten)]
    pub(crate) present: Option<Present>,
}

/// Of a port that is there.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Present {
    pub(crate) mac: String,
    pub(crate) mtu: u32,
    pub(crate) table: u32,
    /// Identifiers of its VLANs.
    pub(crate) vlans: Vec<u16>,
    #[serde(flatten)]
    pub(crate) count: Count,
    /// Frames that the device did not take.
    pub(crate) refused: u64,
}

/// Frames, and their bytes without FCS.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Count {
    pub(crate) received: u64,
    pub(crate) received_bytes: u64,
    /// Of those received.
    pub(crate) forwarded: u64,
    pub(crate) forwarded_bytes: u64,
}

impl From<LinkCount> for Count {
    fn from(count: LinkCount) -> Self {
        Self {
            received: count.received,
            received_bytes: count.received_bytes,
            forwarded: count.forwarded,
            forwarded_bytes: count.forwarded_bytes,
        }
    }
}

impl From<Count> for LinkCount {
    fn from(count: Count) -> Self {
        Self {
            received: count.received,
            received_bytes: count.received_bytes,
            forwarded: count.forwarded,
            forwarded_bytes: count.forwarded_bytes,
        }
    }
}

/// A VLAN of a port.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct VlanRow {
    #[serde(flatten)]
    pub(crate) count: Count,
    /// The sub-interface.
    pub(crate) link: String,
    pub(crate) port: String,
    /// Its identifier.
    pub(crate) vlan: u16,
    pub(crate) table: u32,
}

/// A table.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct TableRow {
    #[serde(flatten)]
    pub(crate) count: Count,
    pub(crate) table: u32,
    /// Whose it is.
    pub(crate) vrf: Option<String>,
}

/// Frames of a core.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct WorkerRow {
    pub(crate) core: u32,
    pub(crate) received: u64,
    pub(crate) forwarded: u64,
    pub(crate) to_kernel: u64,
    pub(crate) dropped: u64,
}

/// What is said of routes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum Routes {
    /// What there is, and some of it.
    Known {
        v4: usize,
        v6: usize,
        /// The kernel's next-hop objects.
        objects: usize,
        next_hops: usize,
        listed: Vec<RouteRow>,
    },
    /// What packets for an address get.
    Found {
        address: String,
        /// One for each table.
        answers: Vec<Answer>,
    },
}

/// A route.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct RouteRow {
    pub(crate) table: u32,
    pub(crate) prefix: String,
    pub(crate) kind: String,
    pub(crate) metric: u32,
    pub(crate) via: Vec<Via>,
    /// Number of the next hop that stands for its way out.
    pub(crate) next_hop: u16,
}

/// One way of a route.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Via {
    pub(crate) link: String,
    /// Absent where the destination itself is on the link.
    pub(crate) gateway: Option<String>,
    pub(crate) weight: u16,
}

/// What one table answers.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Answer {
    pub(crate) table: u32,
    pub(crate) next_hop: u16,
    /// Several for a group.
    pub(crate) entries: Vec<Entry>,
}

/// A next hop.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Entry {
    pub(crate) next_hop: u16,
    pub(crate) kind: String,
    /// Where frames are sent, if they are.
    #[serde(flatten)]
    pub(crate) adjacency: Option<Adjacency>,
}

/// Where frames are sent.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Adjacency {
    pub(crate) port: String,
    pub(crate) mac: String,
    /// Tag control information; 0: untagged.
    pub(crate) vlan: u16,
    /// Longest packet, bytes; 0: not checked.
    pub(crate) mtu: u16,
}

/// A host on a link.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct NeighbourRow {
    pub(crate) address: String,
    pub(crate) link: String,
    /// The kernel's word.
    pub(crate) state: &'static str,
    pub(crate) mac: Option<String>,
    /// Whether frames for it are forwarded without the kernel.
    pub(crate) fast_path: bool,
}

/// Frames of a port that were not forwarded, for one reason.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct DropRow {
    pub(crate) port: String,
    pub(crate) reason: &'static str,
    /// `dropped` or `to the kernel`.
    pub(crate) fate: &'static str,
    pub(crate) frames: u64,
}

/// Who most of the traffic of the last seconds is, by samples. The first question has samples taken, and
/// so does each for some seconds.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hitters {
    /// The time that samples are of; 0: there are none yet.
    pub(crate) seconds: f64,
    /// One frame in so many is a sample now; 0: none yet.
    pub(crate) every: u32,
    pub(crate) samples: u64,
    /// All frames with a packet of IP, estimated.
    pub(crate) frames_per_second: f64,
    /// The longest prefixes for destinations of forwarded frames.
    pub(crate) prefixes: Vec<Hitter>,
    pub(crate) flows: Vec<Hitter>,
    pub(crate) sources: Vec<Hitter>,
    /// Why there are no samples.
    pub(crate) failed: Option<String>,
}

/// A prefix, a flow or a source.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hitter {
    pub(crate) what: String,
    /// As many as it had.
    pub(crate) samples: u64,
    /// Estimated.
    pub(crate) frames_per_second: f64,
    /// The true rate is between these in 95 of 100 cases.
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Without FCS, estimated.
    pub(crate) bits_per_second: f64,
}

/// The engine, and how it follows the kernel.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Following {
    pub(crate) engine: &'static str,
    pub(crate) ports: Vec<Mode>,
    /// Of its tables.
    pub(crate) memory_bytes: u64,
    /// Of the process.
    pub(crate) resident_bytes: u64,
    /// What is left to the kernel, and why.
    pub(crate) left_to_kernel: Vec<String>,
    /// Routes, next hops and neighbours that found no room.
    pub(crate) not_carried: BTreeMap<&'static str, usize>,
    /// What is taken of the room for each kind of thing, and what there is.
    pub(crate) room: BTreeMap<&'static str, [usize; 2]>,
    /// What has failed and is tried again.
    pub(crate) failed: Vec<String>,
    /// How long the first reading of the kernel's tables took.
    pub(crate) load_seconds: f64,
    /// The kernel's, taken in.
    pub(crate) messages: u64,
    /// Handed to the engine.
    pub(crate) changes: u64,
    /// From an announcement to the engine, latest.
    pub(crate) lag_seconds: f64,
    /// The longest.
    pub(crate) lag_max_seconds: f64,
    /// Whole readings after the first.
    pub(crate) resyncs: u64,
    /// How often announcements were lost.
    pub(crate) overruns: u64,
    /// How long the latest reading took.
    pub(crate) resync_seconds: f64,
    pub(crate) neighbours_refreshed: u64,
    /// The latest comparison with the kernel.
    pub(crate) verification: Option<Comparison>,
}

/// Where the program of a port runs.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Mode {
    pub(crate) port: String,
    pub(crate) mode: &'static str,
}

/// What `corelane verify` answers.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verify {
    #[cfg_attr(feature = "schema", schemars(extend("const" = VERIFY)))]
    schema: &'static str,
    /// Absent where the engine keeps no table.
    verification: Option<Comparison>,
    /// Whether it keeps one.
    table: bool,
}

impl Verify {
    /// Without a result when the engine keeps no table.
    pub(crate) fn new(result: Option<&Verification>) -> Self {
        Self {
            schema: VERIFY,
            verification: result.map(Comparison::from),
            table: result.is_some(),
        }
    }
}

/// A comparison with the kernel.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Comparison {
    equal: bool,
    /// Prefixes of the kernel's tables that were compared.
    routes_v4: u64,
    routes_v6: u64,
    /// Answers.
    compared: u64,
    /// Of them those that the kernel was asked for one by one.
    asked: u64,
    different: u64,
    /// The first that differ.
    differences: Vec<Differs>,
    seconds: f64,
}

/// An answer that differs.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Differs {
    table: u32,
    address: String,
    kernel: String,
    engine: String,
}

impl From<&Verification> for Comparison {
    fn from(result: &Verification) -> Self {
        let differences = result.differences.iter().map(|difference| Differs {
            table: difference.table,
            address: difference.address.to_string(),
            kernel: difference.kernel.clone(),
            engine: difference.engine.clone(),
        });
        Self {
            equal: result.different == 0,
            routes_v4: result.routes_v4,
            routes_v6: result.routes_v6,
            compared: result.compared,
            asked: result.asked,
            different: result.different,
            differences: differences.collect(),
            seconds: result.took.as_secs_f64(),
        }
    }
}

/// What `corelane health`, `/healthz` and `/readyz` answer.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Health {
    #[cfg_attr(feature = "schema", schemars(extend("const" = HEALTH)))]
    pub(crate) schema: &'static str,
    /// Somebody vouches for the routes.
    pub(crate) healthy: bool,
    /// All conditions hold, and have for a while.
    pub(crate) ready: bool,
    /// Somebody wants it out of traffic.
    pub(crate) draining: bool,
    pub(crate) conditions: Vec<Held>,
}

/// Whether a condition holds.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Held {
    pub(crate) what: &'static str,
    pub(crate) holds: bool,
    /// Why not.
    pub(crate) reason: Option<String>,
}

/// An answer as a line of text.
pub(crate) fn line(answer: &impl Serialize) -> String {
    // Plain data with text for keys: it has a form in JSON.
    serde_json::to_string(answer).unwrap_or_default() + "\n"
}
