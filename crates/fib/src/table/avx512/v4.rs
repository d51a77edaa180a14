//! The burst search for processors with AVX-512 and its population count: eight addresses in one
//! register, four registers side by side.
//!
//! Every step is the one of [`crate::layout`], with the two loads as gathers. Lanes that have
//! arrived at a leaf are masked off and keep their entry. All four registers do one gather before
//! any does the next: a gather alone waits for its slowest lane.
//!
//! The arrays may change meanwhile. A gather loads each element by itself, aligned, once: what the
//! processor does for a scalar load of an atomic it does for a lane. The element of a node is
//! loaded after the entry that led there, since its address is computed from that entry.

use core::arch::x86_64::{
    __m512i, __mmask8, _mm_storeu_si128, _mm256_i32gather_epi32, _mm256_loadu_si256,
    _mm256_srli_epi32, _mm512_add_epi64, _mm512_and_si512, _mm512_cmpeq_epi64_mask,
    _mm512_cmpgt_epu64_mask, _mm512_cvtepi64_epi16, _mm512_cvtepi64_epi32, _mm512_cvtepu32_epi64,
    _mm512_loadu_si512, _mm512_mask_blend_epi64, _mm512_mask_i64gather_epi64,
    _mm512_permutex2var_epi64, _mm512_popcnt_epi64, _mm512_set1_epi64, _mm512_setr_epi64,
    _mm512_setzero_si512, _mm512_slli_epi64, _mm512_sllv_epi64, _mm512_srli_epi64,
    _mm512_srlv_epi64, _mm512_sub_epi64,
};

use super::search::Arrays;
use crate::layout::{KIND_SHIFT, VALUE_MASK};
use crate::next_hop::NextHop;

/// Addresses in a register.
const LANES: usize = 8;

/// Registers that take each step together, so that their cache misses overlap.
const GROUPS: usize = 4;

/// Addresses that take each step together.
const SIDE_BY_SIDE: usize = LANES * GROUPS;

impl Arrays<'_> {
    /// IPv4 addresses, as many as the shorter slice has.
    #[target_feature(enable = "avx512f,avx512vpopcntdq,avx2,popcnt,bmi1,bmi2")]
    pub(super) fn v4_avx512(self, addresses: &[u32], out: &mut [NextHop]) {
        let (blocks, _) = addresses.as_chunks::<SIDE_BY_SIDE>();
        let count = blocks.len().min(out.len() / SIDE_BY_SIDE);
        for (block, out) in blocks.iter().zip(out.as_chunks_mut::<SIDE_BY_SIDE>().0) {
            let mut entries = [_mm512_setzero_si512(); GROUPS];
            let mut rests = entries;
            for (group, addresses) in block.as_chunks::<LANES>().0.iter().enumerate() {
                // SAFETY: the array has 8 elements of 4 bytes.
                let address = unsafe { _mm256_loadu_si256(addresses.as_ptr().cast()) };
                let index = _mm256_srli_epi32::<14>(address);
                // SAFETY: 18 bits index a root of 2^18 entries.
                let entry = unsafe { _mm256_i32gather_epi32::<4>(self.root().cast(), index) };
                entries[group] = _mm512_cvtepu32_epi64(entry);
                rests[group] = _mm512_slli_epi64::<50>(_mm512_cvtepu32_epi64(address));
            }
            self.descend::<3>(entries, rests, out);
        }
        for (&address, out) in addresses.iter().zip(out).skip(count * SIDE_BY_SIDE) {
            *out = self.search(address);
        }
    }

    /// IPv6 addresses, as many as the shorter slice has.
    #[target_feature(enable = "avx512f,avx512vpopcntdq,avx2,popcnt,bmi1,bmi2")]
    pub(super) fn v6_avx512(self, addresses: &[u128], out: &mut [NextHop]) {
        let (blocks, _) = addresses.as_chunks::<SIDE_BY_SIDE>();
        let count = blocks.len().min(out.len() / SIDE_BY_SIDE);
        let upper = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
        for (block, out) in blocks.iter().zip(out.as_chunks_mut::<SIDE_BY_SIDE>().0) {
            let mut entries = [_mm512_setzero_si512(); GROUPS];
            let mut rests = entries;
            let mut global = u8::MAX;
            for (group, addresses) in block.as_chunks::<LANES>().0.iter().enumerate() {
                // SAFETY: the array has 8 elements of 16 bytes: two registers.
                let (low, high) = unsafe {
                    (
                        _mm512_loadu_si512(addresses.as_ptr().cast()),
                        _mm512_loadu_si512(addresses[LANES / 2..].as_ptr().cast()),
                    )
                };
                let left = _mm512_permutex2var_epi64(low, upper, high);
                global &=
                    _mm512_cmpeq_epi64_mask(_mm512_srli_epi64::<61>(left), _mm512_set1_epi64(1));
                let index =
                    _mm512_and_si512(_mm512_srli_epi64::<46>(left), _mm512_set1_epi64(0x7FFF));
                let index = _mm512_cvtepi64_epi32(index);
                // SAFETY: 15 bits index a root of more than 2^15 entries.
                let entry = unsafe { _mm256_i32gather_epi32::<4>(self.root().cast(), index) };
                entries[group] = _mm512_cvtepu32_epi64(entry);
                rests[group] = _mm512_slli_epi64::<18>(left);
            }
            // Addresses outside 2000::/3, or routes longer than /60: one address at a time.
            if global != u8::MAX || !self.descend::<7>(entries, rests, out) {
                for (&address, out) in block.iter().zip(out) {
                    *out = self.search(address);
                }
            }
        }
        for (&address, out) in addresses.iter().zip(out).skip(count * SIDE_BY_SIDE) {
            *out = self.search(address);
        }
    }

    /// At most `STEPS` steps while lanes lead to nodes; writes the next hops. False if some lane
    /// still leads to a node.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vpopcntdq,avx2,popcnt,bmi1,bmi2")]
    fn descend<const STEPS: u32>(
        self,
        mut entries: [__m512i; GROUPS],
        mut rests: [__m512i; GROUPS],
        out: &mut [NextHop; SIDE_BY_SIDE],
    ) -> bool {
        let largest_leaf = _mm512_set1_epi64(i64::from(VALUE_MASK));
        let (zero, one, two, sixty_three) = (
            _mm512_setzero_si512(),
            _mm512_set1_epi64(1),
            _mm512_set1_epi64(2),
            _mm512_set1_epi64(63),
        );
        let mut active = [0 as __mmask8; GROUPS];
        for _ in 0..STEPS {
            let mut any = 0;
            for group in 0..GROUPS {
                active[group] = _mm512_cmpgt_epu64_mask(entries[group], largest_leaf);
                any |= active[group];
            }
            if any == 0 {
                break;
            }
            let mut vectors = [zero; GROUPS];
            for group in 0..GROUPS {
                let at = _mm512_and_si512(entries[group], largest_leaf);
                // SAFETY: active lanes lead to nodes within the array.
                vectors[group] = unsafe {
                    _mm512_mask_i64gather_epi64::<8>(zero, active[group], at, self.nodes().cast())
                };
            }
            let mut bits = [zero; GROUPS];
            let mut words = [zero; GROUPS];
            for group in 0..GROUPS {
                let log2_bits =
                    _mm512_add_epi64(_mm512_srli_epi64::<KIND_SHIFT>(entries[group]), two);
                let complement =
                    _mm512_sub_epi64(sixty_three, _mm512_srli_epi64::<58>(rests[group]));
                let run = _mm512_popcnt_epi64(_mm512_sllv_epi64(vectors[group], complement));
                bits[group] = _mm512_sllv_epi64(run, log2_bits);
                let at = _mm512_add_epi64(_mm512_and_si512(entries[group], largest_leaf), one);
                let word = _mm512_add_epi64(at, _mm512_srli_epi64::<6>(bits[group]));
                // SAFETY: the number of vector bits bounds the element, which lies in the same
                // node.
                words[group] = unsafe {
                    _mm512_mask_i64gather_epi64::<8>(zero, active[group], word, self.nodes().cast())
                };
            }
            for group in 0..GROUPS {
                let log2_bits =
                    _mm512_add_epi64(_mm512_srli_epi64::<KIND_SHIFT>(entries[group]), two);
                let element =
                    _mm512_srlv_epi64(words[group], _mm512_and_si512(bits[group], sixty_three));
                let width = _mm512_sllv_epi64(one, log2_bits);
                let mask = _mm512_sub_epi64(_mm512_sllv_epi64(one, width), one);
                let element = _mm512_and_si512(element, mask);
                entries[group] = _mm512_mask_blend_epi64(active[group], entries[group], element);
                rests[group] = _mm512_slli_epi64::<6>(rests[group]);
            }
        }
        let mut any = 0;
        for (group, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            any |= _mm512_cmpgt_epu64_mask(entries[group], largest_leaf);
            // SAFETY: `out` has 8 elements of 2 bytes.
            unsafe {
                _mm_storeu_si128(
                    out.as_mut_ptr().cast(),
                    _mm512_cvtepi64_epi16(entries[group]),
                );
            }
        }
        any == 0
    }
}
