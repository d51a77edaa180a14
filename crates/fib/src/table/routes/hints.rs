//! Hints that a route is going to be changed, each some other work after the one before: what it asks
//! the memory for is found through what that asked for.

use super::{NodeId, Place, Routes, has, node_number, rank};
use crate::next_hop::NextHop;
use crate::prefix::Prefix;
use crate::table::entry::Entry;
use crate::table::family::Family;
use crate::table::prefetch::prefetch;

/// The first node on the way to a prefix; 0: there is none yet.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::table) struct First {
    node: NodeId,
    /// The heap number of the prefix in this node; 0: it does not end there.
    number: u32,
}

impl First {
    /// The place of the prefix, if it ends in this node.
    #[inline]
    pub(in crate::table) fn place(self) -> Option<Place> {
        (self.number != 0).then_some(Place::Node(self.node, self.number))
    }
}

/// Where the next hop of a route is kept, and where readers find it, if that is in one element of the
/// arrays: all that changes when the route moves to another next hop.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::table) struct Spot {
    /// Place among the next hops.
    value: u32,
    /// The word of the arrays with the element, or with one that will change.
    pub(in crate::table) word: u32,
    /// The element's lowest bit in this word.
    pub(in crate::table) bit: u32,
    /// The element's bits, moved to bit 0; 0: more than this element may change.
    pub(in crate::table) mask: u64,
    /// The node's, for which this holds.
    version: u8,
}

// `inline(always)`: as in [`super`].
#[allow(clippy::inline_always)]
impl<A: Family> Routes<A> {
    /// First hint.
    #[inline(always)]
    pub(in crate::table) fn prefetch_root(&self, prefix: Prefix<A>) {
        match prefix.address().heap_number(prefix.length()) {
            Some(number) => prefetch(&self.heap[number]),
            None => prefetch(&self.below_root[prefix.address().root_index().0]),
        }
    }

    /// Second hint; what it found stays true until the next [`Routes::prune`].
    #[inline(always)]
    pub(in crate::table) fn prefetch_node(&self, prefix: Prefix<A>) -> First {
        let (index, start) = prefix.address().root_index();
        let node = self.below_root[index];
        prefetch(&self.nodes[node as usize]);
        let inside = u32::from(prefix.length()).wrapping_sub(start);
        let ends_here = node != 0 && inside.wrapping_sub(1) < A::Entry::STRIDE;
        let number = if ends_here {
            node_number(prefix, start as u8)
        } else {
            0
        };
        First { node, number }
    }

    /// Third hint, for a route that ends in the first node on the way: the next hop, and where a move
    /// to another one is stored.
    #[inline(always)]
    pub(in crate::table) fn prefetch_value(&self, first: First) -> Spot {
        let node = self.node(first.node);
        if first.number == 0 {
            return Spot::default();
        }
        let at = rank(node.routes, first.number);
        let Some((value, element)) = self.values.element(node.values, at) else {
            return Spot::default();
        };
        prefetch(element);
        let Some(form) = node.form() else {
            return Spot::default();
        };
        let slots = node.slots_of(first.number);
        let begins = form.begins() & slots;
        let (word, bit) = form.position(begins.trailing_zeros() & 63);
        let alone = begins.is_power_of_two()
            && form.separates(slots)
            && slots & node.children == 0
            && has(node.routes, first.number)
            && !node.dirty;
        Spot {
            value,
            word: node.entry.at() + word,
            bit,
            mask: if alone { form.element_mask() } else { 0 },
            version: node.version,
        }
    }

    /// Is the node as it was when this was found?
    #[inline(always)]
    pub(in crate::table) fn holds(&self, first: First, spot: Spot) -> bool {
        self.node(first.node).version == spot.version
    }

    /// Gives the route of a spot that holds another next hop; returns the one that it had.
    #[inline(always)]
    pub(in crate::table) fn replace(&mut self, spot: Spot, next_hop: NextHop) -> NextHop {
        NextHop(self.values.replace(spot.value, next_hop.0))
    }
}
