//! The search. The rule is in [`crate::layout`].
//!
//! A burst is searched level by level: all its addresses take a step before any takes the next, so
//! that their cache misses overlap, and no branch depends on where a single address ends. The code
//! is the same for all machines; on x86-64 it is compiled a second time for processors with
//! population count and shifts by a register, and bursts have a form for AVX-512.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::{Family, TableStorage};
use crate::layout::{KIND_SHIFT, STRIDE, VALUE_MASK};
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
pub struct Arrays<'a> {
    root: &'a [AtomicU32],
    nodes: &'a [AtomicU64],
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
fn has_bmi2() -> bool {
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
impl<'a> Arrays<'a> {
    pub(super) fn of<A>(storage: &'a TableStorage<A>) -> Self {
        Self {
            root: storage.root.elements(),
            nodes: storage.nodes.elements(),
        }
    }

    pub(super) fn lookup<A: Family>(self, address: A) -> NextHop {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if has_bmi2() {
            // SAFETY: the processor has the instructions.
            return unsafe { self.lookup_bmi2(address) };
        }
        self.search(address)
    }

    pub(super) fn lookup_burst<A: Family>(self, addresses: &[A], out: &mut [NextHop]) {
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
    fn lookup_bmi2<A: Family>(self, address: A) -> NextHop {
        self.search(address)
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[target_feature(enable = "popcnt,bmi1,bmi2")]
    fn lookup_burst_bmi2<A: Family>(self, addresses: &[A], out: &mut [NextHop]) {
        self.search_burst(addresses, out);
    }

    #[inline(always)]
    pub(super) fn search_burst<A: Family>(self, addresses: &[A], out: &mut [NextHop]) {
        for (addresses, out) in addresses.chunks(LANES).zip(out.chunks_mut(LANES)) {
            let count = addresses.len().min(out.len());
            self.search_lanes(&addresses[..count], &mut out[..count]);
        }
    }

    /// At most [`LANES`] addresses, and as many results.
    #[inline(always)]
    fn search_lanes<A: Family>(self, addresses: &[A], out: &mut [NextHop]) {
        // The lanes that lead to a node: its entry in the upper half, the lane's number in the
        // lower.
        let mut active = [MaybeUninit::<u64>::uninit(); LANES];
        let mut count = 0;
        for (lane, (&address, out)) in addresses.iter().zip(out.iter_mut()).enumerate() {
            let (index, start) = address.root_index();
            if start != A::MAIN_START {
                *out = self.search(address);
                continue;
            }
            let entry = self.root_entry(index);
            *out = NextHop(entry as u16);
            // SAFETY: `count` grows by one at most for each of up to LANES lanes.
            unsafe { active.get_unchecked_mut(count) }.write(u64::from(entry) << 32 | lane as u64);
            count += usize::from(entry >> KIND_SHIFT != 0);
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
                    let item = active.get_unchecked(index).assume_init();
                    let lane = item as u32 as usize;
                    let slot = addresses.get_unchecked(lane).bits_from(start) >> 58;
                    let entry = self.step((item >> 32) as u32, !slot & 63);
                    *out.get_unchecked_mut(lane) = NextHop(entry as u16);
                    active
                        .get_unchecked_mut(count)
                        .write(u64::from(entry) << 32 | lane as u64);
                    count += usize::from(entry >> KIND_SHIFT != 0);
                }
            }
            start += STRIDE;
        }
    }

    #[inline(always)]
    pub(super) fn search<A: Family>(self, address: A) -> NextHop {
        let (index, mut start) = address.root_index();
        let mut entry = self.root_entry(index);
        while entry >> KIND_SHIFT != 0 {
            entry = self.step(entry, !(address.bits_from(start) >> 58) & 63);
            start += STRIDE;
        }
        NextHop(entry as u16)
    }

    #[inline(always)]
    fn root_entry(self, index: usize) -> u32 {
        debug_assert!(index < self.root.len());
        // SAFETY: `root_index` is below `Family::ROOT` for every address, and the table checked the
        // array's length.
        unsafe { self.root.get_unchecked(index) }.load(Ordering::Acquire)
    }

    #[inline(always)]
    fn word(self, index: usize) -> u64 {
        debug_assert!(index < self.nodes.len());
        // SAFETY: the writer publishes an entry only for a node that lies within the array, vector
        // and elements, and the number of vector bits bounds the element asked for.
        unsafe { self.nodes.get_unchecked(index) }.load(Ordering::Acquire)
    }

    /// One step down. `complement` is 63 minus the slot.
    #[inline(always)]
    fn step(self, entry: u32, complement: u64) -> u32 {
        let log2_bits = (entry >> KIND_SHIFT) + 2;
        let at = (entry & VALUE_MASK) as usize;
        let run = (self.word(at) << complement).count_ones();
        let bit = run << log2_bits;
        let word = self.word(at + 1 + (bit >> 6) as usize);
        (word >> (bit & 63)) as u32 & (u32::MAX >> (32 - (1_u32 << log2_bits)))
    }

    /// The root's first entry, for vector loads.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    pub(super) fn root(self) -> *const AtomicU32 {
        self.root.as_ptr()
    }

    /// The first node word, for vector loads.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    pub(super) fn nodes(self) -> *const AtomicU64 {
        self.nodes.as_ptr()
    }
}
