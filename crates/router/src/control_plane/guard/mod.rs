//! What the kernel does to forwarded packets besides routing them. A fast path would go past it; so
//! the ports concerned stay with the kernel, and the log says why.
//!
//! Looked at: nftables chains on the way of forwarded packets, legacy iptables tables, xfrm
//! (`IPsec`) policies, queueing disciplines that shape, tc filters, BPF programs at tc (tcx), and
//! forwarding being switched off. Rules are not interpreted: any rule on the way counts for every
//! port, because what a rule means may depend on any other.

mod netfilter;
mod traffic_control;
mod xfrm;

use std::fs;

pub use self::netfilter::{OWN_TABLE, watch_nftables};
use crate::engine::MAIN_TABLE;

/// Whom a finding concerns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Every packet of IPv4.
    V4,
    /// Every packet of IPv6.
    V6,
    /// Every packet.
    All,
    /// The packets of one port.
    Port(String),
}

/// Something that the kernel does to packets on their way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Whom it concerns.
    pub scope: Scope,
    /// What it is, and where to look.
    pub what: String,
    /// Forwarding is off, which an engine that asks the kernel for every packet hears by itself.
    pub switched_off: bool,
}

impl Finding {
    /// Something that is done to packets.
    fn new(scope: Scope, what: String) -> Self {
        Self {
            scope,
            what,
            switched_off: false,
        }
    }

    /// Forwarding of a family is off.
    fn off(scope: Scope, what: String) -> Self {
        Self {
            switched_off: true,
            ..Self::new(scope, what)
        }
    }
}

/// A port to look at.
#[derive(Debug, Clone)]
pub struct Watched {
    /// Name.
    pub name: String,
    /// Interface index.
    pub index: u32,
}

/// Everything found in the calling thread's network namespace, in a fixed order. `own_at_tc` is how
/// many programs of the engine's own each port has at tc.
pub fn look(ports: &[Watched], own_at_tc: u32) -> Vec<Finding> {
    let mut found = Vec::new();
    netfilter::nftables(&mut found);
    netfilter::legacy_tables(&mut found);
    xfrm::policies(&mut found);
    for port in ports {
        traffic_control::disciplines_and_filters(port, &mut found);
        traffic_control::programs(port, own_at_tc, &mut found);
    }
    switched_off(ports, &mut found);
    found.sort();
    found.dedup();
    found
}

fn switched_off(ports: &[Watched], found: &mut Vec<Finding>) {
    let off = |path: String| fs::read_to_string(path).is_ok_and(|value| value.trim() == "0");
    if off("/proc/sys/net/ipv6/conf/all/forwarding".to_owned()) {
        let what = "IPv6 forwarding is off (sysctl net.ipv6.conf.all.forwarding=1)".to_owned();
        found.push(Finding::off(Scope::V6, what));
    }
    for port in ports {
        if off(format!("/proc/sys/net/ipv4/conf/{}/forwarding", port.name)) {
            let what = format!(
                "IPv4 forwarding is off on {0} (sysctl net.ipv4.conf.{0}.forwarding=1)",
                port.name
            );
            found.push(Finding::off(Scope::V4, what));
        }
    }
}

/// Policy rules as findings: which table a packet looks in depends on more than its destination.
pub fn policy_rules(mirror: &super::mirror::Mirror) -> Vec<Finding> {
    let mut found = Vec::new();
    for (family, scope) in [(4, Scope::V4), (6, Scope::V6)] {
        for rule in mirror.policy_rules(family) {
            let table = if rule.table == MAIN_TABLE {
                "main".to_owned()
            } else {
                rule.table.to_string()
            };
            let what = format!(
                "policy rule {} looks in table {table} (ip -{family} rule)",
                rule.priority
            );
            found.push(Finding::new(scope.clone(), what));
        }
    }
    found
}
