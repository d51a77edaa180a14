//! IPv6: an entry is the vector and the index at once, so a step is one gather. Elements of 16 bits
//! are leaves, hence the last step of a lane: all lanes take it together at the end.

use core::arch::x86_64::{
    __m512i, __mmask8, _mm_storeu_si128, _mm512_add_epi64, _mm512_and_si512,
    _mm512_cmpeq_epi64_mask, _mm512_cmplt_epi64_mask, _mm512_cvtepi64_epi16,
    _mm512_i64gather_epi64, _mm512_loadu_si512, _mm512_mask_blend_epi64,
    _mm512_mask_i64gather_epi64, _mm512_mask_slli_epi64, _mm512_mask_srlv_epi64,
    _mm512_permutex2var_epi64, _mm512_popcnt_epi64, _mm512_set1_epi64, _mm512_setr_epi64,
    _mm512_setzero_si512, _mm512_slli_epi64, _mm512_sllv_epi64, _mm512_srli_epi64,
    _mm512_sub_epi64, _mm512_test_epi64_mask,
};

use super::LANES;
use crate::layout::{INDEX_MASK, V6_INDEX_SHIFT, V6_NARROW, V6_ROOT_OTHERS, V6_STRIDE};
use crate::next_hop::NextHop;
use crate::table::search::Arrays;

/// Registers that take each step together. Here more is better: a step needs few others.
const MANY: usize = 8;

/// The same for what is left of a burst.
const FEW: usize = 4;

/// Steps to elements of 64 bits; with the last one they use 45 bits of an address, so that the
/// first 64 bits do for all lanes from bit 18.
const STEPS: u32 = 8;

/// Index in the root of what is outside `2000::/3`; the indices below are all of 15 bits.
const OTHERS: i64 = V6_ROOT_OTHERS.cast_signed() as i64;

impl Arrays<'_, u128> {
    /// IPv6 addresses, as many as the shorter slice has.
    #[target_feature(enable = "avx512f,avx512vpopcntdq,avx2,popcnt,bmi1,bmi2")]
    pub(in crate::table) fn v6_avx512(self, addresses: &[u128], out: &mut [NextHop]) {
        let count = addresses.len().min(out.len());
        let (addresses, out) = (&addresses[..count], &mut out[..count]);
        let (groups, single) = addresses.as_chunks::<LANES>();
        let (out_groups, out_single) = out.as_chunks_mut::<LANES>();
        let (many, groups) = groups.as_chunks::<MANY>();
        let (out_many, out_groups) = out_groups.as_chunks_mut::<MANY>();
        for (block, out) in many.iter().zip(out_many) {
            self.v6_block(block, out);
        }
        let (few, groups) = groups.as_chunks::<FEW>();
        let (out_few, out_groups) = out_groups.as_chunks_mut::<FEW>();
        for (block, out) in few.iter().zip(out_few) {
            self.v6_block(block, out);
        }
        let single = groups.as_flattened().iter().chain(single);
        let out_single = out_groups.as_flattened_mut().iter_mut().chain(out_single);
        for (&address, out) in single.zip(out_single) {
            *out = self.search(address);
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vpopcntdq,avx2,popcnt,bmi1,bmi2")]
    fn v6_block<const GROUPS: usize>(
        self,
        block: &[[u128; LANES]; GROUPS],
        out: &mut [[NextHop; LANES]; GROUPS],
    ) {
        let zero = _mm512_setzero_si512();
        let nodes = self.nodes().cast();
        let mut entries = [zero; GROUPS];
        let mut rests = entries;
        for (group, addresses) in block.iter().enumerate() {
            let (index, rest) = first_step(addresses);
            // SAFETY: the indices are those of `Family::root_index`.
            entries[group] = unsafe { _mm512_i64gather_epi64::<8>(index, self.root().cast()) };
            rests[group] = rest;
        }
        let mut wide = [0 as __mmask8; GROUPS];
        for _ in 0..STEPS {
            let mut any = 0;
            for group in 0..GROUPS {
                // The upper bit is the sign.
                wide[group] = _mm512_cmplt_epi64_mask(entries[group], zero);
                any |= wide[group];
            }
            if any == 0 {
                break;
            }
            for group in 0..GROUPS {
                let (entry, rest, wide) = (entries[group], rests[group], wide[group]);
                let at = _mm512_add_epi64(first_word(entry), run(entry, rest));
                // SAFETY: lanes in `wide` lead to nodes within the array, and the number of vector
                // bits bounds the element.
                entries[group] =
                    unsafe { _mm512_mask_i64gather_epi64::<8>(entry, wide, at, nodes) };
                rests[group] = _mm512_mask_slli_epi64::<V6_STRIDE>(rest, wide, rest);
            }
        }
        let mut unfinished = 0_u64;
        for group in 0..GROUPS {
            let (entry, rest) = (entries[group], rests[group]);
            let narrow = _mm512_test_epi64_mask(entry, _mm512_set1_epi64(V6_NARROW.cast_signed()));
            let run = run(entry, rest);
            let at = _mm512_add_epi64(first_word(entry), _mm512_srli_epi64::<2>(run));
            // SAFETY: as above, with four elements in a word.
            let word = unsafe { _mm512_mask_i64gather_epi64::<8>(entry, narrow, at, nodes) };
            let bit = _mm512_slli_epi64::<4>(_mm512_and_si512(run, _mm512_set1_epi64(3)));
            let leaf = _mm512_mask_srlv_epi64(word, narrow, word, bit);
            // SAFETY: `out` has 8 elements of 2 bytes in each group.
            unsafe {
                _mm_storeu_si128(out[group].as_mut_ptr().cast(), _mm512_cvtepi64_epi16(leaf));
            }
            unfinished |= u64::from(_mm512_cmplt_epi64_mask(entry, zero)) << (group * LANES);
        }
        // Routes longer than /63: one address at a time.
        while unfinished != 0 {
            let lane = unfinished.trailing_zeros() as usize;
            out[lane / LANES][lane % LANES] = self.search(block[lane / LANES][lane % LANES]);
            unfinished &= unfinished - 1;
        }
    }
}

/// Indices in the root, and the bits of the addresses after those that the root consumes.
#[inline]
#[target_feature(enable = "avx512f")]
fn first_step(addresses: &[u128; LANES]) -> (__m512i, __m512i) {
    // SAFETY: the array has 8 elements of 16 bytes: two registers.
    let (low, high) = unsafe {
        (
            _mm512_loadu_si512(addresses.as_ptr().cast()),
            _mm512_loadu_si512(addresses[LANES / 2..].as_ptr().cast()),
        )
    };
    let upper = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    let left = _mm512_permutex2var_epi64(low, upper, high);
    let global = _mm512_cmpeq_epi64_mask(_mm512_srli_epi64::<61>(left), _mm512_set1_epi64(1));
    let others = _mm512_set1_epi64(OTHERS);
    let inside = _mm512_and_si512(_mm512_srli_epi64::<46>(left), _mm512_set1_epi64(OTHERS - 1));
    let outside = _mm512_add_epi64(_mm512_srli_epi64::<58>(left), others);
    let index = _mm512_mask_blend_epi64(global, outside, inside);
    let start = _mm512_mask_blend_epi64(global, _mm512_set1_epi64(6), _mm512_set1_epi64(18));
    (index, _mm512_sllv_epi64(left, start))
}

/// The number of the element: vector bits up to the slot that the upper bits of `rest` name.
#[inline]
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn run(entry: __m512i, rest: __m512i) -> __m512i {
    let slot = _mm512_srli_epi64::<{ 64 - V6_STRIDE }>(rest);
    let shift = _mm512_sub_epi64(_mm512_set1_epi64(63), slot);
    // Slots are below 32, so that nothing of the entry's upper half is left.
    _mm512_popcnt_epi64(_mm512_sllv_epi64(entry, shift))
}

/// Where the elements begin.
#[inline]
#[target_feature(enable = "avx512f")]
fn first_word(entry: __m512i) -> __m512i {
    let index = _mm512_srli_epi64::<V6_INDEX_SHIFT>(entry);
    _mm512_and_si512(index, _mm512_set1_epi64(i64::from(INDEX_MASK)))
}
