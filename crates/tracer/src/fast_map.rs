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
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u16(&mut self, value: u16) {
        self.write_u64(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(GOLDEN);
    }
}
