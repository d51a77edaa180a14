//! The search for a key of RC5-32/12 (R. Rivest, "The RC5 Encryption Algorithm", 1994): arithmetic
//! in registers and a table of 104 bytes, so that nothing but the clock is shared between the
//! cores.

use std::hint::black_box;

use super::{Body, Kind, Loop, Workload, gain};
use crate::result::ScaleResult;

/// The workload.
pub const WORKLOAD: Workload = Workload {
    name: "keysearch",
    sentence: "Tries keys of RC5-32/12 with 9 bytes, as distributed searches did, from the \
               first-level cache alone.",
    then: "nearly the same rate under one-processor and two-processor kernels, and it runs on as \
           many processors as there are",
    kind: Kind::Loop(Loop {
        unit: "keys",
        variants: |_| vec![("72-bit keys".to_owned(), 9)],
        start,
        threads: false,
        now,
    }),
};

const ROUNDS: usize = 12;
const TABLE: usize = 2 * (ROUNDS + 1);
/// The binary expansions of e and of the golden ratio, made odd.
const P: u32 = 0xB7E1_5163;
const Q: u32 = 0x9E37_79B9;
/// Longest key here: 16 bytes, four words.
const KEY_WORDS: usize = 4;

/// The expanded key of RC5-32/12 with a key of 1 to 16 bytes.
#[expect(clippy::many_single_char_names, reason = "the names of the paper")]
pub fn expand(key: &[u8]) -> [u32; TABLE] {
    let words = key.len().div_ceil(4).clamp(1, KEY_WORDS);
    let mut l = [0_u32; KEY_WORDS];
    for (index, &byte) in key.iter().enumerate().take(4 * KEY_WORDS) {
        l[index / 4] |= u32::from(byte) << (8 * (index % 4));
    }
    let mut s = [0_u32; TABLE];
    let mut value = P;
    for word in &mut s {
        *word = value;
        value = value.wrapping_add(Q);
    }
    let (mut a, mut b, mut i, mut j) = (0_u32, 0_u32, 0, 0);
    for _ in 0..3 * TABLE {
        s[i] = s[i].wrapping_add(a).wrapping_add(b).rotate_left(3);
        a = s[i];
        let sum = a.wrapping_add(b);
        l[j] = l[j].wrapping_add(sum).rotate_left(sum);
        b = l[j];
        i = (i + 1) % TABLE;
        j = (j + 1) % words;
    }
    s
}

/// Encrypts a block of two words.
pub fn encrypt(table: &[u32; TABLE], block: [u32; 2]) -> [u32; 2] {
    let mut a = block[0].wrapping_add(table[0]);
    let mut b = block[1].wrapping_add(table[1]);
    for round in 1..=ROUNDS {
        a = (a ^ b).rotate_left(b).wrapping_add(table[2 * round]);
        b = (b ^ a).rotate_left(a).wrapping_add(table[2 * round + 1]);
    }
    [a, b]
}

/// Tries `count` keys from `first` on (its lowest eight bytes count up) and returns the one that
/// turns `plain` into `cipher`.
pub fn search(first: &[u8], count: u64, plain: [u32; 2], cipher: [u32; 2]) -> Option<Vec<u8>> {
    let mut key = first.to_vec();
    for _ in 0..count {
        if encrypt(&expand(&key), plain) == cipher {
            return Some(key);
        }
        for byte in &mut key {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                break;
            }
        }
    }
    None
}

fn start(key_bytes: usize) -> Body {
    const KEYS: u64 = 20_000;
    let (plain, cipher) = ([1, 2], [3, 4]);
    let mut key = vec![0_u8; key_bytes];
    Box::new(move || {
        // No key is expected to be found; if one is, it is a key.
        black_box(search(black_box(&key), KEYS, plain, cipher));
        key[3] = key[3].wrapping_add(1);
        KEYS as f64
    })
}

fn now(results: &[(String, ScaleResult)]) -> String {
    results.first().map_or_else(String::new, |(_, result)| {
        let one = result.points.first().map_or(0.0, |p| p.rate);
        format!(
            "one core tries {:.2} million keys a second, {}",
            one / 1e6,
            gain(result)
        )
    })
}

#[cfg(test)]
#[path = "../../tests/unit/workloads_keysearch.rs"]
mod tests;
