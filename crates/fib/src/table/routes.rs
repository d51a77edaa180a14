//! The routes as known: a compact trie that mirrors the nodes of the arrays, from which they are
//! painted.
//!
//! A node here stands for the same bits as a node there. Its routes are those that end within these
//! bits, one bit each in a 128-bit set numbered as a binary heap (2 and 3 for the two halves, … the
//! highest for single slots), with their next hops packed in the same order. About 60 bytes a
//! node and two for each route.

mod hints;
mod node;
mod visit;

pub(super) use hints::{First, Spot};
pub(super) use node::{Node, NodeId, WHOLE, ones};

use super::arena::Arena;
use super::entry::Entry;
use super::family::Family;
use crate::next_hop::NextHop;
use crate::prefix::Prefix;

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
                has(node.routes, number).then(|| self.value(node, number))
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
            if has(node.routes, number) {
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

/// Has heap number `number` a route?
#[inline]
fn has(routes: u128, number: u32) -> bool {
    let half = if number < 64 {
        routes as u64
    } else {
        (routes >> 64) as u64
    };
    half >> (number & 63) & 1 == 1
}

/// How many routes come before heap number `number`.
#[inline]
fn rank(routes: u128, number: u32) -> usize {
    let low = routes as u64;
    let (half, before) = if number < 64 {
        (low, 0)
    } else {
        ((routes >> 64) as u64, low.count_ones())
    };
    let below = (1_u64 << (number & 63)) - 1;
    (before + (half & below).count_ones()) as usize
}
