//! What engines with a [`Forwarder`] have in common: changes of tables and next hops, and how its
//! words become ours.

use fastpath::forward::{Forwarder, PortCount};
use fib::{NextHop, NextHopEntry, Prefix};

use super::{Answers, Change, EngineError, Port, ReasonCount};

/// Most routes that become visible together: enough to write each node of the table once, few
/// enough to take no noticeable memory.
const ROUTES_AT_ONCE: usize = 16 << 10;

/// Makes all changes of an engine in their order: those of tables and next hops by its forwarder,
/// those of ports by `port`, and by `gone` (name, interface index).
///
/// # Errors
/// At the first that cannot be made.
pub(super) fn apply_all<E>(
    engine: &mut E,
    changes: &[Change],
    forwarder: impl Fn(&mut E) -> &mut Forwarder,
    port: impl Fn(&mut E, &Port),
    gone: impl Fn(&mut E, &str, u32),
) -> Result<(), EngineError> {
    let mut rest = changes;
    while let Some(first) = rest.first() {
        let done = match first {
            Change::Port(settings) => {
                port(engine, settings);
                1
            }
            Change::PortGone { name, ifindex } => {
                gone(engine, name, *ifindex);
                1
            }
            _ => apply(forwarder(engine), rest).map_err(|error| EngineError {
                done: changes.len() - rest.len(),
                ..error
            })?,
        };
        rest = &rest[done..];
    }
    forwarder(engine).settle();
    Ok(())
}

/// Makes the first of `changes`, and with it the routes of the same family and table that follow;
/// says how many were made. A port is somebody else's to change.
///
/// # Errors
/// When it cannot be made, which is not for want of room; nothing has changed then.
fn apply(forwarder: &mut Forwarder, changes: &[Change]) -> Result<usize, EngineError> {
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
            forwarder.set_routes_v4(*table, &run);
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
            forwarder.set_routes_v6(*table, &run);
            Ok(run.len())
        }
        Some(change) => {
            let outcome = match change {
                Change::NextHop { id, entry } => forwarder.set_next_hop(*id, *entry),
                Change::Group { id, buckets } => forwarder.set_group(*id, buckets),
                Change::TableGone { table } => forwarder.forget_table(*table),
                Change::Release { id } => {
                    forwarder.release(*id);
                    Ok(())
                }
                Change::OwnAddresses(own) => {
                    forwarder.set_own_addresses(own.iter().copied());
                    Ok(())
                }
                Change::RouteV4 { .. }
                | Change::RouteV6 { .. }
                | Change::Port(_)
                | Change::PortGone { .. } => Ok(()),
            };
            outcome
                .map(|()| 1)
                .map_err(|error| EngineError::new("changing next hops or tables", error))
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

impl Answers for Forwarder {
    fn lookup_v4(&self, table: u32, address: u32) -> NextHop {
        self.lookup_v4(table, address)
    }

    fn lookup_v6(&self, table: u32, address: u128) -> NextHop {
        self.lookup_v6(table, address)
    }

    fn next_hop(&self, id: NextHop) -> NextHopEntry {
        self.next_hop(id)
    }

    fn buckets(&self, id: NextHop) -> Vec<NextHop> {
        self.buckets(id)
    }

    fn carries(&self, table: u32, v6: bool, id: NextHop) -> bool {
        self.carries(table, v6, id)
    }

    fn memory(&self) -> u64 {
        self.memory()
    }
}

/// What the program kept from forwarding, on one port and core.
pub(super) fn reasons<'a>(
    (&(ifindex, core), count): (&(u32, u32), &'a PortCount),
) -> impl Iterator<Item = ReasonCount> + use<'a> {
    count.reasons().map(move |(reason, frames)| ReasonCount {
        ifindex,
        core,
        reason: reason.name(),
        punted: reason.is_punted(),
        frames,
    })
}
