//! What `corelane show` prints, as JSON: one function for each subject.

pub(super) mod routes;

use std::collections::BTreeMap;
use std::fmt::{Debug, Display};
use std::net::IpAddr;
use std::ops::Bound;

use fastpath::forward::{LinkCount, PortCount, VlanSettings};
use serde::Serialize;
use serde_json::json;
use wire::ethernet::MacAddress;

use super::forms::{
    self, About, Comparison, Count, DropRow, Following, Hitters, Mode, NeighbourRow, PortRow,
    Present, Show, TableRow, VlanRow, WorkerRow,
};
use super::pieces::{Part, Pieces, each};
use crate::control_plane::follower::Follower;
use crate::control_plane::model::nud;
use crate::engine::{Counters, EngineError, Port};

/// Routes listed when no number is asked for.
const ROUTES_LISTED: usize = 1000;

/// What `show` can be asked for, for help and errors.
pub const SUBJECTS: &str =
    "ports, vlans, tables, workers, routes [N | ADDRESS], neighbours, drops, hitters, engine";

/// The answer about `subject`; `kept` says why ports or families stay with the kernel.
///
/// # Errors
/// When the subject is not known or the engine's counters cannot be read.
pub fn show(words: &[&str], follower: &Follower, kept: &[String]) -> Result<Pieces, EngineError> {
    let (about, list) = match words {
        ["ports"] => ports(follower)?,
        ["vlans"] => vlans(follower)?,
        ["tables"] => tables(follower)?,
        ["workers"] => {
            let workers = workers(&follower.engine().counters()?);
            (About::Workers { workers }, None)
        }
        ["routes"] => routes::routes(follower, ROUTES_LISTED),
        ["routes", what] => match (what.parse::<usize>(), what.parse::<IpAddr>()) {
            (Ok(limit), _) => routes::routes(follower, limit),
            (_, Ok(address)) => (routes::look_up(follower, address), None),
            _ => {
                return Err(EngineError::new(
                    format!("show routes {what}"),
                    "give a number or an address",
                ));
            }
        },
        ["neighbours"] => neighbours(),
        ["drops"] => drops(follower)?,
        ["engine"] => {
            let engine = Box::new(engine(follower, kept));
            (About::Engine { engine }, None)
        }
        _ => {
            return Err(EngineError::new(
                format!("show {}", words.join(" ")),
                format!("known are {SUBJECTS}"),
            ));
        }
    };
    let text = forms::line(&Show::from(about));
    let Some((list, (before, after))) = list.zip(text.split_once(EMPTY)) else {
        return Ok(text.into());
    };
    let mut pieces = Pieces::from(format!("{before}["));
    pieces.part(list);
    pieces.text(format!("]{after}"));
    Ok(pieces)
}

/// The answer about who most of the traffic is.
pub fn hitters(hitters: Hitters) -> String {
    let hitters = Box::new(hitters);
    forms::line(&Show::from(About::Hitters { hitters }))
}

/// The answer that says why there is none.
pub fn failed(error: impl Display) -> String {
    format!("{}\n", json!({ "error": error.to_string() }))
}

/// Stands in a document for the rows of its list, which is the only one there that can be empty.
const EMPTY: &str = "[]";

/// What a document says of its subject, and the rows in place of [`EMPTY`].
type Said = (About, Option<Part>);

/// A list: a row for each key, unless what it is of has gone.
fn list<K, R: Serialize>(
    keys: impl IntoIterator<Item = K, IntoIter: Send + 'static>,
    row: impl Fn(&Follower, K) -> Option<R> + Send + 'static,
) -> Part {
    let mut rows = Rows::default();
    each(keys, move |follower, key, text| {
        rows.add(row(follower, key).as_ref(), text);
    })
}

/// The rows of a list, in their commas.
#[derive(Default)]
struct Rows(bool);

impl Rows {
    fn add(&mut self, row: Option<&impl Serialize>, text: &mut String) {
        if let Some(row) = row {
            if std::mem::replace(&mut self.0, true) {
                text.push(',');
            }
            text.push_str(forms::line(row).trim_end());
        }
    }
}

pub(super) fn mac(bytes: [u8; 6]) -> String {
    MacAddress(bytes).to_string()
}

/// The name of a kind, in lower case.
fn name(kind: impl Debug) -> String {
    format!("{kind:?}").to_lowercase()
}

fn ports(follower: &Follower) -> Result<Said, EngineError> {
    let counters = follower.engine().counters()?;
    let modes = follower.engine().modes();
    let failed = follower.engine().failed_ports();
    let around = follower.mirror().around();
    let by_name = around.ports();
    let names: Vec<String> = around.port_names().map(str::to_owned).collect();
    let row = move |follower: &Follower, name: String| {
        let error = failed.iter().find(|(port, _)| *port == name);
        let error = error.map(|(_, error)| error.clone());
        let mode = modes
            .iter()
            .find(|mode| mode.port == name)
            .map_or("none", |mode| mode.mode);
        let Some(port) = by_name.iter().find(|port| port.name == name) else {
            return Some(PortRow {
                port: name,
                index: None,
                state: "absent",
                mode: "none",
                error,
                present: None,
            });
        };
        let counts = || {
            let of_port = (port.ifindex, 0)..=(port.ifindex, u32::MAX);
            counters.ports.range(of_port).map(|(_, count)| count)
        };
        let around = follower.mirror().around();
        let link = around.links.get(&port.ifindex);
        let is_owned = link.is_some_and(|link| around.owner(link).is_some());
        let state = match (port.settings.enabled, is_owned || around.is_kept(&name)) {
            _ if error.is_some() => "failed",
            (true, _) if mode == "none" => "coming",
            (true, _) => "forwarding",
            (false, true) => "kept by the kernel",
            (false, false) => "down",
        };
        let sum = |of: fn(&PortCount) -> u64| counts().map(of).sum();
        let vlans = port.settings.vlans.iter();
        let present = Present {
            mac: mac(port.settings.mac),
            mtu: port.mtu,
            table: port.settings.table,
            vlans: vlans.map(|vlan| vlan.vid).collect(),
            count: Count {
                received: sum(|count| count.received),
                received_bytes: sum(|count| count.received_bytes),
                forwarded: sum(|count| count.forwarded),
                forwarded_bytes: sum(|count| count.forwarded_bytes),
            },
            refused: sum(|count| count.refused),
        };
        Some(PortRow {
            port: name,
            index: Some(port.ifindex),
            state,
            mode,
            error,
            present: Some(present),
        })
    };
    let ports = Vec::new();
    Ok((About::Ports { ports }, Some(list(names, row))))
}

fn vlans(follower: &Follower) -> Result<Said, EngineError> {
    let counters = follower.engine().counters()?;
    let ports = follower.mirror().around().ports().into_iter();
    let of_port = |port: Port| {
        port.settings
            .vlans
            .into_iter()
            .map(move |vlan| (port.name.clone(), vlan))
    };
    let row = move |follower: &Follower, (port, vlan): (String, VlanSettings)| {
        let count = counters.vlans.get(&vlan.ifindex).copied();
        Some(VlanRow {
            count: count.unwrap_or_default().into(),
            link: link_name(follower, vlan.ifindex),
            port,
            vlan: vlan.vid,
            table: vlan.table,
        })
    };
    let vlans = Vec::new();
    Ok((
        About::Vlans { vlans },
        Some(list(ports.flat_map(of_port), row)),
    ))
}

fn tables(follower: &Follower) -> Result<Said, EngineError> {
    let counters = follower.engine().counters()?;
    let row = |follower: &Follower, (table, count): (u32, LinkCount)| {
        let vrf = follower.mirror().around().vrf(table);
        Some(TableRow {
            count: count.into(),
            table,
            vrf: vrf.map(str::to_owned),
        })
    };
    let tables = Vec::new();
    Ok((About::Tables { tables }, Some(list(counters.tables, row))))
}

fn workers(counters: &Counters) -> Vec<WorkerRow> {
    let mut cores: BTreeMap<u32, WorkerRow> = BTreeMap::new();
    let none = |core| WorkerRow {
        core,
        received: 0,
        forwarded: 0,
        to_kernel: 0,
        dropped: 0,
    };
    for (&(_, core), count) in &counters.ports {
        let row = cores.entry(core).or_insert_with(|| none(core));
        row.received += count.received;
        row.forwarded += count.forwarded;
    }
    for count in &counters.reasons {
        let row = cores.entry(count.core).or_insert_with(|| none(count.core));
        if count.punted {
            row.to_kernel += count.frames;
        } else {
            row.dropped += count.frames;
        }
    }
    cores.into_values().collect()
}

pub(super) fn link_name(follower: &Follower, link: u32) -> String {
    follower
        .mirror()
        .around()
        .links
        .get(&link)
        .map_or_else(|| link.to_string(), |link| link.name.clone())
}

fn neighbours() -> Said {
    let (mut latest, mut rows) = (Bound::Unbounded, Rows::default());
    let part = move |follower: &Follower, text: &mut String| {
        let around = follower.mirror().around();
        let mut rest = around.neighbours.range((latest, Bound::Unbounded));
        let Some((&key, neighbour)) = rest.next() else {
            return false;
        };
        latest = Bound::Excluded(key);
        let row = || NeighbourRow {
            address: neighbour.address.to_string(),
            link: link_name(follower, neighbour.link),
            state: state_name(neighbour.state),
            mac: neighbour.mac.map(mac),
            fast_path: neighbour.usable().is_some(),
        };
        rows.add(around.is_ours(neighbour.link).then(row).as_ref(), text);
        true
    };
    let neighbours = Vec::new();
    (About::Neighbours { neighbours }, Some(Box::new(part)))
}

pub(super) fn state_name(state: u16) -> &'static str {
    let names = [
        (nud::INCOMPLETE, "incomplete"),
        (nud::REACHABLE, "reachable"),
        (nud::STALE, "stale"),
        (nud::DELAY, "delay"),
        (nud::PROBE, "probe"),
        (nud::FAILED, "failed"),
        (nud::NOARP, "noarp"),
        (nud::PERMANENT, "permanent"),
    ];
    names
        .iter()
        .find(|(bit, _)| state & bit != 0)
        .map_or("none", |(_, name)| name)
}

fn drops(follower: &Follower) -> Result<Said, EngineError> {
    let counters = follower.engine().counters()?;
    let mut sums: BTreeMap<(u32, &'static str, bool), u64> = BTreeMap::new();
    for count in counters.reasons.iter().filter(|count| count.frames > 0) {
        *sums
            .entry((count.ifindex, count.reason, count.punted))
            .or_default() += count.frames;
    }
    let row =
        |follower: &Follower,
         ((ifindex, reason, punted), frames): ((u32, &'static str, bool), u64)| {
            Some(DropRow {
                port: link_name(follower, ifindex),
                reason,
                fate: if punted { "to the kernel" } else { "dropped" },
                frames,
            })
        };
    let drops = Vec::new();
    Ok((About::Drops { drops }, Some(list(sums, row))))
}

fn engine(follower: &Follower, kept: &[String]) -> Following {
    let engine = follower.engine();
    let health = follower.health();
    let modes = engine.modes().into_iter();
    let failed = health.troubles.all();
    let room = engine.room().into_iter();
    Following {
        engine: engine.name(),
        ports: modes
            .map(|mode| Mode {
                port: mode.port,
                mode: mode.mode,
            })
            .collect(),
        memory_bytes: engine.answers().memory(),
        resident_bytes: resident(),
        left_to_kernel: kept.to_vec(),
        not_carried: follower.not_carried().kinds().into(),
        room: room
            .map(|room| (room.what, [room.used, room.size]))
            .collect(),
        failed: failed
            .map(|(what, error)| format!("{what}: {error}"))
            .collect(),
        load_seconds: health.load.as_secs_f64(),
        messages: health.messages,
        changes: health.changes,
        lag_seconds: health.lag.as_secs_f64(),
        lag_max_seconds: health.lag_max.as_secs_f64(),
        resyncs: health.resyncs,
        overruns: health.overruns,
        resync_seconds: health.resync.as_secs_f64(),
        neighbours_refreshed: health.refreshed,
        verification: follower.verified().map(Comparison::from),
    }
}

/// Resident memory of this process, bytes; 0 when the system does not say.
pub fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok())
        .map_or(0, |kib| kib * 1024)
}
