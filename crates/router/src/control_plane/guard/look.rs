//! A look at what the kernel does to forwarded packets besides routing them, and what it found.

use std::io;
use std::path::Path;

use fastpath::forward::Device;

use super::netfilter::Ruleset;
use super::traffic_control::Disciplines;
use super::xfrm::Policies;
use super::{Finding, hooks, netfilter, traffic_control};
use crate::control_plane::settings::Watched;

/// Which parts to look at.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a part")]
pub(super) struct Parts {
    /// Chains and rules of nftables.
    pub(super) netfilter: bool,
    /// `IPsec` policies.
    pub(super) ipsec: bool,
    /// Disciplines and filters of the links.
    pub(super) disciplines: bool,
    /// What the ports' devices do.
    pub(super) devices: bool,
}

/// Where to look and at which parts; at what nobody announces always.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) links: Vec<Watched>,
    pub(super) parts: Parts,
}

/// What a look found.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) rules: Option<io::Result<Ruleset>>,
    pub(super) policies: Option<io::Result<Policies>>,
    pub(super) disciplines: Option<io::Result<Disciplines>>,
    /// What the ports' devices do, by interface index, as far as they said.
    pub(super) devices: Vec<(u32, Device)>,
    pub(super) unannounced: Vec<Finding>,
    /// Where it looked.
    pub(super) links: Vec<Watched>,
}

/// Looks, in the calling thread's network namespace.
pub(super) fn look(Order { links, parts }: Order) -> Seen {
    let mut unannounced = Vec::new();
    if !hooks::look(&mut unannounced) {
        netfilter::unlisted(Path::new("/proc/thread-self/net"), &mut unannounced);
    }
    for link in &links {
        traffic_control::programs(link, &mut unannounced);
    }
    let ports = links.iter().filter(|link| parts.devices && link.is_port);
    let devices = ports.filter_map(|port| {
        let device = Device::ask(&port.name, port.index).ok()?;
        Some((port.index, device))
    });
    Seen {
        rules: parts.netfilter.then(Ruleset::read),
        policies: parts.ipsec.then(Policies::read),
        disciplines: parts.disciplines.then(|| Disciplines::read(&links)),
        devices: devices.collect(),
        unannounced,
        links,
    }
}
