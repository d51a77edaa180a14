//! Hints that a route is going to be changed, each some other work after the one before: what it asks
//! the memory for is found through what that asked for.

use super::{NodeId, Place, Routes, node_number, rank, slot};
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

    /// Third hint, for a route that ends in the first node on the way; returns the entry of this
    /// node.
    #[inline(always)]
    pub(in crate::table) fn prefetch_value(&self, first: First) -> A::Entry {
        let node = self.node(first.node);
        if first.number != 0 {
            let at = rank(node.routes, first.number);
            if let Some(value) = self.values.hint(node.values, at) {
                prefetch(value);
            }
        }
        node.entry
    }

    /// The entry of the first node on the way to a prefix, and its slot there.
    #[inline(always)]
    pub(in crate::table) fn first_node(&self, prefix: Prefix<A>, first: First) -> (A::Entry, u32) {
        let (_, start) = prefix.address().root_index();
        let slot = slot(prefix.address(), start as u8);
        (self.node(first.node).entry, slot)
    }
}
