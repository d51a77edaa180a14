//! Many answers at once: a family switched on or off, a domain that comes or goes, a shadow that
//! changes.

use std::collections::HashSet;

use fib::{NextHop, Prefix};

use super::Family;
use crate::control_plane::model::{DEFAULT_TABLE, LOCAL_TABLE};
use crate::control_plane::routed::Routed;
use crate::control_plane::shared::Shared;
use crate::engine::{Change, MAIN_TABLE};

impl<A: Routed> Family<A> {
    /// Turns the family on or off; off, the engine has no route of it and every packet is the
    /// kernel's.
    pub fn enable(&mut self, enabled: bool, shared: &Shared, out: &mut Vec<Change>) {
        if self.enabled == enabled {
            return;
        }
        self.enabled = true;
        for &domain in &shared.domains {
            self.emit_domain(domain, enabled, out);
        }
        self.enabled = enabled;
    }

    /// Tells the engine every answer of a domain, or takes every one back.
    pub fn emit_domain(&self, domain: u32, install: bool, out: &mut Vec<Change>) {
        if !self.enabled {
            return;
        }
        let mut seen = HashSet::new();
        let tables = [LOCAL_TABLE, domain, DEFAULT_TABLE];
        let used = if domain == MAIN_TABLE {
            &tables[..]
        } else {
            &tables[..2]
        };
        let hosts = self.hosts().filter(|(_, other, _)| *other == domain);
        let hosts = hosts.map(|(address, _, _)| Prefix::containing(address, A::BITS));
        for prefix in used
            .iter()
            .flat_map(|&table| self.prefixes(table))
            .chain(hosts)
        {
            let answer = self.answer(domain, prefix);
            if answer != NextHop::NONE && seen.insert(prefix) {
                out.push(A::change(
                    domain,
                    prefix,
                    if install { answer } else { NextHop::NONE },
                ));
            }
        }
    }

    /// Repeats the answers inside a prefix whose shadow changed.
    pub(super) fn emit_inside(
        &mut self,
        outer: Prefix<A>,
        shared: &mut Shared,
        out: &mut Vec<Change>,
    ) {
        for &domain in &shared.domains {
            let inside = |prefix: &Prefix<A>| {
                outer.contains(prefix.address()) && prefix.length() > outer.length()
            };
            for prefix in self.prefixes(domain).filter(inside) {
                out.push(A::change(domain, prefix, self.answer(domain, prefix)));
            }
        }
        self.review_hosts(outer, shared, out);
    }
}
