//! IPv4: a step is two gathers, the vector and the word of the element.

use core::arch::x86_64::{
    __m512i, __mmask8, _mm_storeu_si128, _mm256_i32gather_epi32, _mm256_loadu_si256,
    _mm256_srli_epi32, _mm512_add_epi64, _mm512_and_si512, _mm512_cmpgt_epu64_mask,
    _mm512_cvtepi64_epi16, _mm512_cvtepu32_epi64, _mm512_mask_blend_epi64,
    _mm512_mask_i64gather_epi64, _mm512_popcnt_epi64, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_slli_epi64, _mm512_sllv_epi64, _mm512_srli_epi64, _mm512_srlv_epi64, _mm512_sub_epi64,
};

use super::LANES;
use crate::layout::{INDEX_MASK, V4_KIND_SHIFT};
use crate::next_hop::NextHop;
use crate::table::search::Arrays;

/// Registers that take each step together, so that their cache misses overlap.
const GROUPS: usize = 4;

/// Addresses that take each step together.
const SIDE_BY_SIDE: usize = LANES * GROUPS;

impl Arrays<'_, u32> {
    /// IPv4 addresses, as many as the shorter slice has.
    #[target_feature(enable = "avx512f,avx512vpopcntdq,avx2,popcnt,bmi1,bmi2")]
    pub(in crate::table) fn v4_avx512(self, addresses: &[u32], out: &mut [NextHop]) {
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
            self.descend(entries, rests, out);
        }
        for (&address, out) in addresses.iter().zip(out).skip(count * SIDE_BY_SIDE) {
            *out = self.search(address);
        }
    }

    /// The steps, three at most, while lanes lead to nodes; writes the next hops.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vpopcntdq,avx2,popcnt,bmi1,bmi2")]
    fn descend(
        self,
        mut entries: [__m512i; GROUPS],
        mut rests: [__m512i; GROUPS],
        out: &mut [NextHop; SIDE_BY_SIDE],
    ) {
        let largest_leaf = _mm512_set1_epi64(i64::from(INDEX_MASK));
        let (zero, one, two, sixty_three) = (
            _mm512_setzero_si512(),
            _mm512_set1_epi64(1),
            _mm512_set1_epi64(2),
            _mm512_set1_epi64(63),
        );
        let mut active = [0 as __mmask8; GROUPS];
        for _ in 0..3 {
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
                    _mm512_add_epi64(_mm512_srli_epi64::<V4_KIND_SHIFT>(entries[group]), two);
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
                    _mm512_add_epi64(_mm512_srli_epi64::<V4_KIND_SHIFT>(entries[group]), two);
                let element =
                    _mm512_srlv_epi64(words[group], _mm512_and_si512(bits[group], sixty_three));
                let width = _mm512_sllv_epi64(one, log2_bits);
                let mask = _mm512_sub_epi64(_mm512_sllv_epi64(one, width), one);
                let element = _mm512_and_si512(element, mask);
                entries[group] = _mm512_mask_blend_epi64(active[group], entries[group], element);
                rests[group] = _mm512_slli_epi64::<6>(rests[group]);
            }
        }
        for (group, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            // SAFETY: `out` has 8 elements of 2 bytes.
            unsafe {
                _mm_storeu_si128(
                    out.as_mut_ptr().cast(),
                    _mm512_cvtepi64_epi16(entries[group]),
                );
            }
        }
    }
}
