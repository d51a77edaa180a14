//! Ports, and what hangs on them: which tables the engine must have, whose frames are left to the
//! kernel.

use super::Mirror;
use crate::control_plane::model::Neighbour;
use crate::control_plane::shared::Shared;
use crate::engine::{Change, MAIN_TABLE, Port};

impl Mirror {
    /// Everything that depends on links or ports, again: entries, groups, ports, domains, host
    /// routes.
    pub(super) fn links_changed(&mut self, out: &mut Vec<Change>) {
        let Shared {
            around, next_hops, ..
        } = &mut self.shared;
        next_hops.refresh_all(around, out);
        let ports = around.ports();
        self.set_domains(&ports, out);
        for port in ports {
            if self.ports.get(&port.ifindex) != Some(&port) {
                out.push(Change::Port(port.clone()));
                self.ports.insert(port.ifindex, port);
            }
        }
        let neighbours: Vec<Neighbour> = self.shared.around.neighbours.values().copied().collect();
        for neighbour in neighbours {
            self.host(
                neighbour.link,
                neighbour.address,
                neighbour.usable().is_some(),
                out,
            );
        }
    }

    fn set_domains(&mut self, ports: &[Port], out: &mut Vec<Change>) {
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
            self.v4.emit_domain(domain, false, out);
            self.v6.emit_domain(domain, false, out);
        }
        self.shared.domains.clone_from(&wanted);
        for &domain in wanted.iter().filter(|domain| !before.contains(domain)) {
            self.v4.emit_domain(domain, true, out);
            self.v6.emit_domain(domain, true, out);
        }
    }

    /// Leaves a port to the kernel, or takes it back.
    pub fn keep_port(&mut self, name: &str, kept_by_kernel: bool, out: &mut Vec<Change>) {
        if self.shared.around.keep(name, kept_by_kernel) {
            self.links_changed(out);
        }
    }

    /// Forwards between `names` from now on. Ports that stay notice nothing.
    pub fn set_ports(&mut self, names: &[String], out: &mut Vec<Change>) {
        self.shared.around.set_ports(names);
        let leaving: Vec<u32> = self
            .ports
            .values()
            .filter(|port| !names.contains(&port.name))
            .map(|port| port.ifindex)
            .collect();
        for index in leaving {
            if let Some(mut port) = self.ports.remove(&index) {
                port.settings.enabled = false;
                out.push(Change::Port(port));
            }
        }
        self.links_changed(out);
    }

    /// Forwards a family, or leaves every packet of it to the kernel.
    pub fn enable_families(&mut self, v4: bool, v6: bool, out: &mut Vec<Change>) {
        self.v4.enable(v4, &self.shared, out);
        self.v6.enable(v6, &self.shared, out);
    }
}
