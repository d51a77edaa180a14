//! From changed routes to changed arrays.
//!
//! A transaction changes routes first and notes which nodes no longer match them. Then, from the
//! root down, nodes learn what they inherit; and from the deepest up, each is painted and encoded
//! once, however many of its routes have changed. A node whose runs still begin where they did is
//! changed in place, word by word; otherwise a new block is filled and one store in the node above
//! (or the root) leads to it. If room runs out, every store is undone.

use std::sync::atomic::Ordering;

use super::blocks::Blocks;
use super::encode::Form;
use super::entry::Entry;
use super::family::{Below, Family};
use super::prefetch::prefetch_to_write;
use super::routes::{First, Node, NodeId, Place, Routes, Spot, WHOLE, ones};
use super::{TableError, TableStorage};
use crate::layout::FIRST_NODE;
use crate::next_hop::NextHop;
use crate::prefix::Prefix;

mod in_place;
use crate::quarantine::Quarantine;

/// Levels of nodes: one for every multiple of the stride that a node can begin at.
const LEVELS: usize = 26;

/// A node may keep a block this many words longer than it needs, so that a route that goes and
/// comes back costs no allocation.
const SLACK: u32 = 2;

/// Lists longer than this are given back after a transaction.
const KEEP: usize = 1 << 12;

/// The writer's side of the arrays: all copies get every store.
#[derive(Debug)]
pub(super) struct Arrays<A: Family> {
    pub(super) copies: Vec<TableStorage<A>>,
    pub(super) blocks: Blocks,
    pub(super) quarantine: Quarantine<(u32, u32)>,
}

// `inline(always)`: what a change calls is compiled once for each set of instructions, inside
// [`super::ahead`].
#[allow(clippy::inline_always)]
impl<A: Family> Arrays<A> {
    /// Asks for a word, to write it.
    #[inline(always)]
    pub(super) fn prefetch_word(&self, index: u32) {
        for copy in &self.copies {
            if let Some(word) = copy.nodes.elements().get(index as usize) {
                prefetch_to_write(word);
            }
        }
    }

    fn root(&self, index: usize) -> A::Entry {
        A::Entry::load(&self.copies[0].root.elements()[index])
    }

    fn store_root(&self, index: usize, entry: A::Entry) {
        for copy in &self.copies {
            entry.store(&copy.root.elements()[index]);
        }
    }

    fn word(&self, index: u32) -> u64 {
        self.copies[0].nodes.elements()[index as usize].load(Ordering::Relaxed)
    }

    #[inline]
    fn store_word(&self, index: u32, word: u64) {
        for copy in &self.copies {
            copy.nodes.elements()[index as usize].store(word, Ordering::Release);
        }
    }
}

/// A store that can be undone.
#[derive(Debug)]
enum Undo<E> {
    Root { index: usize, old: E },
    Word { index: u32, old: u64 },
    Entry { node: NodeId, old: E, vector: u64 },
    Inherited { node: NodeId, old: NextHop },
}

/// What a transaction has done and has yet to do. Empty between transactions.
#[derive(Debug)]
pub(super) struct Transaction<A: Family> {
    /// Routes as they were.
    routes: Vec<(Prefix<A>, NextHop)>,
    /// Heap numbers of changed root prefixes.
    root_changes: Vec<usize>,
    /// Nodes to be painted, by level.
    dirty: [Vec<NodeId>; LEVELS],
    /// Bit *n*: there are such nodes on level *n*.
    dirty_levels: u32,
    /// The same, for the whole transaction.
    used_levels: u32,
    undo: Vec<Undo<A::Entry>>,
    /// Blocks that the new state does not use, and blocks that the old state did not.
    retired: Vec<(u32, u32)>,
    allocated: Vec<(u32, u32)>,
}

#[allow(clippy::inline_always)] // As above.
impl<A: Family> Transaction<A> {
    /// Changes a route; returns the next hop it had. The arrays follow at the end of the
    /// transaction, unless elements of one node are all that differs.
    #[inline(always)]
    pub(super) fn change(
        &mut self,
        routes: &mut Routes<A>,
        arrays: &Arrays<A>,
        prefix: Prefix<A>,
        next_hop: NextHop,
    ) -> NextHop {
        self.change_at(routes, arrays, (prefix, next_hop), None)
    }

    /// The same; `place`: where the route is kept, if that is known.
    #[inline(always)]
    pub(super) fn change_at(
        &mut self,
        routes: &mut Routes<A>,
        arrays: &Arrays<A>,
        (prefix, next_hop): (Prefix<A>, NextHop),
        place: Option<Place>,
    ) -> NextHop {
        let set = match place {
            Some(place) => Some((place, routes.set_at(place, next_hop))),
            None => routes.set(prefix, next_hop),
        };
        let Some((place, old)) = set else {
            return NextHop::NONE;
        };
        if old != next_hop {
            self.routes.push((prefix, old));
            match place {
                Place::Root(number) => self.root_changes.push(number),
                Place::Node(node, number) => {
                    if !self.change_in_place(routes, arrays, (node, number), next_hop) {
                        self.mark(routes, node);
                    }
                }
            }
        }
        while let Some(node) = routes.made() {
            self.mark(routes, node);
        }
        old
    }

    /// Moves a route to another next hop, where everything about it is known. Says whether it did: not
    /// if the spot holds no longer, nor if more than it must change.
    #[inline(always)]
    pub(super) fn move_at(
        &mut self,
        routes: &mut Routes<A>,
        arrays: &Arrays<A>,
        (prefix, next_hop): (Prefix<A>, NextHop),
        (first, spot): (First, Spot),
    ) -> bool {
        let value = u64::from(next_hop.0);
        if next_hop == NextHop::NONE || value > spot.mask || !routes.holds(first, spot) {
            return false;
        }
        let old = routes.replace(spot, next_hop);
        if old != next_hop {
            self.routes.push((prefix, old));
            self.store_bits(arrays, spot.word, (spot.bit, spot.mask), value);
        }
        true
    }

    /// Makes the arrays match the routes, or leaves both as they were before the transaction.
    #[inline(always)]
    pub(super) fn finish(
        &mut self,
        routes: &mut Routes<A>,
        arrays: &mut Arrays<A>,
    ) -> Result<(), TableError> {
        self.inherit(routes, arrays);
        let result = self.encode_dirty(routes, arrays);
        match result {
            Ok(()) => {
                self.retired
                    .drain(..)
                    .for_each(|block| arrays.quarantine.put(block));
                self.allocated.clear();
            }
            Err(_) => self.roll_back(routes, arrays),
        }
        for level in ones(u64::from(std::mem::take(&mut self.used_levels))) {
            for node in self.dirty[level as usize].drain(..) {
                routes.prune(node);
            }
        }
        self.dirty_levels = 0;
        self.root_changes.clear();
        self.routes.clear();
        self.undo.clear();
        if self.routes.capacity() > KEEP {
            *self = Self::new();
        }
        result
    }

    pub(super) fn new() -> Self {
        Self {
            routes: Vec::new(),
            root_changes: Vec::new(),
            dirty: std::array::from_fn(|_| Vec::new()),
            dirty_levels: 0,
            used_levels: 0,
            undo: Vec::new(),
            retired: Vec::new(),
            allocated: Vec::new(),
        }
    }

    fn mark(&mut self, routes: &mut Routes<A>, id: NodeId) {
        let node = routes.node_mut(id);
        node.changes();
        if !std::mem::replace(&mut node.dirty, true) {
            let level = u32::from(node.start) / A::Entry::STRIDE;
            self.dirty[level as usize].push(id);
            self.dirty_levels |= 1 << level;
            self.used_levels |= 1 << level;
        }
    }

    /// Tells every node below a change what it inherits now, from the root down.
    fn inherit(&mut self, routes: &mut Routes<A>, arrays: &Arrays<A>) {
        while let Some(number) = self.root_changes.pop() {
            let next_hop = routes.heap_cover(number);
            self.descend(routes, arrays, number, next_hop);
        }
        let mut level = self.used_levels.trailing_zeros() as usize;
        while level < LEVELS && self.used_levels >> level != 0 {
            for index in 0..self.dirty[level].len() {
                let id = self.dirty[level][index];
                if routes.node(id).children == 0 {
                    continue;
                }
                let children: Vec<_> = routes.children(id).collect();
                for (slot, child) in children {
                    let next_hop = routes.slot_cover(id, slot);
                    self.set_inherited(routes, arrays, child, next_hop);
                }
            }
            level += 1;
        }
    }

    /// Everything under root prefix `number`, except where a longer root prefix has a route, has
    /// this next hop now.
    fn descend(
        &mut self,
        routes: &mut Routes<A>,
        arrays: &Arrays<A>,
        number: usize,
        next_hop: NextHop,
    ) {
        match A::heap_below(number) {
            Below::Halves(zero, one) => {
                for half in [zero, one] {
                    if routes.root_route(half) == 0 {
                        self.descend(routes, arrays, half, next_hop);
                    }
                }
            }
            Below::Entry(index) => match routes.below_root(index) {
                0 => self.store_root(arrays, index, next_hop.0.into()),
                node => self.set_inherited(routes, arrays, node, next_hop),
            },
        }
    }

    fn set_inherited(
        &mut self,
        routes: &mut Routes<A>,
        arrays: &Arrays<A>,
        id: NodeId,
        next_hop: NextHop,
    ) {
        let old = std::mem::replace(&mut routes.node_mut(id).inherited, next_hop);
        if old != next_hop {
            self.undo.push(Undo::Inherited { node: id, old });
            if !self.change_in_place(routes, arrays, (id, WHOLE), next_hop) {
                self.mark(routes, id);
            }
        }
    }

    /// Paints every dirty node, deepest first; a node whose entry changes may make the one above it
    /// dirty.
    #[inline(always)]
    fn encode_dirty(
        &mut self,
        routes: &mut Routes<A>,
        arrays: &mut Arrays<A>,
    ) -> Result<(), TableError> {
        while self.dirty_levels != 0 {
            let level = self.dirty_levels.ilog2() as usize;
            self.dirty_levels &= !(1 << level);
            for index in 0..self.dirty[level].len() {
                let id = self.dirty[level][index];
                let (entry, vector) = self.encode(routes, arrays, id)?;
                let node = routes.node_mut(id);
                node.dirty = false;
                if entry != node.entry {
                    self.undo.push(Undo::Entry {
                        node: id,
                        old: node.entry,
                        vector: node.vector,
                    });
                    (node.entry, node.vector) = (entry, vector);
                    let (parent, slot) = (node.parent, node.slot);
                    self.publish(routes, arrays, parent, slot, entry);
                }
            }
        }
        Ok(())
    }

    /// Makes `entry` reachable from the node above, or sees to it that this will be painted anew.
    fn publish(
        &mut self,
        routes: &mut Routes<A>,
        arrays: &Arrays<A>,
        parent: NodeId,
        slot: u32,
        entry: A::Entry,
    ) {
        if parent == 0 {
            self.store_root(arrays, slot as usize, entry);
            return;
        }
        let above = routes.node(parent);
        if above.dirty {
            return;
        }
        match above.form() {
            Some(form) if !entry.is_leaf() && form.fits(entry.into()) && form.isolates(slot) => {
                self.store_element(arrays, above.entry, form, slot, entry.into());
            }
            _ => self.mark(routes, parent),
        }
    }

    /// The entry that leads to the node as it should be, and the node's vector; its words in place.
    #[inline(always)]
    fn encode(
        &mut self,
        routes: &Routes<A>,
        arrays: &mut Arrays<A>,
        id: NodeId,
    ) -> Result<(A::Entry, u64), TableError> {
        let mut slots = [0_u16; 64];
        let mut edges = routes.paint(id, &mut slots);
        let old = routes.node(id);
        if old.children == 0 {
            return self.place(arrays, old, &slots, edges);
        }
        let mut entries = slots.map(A::Entry::from);
        for (slot, child) in routes.children(id) {
            entries[slot as usize] = routes.node(child).entry;
            edges |= 0b11 << slot;
        }
        self.place(arrays, old, &entries, edges)
    }

    #[inline(always)]
    fn place<T: Copy + PartialEq + Into<u64>>(
        &mut self,
        arrays: &mut Arrays<A>,
        old: &Node<A::Entry>,
        slots: &[T; 64],
        edges: u64,
    ) -> Result<(A::Entry, u64), TableError> {
        let form = Form::of(slots, edges);
        let before = old.form();
        let at_old = old.entry.at();
        if form.vector == 0 {
            if let Some(before) = before {
                self.retired.push((at_old, before.words()));
            }
            // All slots are equal. They are leaves: an entry that leads to a node is found in one
            // slot only.
            return Ok((A::Entry::from(slots[0].into() as u16), 0));
        }
        if let Some(before) =
            before.filter(|before| before.holds(form) && before.words() <= form.words() + SLACK)
        {
            let words = before.pack(slots);
            for (index, &word) in (at_old..)
                .zip(&words[..before.words() as usize])
                .skip(A::Entry::HEADER as usize)
            {
                self.store_word(arrays, index, word);
            }
            return Ok((old.entry, before.vector));
        }
        let words = form.words();
        let capacity = arrays.copies[0].nodes.elements().len();
        let at = arrays
            .blocks
            .take(words)
            .ok_or(TableError::Full { capacity })?;
        self.allocated.push((at, words));
        for (index, &word) in (at..).zip(&form.pack(slots)[..words as usize]) {
            arrays.store_word(index, word);
        }
        if let Some(before) = before {
            self.retired.push((at_old, before.words()));
        }
        Ok((form.entry(at), form.vector))
    }

    fn store_root(&mut self, arrays: &Arrays<A>, index: usize, entry: A::Entry) {
        let old = arrays.root(index);
        if old != entry {
            self.undo.push(Undo::Root { index, old });
            arrays.store_root(index, entry);
        }
    }

    /// Stores the element of a slot that is a run of its own.
    #[inline(always)]
    fn store_element(
        &mut self,
        arrays: &Arrays<A>,
        node: A::Entry,
        form: Form<A::Entry>,
        slot: u32,
        value: u64,
    ) {
        let (word, bit) = form.position(slot);
        self.store_bits(arrays, node.at() + word, (bit, form.element_mask()), value);
    }

    /// Stores the bits of a word that the mask has, moved to bit `bit`.
    #[inline(always)]
    fn store_bits(&mut self, arrays: &Arrays<A>, index: u32, (bit, mask): (u32, u64), value: u64) {
        let others = arrays.word(index) & !(mask << bit);
        self.store_word(arrays, index, others | value << bit);
    }

    #[inline]
    fn store_word(&mut self, arrays: &Arrays<A>, index: u32, word: u64) {
        debug_assert!(index as usize >= FIRST_NODE);
        let old = arrays.word(index);
        if old != word {
            self.undo.push(Undo::Word { index, old });
            arrays.store_word(index, word);
        }
    }

    /// Undoes every store, last first, and gives the routes back what they were.
    fn roll_back(&mut self, routes: &mut Routes<A>, arrays: &mut Arrays<A>) {
        while let Some(undo) = self.undo.pop() {
            match undo {
                Undo::Root { index, old } => arrays.store_root(index, old),
                Undo::Word { index, old } => arrays.store_word(index, old),
                Undo::Entry { node, old, vector } => {
                    let node = routes.node_mut(node);
                    (node.entry, node.vector) = (old, vector);
                }
                Undo::Inherited { node, old } => routes.node_mut(node).inherited = old,
            }
        }
        self.retired.clear();
        // Readers may have been led to these for a moment.
        self.allocated
            .drain(..)
            .for_each(|block| arrays.quarantine.put(block));
        while let Some((prefix, old)) = self.routes.pop() {
            routes.set(prefix, old);
        }
        for id in self.dirty.iter().flatten() {
            routes.node_mut(*id).dirty = false;
        }
    }
}
