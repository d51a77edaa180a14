//! The removal of routes that the kernel has removed without a word: at once when they are few,
//! else a part of the tables at a time, so that announcements need not wait until a million routes
//! are gone.
//!
//! The entries of the next hops have said "punt" since the moment when they died, so what is still
//! to be removed is the kernel's to decide. Whatever could make such a way right again
//! ([`Family::finish_purge`]) has to wait until the last route is gone.

use super::{Doomed, Family};
use crate::control_plane::model::Way;
use crate::control_plane::routed::Routed;
use crate::control_plane::shared::Shared;
use crate::control_plane::slots::PARTS;
use crate::control_plane::ways::WayId;
use crate::engine::Change;

/// More routes than this are not removed at once: about ten milliseconds' worth.
const AT_ONCE: u64 = 8 << 10;

impl<A: Routed> Family<A> {
    /// Removes every route by the ways for which `dead` holds, or begins to.
    pub fn purge(
        &mut self,
        dead: impl Fn(&Way) -> bool,
        shared: &mut Shared,
        out: &mut Vec<Change>,
    ) {
        let ways = self.ways.all(dead);
        if ways.is_empty() {
            return;
        }
        let routes: u64 = ways.iter().map(|&way| self.ways.users(way)).sum();
        let under_way = self.doomed.take();
        let few = under_way.is_none() && routes <= AT_ONCE;
        // What joins a removal under way has it begin again: its first parts are done in no time.
        let mut all = under_way.map_or_else(Vec::new, |doomed| doomed.ways);
        for way in ways {
            if let Err(at) = all.binary_search(&way) {
                self.ways.hold(way);
                all.insert(at, way);
            }
        }
        self.doomed = Some(Doomed { ways: all, part: 0 });
        if few {
            self.finish_purge(shared, out);
        }
    }

    /// Are there routes still to be removed?
    pub fn is_purging(&self) -> bool {
        self.doomed.is_some()
    }

    /// Does this way belong to routes that are still to be removed?
    pub fn is_doomed(&self, way: &Way) -> bool {
        self.doomed.as_ref().is_some_and(|doomed| {
            let number = self.ways.number(way);
            number.is_some_and(|number| doomed.ways.binary_search(&number).is_ok())
        })
    }

    /// Removes all that is still to be removed.
    pub fn finish_purge(&mut self, shared: &mut Shared, out: &mut Vec<Change>) {
        while self.doomed.is_some() {
            self.purge_part(shared, out);
        }
    }

    /// Removes what is to be removed from the next part of every table.
    pub fn purge_part(&mut self, shared: &mut Shared, out: &mut Vec<Change>) {
        let Some(mut doomed) = self.doomed.take() else {
            return;
        };
        let is_dead = |way: WayId| doomed.ways.binary_search(&way).is_ok();
        let tables: Vec<u32> = self.tables.keys().copied().collect();
        for table in tables {
            let prefixes = self
                .tables
                .get(&table)
                .map(|routes| routes.prefixes_by(doomed.part, is_dead))
                .unwrap_or_default();
            for prefix in prefixes {
                self.change(table, prefix, shared, out, |routes, _| {
                    routes.remove(prefix, is_dead)
                });
                self.forget_wide_local(table, prefix, shared, out);
            }
        }
        doomed.part += 1;
        if doomed.part < PARTS {
            self.doomed = Some(doomed);
            return;
        }
        for way in doomed.ways {
            if let Some(stored) = self.ways.release(way) {
                shared.next_hops.release(stored.next_hop, out);
            }
        }
    }
}
