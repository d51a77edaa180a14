//! Rounds: which routes a whole dump of the kernel's has confirmed, and the end of those that it
//! has not.

use fib::Prefix;

use super::Family;
use crate::control_plane::model::Way;
use crate::control_plane::routed::Routed;
use crate::control_plane::shared::Shared;
use crate::engine::Change;

impl<A: Routed> Family<A> {
    /// From now on routes are marked as of a new round.
    pub fn begin_round(&mut self) {
        self.mark = self.mark.wrapping_add(1);
    }

    /// The kernel has this very route: if it is here, it is seen; if not, nothing happens.
    pub fn see(&mut self, table: u32, prefix: Prefix<A>, way: &Way) {
        if let Some(way) = self.ways.number(way)
            && let Some(routes) = self.tables.get_mut(&table)
        {
            routes.see(prefix, way, self.mark);
        }
    }

    /// Removes the routes of one part of every table, from 0 to
    /// [`PARTS`](crate::control_plane::slots::PARTS), that were not seen in this round; returns
    /// how many prefixes that touched.
    pub fn sweep_part(&mut self, part: usize, shared: &mut Shared, out: &mut Vec<Change>) -> usize {
        let mark = self.mark;
        let tables: Vec<u32> = self.tables.keys().copied().collect();
        let mut swept = 0;
        for table in tables {
            let prefixes = self
                .tables
                .get(&table)
                .map(|routes| routes.unseen(part, mark))
                .unwrap_or_default();
            swept += prefixes.len();
            for prefix in prefixes {
                self.change(table, prefix, shared, out, |routes, _| {
                    routes.sweep(prefix, mark)
                });
                self.forget_wide_local(table, prefix, shared, out);
            }
        }
        self.tables.retain(|_, routes| !routes.is_empty());
        for routes in self.tables.values_mut() {
            routes.shrink_part(part);
        }
        swept
    }
}
