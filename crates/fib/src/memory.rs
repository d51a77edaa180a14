//! Bytes, array by array.

use std::fmt;

/// One array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayMemory {
    /// What is in it.
    pub name: &'static str,
    /// Bytes in use, free blocks between used ones included.
    pub used: usize,
    /// Bytes mapped. Memory of this process beyond `used` has no pages behind it until it is
    /// touched.
    pub reserved: usize,
}

/// The memory of a table, array by array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryReport {
    /// The arrays.
    pub arrays: Vec<ArrayMemory>,
}

impl MemoryReport {
    /// Adds an array.
    pub fn add(&mut self, name: &'static str, used: usize, reserved: usize) {
        self.arrays.push(ArrayMemory {
            name,
            used,
            reserved,
        });
    }

    /// Adds all arrays of another report.
    pub fn extend(&mut self, other: Self) {
        self.arrays.extend(other.arrays);
    }

    /// Bytes in use in all arrays.
    pub fn used(&self) -> usize {
        self.arrays.iter().map(|array| array.used).sum()
    }

    /// Bytes mapped for all arrays.
    pub fn reserved(&self) -> usize {
        self.arrays.iter().map(|array| array.reserved).sum()
    }
}

impl fmt::Display for MemoryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for array in &self.arrays {
            writeln!(
                f,
                "{:24} {:>12} bytes used of {:>12}",
                array.name, array.used, array.reserved
            )?;
        }
        write!(
            f,
            "{:24} {:>12} bytes used of {:>12}",
            "together",
            self.used(),
            self.reserved()
        )
    }
}
