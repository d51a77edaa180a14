//! Ports, and what hangs on them: which tables the engine must have, whose frames are left to the
//! kernel.

use super::Mirror;
use crate::engine::{Change, MAIN_TABLE, Port};

impl Mirror {
    /// Everything that depends on links or ports, again: entries, groups, ports, domains, host
    /// routes.
    pub(super) fn links_changed(&mut self) {
        self.shared.next_hops.refresh_all();
        let ports = self.shared.next_hops.around.ports();
        self.set_domains(&ports);
        for port in ports {
            if self.ports.get(&port.ifindex) != Some(&port) {
                self.shared.push(Change::Port(port.clone()));
                self.ports.insert(port.ifindex, port);
            }
        }
        let neighbours = self.shared.next_hops.around.neighbours.values();
        for neighbour in neighbours.copied().collect::<Vec<_>>() {
            let usable = neighbour.usable().is_some();
            self.host(neighbour.link, neighbour.address, usable);
        }
    }

    fn set_domains(&mut self, ports: &[Port]) {
        let mut wanted = vec![MAIN_TABLE];
        for table in ports.iter().flat_map(|port| {
            let of_vlans = port.settings.vlans.iter().map(|vlan| vlan.table);
            of_vlans.chain([port.settings.table])
        }) {
            if !wanted.contains(&table) {
                wanted.push(table);
            }
        }
        let before = self.shared.domains.clone();
        for &domain in before.iter().filter(|domain| !wanted.contains(domain)) {
            self.v4.emit_domain(domain, false, &mut self.shared);
            self.v6.emit_domain(domain, false, &mut self.shared);
        }
        self.shared.domains.clone_from(&wanted);
        for &domain in wanted.iter().filter(|domain| !before.contains(domain)) {
            self.v4.emit_domain(domain, true, &mut self.shared);
            self.v6.emit_domain(domain, true, &mut self.shared);
        }
    }

    /// Leaves a port to the kernel, or takes it back.
    pub fn keep_port(&mut self, name: &str, kept_by_kernel: bool) {
        if self.shared.next_hops.around.keep(name, kept_by_kernel) {
            self.links_changed();
        }
    }

    /// Forwards between `names` from now on. Ports that stay notice nothing.
    pub fn set_ports(&mut self, names: &[String]) {
        self.shared.next_hops.around.set_ports(names);
        let leaves = |_: &u32, port: &mut Port| !names.contains(&port.name);
        for (_, mut port) in self.ports.extract_if(leaves) {
            port.settings.enabled = false;
            self.shared.push(Change::Port(port));
        }
        self.links_changed();
    }

    /// Forwards a family, or leaves every packet of it to the kernel.
    pub fn enable_families(&mut self, v4: bool, v6: bool) {
        self.v4.enable(v4, &mut self.shared);
        self.v6.enable(v6, &mut self.shared);
    }
}
