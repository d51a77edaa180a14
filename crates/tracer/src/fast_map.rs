//! A hash map for thread numbers and addresses: they are spread already, so one multiplication is
//! hash enough.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map keyed by small integers.
pub type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<Multiply>>;

/// Fibonacci hashing, the high half folded onto the low one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Multiply(u64);

impl Hasher for Multiply {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            let word = u64::from_le_bytes(word);
            self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(GOLDEN);
        }
    }
}
