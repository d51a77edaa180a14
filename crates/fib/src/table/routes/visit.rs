//! All routes of a table, one after the other.

use super::{NodeId, Routes};
use crate::next_hop::NextHop;
use crate::prefix::Prefix;
use crate::table::entry::Entry;
use crate::table::family::{Below, Family};

impl<A: Family> Routes<A> {
    /// Calls `visit` for every route, in no particular order.
    pub(in crate::table) fn for_each(&self, visit: &mut impl FnMut(Prefix<A>, NextHop)) {
        self.visit_heap(1, 0, 0, visit);
    }

    fn visit_heap(
        &self,
        number: usize,
        bits: u128,
        length: u8,
        visit: &mut impl FnMut(Prefix<A>, NextHop),
    ) {
        if self.heap[number] != 0 {
            visit(
                Prefix::containing(A::from_left_aligned(bits), length),
                NextHop(self.heap[number]),
            );
        }
        match A::heap_below(number) {
            Below::Halves(zero, one) => {
                self.visit_heap(zero, bits, length + 1, visit);
                self.visit_heap(one, bits | 1 << (127 - length), length + 1, visit);
            }
            Below::Entry(index) => self.visit_node(self.below_root[index], bits, visit),
        }
    }

    fn visit_node(&self, id: NodeId, bits: u128, visit: &mut impl FnMut(Prefix<A>, NextHop)) {
        if id == 0 {
            return;
        }
        let node = self.node(id);
        let start = u32::from(node.start);
        let mut rest = node.routes;
        for &value in self.values.get(node.values) {
            let number = rest.trailing_zeros();
            rest &= rest - 1;
            let length = number.ilog2();
            let inside = u128::from(number - (1 << length));
            let address = bits | inside << (128 - start - length);
            visit(
                Prefix::containing(A::from_left_aligned(address), (start + length) as u8),
                NextHop(value),
            );
        }
        for (slot, child) in self.children(id) {
            // A slot of a node that reaches beyond the address has no node below, so the shift is
            // in range.
            self.visit_node(
                child,
                bits | u128::from(slot) << (128 - start - A::Entry::STRIDE),
                visit,
            );
        }
    }
}
