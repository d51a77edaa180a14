//! The two address families as the engine names them.

use fib::{Address, NextHop, Prefix};

use crate::engine::{Change, Engine};

/// A family whose changes and addresses have names of their own.
pub trait Routed: Address {
    /// Is this IPv6?
    const V6: bool;
    /// The engine's word for a route of this family.
    fn change(table: u32, prefix: Prefix<Self>, next_hop: NextHop) -> Change;
    /// The engine's answer for an address of this family in a table.
    fn lookup(engine: &dyn Engine, table: u32, address: Self) -> NextHop;
}

impl Routed for u32 {
    const V6: bool = false;
    fn change(table: u32, prefix: Prefix<Self>, next_hop: NextHop) -> Change {
        Change::RouteV4 {
            table,
            prefix,
            next_hop,
        }
    }
    fn lookup(engine: &dyn Engine, table: u32, address: Self) -> NextHop {
        engine.answers().lookup_v4(table, address)
    }
}

impl Routed for u128 {
    const V6: bool = true;
    fn change(table: u32, prefix: Prefix<Self>, next_hop: NextHop) -> Change {
        Change::RouteV6 {
            table,
            prefix,
            next_hop,
        }
    }
    fn lookup(engine: &dyn Engine, table: u32, address: Self) -> NextHop {
        engine.answers().lookup_v6(table, address)
    }
}
