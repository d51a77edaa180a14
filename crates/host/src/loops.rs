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

/// Reads one word of every cache line of the first power of two of them, each address known only
/// when the word before has come, in an order that prefetching does not guess. `place` is a line.
pub fn chase(words: &[u64], steps: usize, place: &mut usize) {
    let Some(power) = (words.len() / (LINE / 8)).checked_ilog2() else {
        return;
    };
    // A full period, as Hull and Dobell have it (1962): the factor is 1 modulo 4, the addend odd.
    let mask = (1 << power) - 1;
    let mut line = *place & mask;
    for _ in 0..steps {
        let word = words[line * (LINE / 8)] as usize;
        // The word decides nothing, but the processor has to wait for it.
        let waited = black_box(word) & !word;
        line = (line.wrapping_mul(0x5851_f42d).wrapping_add(0x14_057b) ^ waited) & mask;
    }
    *place = line;
}

/// Arithmetic on eight chains at once: as much as the core's units take, where two threads of one
/// core would be in each other's way.
pub fn spin_wide(steps: u64) -> u64 {
    let mut values: [u64; 8] = black_box([1, 2, 3, 4, 5, 6, 7, 8]);
    for _ in 0..steps {
        for value in &mut values {
            *value ^= *value << 13;
            *value ^= *value >> 7;
            *value ^= *value << 17;
        }
    }
    values.iter().fold(0, |all, value| all ^ value)
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
