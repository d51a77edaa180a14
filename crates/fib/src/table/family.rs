//! What differs between the families: the shape of the root.
//!
//! Routes that end within the root live in one binary heap over root prefixes: the heap node of a
//! prefix has its two halves as children. For IPv4 that is the usual numbering, 1 for 0/0, 2*n* and
//! 2*n* + 1 below. IPv6 has two such heaps, the second one hanging under `2000::/3` of the first.

use super::entry::Entry;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::search::Arrays;
use crate::address::Address;
use crate::layout::{V4_ROOT, V4_ROOT_BITS, V6_ROOT, V6_ROOT_OTHERS};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::next_hop::NextHop;

/// The shape of a family's root. All heap numbers are from 1; 0 is "none".
pub trait Family: Address {
    /// What its root and its nodes are made of.
    type Entry: Entry;

    /// Entries in the root array.
    const ROOT: usize;

    /// Numbers in the heap of root prefixes.
    const HEAP: usize;

    /// Bits that the root consumes of nearly all addresses in use.
    const MAIN_START: u32;

    /// Names for the memory report: root, nodes, routes, lists of free memory.
    const NAMES: [&'static str; 4];

    /// The bits of the address from bit `start` on, left-aligned: those of a node at least, unless
    /// the address ends.
    fn bits_from(self, start: u32) -> u64;

    /// The burst search for AVX-512.
    ///
    /// # Safety
    /// The processor must have what `search::has_avx512` asks for.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[doc(hidden)]
    unsafe fn avx512(arrays: Arrays<'_, Self>, addresses: &[Self], out: &mut [NextHop]);

    /// Index in the root, and how many bits of the address that consumes.
    fn root_index(self) -> (usize, u32);

    /// The heap number of a prefix, or none if it ends below the root.
    fn heap_number(self, length: u8) -> Option<usize>;

    /// The heap number of the next shorter prefix.
    fn heap_parent(number: usize) -> usize;

    /// What is under a heap number.
    fn heap_below(number: usize) -> Below;
}

/// What is under a heap number: two longer prefixes, or one root entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Below {
    /// The heap numbers of the two halves.
    Halves(usize, usize),
    /// Index of the root entry that stands for exactly this prefix.
    Entry(usize),
}

impl Family for u32 {
    type Entry = u32;

    const NAMES: [&'static str; 4] = ["IPv4 root", "IPv4 nodes", "IPv4 routes", "IPv4 free lists"];
    const ROOT: usize = V4_ROOT;
    const MAIN_START: u32 = 18;

    #[inline]
    fn bits_from(self, start: u32) -> u64 {
        self.first_64() << start
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    unsafe fn avx512(arrays: Arrays<'_, Self>, addresses: &[Self], out: &mut [NextHop]) {
        // SAFETY: the caller's promise.
        unsafe { arrays.v4_avx512(addresses, out) }
    }

    const HEAP: usize = V4_ROOT * 2;

    #[inline]
    fn root_index(self) -> (usize, u32) {
        ((self >> (32 - V4_ROOT_BITS)) as usize, V4_ROOT_BITS)
    }

    fn heap_number(self, length: u8) -> Option<usize> {
        let length = u32::from(length);
        (length <= V4_ROOT_BITS)
            .then(|| (1 << length) | (u64::from(self) >> (32 - length)) as usize)
    }

    fn heap_parent(number: usize) -> usize {
        number >> 1
    }

    fn heap_below(number: usize) -> Below {
        if number >= V4_ROOT {
            Below::Entry(number - V4_ROOT)
        } else {
            Below::Halves(number * 2, number * 2 + 1)
        }
    }
}

/// The heap number of `2000::/3`.
const GLOBAL: usize = 0b1_001;

/// Where the second IPv6 heap begins: number 1 in it would be `2000::/3` again.
const GLOBAL_HEAP: usize = 128;

impl Family for u128 {
    type Entry = u64;

    const NAMES: [&'static str; 4] = ["IPv6 root", "IPv6 nodes", "IPv6 routes", "IPv6 free lists"];
    const ROOT: usize = V6_ROOT;
    const MAIN_START: u32 = 18;

    #[inline]
    fn bits_from(self, start: u32) -> u64 {
        if start < 60 {
            self.first_64() << start
        } else {
            (self << start >> 64) as u64
        }
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    unsafe fn avx512(arrays: Arrays<'_, Self>, addresses: &[Self], out: &mut [NextHop]) {
        // SAFETY: the caller's promise.
        unsafe { arrays.v6_avx512(addresses, out) }
    }

    const HEAP: usize = GLOBAL_HEAP + 2 * V6_ROOT_OTHERS;

    #[inline]
    fn root_index(self) -> (usize, u32) {
        let high = self.first_64();
        if high >> 61 == 1 {
            ((high >> 46) as usize & (V6_ROOT_OTHERS - 1), 18)
        } else {
            (V6_ROOT_OTHERS + (high >> 58) as usize, 6)
        }
    }

    fn heap_number(self, length: u8) -> Option<usize> {
        let high = self.first_64();
        let length = u32::from(length);
        let leading = |bits: u32| {
            if bits == 0 {
                0
            } else {
                (high >> (64 - bits)) as usize
            }
        };
        if high >> 61 == 1 && length > 3 {
            let inside = length - 3;
            (length <= 18)
                .then(|| GLOBAL_HEAP + ((1 << inside) | (leading(length) & ((1 << inside) - 1))))
        } else {
            (length <= 6).then(|| (1 << length) | leading(length))
        }
    }

    fn heap_parent(number: usize) -> usize {
        match number.checked_sub(GLOBAL_HEAP) {
            None => number >> 1,
            Some(2 | 3) => GLOBAL,
            Some(inside) => GLOBAL_HEAP + (inside >> 1),
        }
    }

    fn heap_below(number: usize) -> Below {
        match number.checked_sub(GLOBAL_HEAP) {
            None if number == GLOBAL => Below::Halves(GLOBAL_HEAP + 2, GLOBAL_HEAP + 3),
            None if number >= 64 => Below::Entry(V6_ROOT_OTHERS + number - 64),
            None => Below::Halves(number * 2, number * 2 + 1),
            Some(inside) if inside >= V6_ROOT_OTHERS => Below::Entry(inside - V6_ROOT_OTHERS),
            Some(inside) => Below::Halves(GLOBAL_HEAP + inside * 2, GLOBAL_HEAP + inside * 2 + 1),
        }
    }
}

#[cfg(test)]
#[path = "../../tests/unit/family.rs"]
mod tests;
