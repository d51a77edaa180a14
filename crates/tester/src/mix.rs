//! Mixes of frame sizes.

/// The simple Internet mix: seven frames of 64 bytes, four of 570, one of 1518, spread so that
/// equal sizes do not come in a row longer than need be. Mean: 353.8 bytes.
pub const IMIX: [u16; 12] = [64, 570, 64, 64, 570, 64, 1518, 64, 570, 64, 64, 570];

/// The mix with sizes that a family can carry: what is too small becomes the family's minimum.
pub fn imix(family: crate::sizes::Family) -> Vec<u32> {
    IMIX.iter()
        .map(|&size| u32::from(size.max(family.minimum())))
        .collect()
}

#[cfg(test)]
#[path = "../tests/unit/mix.rs"]
mod tests;
