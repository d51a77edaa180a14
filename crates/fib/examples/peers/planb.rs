//! The tree of `PlanB` (Zhang and others, "`PlanB`: Efficient Software IPv6 Lookup with Linearized
//! B+-Tree", arXiv 2604.14650), written from what is published of its layout: routes become
//! elementary intervals of the upper 64 bits of an address; nodes of eight 64-bit bounds, a cache
//! line each, lie breadth-first in one flat array, nine nodes below each; a search compares a node
//! at once, has no branch, and goes through a batch level by level.
//!
//! Two liberties, both in its favour: neighbouring intervals with one next hop are joined, and
//! leaf nodes after the last used one are not stored. Bounds are the last addresses of intervals,
//! so that the padding (all ones) ends the last interval. Routes longer than /64 it cannot hold.

use fib::{NextHop, Prefix};

/// Bounds of a node.
const BOUNDS: usize = 8;
/// Nodes below a node.
const BELOW: usize = BOUNDS + 1;
/// Addresses searched side by side.
const LANES: usize = 16;
/// The longest prefix that it can hold.
pub(crate) const LONGEST: u8 = 64;

/// One node.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Node([u64; BOUNDS]);

/// The tree.
pub(crate) struct PlanB {
    /// All levels, the root first.
    nodes: Vec<Node>,
    /// Levels above the leaves.
    depth: u32,
    /// Number of the first leaf node.
    first_leaf: usize,
    /// The next hop of each interval.
    next_hops: Vec<u16>,
}

impl PlanB {
    /// The tree of these routes, none longer than [`LONGEST`], in any order, one for each prefix.
    ///
    /// # Panics
    /// When one is longer.
    pub(crate) fn new(routes: &[(Prefix<u128>, NextHop)]) -> Self {
        let (bounds, next_hops) = intervals(routes);
        // The last leaf has one bound of padding at least.
        let leaves = bounds.len() / BOUNDS + 1;
        let (mut depth, mut first_leaf, mut level) = (0, 0, 1);
        while level < leaves {
            first_leaf += level;
            level *= BELOW;
            depth += 1;
        }
        let mut nodes = vec![Node([u64::MAX; BOUNDS]); first_leaf + leaves];
        for (index, &bound) in bounds.iter().enumerate() {
            nodes[first_leaf + index / BOUNDS].0[index % BOUNDS] = bound;
        }
        // The greatest bound under each node, from the last node to the first.
        let mut greatest = vec![u64::MAX; nodes.len()];
        for index in (0..nodes.len()).rev() {
            if index < first_leaf {
                let last = greatest.get(BELOW * index + BELOW);
                let last = last.copied().unwrap_or(u64::MAX);
                for (below, bound) in nodes[index].0.iter_mut().enumerate() {
                    let below = greatest.get(BELOW * index + 1 + below);
                    *bound = below.copied().unwrap_or(u64::MAX);
                }
                greatest[index] = last;
            } else {
                greatest[index] = nodes[index].0[BOUNDS - 1];
            }
        }
        Self {
            nodes,
            depth,
            first_leaf,
            next_hops,
        }
    }

    /// Bytes that look-ups read.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.nodes) + size_of_val(&*self.next_hops)
    }

    /// The next hop of one address.
    pub(crate) fn lookup(&self, address: u128) -> u16 {
        let mut out = [NextHop::NONE];
        self.lookup_burst(&[address], &mut out);
        out[0].0
    }

    /// The next hops of as many addresses as the shorter slice has.
    pub(crate) fn lookup_burst(&self, addresses: &[u128], out: &mut [NextHop]) {
        #[cfg(target_arch = "x86_64")]
        if super::processor::has_avx512() {
            // SAFETY: the processor has the instructions.
            return unsafe { self.lookup_burst_avx512(addresses, out) };
        }
        self.search_burst(addresses, out, count_smaller);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,popcnt,bmi1,bmi2")]
    fn lookup_burst_avx512(&self, addresses: &[u128], out: &mut [NextHop]) {
        self.search_burst(addresses, out, |node, high| {
            count_smaller_avx512(node, high)
        });
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // Compiled once for each set of instructions.
    fn search_burst(
        &self,
        addresses: &[u128],
        out: &mut [NextHop],
        count: impl Fn(&Node, u64) -> usize,
    ) {
        let (mut groups, mut results) =
            (addresses.chunks_exact(LANES), out.chunks_exact_mut(LANES));
        for (group, out) in (&mut groups).zip(&mut results) {
            if let (Ok(group), Ok(out)) = (group.try_into(), out.try_into()) {
                self.search_lanes::<LANES>(group, out, &count);
            }
        }
        let done = addresses.len().min(out.len()) / LANES * LANES;
        for (address, out) in addresses[done..].iter().zip(&mut out[done..]) {
            self.search_lanes(
                std::array::from_ref(address),
                std::array::from_mut(out),
                &count,
            );
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // As above.
    fn search_lanes<const N: usize>(
        &self,
        addresses: &[u128; N],
        out: &mut [NextHop; N],
        count: &impl Fn(&Node, u64) -> usize,
    ) {
        let high = addresses.map(|address| (address >> 64) as u64);
        let mut at = [0_usize; N];
        for _ in 0..self.depth {
            for lane in 0..N {
                at[lane] = BELOW * at[lane] + 1 + count(self.node(at[lane]), high[lane]);
            }
        }
        for lane in 0..N {
            let interval = (at[lane] - self.first_leaf) * BOUNDS;
            let interval = interval + count(self.node(at[lane]), high[lane]);
            out[lane] = NextHop(self.next_hops[interval]);
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // As above.
    fn node(&self, index: usize) -> &Node {
        debug_assert!(index < self.nodes.len());
        // SAFETY: all levels above the leaves are whole, and no address is greater than the padding
        // in the last leaf, so that no search goes beyond that leaf.
        unsafe { self.nodes.get_unchecked(index) }
    }
}

/// How many bounds of the node are smaller: the number of the node below, or of the interval.
fn count_smaller(node: &Node, high: u64) -> usize {
    node.0.iter().map(|&bound| usize::from(bound < high)).sum()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt")]
fn count_smaller_avx512(node: &Node, high: u64) -> usize {
    use core::arch::x86_64::{_mm512_cmplt_epu64_mask, _mm512_load_si512, _mm512_set1_epi64};
    // SAFETY: a node is 64 bytes, and aligned to as many.
    let bounds = unsafe { _mm512_load_si512(std::ptr::from_ref(node).cast()) };
    let smaller = _mm512_cmplt_epu64_mask(bounds, _mm512_set1_epi64(high.cast_signed()));
    smaller.count_ones() as usize
}

/// The last address of each elementary interval but the last, and the next hop of each.
fn intervals(routes: &[(Prefix<u128>, NextHop)]) -> (Vec<u64>, Vec<u16>) {
    let mut sorted = routes.to_vec();
    sorted.sort_unstable();
    let (mut bounds, mut next_hops) = (Vec::new(), Vec::new());
    // Everything up to `bound`, from where the last interval ended, goes to `next_hop`.
    let mut end = |bound: u64, next_hop: NextHop| {
        if bounds.last().is_some_and(|&last| last >= bound) {
            return;
        }
        if next_hops.last() == Some(&next_hop.0) {
            bounds.pop();
            next_hops.pop();
        }
        bounds.push(bound);
        next_hops.push(next_hop.0);
    };
    // The prefixes that the current place is in, the longest last.
    let mut within: Vec<(u64, NextHop)> = vec![(u64::MAX, NextHop::NONE)];
    for (prefix, next_hop) in sorted {
        assert!(
            prefix.length() <= LONGEST,
            "{prefix} is longer than /{LONGEST}"
        );
        let (first, last) = (upper(prefix.address()), upper(prefix.last()));
        while let Some(&(bound, inner)) = within.last().filter(|&&(bound, _)| bound < first) {
            end(bound, inner);
            within.pop();
        }
        if let (Some(before), Some(&(_, outer))) = (first.checked_sub(1), within.last()) {
            end(before, outer);
        }
        within.push((last, next_hop));
    }
    while let Some((bound, next_hop)) = within.pop() {
        end(bound, next_hop);
    }
    // The last interval ends where the padding does.
    bounds.pop();
    (bounds, next_hops)
}

fn upper(address: u128) -> u64 {
    (address >> 64) as u64
}
