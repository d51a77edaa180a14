//! What `corelane show` prints, as JSON: one function for each subject.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::net::IpAddr;

use fastpath::forward::LinkCount;
use fib::next_hop::Kind;
use fib::{NextHop, NextHopEntry, Prefix};
use serde_json::{Value, json};
use wire::ethernet::MacAddress;

use crate::control_plane::family::Family;
use crate::control_plane::follower::Follower;
use crate::control_plane::model::{Way, nud};
use crate::control_plane::routed::Routed;
use crate::control_plane::verify::Verification;
use crate::engine::{Counters, EngineError};

/// Routes listed when no number is asked for.
const ROUTES_LISTED: usize = 1000;

/// What `show` can be asked for, for help and errors.
pub const SUBJECTS: &str =
    "ports, vlans, tables, workers, routes [N | ADDRESS], neighbours, drops, engine";

/// The answer about `subject`; `kept` says why ports or families stay with the kernel.
///
/// # Errors
/// When the subject is not known or the engine's counters cannot be read.
pub fn show(words: &[&str], follower: &Follower, kept: &[String]) -> Result<Value, EngineError> {
    let rows = match words {
        ["ports"] => ports(follower)?,
        ["vlans"] => vlans(follower)?,
        ["tables"] => tables(follower)?,
        ["workers"] => workers(&follower.engine().counters()?),
        ["routes"] => routes(follower, ROUTES_LISTED),
        ["routes", what] => match (what.parse::<usize>(), what.parse::<IpAddr>()) {
            (Ok(limit), _) => routes(follower, limit),
            (_, Ok(address)) => look_up(follower, address),
            _ => {
                return Err(EngineError::new(
                    format!("show routes {what}"),
                    "give a number or an address",
                ));
            }
        },
        ["neighbours"] => neighbours(follower),
        ["drops"] => drops(follower)?,
        ["engine"] => engine(follower, kept),
        _ => {
            return Err(EngineError::new(
                format!("show {}", words.join(" ")),
                format!("known are {SUBJECTS}"),
            ));
        }
    };
    Ok(json!({ "schema": "corelane-show/1", "subject": words[0], words[0]: rows }))
}

fn mac(bytes: [u8; 6]) -> String {
    MacAddress(bytes).to_string()
}

/// The name of a kind, in lower case.
fn name(kind: impl Debug) -> String {
    format!("{kind:?}").to_lowercase()
}

fn ports(follower: &Follower) -> Result<Value, EngineError> {
    let counters = follower.engine().counters()?;
    let modes = follower.engine().modes();
    let failed = follower.engine().failed_ports();
    let around = follower.mirror().around();
    let by_name = around.ports();
    let row = |name: &str| {
        let error = failed.iter().find(|(port, _)| port == name);
        let error = error.map(|(_, error)| error);
        let mode = modes
            .iter()
            .find(|mode| mode.port == name)
            .map_or("none", |mode| mode.mode);
        let Some(port) = by_name.iter().find(|port| port.name == name) else {
            return json!({ "port": name, "state": "absent", "mode": "none", "error": error });
        };
        let counts = || {
            let of_port = (port.ifindex, 0)..=(port.ifindex, u32::MAX);
            counters.ports.range(of_port).map(|(_, count)| count)
        };
        let state = match (port.settings.enabled, around.is_kept(name)) {
            _ if error.is_some() => "failed",
            (true, _) => "forwarding",
            (false, true) => "kept by the kernel",
            (false, false) => "down",
        };
        json!({
            "port": name, "index": port.ifindex, "state": state, "mode": mode, "error": error,
            "mac": mac(port.settings.mac),
            "mtu": port.mtu,
            "table": port.settings.table,
            "vlans": port.settings.vlans.iter().map(|vlan| vlan.vid).collect::<Vec<_>>(),
            "received": counts().map(|count| count.received).sum::<u64>(),
            "received_bytes": counts().map(|count| count.received_bytes).sum::<u64>(),
            "forwarded": counts().map(|count| count.forwarded).sum::<u64>(),
            "forwarded_bytes": counts().map(|count| count.forwarded_bytes).sum::<u64>(),
            "refused": counts().map(|count| count.refused).sum::<u64>(),
        })
    };
    Ok(around.port_names().map(row).collect())
}

fn vlans(follower: &Follower) -> Result<Value, EngineError> {
    let counters = follower.engine().counters()?;
    let mut rows = Vec::new();
    for port in follower.mirror().around().ports() {
        for vlan in &port.settings.vlans {
            let count = counters.vlans.get(&vlan.ifindex).copied();
            let mut row = counted(count.unwrap_or_default());
            row["link"] = link_name(follower, vlan.ifindex).into();
            row["port"] = port.name.clone().into();
            row["vlan"] = vlan.vid.into();
            row["table"] = vlan.table.into();
            rows.push(row);
        }
    }
    Ok(rows.into())
}

fn tables(follower: &Follower) -> Result<Value, EngineError> {
    let counters = follower.engine().counters()?;
    let row = |(&table, &count): (&u32, &LinkCount)| {
        let mut row = counted(count);
        row["table"] = table.into();
        row["vrf"] = follower.mirror().around().vrf(table).into();
        row
    };
    Ok(counters.tables.iter().map(row).collect())
}

fn counted(count: LinkCount) -> Value {
    json!({
        "received": count.received, "received_bytes": count.received_bytes,
        "forwarded": count.forwarded, "forwarded_bytes": count.forwarded_bytes,
    })
}

fn workers(counters: &Counters) -> Value {
    let mut cores: BTreeMap<u32, (u64, u64, u64, u64)> = BTreeMap::new();
    for (&(_, core), count) in &counters.ports {
        let core = cores.entry(core).or_default();
        core.0 += count.received;
        core.1 += count.forwarded;
    }
    for count in &counters.reasons {
        let core = cores.entry(count.core).or_default();
        if count.punted {
            core.2 += count.frames;
        } else {
            core.3 += count.frames;
        }
    }
    cores
        .into_iter()
        .map(|(core, (received, forwarded, punted, dropped))| {
            json!({
                "core": core, "received": received, "forwarded": forwarded,
                "to_kernel": punted, "dropped": dropped
            })
        })
        .collect()
}

fn link_name(follower: &Follower, link: u32) -> String {
    follower
        .mirror()
        .around()
        .links
        .get(&link)
        .map_or_else(|| link.to_string(), |link| link.name.clone())
}

fn via(follower: &Follower, way: &Way) -> Vec<Value> {
    let hops = match way.object {
        0 => way.hops().to_vec(),
        object => follower.mirror().objects().hops(object),
    };
    hops.iter()
        .map(|hop| {
            let gateway = hop.gateway.map(|gateway| gateway.to_string());
            let link = link_name(follower, hop.link);
            json!({ "link": link, "gateway": gateway, "weight": hop.weight })
        })
        .collect()
}

fn routes(follower: &Follower, limit: usize) -> Value {
    let mirror = follower.mirror();
    let (v4, v6) = mirror.routes();
    let mut listed = Vec::new();
    for &domain in mirror.domains() {
        list(follower, mirror.v4(), domain, limit, &mut listed);
        list(follower, mirror.v6(), domain, limit, &mut listed);
    }
    json!({
        "v4": v4, "v6": v6, "objects": mirror.objects().len(),
        "next_hops": mirror.next_hops().in_use(), "listed": listed
    })
}

fn list<A: Routed>(
    follower: &Follower,
    family: &Family<A>,
    domain: u32,
    limit: usize,
    out: &mut Vec<Value>,
) {
    let room = limit.saturating_sub(out.len());
    let mut prefixes: Vec<Prefix<A>> = family.prefixes(domain).take(room).collect();
    prefixes.sort_unstable_by_key(|prefix| (prefix.address(), prefix.length()));
    for prefix in prefixes {
        if let Some((stored, _)) = family.best(domain, prefix) {
            out.push(json!({
                "table": domain, "prefix": prefix.to_string(), "kind": name(stored.way.kind),
                "metric": stored.way.metric, "via": via(follower, &stored.way),
                "next_hop": family.answer(domain, prefix).0,
            }));
        }
    }
}

fn look_up(follower: &Follower, address: IpAddr) -> Value {
    let engine = follower.engine().answers();
    let answers = follower.mirror().domains().iter().map(|&table| {
        let id = match address {
            IpAddr::V4(address) => engine.lookup_v4(table, address.into()),
            IpAddr::V6(address) => engine.lookup_v6(table, address.into()),
        };
        let entries = engine.entries(id).into_iter();
        let entries: Vec<Value> = entries.map(|(id, of)| entry(follower, id, &of)).collect();
        json!({ "table": table, "next_hop": id.0, "entries": entries })
    });
    json!({ "address": address.to_string(), "answers": answers.collect::<Vec<_>>() })
}

fn entry(follower: &Follower, id: NextHop, entry: &NextHopEntry) -> Value {
    let kind = name(entry.kind);
    if entry.kind != Kind::Adjacency {
        return json!({ "next_hop": id.0, "kind": kind });
    }
    json!({
        "next_hop": id.0, "kind": kind, "port": link_name(follower, entry.port),
        "mac": mac(entry.destination_mac),
        "vlan": entry.vlan, "mtu": entry.mtu,
    })
}

fn neighbours(follower: &Follower) -> Value {
    let around = follower.mirror().around();
    let mut rows: Vec<_> = around
        .neighbours
        .values()
        .filter(|neighbour| around.is_ours(neighbour.link))
        .collect();
    rows.sort_unstable_by_key(|neighbour| (neighbour.link, neighbour.address));
    rows.into_iter()
        .map(|neighbour| {
            json!({
                "address": neighbour.address.to_string(),
                "link": link_name(follower, neighbour.link),
                "state": state_name(neighbour.state), "mac": neighbour.mac.map(mac),
                "fast_path": neighbour.usable().is_some(),
            })
        })
        .collect()
}

fn state_name(state: u16) -> &'static str {
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

fn drops(follower: &Follower) -> Result<Value, EngineError> {
    let counters = follower.engine().counters()?;
    let mut sums: BTreeMap<(u32, &str, bool), u64> = BTreeMap::new();
    for count in counters.reasons.iter().filter(|count| count.frames > 0) {
        *sums
            .entry((count.ifindex, count.reason, count.punted))
            .or_default() += count.frames;
    }
    Ok(sums
        .into_iter()
        .map(|((ifindex, reason, punted), frames)| {
            let fate = if punted { "to the kernel" } else { "dropped" };
            let port = link_name(follower, ifindex);
            json!({ "port": port, "reason": reason, "fate": fate, "frames": frames })
        })
        .collect())
}

fn engine(follower: &Follower, kept: &[String]) -> Value {
    let engine = follower.engine();
    let health = follower.health();
    let modes: Vec<Value> = engine
        .modes()
        .iter()
        .map(|mode| json!({ "port": mode.port, "mode": mode.mode }))
        .collect();
    let not_carried: BTreeMap<_, _> = follower.not_carried().kinds().into();
    let room = engine.room().into_iter();
    let room: BTreeMap<_, _> = room
        .map(|room| (room.what, json!([room.used, room.size])))
        .collect();
    json!({
        "engine": engine.name(), "ports": modes, "memory_bytes": engine.answers().memory(),
        "resident_bytes": resident(),
        "left_to_kernel": kept, "not_carried": not_carried, "room": room,
        "load_seconds": health.load.as_secs_f64(),
        "messages": health.messages,
        "changes": health.changes, "lag_seconds": health.lag.as_secs_f64(),
        "lag_max_seconds": health.lag_max.as_secs_f64(), "resyncs": health.resyncs,
        "overruns": health.overruns,
        "resync_seconds": health.resync.as_secs_f64(), "neighbours_refreshed": health.refreshed,
        "verification": follower.verified().map(verification),
    })
}

/// The result of a comparison with the kernel.
pub fn verification(result: &Verification) -> Value {
    let differences = result.differences.iter().map(|difference| {
        json!({
            "table": difference.table, "address": difference.address.to_string(),
            "kernel": difference.kernel,
            "engine": difference.engine,
        })
    });
    json!({
        "equal": result.different == 0, "routes_v4": result.routes_v4,
        "routes_v6": result.routes_v6,
        "compared": result.compared, "asked": result.asked, "different": result.different,
        "differences": differences.collect::<Vec<_>>(), "seconds": result.took.as_secs_f64(),
    })
}

/// Resident memory of this process, bytes; 0 when the system does not say.
pub fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok())
        .map_or(0, |kib| kib * 1024)
}
