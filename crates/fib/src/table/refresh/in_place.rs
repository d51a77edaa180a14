//! Changes that need no painting: where a node's runs already begin wherever the changed route meets
//! others, the new next hop is stored in the elements of its slots, and nothing else is touched.
//!
//! Most changes are of this kind. A route that moves to another next hop leaves the runs where they
//! are; /24 and /48 are the last lengths of their nodes, a slot each.

use super::super::family::Family;
use super::super::routes::{NodeId, Routes, ones};
use super::{Arrays, Transaction};
use crate::next_hop::NextHop;

/// A node changed in place may keep this many runs more than its routes could need.
const SPARE_RUNS: u32 = 4;

#[allow(clippy::inline_always)] // Compiled once for each set of instructions.
impl<A: Family> Transaction<A> {
    /// Stores what the slots of heap number `number` have now, if nothing but their elements
    /// differs. Says whether it did. `next_hop`: what the route there has now.
    #[inline(always)]
    pub(super) fn change_in_place(
        &mut self,
        routes: &Routes<A>,
        arrays: &Arrays<A>,
        (id, number): (NodeId, u32),
        next_hop: NextHop,
    ) -> bool {
        let node = routes.node(id);
        // A node without routes is painted, so that it has no block when the last node below goes.
        if node.dirty || !node.has_routes() {
            return false;
        }
        let slots = node.slots_of(number);
        // A node below inherits the next hop.
        if slots & node.children != 0 {
            return false;
        }
        let covers = match next_hop {
            NextHop::NONE => routes.cover(id, number),
            _ => next_hop,
        };
        let value = u64::from(covers.0);
        match node.form() {
            Some(form)
                if form.separates(slots)
                    && form.fits(value)
                    && form.runs() <= node.most_runs() + SPARE_RUNS =>
            {
                for slot in ones(form.begins() & slots) {
                    self.store_element(arrays, node.entry, form, slot, value);
                }
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/in_place.rs"]
mod tests;
