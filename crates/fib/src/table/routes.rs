//! The routes as known: a compact trie that mirrors the nodes of the arrays, from which they are
//! painted.
//!
//! A node here stands for the same bits as a node there. Its routes are those that end within these
//! bits, one bit each in a 128-bit set numbered as a binary heap (2 and 3 for the two halves, … the
//! highest for single slots), with their next hops packed in the same order. About 60 bytes a
//! node and two for each route.

mod hints;

pub(super) use hints::{First, Spot};

use super::arena::{Arena, Run};
use super::encode::Form;
use super::entry::Entry;
use super::family::Family;
use crate::next_hop::NextHop;
use crate::prefix::Prefix;

/// Number of a node; 0 is none.
pub(super) type NodeId = u32;

/// The heap number of all that a node stands for; no route has it.
pub(super) const WHOLE: u32 = 1;

/// The heap numbers of all longer prefixes under each.
static LONGER: [u128; 128] = {
    let mut longer = [0; 128];
    let mut number = 63;
    while number > 0 {
        let halves = 0b11 << (number * 2);
        longer[number] = halves | longer[number * 2] | longer[number * 2 + 1];
        number -= 1;
    }
    longer
};

/// One node, in a cache line of its own: a change reads little else.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub(super) struct Node<E> {
    /// Heap numbers of the routes here.
    routes: u128,
    values: Run,
    /// Slots with a node below, and those nodes' numbers.
    pub(super) children: u64,
    child_ids: Run,
    /// The node above; 0: the root.
    pub(super) parent: NodeId,
    /// Slot in the node above, or index in the root.
    pub(super) slot: u32,
    /// The entry that leads to this node in the arrays (a leaf, if all its slots are equal).
    pub(super) entry: E,
    /// Where runs begin there, so that a change need not read it there.
    pub(super) vector: u64,
    /// The next hop where no route here covers.
    pub(super) inherited: NextHop,
    /// First bit of the address that this node looks at.
    pub(super) start: u8,
    /// Waits to be painted.
    pub(super) dirty: bool,
    /// Another one whenever a [`Spot`] found before may be wrong.
    version: u8,
}

const _: () = assert!(size_of::<Node<u32>>() == 64 && size_of::<Node<u64>>() == 64);

#[allow(clippy::inline_always)] // As below.
impl<E: Entry> Node<E> {
    /// The slots of heap number `number` that no longer route of this node covers; of 1, which
    /// stands for all slots, those that inherit.
    #[inline(always)]
    pub(super) fn slots_of(&self, number: u32) -> u64 {
        let mut slots = slots_under::<E>(number);
        let longer = self.routes & LONGER[number as usize];
        for (half, first) in [(longer as u64, 0), ((longer >> 64) as u64, 64)] {
            for number in ones(half) {
                slots &= !slots_under::<E>(first + number);
            }
        }
        slots
    }

    /// No [`Spot`] of this node holds any longer.
    #[inline]
    pub(super) fn changes(&mut self) {
        self.version = self.version.wrapping_add(1);
    }

    /// The form of this node in the arrays; none if all its slots are equal.
    #[inline]
    pub(super) fn form(&self) -> Option<Form<E>> {
        Form::behind(self.entry, self.vector)
    }

    /// More runs than these routes and nodes below can make do not occur.
    #[inline]
    pub(super) fn most_runs(&self) -> u32 {
        2 * (self.routes.count_ones() + self.children.count_ones()) + 1
    }

    /// Does a route end here?
    pub(super) fn has_routes(&self) -> bool {
        self.routes != 0
    }

    /// Neither routes nor nodes below?
    pub(super) fn is_empty(&self) -> bool {
        self.routes == 0 && self.children == 0
    }
}

/// Where a prefix's route is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the heap of root prefixes, under this number.
    Root(usize),
    /// In a node, under this heap number.
    Node(NodeId, u32),
}

/// All routes of a table.
#[derive(Debug)]
pub(super) struct Routes<A: Family> {
    /// Next hops of prefixes that end within the root, by heap number; 0: none.
    heap: Vec<u16>,
    /// The node under each root entry; 0: none.
    below_root: Vec<NodeId>,
    nodes: Vec<Node<A::Entry>>,
    free_nodes: Vec<NodeId>,
    /// Nodes made since [`Routes::made`] was last called.
    made: Vec<NodeId>,
    values: Arena<u16>,
    child_ids: Arena<NodeId>,
    count: usize,
    family: std::marker::PhantomData<A>,
}

// `inline(always)`: what a change calls is compiled once for each set of instructions, inside
// [`super::ahead`].
#[allow(clippy::inline_always)]
impl<A: Family> Routes<A> {
    pub(super) fn new() -> Self {
        Self {
            heap: vec![0; A::HEAP],
            below_root: vec![0; A::ROOT],
            nodes: vec![Node::default()],
            free_nodes: Vec::new(),
            made: Vec::new(),
            values: Arena::new(),
            child_ids: Arena::new(),
            count: 0,
            family: std::marker::PhantomData,
        }
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn node(&self, id: NodeId) -> &Node<A::Entry> {
        &self.nodes[id as usize]
    }

    pub(super) fn node_mut(&mut self, id: NodeId) -> &mut Node<A::Entry> {
        &mut self.nodes[id as usize]
    }

    pub(super) fn below_root(&self, index: usize) -> NodeId {
        self.below_root[index]
    }

    pub(super) fn root_route(&self, number: usize) -> u16 {
        self.heap[number]
    }

    /// Nodes that stand for something.
    #[cfg(test)]
    pub(super) fn nodes_in_use(&self) -> usize {
        self.nodes.len() - 1 - self.free_nodes.len()
    }

    /// Exact bytes of the vectors behind the routes.
    pub(super) fn bytes(&self) -> usize {
        self.heap.capacity() * 2
            + self.below_root.capacity() * size_of::<NodeId>()
            + self.nodes.capacity() * size_of::<Node<A::Entry>>()
            + self.free_nodes.capacity() * size_of::<NodeId>()
            + self.values.bytes()
            + self.child_ids.bytes()
    }

    /// The next hop of exactly this prefix.
    pub(super) fn get(&self, prefix: Prefix<A>) -> Option<NextHop> {
        match self.find(prefix)? {
            Place::Root(number) => {
                Some(NextHop(self.heap[number])).filter(|&next_hop| next_hop != NextHop::NONE)
            }
            Place::Node(id, number) => {
                let node = self.node(id);
                (node.routes >> number & 1 == 1).then(|| self.value(node, number))
            }
        }
    }

    /// Sets, replaces or (with [`NextHop::NONE`]) removes a route; returns its place and the next
    /// hop it had. Nodes on the way are made; those that become empty stay until
    /// [`Routes::prune`].
    #[inline(always)]
    pub(super) fn set(&mut self, prefix: Prefix<A>, next_hop: NextHop) -> Option<(Place, NextHop)> {
        let place = if next_hop == NextHop::NONE {
            self.find(prefix)?
        } else {
            self.find_or_make(prefix)
        };
        Some((place, self.set_at(place, next_hop)))
    }

    /// The same for a route whose place is known; returns the next hop it had.
    #[inline(always)]
    pub(super) fn set_at(&mut self, place: Place, next_hop: NextHop) -> NextHop {
        let old = match place {
            Place::Root(number) => NextHop(std::mem::replace(&mut self.heap[number], next_hop.0)),
            Place::Node(id, number) => self.set_in_node(id, number, next_hop),
        };
        self.count += usize::from(next_hop != NextHop::NONE);
        self.count -= usize::from(old != NextHop::NONE);
        old
    }

    #[inline(always)]
    fn set_in_node(&mut self, id: NodeId, number: u32, next_hop: NextHop) -> NextHop {
        let node = &mut self.nodes[id as usize];
        let at = rank(node.routes, number);
        let bit = 1_u128 << number;
        match (node.routes & bit != 0, next_hop) {
            (true, NextHop::NONE) => {
                node.changes();
                let old = *self.values.element_mut(node.values, at);
                node.values = self.values.remove(node.values, at);
                node.routes &= !bit;
                NextHop(old)
            }
            (true, _) => NextHop(std::mem::replace(
                self.values.element_mut(node.values, at),
                next_hop.0,
            )),
            (false, NextHop::NONE) => NextHop::NONE,
            (false, _) => {
                node.changes();
                node.values = self.values.insert(node.values, at, next_hop.0);
                node.routes |= bit;
                NextHop::NONE
            }
        }
    }

    #[inline]
    fn value(&self, node: &Node<A::Entry>, number: u32) -> NextHop {
        NextHop(self.values.get(node.values)[rank(node.routes, number)])
    }

    #[inline(always)]
    fn find(&self, prefix: Prefix<A>) -> Option<Place> {
        if let Some(number) = prefix.address().heap_number(prefix.length()) {
            return Some(Place::Root(number));
        }
        let (index, start) = prefix.address().root_index();
        let mut id = self.below_root[index];
        let mut start = start as u8;
        while id != 0 && prefix.length() > start + A::Entry::STRIDE as u8 {
            id = self.child(id, slot(prefix.address(), start));
            start += A::Entry::STRIDE as u8;
        }
        (id != 0).then(|| Place::Node(id, node_number(prefix, start)))
    }

    #[inline(always)]
    fn find_or_make(&mut self, prefix: Prefix<A>) -> Place {
        if let Some(number) = prefix.address().heap_number(prefix.length()) {
            return Place::Root(number);
        }
        let (index, start) = prefix.address().root_index();
        let mut start = start as u8;
        let mut id = self.below_root[index];
        if id == 0 {
            let inherited = self.root_cover(index, prefix.address(), start);
            id = self.new_node(Node {
                slot: index as u32,
                start,
                inherited,
                entry: A::Entry::NOT_YET,
                ..Node::default()
            });
            self.below_root[index] = id;
        }
        while prefix.length() > start + A::Entry::STRIDE as u8 {
            let slot = slot(prefix.address(), start);
            start += A::Entry::STRIDE as u8;
            let child = self.child(id, slot);
            id = if child == 0 {
                self.new_child(id, slot, start)
            } else {
                child
            };
        }
        Place::Node(id, node_number(prefix, start))
    }

    fn new_child(&mut self, parent: NodeId, slot: u32, start: u8) -> NodeId {
        let inherited = self.slot_cover(parent, slot);
        let id = self.new_node(Node {
            parent,
            slot,
            entry: A::Entry::NOT_YET,
            inherited,
            start,
            ..Node::default()
        });
        let node = &mut self.nodes[parent as usize];
        node.changes();
        let at = (node.children & ((1 << slot) - 1)).count_ones() as usize;
        node.child_ids = self.child_ids.insert(node.child_ids, at, id);
        node.children |= 1 << slot;
        id
    }

    fn new_node(&mut self, node: Node<A::Entry>) -> NodeId {
        let id = self.free_nodes.pop().unwrap_or_else(|| {
            self.nodes.push(Node::default());
            (self.nodes.len() - 1) as NodeId
        });
        self.nodes[id as usize] = node;
        self.made.push(id);
        id
    }

    /// A node made since the last call, until there is none left.
    pub(super) fn made(&mut self) -> Option<NodeId> {
        self.made.pop()
    }

    /// The node below `slot`, or 0.
    #[inline]
    pub(super) fn child(&self, id: NodeId, slot: u32) -> NodeId {
        let node = self.node(id);
        if node.children >> slot & 1 == 0 {
            return 0;
        }
        let at = (node.children & ((1 << slot) - 1)).count_ones() as usize;
        self.child_ids.get(node.child_ids)[at]
    }

    /// The slots with nodes below, with those nodes.
    pub(super) fn children(&self, id: NodeId) -> impl Iterator<Item = (u32, NodeId)> + '_ {
        let node = self.node(id);
        ones(node.children).zip(self.child_ids.get(node.child_ids).iter().copied())
    }

    /// The next hop of a slot, nodes below not asked.
    pub(super) fn slot_cover(&self, id: NodeId, slot: u32) -> NextHop {
        self.cover(id, A::Entry::SLOTS | slot)
    }

    /// The next hop of the longest route of the node that covers heap number `number`, itself
    /// included, or what the node inherits.
    #[inline(always)]
    pub(super) fn cover(&self, id: NodeId, mut number: u32) -> NextHop {
        let node = self.node(id);
        while number > 1 {
            if node.routes >> number & 1 == 1 {
                return self.value(node, number);
            }
            number >>= 1;
        }
        node.inherited
    }

    /// The next hop of the longest root prefix that covers heap number `number`, itself included.
    pub(super) fn heap_cover(&self, mut number: usize) -> NextHop {
        while number != 0 {
            if self.heap[number] != 0 {
                return NextHop(self.heap[number]);
            }
            number = A::heap_parent(number);
        }
        NextHop::NONE
    }

    fn root_cover(&self, index: usize, address: A, start: u8) -> NextHop {
        debug_assert_eq!(address.root_index().0, index);
        // Proof: `start` bits end exactly at the root's end, so the prefix has a heap number.
        let number = address
            .masked(start)
            .heap_number(start)
            .expect("the root consumes `start` bits");
        self.heap_cover(number)
    }

    /// Paints the routes of a node over `slots`, shorter ones first; returns the slots where a
    /// painted range begins or has just ended: all places where neighbours may differ.
    #[inline(always)]
    pub(super) fn paint(&self, id: NodeId, slots: &mut [u16; 64]) -> u64 {
        let node = self.node(id);
        slots.fill(node.inherited.0);
        let mut edges = 0_u64;
        let mut rest = node.routes;
        for &value in self.values.get(node.values) {
            let number = rest.trailing_zeros();
            rest &= rest - 1;
            let length = number.ilog2();
            let width = A::Entry::SLOTS >> length;
            let first = (number - (1 << length)) * width;
            let end = first + width;
            slots[first as usize..end as usize].fill(value);
            edges |= 1 << first;
            edges |= 1_u64.checked_shl(end).unwrap_or(0);
        }
        edges & !1
    }

    /// Removes a node if it is empty, and those above that become empty by that.
    pub(super) fn prune(&mut self, mut id: NodeId) {
        while id != 0 && self.node(id).is_empty() && !self.node(id).dirty {
            let Node {
                parent,
                slot,
                start,
                ..
            } = *self.node(id);
            if start == 0 {
                return;
            }
            debug_assert!(self.node(id).entry.is_leaf(), "an empty node has no block");
            if parent == 0 {
                self.below_root[slot as usize] = 0;
            } else {
                let node = &mut self.nodes[parent as usize];
                let at = (node.children & ((1 << slot) - 1)).count_ones() as usize;
                node.child_ids = self.child_ids.remove(node.child_ids, at);
                node.children &= !(1 << slot);
            }
            // `start` 0 marks a node that is free: no node begins at bit 0.
            self.nodes[id as usize] = Node::default();
            self.free_nodes.push(id);
            id = parent;
        }
    }

    /// Calls `visit` for every route, in no particular order.
    pub(super) fn for_each(&self, visit: &mut impl FnMut(Prefix<A>, NextHop)) {
        self.visit_heap(1, 0, 0, visit);
    }

    fn visit_heap(
        &self,
        number: usize,
        bits: u128,
        length: u8,
        visit: &mut impl FnMut(Prefix<A>, NextHop),
    ) {
        use super::family::Below;
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

/// The bits of an address that a node at bit `start` looks at; bits beyond the address are zero.
#[inline]
fn slot<A: Family>(address: A, start: u8) -> u32 {
    (address.bits_from(u32::from(start)) >> (64 - A::Entry::STRIDE)) as u32
}

/// The heap number, in a node that begins at `start`, of a prefix that ends within it.
#[inline]
fn node_number<A: Family>(prefix: Prefix<A>, start: u8) -> u32 {
    let length = u32::from(prefix.length() - start);
    1 << length | slot(prefix.address(), start) >> (A::Entry::STRIDE - length)
}

/// All slots that a heap number stands for.
#[inline]
fn slots_under<E: Entry>(number: u32) -> u64 {
    let length = number.ilog2();
    let width = E::SLOTS >> length;
    (u64::MAX >> (64 - width)) << ((number - (1 << length)) * width)
}

/// How many routes come before heap number `number`.
#[inline]
fn rank(routes: u128, number: u32) -> usize {
    (routes & ((1_u128 << number) - 1)).count_ones() as usize
}

/// The numbers of the bits set.
pub(super) fn ones(mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (bits != 0).then(|| {
            let number = bits.trailing_zeros();
            bits &= bits - 1;
            number
        })
    })
}
