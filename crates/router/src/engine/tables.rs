//! What engines with a [`Forwarder`] have in common: changes of tables and next hops, and how its words become ours.

use fastpath::forward::{self, Forwarder};
use fib::{NextHop, Prefix};

use super::{Change, EngineError, NextHopCount, Port, ReasonCount};

/// Most routes that become visible together: enough to write each node of the table once, few enough to take no noticeable memory.
const ROUTES_AT_ONCE: usize = 16 << 10;

/// Makes the first of `changes`, and with it the routes of the same family and table that follow; says how many were made.
/// A port is somebody else's to change.
///
/// # Errors
/// When there is no room; nothing has changed then.
pub(super) fn apply(forwarder: &mut Forwarder, changes: &[Change]) -> Result<usize, EngineError> {
    let failed = |error| EngineError::new("changing routes", error);
    match changes.first() {
        None => Ok(0),
        Some(Change::RouteV4 { table, .. }) => {
            let run = run_of(changes, |change| match change {
                Change::RouteV4 {
                    table: of,
                    prefix,
                    next_hop,
                } if of == table => Some((*prefix, *next_hop)),
                _ => None,
            });
            forwarder.set_routes_v4(*table, &run).map_err(failed)?;
            Ok(run.len())
        }
        Some(Change::RouteV6 { table, .. }) => {
            let run = run_of(changes, |change| match change {
                Change::RouteV6 {
                    table: of,
                    prefix,
                    next_hop,
                } if of == table => Some((*prefix, *next_hop)),
                _ => None,
            });
            forwarder.set_routes_v6(*table, &run).map_err(failed)?;
            Ok(run.len())
        }
        Some(change) => {
            let outcome = match change {
                Change::NextHop { id, entry } => forwarder.set_next_hop(*id, *entry),
                Change::Group { id, buckets } => forwarder.set_group(*id, buckets),
                Change::Release { id } => {
                    forwarder.release(*id);
                    Ok(())
                }
                Change::RouteV4 { .. } | Change::RouteV6 { .. } | Change::Port(_) => Ok(()),
            };
            outcome
                .map(|()| 1)
                .map_err(|error| EngineError::new(format!("{change:?}"), error))
        }
    }
}

/// The routes at the front of `changes`, as far as `of` takes them.
fn run_of<A>(
    changes: &[Change],
    of: impl Fn(&Change) -> Option<(Prefix<A>, NextHop)>,
) -> Vec<(Prefix<A>, NextHop)> {
    changes.iter().take(ROUTES_AT_ONCE).map_while(of).collect()
}

/// A port's settings as the program wants them.
pub(super) fn port_settings(port: &Port) -> forward::PortSettings {
    let vlan = |vlan: &super::VlanPort| forward::VlanSettings {
        vid: vlan.vid,
        ifindex: vlan.ifindex,
        table: vlan.table,
        mac: vlan.mac,
    };
    forward::PortSettings {
        enabled: port.enabled,
        mac: port.mac,
        table: port.table,
        vlans: port.vlans.iter().map(vlan).collect(),
    }
}

/// What the program kept from forwarding, on one port and core.
pub(super) fn reasons(count: &forward::PortCounters) -> impl Iterator<Item = ReasonCount> + '_ {
    count.reasons().map(|(reason, frames)| ReasonCount {
        ifindex: count.ifindex,
        core: count.cpu,
        reason: reason.name,
        punted: reason.punted,
        frames,
    })
}

/// What the program forwarded, or gave away to be forwarded, by next hop.
pub(super) fn carried(forwarder: &Forwarder) -> impl Iterator<Item = NextHopCount> {
    forwarder.carried().into_iter().map(|carried| NextHopCount {
        id: NextHop(carried.next_hop),
        frames: carried.frames,
        bytes: carried.bytes,
    })
}
