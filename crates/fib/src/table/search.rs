//! The search. The rule is in [`crate::layout`].
//!
//! A burst is searched level by level: all its addresses take a step before any takes the next, so
//! that their cache misses overlap, and no branch depends on where a single address ends. The code
//! is the same for all machines; on x86-64 it is compiled a second time for processors with
//! population count and shifts by a register, and bursts have a form for AVX-512.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{Cell, Entry, Family, TableStorage};
use crate::next_hop::NextHop;

/// Addresses searched side by side.
const LANES: usize = 64;

/// See [`avoid_vector_registers`].
static VECTORS_ARE_LOST: AtomicBool = AtomicBool::new(false);

/// From now on searches of this process use general registers only: for systems that do not keep a
/// program's vector registers, as User Mode Linux where it has no room for them.
pub fn avoid_vector_registers() {
    VECTORS_ARE_LOST.store(true, Ordering::Relaxed);
}

/// The two arrays, borrowed for a burst.
#[derive(Clone, Copy)]
pub struct Arrays<'a, A: Family> {
    root: &'a [Cell<A>],
    nodes: &'a [AtomicU64],
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) fn has_bmi2() -> bool {
    std::is_x86_feature_detected!("bmi2") && std::is_x86_feature_detected!("popcnt")
}

/// Has this processor what the searches of [`super::avx512`] need, and may it be used?
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn has_avx512() -> bool {
    std::is_x86_feature_detected!("avx512f")
        && !VECTORS_ARE_LOST.load(Ordering::Relaxed)
        && std::is_x86_feature_detected!("avx512vpopcntdq")
        && std::is_x86_feature_detected!("avx2")
        && has_bmi2()
}

// `inline(always)`: these bodies are compiled once for each set of instructions, inside the
// functions that enable it.
#[allow(clippy::inline_always)]
impl<'a, A: Family> Arrays<'a, A> {
    pub(super) fn of(storage: &'a TableStorage<A>) -> Self {
        Self {
            root: storage.root.elements(),
            nodes: storage.nodes.elements(),
        }
    }

    pub(super) fn lookup(self, address: A) -> NextHop {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if has_bmi2() {
            // SAFETY: the processor has the instructions.
            return unsafe { self.lookup_bmi2(address) };
        }
        self.search(address)
    }

    pub(super) fn lookup_burst(self, addresses: &[A], out: &mut [NextHop]) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if has_avx512() {
            // SAFETY: the processor has the instructions.
            return unsafe { A::avx512(self, addresses, out) };
        }
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if has_bmi2() {
            // SAFETY: the processor has the instructions.
            return unsafe { self.lookup_burst_bmi2(addresses, out) };
        }
        self.search_burst(addresses, out);
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[target_feature(enable = "popcnt,bmi1,bmi2")]
    fn lookup_bmi2(self, address: A) -> NextHop {
        self.search(address)
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[target_feature(enable = "popcnt,bmi1,bmi2")]
    fn lookup_burst_bmi2(self, addresses: &[A], out: &mut [NextHop]) {
        self.search_burst(addresses, out);
    }

    #[inline(always)]
    pub(super) fn search_burst(self, addresses: &[A], out: &mut [NextHop]) {
        for (addresses, out) in addresses.chunks(LANES).zip(out.chunks_mut(LANES)) {
            let count = addresses.len().min(out.len());
            self.search_lanes(&addresses[..count], &mut out[..count]);
        }
    }

    /// At most [`LANES`] addresses, and as many results.
    #[inline(always)]
    fn search_lanes(self, addresses: &[A], out: &mut [NextHop]) {
        // The entries that lead to a node, and their lanes' numbers.
        let mut active = [MaybeUninit::<(A::Entry, u32)>::uninit(); LANES];
        let mut count = 0;
        for (lane, (&address, out)) in addresses.iter().zip(out.iter_mut()).enumerate() {
            let (index, start) = address.root_index();
            if start != A::MAIN_START {
                *out = self.search(address);
                continue;
            }
            let entry = self.root_entry(index);
            *out = next_hop(entry);
            // SAFETY: `count` grows by one at most for each of up to LANES lanes.
            unsafe { active.get_unchecked_mut(count) }.write((entry, lane as u32));
            count += usize::from(!entry.is_leaf());
        }
        let mut start = A::MAIN_START;
        while count > 0 {
            let before = count;
            count = 0;
            for index in 0..before {
                // SAFETY: the first `before` items were written above or in the round before; their
                // lanes number addresses, of which there are as many as results;
                // and `count` never overtakes `index`.
                unsafe {
                    let (entry, number) = active.get_unchecked(index).assume_init();
                    let lane = number as usize;
                    let rest = addresses.get_unchecked(lane).bits_from(start);
                    let entry = entry.step(rest, |at| self.word(at));
                    *out.get_unchecked_mut(lane) = next_hop(entry);
                    active.get_unchecked_mut(count).write((entry, number));
                    count += usize::from(!entry.is_leaf());
                }
            }
            start += A::Entry::STRIDE;
        }
    }

    #[inline(always)]
    pub(super) fn search(self, address: A) -> NextHop {
        let (index, mut start) = address.root_index();
        let mut entry = self.root_entry(index);
        while !entry.is_leaf() {
            entry = entry.step_alone(address.bits_from(start), |at| self.word(at));
            start += A::Entry::STRIDE;
        }
        next_hop(entry)
    }

    #[inline(always)]
    fn root_entry(self, index: usize) -> A::Entry {
        debug_assert!(index < self.root.len());
        // SAFETY: `root_index` is below `Family::ROOT` for every address, and the table checked the
        // array's length.
        A::Entry::load(unsafe { self.root.get_unchecked(index) })
    }

    #[inline(always)]
    fn word(self, index: usize) -> u64 {
        debug_assert!(index < self.nodes.len());
        // SAFETY: the writer publishes an entry only for a node that lies within the array, vector
        // and elements, and the number of vector bits bounds the element asked for.
        unsafe { self.nodes.get_unchecked(index) }.load(Ordering::Acquire)
    }

    /// The root's first entry, for vector loads.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    pub(super) fn root(self) -> *const Cell<A> {
        self.root.as_ptr()
    }

    /// The first node word, for vector loads.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    pub(super) fn nodes(self) -> *const AtomicU64 {
        self.nodes.as_ptr()
    }
}

/// The next hop of a leaf.
#[inline(always)]
#[allow(clippy::inline_always)] // As above.
fn next_hop(leaf: impl Into<u64>) -> NextHop {
    NextHop(leaf.into() as u16)
}
