//! Hints that a route is going to be changed, each some other work after the one before: what it asks
//! the memory for is found through what that asked for.

use super::{Routes, node_number, rank, slot};
use crate::prefix::Prefix;
use crate::table::entry::Entry;
use crate::table::family::Family;
use crate::table::prefetch::prefetch;

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

    /// Second hint.
    #[inline(always)]
    pub(in crate::table) fn prefetch_node(&self, prefix: Prefix<A>) {
        prefetch(self.node(self.below_root[prefix.address().root_index().0]));
    }

    /// Third hint, for a route that ends in the first node on the way; returns the entry of this
    /// node.
    #[inline(always)]
    pub(in crate::table) fn prefetch_value(&self, prefix: Prefix<A>) -> A::Entry {
        let (index, start) = prefix.address().root_index();
        let node = self.node(self.below_root[index]);
        let inside = u32::from(prefix.length()).wrapping_sub(start);
        if inside.wrapping_sub(1) < A::Entry::STRIDE {
            let at = rank(node.routes, node_number(prefix, start as u8));
            if let Some(value) = self.values.get(node.values).get(at) {
                prefetch(value);
            }
        }
        node.entry
    }

    /// The entry of the first node on the way to a prefix, and its slot there.
    #[inline(always)]
    pub(in crate::table) fn first_node(&self, prefix: Prefix<A>) -> (A::Entry, u32) {
        let (index, start) = prefix.address().root_index();
        let node = self.node(self.below_root[index]);
        (node.entry, slot(prefix.address(), start as u8))
    }
}
