//! The plain loops that workloads and aggressors are made of. Each touches one thing and nothing
//! else.

use std::hint::black_box;

/// Bytes in a cache line on the machines that Linux calls x86-64 and most others.
pub const LINE: usize = 64;

/// A buffer whose pages are all there and nobody else's: every page was written once.
pub fn buffer(bytes: usize) -> Vec<u64> {
    let mut words = vec![0_u64; bytes / 8];
    for (index, word) in words.iter_mut().enumerate().step_by(512) {
        *word = index as u64 | 1;
    }
    words
}

/// Reads every word once, in order, and returns their sum.
pub fn read(words: &[u64]) -> u64 {
    words.iter().fold(0, |sum, &word| sum.wrapping_add(word))
}

/// Writes every word once, in order: the C library's `memset` of the article, in a form the
/// compiler keeps.
pub fn fill(words: &mut [u64], value: u64) {
    words.fill(black_box(value));
    black_box(words);
}

/// Writes one word of every cache line, in an order that prefetching does not guess: each line is
/// read and changed.
pub fn thrash(words: &mut [u64], steps: usize, place: &mut usize) {
    let lines = words.len() / (LINE / 8);
    for _ in 0..steps {
        // A stride of 5/8 of the buffer made odd visits every line of a power-of-two count and most
        // of any other.
        *place = (*place + ((lines * 5 / 8) | 1)) % lines;
        let word = &mut words[*place * (LINE / 8)];
        *word = word.wrapping_add(1);
    }
}

/// Arithmetic in registers only: nothing shared but the clock. Returns a value that depends on
/// every step.
pub fn spin(steps: u64, seed: u64) -> u64 {
    let mut value = seed | 1;
    for _ in 0..steps {
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
    }
    black_box(value)
}
