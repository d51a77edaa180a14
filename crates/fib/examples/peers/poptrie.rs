//! Poptrie, written from Asai and Ohara, "Poptrie: A Compressed Trie with Population Count for
//! Fast and Scalable Software IP Routing Table Lookup" (SIGCOMM 2015): k = 6, direct pointing by
//! the first s = 18 bits, leaf vectors (section 3.3), nodes of 24 bytes and leaves of 16 bits.
//!
//! It is built once and never changed. Of the paper's route aggregation it does the first half: a
//! route that says the same as the next shorter one is left out.

use std::ops::Range;

use fib::{Family, NextHop, Prefix};

/// Bits of the address that the direct array consumes.
const DIRECT: u32 = 18;
/// Bits of the address that a node consumes.
const STRIDE: u32 = 6;
/// A direct entry with this bit is a next hop, one without the index of a node.
const LEAF: u32 = 1 << 31;
/// Addresses searched side by side.
const LANES: usize = 64;

/// One node, as in the paper.
#[derive(Clone, Copy, Default)]
struct Node {
    /// Bit *i*: slot *i* has a node below.
    vector: u64,
    /// Bit *i*: a run of equal leaves begins at slot *i*, slots with nodes below not counted.
    leaves: u64,
    /// Index of the first leaf.
    first_leaf: u32,
    /// Index of the first node below.
    below: u32,
}

/// The trie of one family.
pub(crate) struct Poptrie {
    direct: Vec<u32>,
    nodes: Vec<Node>,
    leaves: Vec<u16>,
}

/// What a node looks like before it is compressed.
struct Painted {
    slots: Vec<u16>,
    /// Slots with longer routes, and those routes.
    below: Vec<(u32, Range<usize>)>,
}

impl Poptrie {
    /// The trie of these routes, in any order, one for each prefix.
    pub(crate) fn new<A: Family>(routes: &[(Prefix<A>, NextHop)]) -> Self {
        let routes = without_superfluous(routes);
        let mut trie = Self {
            direct: Vec::new(),
            nodes: Vec::new(),
            leaves: Vec::new(),
        };
        let painted = paint(&routes, 0, DIRECT, NextHop::NONE);
        trie.direct = painted
            .slots
            .iter()
            .map(|&hop| LEAF | u32::from(hop))
            .collect();
        for (slot, within) in painted.below {
            let inherited = NextHop(painted.slots[slot as usize]);
            let index = trie.nodes.len();
            trie.nodes.push(Node::default());
            trie.direct[slot as usize] = index as u32;
            trie.fill(index, &routes[within], DIRECT, inherited);
        }
        trie
    }

    fn fill<A: Family>(
        &mut self,
        index: usize,
        routes: &[(Prefix<A>, NextHop)],
        start: u32,
        inherited: NextHop,
    ) {
        let painted = paint(routes, start, STRIDE, inherited);
        let mut node = Node {
            first_leaf: self.leaves.len() as u32,
            below: self.nodes.len() as u32,
            ..Node::default()
        };
        for &(slot, _) in &painted.below {
            node.vector |= 1 << slot;
        }
        let mut last = None;
        for (slot, &hop) in painted.slots.iter().enumerate() {
            if node.vector >> slot & 1 == 0 && last != Some(hop) {
                node.leaves |= 1 << slot;
                self.leaves.push(hop);
                last = Some(hop);
            }
        }
        self.nodes[index] = node;
        let first = self.nodes.len();
        self.nodes
            .resize(first + painted.below.len(), Node::default());
        for (number, (slot, within)) in painted.below.into_iter().enumerate() {
            let inherited = NextHop(painted.slots[slot as usize]);
            self.fill(first + number, &routes[within], start + STRIDE, inherited);
        }
    }

    /// Bytes that look-ups read.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.direct) + size_of_val(&*self.nodes) + size_of_val(&*self.leaves)
    }

    /// The next hop of one address.
    #[inline]
    pub(crate) fn lookup<A: Family>(&self, address: A) -> u16 {
        #[cfg(target_arch = "x86_64")]
        if super::processor::has_bmi2() {
            // SAFETY: the processor has the instructions.
            return unsafe { self.lookup_bmi2(address) };
        }
        self.search(address)
    }

    /// The next hops of as many addresses as the shorter slice has, level by level.
    pub(crate) fn lookup_burst<A: Family>(&self, addresses: &[A], out: &mut [NextHop]) {
        #[cfg(target_arch = "x86_64")]
        if super::processor::has_bmi2() {
            // SAFETY: the processor has the instructions.
            return unsafe { self.lookup_burst_bmi2(addresses, out) };
        }
        self.search_burst(addresses, out);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "popcnt,bmi1,bmi2")]
    fn lookup_bmi2<A: Family>(&self, address: A) -> u16 {
        self.search(address)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "popcnt,bmi1,bmi2")]
    fn lookup_burst_bmi2<A: Family>(&self, addresses: &[A], out: &mut [NextHop]) {
        self.search_burst(addresses, out);
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // Compiled once for each set of instructions.
    fn search<A: Family>(&self, address: A) -> u16 {
        let mut entry = self.direct[(address.first_64() >> (64 - DIRECT)) as usize];
        let mut start = DIRECT;
        while entry & LEAF == 0 {
            entry = self.step(entry, address, start);
            start += STRIDE;
        }
        entry as u16
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // As above.
    fn search_burst<A: Family>(&self, addresses: &[A], out: &mut [NextHop]) {
        for (addresses, out) in addresses.chunks(LANES).zip(out.chunks_mut(LANES)) {
            let mut active = [(0_u32, 0_u32); LANES];
            let mut count = 0;
            for (lane, (&address, out)) in addresses.iter().zip(out.iter_mut()).enumerate() {
                let entry = self.direct[(address.first_64() >> (64 - DIRECT)) as usize];
                *out = NextHop(entry as u16);
                active[count] = (entry, lane as u32);
                count += usize::from(entry & LEAF == 0);
            }
            let mut start = DIRECT;
            while count > 0 {
                let before = std::mem::take(&mut count);
                for index in 0..before {
                    let (entry, lane) = active[index];
                    let entry = self.step(entry, addresses[lane as usize], start);
                    out[lane as usize] = NextHop(entry as u16);
                    active[count] = (entry, lane);
                    count += usize::from(entry & LEAF == 0);
                }
                start += STRIDE;
            }
        }
    }

    /// The node below, or the leaf, of the slot that the address names in node `index`.
    #[inline(always)]
    #[allow(clippy::inline_always)] // As above.
    fn step<A: Family>(&self, index: u32, address: A, start: u32) -> u32 {
        debug_assert!((index as usize) < self.nodes.len());
        // SAFETY: `fill` has made every node that a direct entry or a node leads to.
        let node = unsafe { *self.nodes.get_unchecked(index as usize) };
        let slot = address.bits_from(start) >> (64 - STRIDE);
        let upto = u64::MAX >> (63 - slot);
        if node.vector >> slot & 1 == 1 {
            return node.below + (node.vector & upto).count_ones() - 1;
        }
        let leaf = node.first_leaf + (node.leaves & upto).count_ones() - 1;
        debug_assert!((leaf as usize) < self.leaves.len());
        // SAFETY: a run of leaves begins at the first slot without a node below, so that one has
        // begun at this slot at the latest; `fill` has pushed a leaf for each.
        LEAF | u32::from(unsafe { *self.leaves.get_unchecked(leaf as usize) })
    }
}

/// The routes by address, shorter ones first, without those that say what the next shorter says.
fn without_superfluous<A: Family>(routes: &[(Prefix<A>, NextHop)]) -> Vec<(Prefix<A>, NextHop)> {
    let mut sorted = routes.to_vec();
    sorted.sort_unstable();
    let mut covering: Vec<(Prefix<A>, NextHop)> = Vec::new();
    sorted.retain(|&(prefix, next_hop)| {
        while covering
            .last()
            .is_some_and(|(cover, _)| !cover.contains(prefix.address()))
        {
            covering.pop();
        }
        let before = covering.last().map_or(NextHop::NONE, |cover| cover.1);
        covering.push((prefix, next_hop));
        before != next_hop
    });
    sorted
}

/// Paints sorted routes, all of which begin with the same `start` bits, over the slots that the
/// next `stride` bits name.
fn paint<A: Family>(
    routes: &[(Prefix<A>, NextHop)],
    start: u32,
    stride: u32,
    inherited: NextHop,
) -> Painted {
    let mut painted = Painted {
        slots: vec![inherited.0; 1 << stride],
        below: Vec::new(),
    };
    for (index, &(prefix, next_hop)) in routes.iter().enumerate() {
        let slot = (prefix.address().left_aligned() << start >> (128 - stride)) as u32;
        let length = u32::from(prefix.length());
        if length <= start + stride {
            let end = slot + (1 << (start + stride - length));
            painted.slots[slot as usize..end as usize].fill(next_hop.0);
            continue;
        }
        match painted.below.last_mut() {
            Some((last, within)) if *last == slot => within.end = index + 1,
            _ => painted.below.push((slot, index..index + 1)),
        }
    }
    painted
}
