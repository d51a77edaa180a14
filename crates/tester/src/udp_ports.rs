//! Pseudorandom UDP ports, another pair for every frame (RFC 4814 §4.5): what spreads its work by a
//! hash of the flow, cards over queues and routers over paths, shows all of it.

use std::ops::RangeInclusive;

use figures::Random;

/// Source ports: all but the well-known ones.
pub const SOURCES: RangeInclusive<u16> = 1024..=65_535;
/// Destination ports: the well-known and the registered ones.
pub const DESTINATIONS: RangeInclusive<u16> = 1..=49_151;

/// Source and destination port of frame `sequence` of `stream`: the same for the same seed.
#[inline]
pub fn of(seed: u64, stream: u8, sequence: u32) -> (u16, u16) {
    let place = u64::from(stream) << 32 | u64::from(sequence);
    let bits = Random::new(seed ^ place).next_u64();
    (
        within(&SOURCES, bits as u32),
        within(&DESTINATIONS, (bits >> 32) as u32),
    )
}

/// A port of the range, of equal chance but for 2^-16 of it.
fn within(range: &RangeInclusive<u16>, bits: u32) -> u16 {
    let count = u64::from(range.end() - range.start()) + 1;
    range.start() + ((u64::from(bits) * count) >> 32) as u16
}

#[cfg(test)]
#[path = "../tests/unit/udp_ports.rs"]
mod tests;
