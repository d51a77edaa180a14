//! Ports, and what hangs on them: which tables the engine must have, whose frames are left to the
//! kernel.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use fastpath::forward::{Accepts, Flows};
use fib::Prefix;

use super::Mirror;
use crate::control_plane::model::LOCAL_TABLE;
use crate::engine::{Change, MAIN_TABLE, Port};

/// The first octet of addresses that never come from outside (RFC 1122, 3.2.1.3).
const LOOPBACK: u32 = 127;

impl Mirror {
    /// What depends on a link, again. On most links of a machine nothing does.
    pub(super) fn link_changed(&mut self, index: u32) {
        let next_hops = &self.shared.next_hops;
        let link = next_hops.around.links.get(&index);
        if link.is_some_and(|link| next_hops.depends_on(link)) {
            self.links_changed();
        }
    }

    /// Everything that depends on links or ports, again: entries, groups, ports, domains, host
    /// routes.
    pub(super) fn links_changed(&mut self) {
        self.shared.next_hops.refresh_all();
        let ports = self.shared.next_hops.around.ports();
        let wanted = domains(&ports);
        // No port looks up in a table while that is being filled or emptied.
        self.fill_domains(&wanted);
        self.ports_changed();
        self.empty_domains(&wanted);
        let neighbours = self.shared.next_hops.around.neighbours.values();
        for neighbour in neighbours.copied().collect::<Vec<_>>() {
            let usable = neighbour.usable().is_some();
            self.host(neighbour.link, neighbour.address, usable);
        }
    }

    /// Tells the engine of the ports that have changed, and of nothing else.
    pub(super) fn ports_changed(&mut self) {
        for port in self.shared.next_hops.around.ports() {
            if self.ports.get(&port.ifindex) != Some(&port) {
                self.shared.push(Change::Port(port.clone()));
                self.ports.insert(port.ifindex, port);
            }
        }
    }

    /// Tells the engine which IPv4 sources are this machine's own, if that may have changed: its
    /// addresses, and whatever else its local table has, broadcasts among it. As sources the kernel
    /// drops these, or not, by more than a program can see (`fib_validate_source` in
    /// `net/ipv4/fib_frontend.c`), so it decides.
    pub(super) fn own_changed(&mut self) {
        let around = &mut self.shared.next_hops.around;
        if !(around.addresses_changed() | self.v4.local_changed()) {
            return;
        }
        let local = self.v4.prefixes(LOCAL_TABLE);
        let local = local.filter(|prefix| prefix.length() == u32::BITS as u8);
        let own = around.addresses().filter_map(|own| match own.address {
            IpAddr::V4(address) => Some(address.into()),
            IpAddr::V6(_) => None,
        });
        let own = own.chain(local.map(|prefix| prefix.address())).collect();
        let is_outside = |prefix: Prefix<u32>| prefix.address() >> 24 != LOOPBACK;
        let wide = self.v4.wide_local().any(is_outside) || self.v4.is_local_elsewhere();
        let other_sources = around.set_wide_local_v4(wide) || around.validates_loosely();
        self.shared.push(Change::OwnAddresses(own));
        if other_sources {
            self.ports_changed();
        }
    }

    fn fill_domains(&mut self, wanted: &[u32]) {
        let before = self.shared.domains.clone();
        for &domain in wanted.iter().filter(|domain| !before.contains(domain)) {
            self.shared.domains.push(domain);
            self.v4.emit_domain(domain, &mut self.shared);
            self.v6.emit_domain(domain, &mut self.shared);
        }
    }

    fn empty_domains(&mut self, wanted: &[u32]) {
        let before = std::mem::replace(&mut self.shared.domains, wanted.to_vec());
        for &domain in before.iter().filter(|domain| !wanted.contains(domain)) {
            self.shared.push(Change::TableGone { table: domain });
        }
    }

    /// Fills a table again that was the kernel's for want of room, and has the ports use it.
    pub fn fill_again(&mut self, domain: u32) {
        if !self.shared.domains.contains(&domain) {
            return;
        }
        self.shared.push(Change::TableGone { table: domain });
        self.v4.emit_domain(domain, &mut self.shared);
        self.v6.emit_domain(domain, &mut self.shared);
        let ports = self.shared.next_hops.around.ports();
        self.changes().extend(ports.into_iter().map(Change::Port));
    }

    /// What these links accept by the kernel's settings, by interface index.
    pub fn set_accepts(&mut self, accepts: HashMap<u32, Accepts>) {
        if self.shared.next_hops.around.set_accepts(accepts) {
            self.ports_changed();
        }
    }

    /// What makes a flow, by the kernel's settings.
    pub fn set_flows(&mut self, flows: Flows) {
        if self.shared.next_hops.around.set_flows(flows) {
            self.ports_changed();
        }
    }

    /// The MTU of IPv6 of these links by interface index, by the kernel's settings.
    pub fn set_mtu6(&mut self, mtu6: &HashMap<u32, Option<u32>>) {
        if self.shared.next_hops.around.set_mtu6(mtu6) {
            self.shared.next_hops.refresh_all();
        }
    }

    /// Leaves every packet of a family to the kernel, or takes it back: one store a port.
    pub fn keep_families(&mut self, v4: bool, v6: bool) {
        if self.shared.next_hops.around.keep_families(v4, v6) {
            self.ports_changed();
        }
    }

    /// Believes, or not, that frames come with their VLAN tags whatever the device does.
    pub fn trust_tags(&mut self, trust: bool) {
        self.shared.next_hops.around.trusts_tags = trust;
        self.ports_changed();
    }

    /// Leaves exactly these ports and VLAN sub-interfaces to the kernel.
    pub fn keep_links(&mut self, names: HashSet<String>) {
        if self.shared.next_hops.around.keep(names) {
            self.links_changed();
        }
    }

    /// Forwards between `names` from now on. Ports that stay notice nothing.
    pub fn set_ports(&mut self, names: &[String]) {
        self.shared.next_hops.around.set_ports(names);
        let leaves = |_: &u32, port: &mut Port| !names.contains(&port.name);
        for (ifindex, Port { name, .. }) in self.ports.extract_if(leaves) {
            self.shared.push(Change::PortGone { name, ifindex });
        }
        self.links_changed();
    }
}

/// The tables that ports and their VLANs look up in.
fn domains(ports: &[Port]) -> Vec<u32> {
    let mut wanted = vec![MAIN_TABLE];
    for table in ports.iter().flat_map(|port| {
        let of_vlans = port.settings.vlans.iter().map(|vlan| vlan.table);
        of_vlans.chain([port.settings.table])
    }) {
        if !wanted.contains(&table) {
            wanted.push(table);
        }
    }
    wanted
}
