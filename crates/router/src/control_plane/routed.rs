//! The two address families as the engine names them.

use std::net::IpAddr;

use fib::{Address, IpPrefix, NextHop, Prefix};

use crate::engine::Change;

/// A family whose changes and addresses have names of their own.
pub trait Routed: Address {
    /// Is this IPv6?
    const V6: bool;
    /// The engine's word for a route of this family.
    fn change(table: u32, prefix: Prefix<Self>, next_hop: NextHop) -> Change;
    /// The address, if it is of this family.
    fn from_ip(address: IpAddr) -> Option<Self>;
    /// The prefix, in the type of both families.
    fn either(prefix: Prefix<Self>) -> IpPrefix;
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
    fn from_ip(address: IpAddr) -> Option<Self> {
        if let IpAddr::V4(address) = address {
            Some(address.into())
        } else {
            None
        }
    }
    fn either(prefix: Prefix<Self>) -> IpPrefix {
        IpPrefix::V4(prefix)
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
    fn from_ip(address: IpAddr) -> Option<Self> {
        if let IpAddr::V6(address) = address {
            Some(address.into())
        } else {
            None
        }
    }
    fn either(prefix: Prefix<Self>) -> IpPrefix {
        IpPrefix::V6(prefix)
    }
}
