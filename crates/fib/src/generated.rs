//! A table of the Internet's size and shape, made from a seed: for machines where no recorded table
//! is at hand.
//!
//! The counts by prefix length are those of a recorded table (901,899 IPv4 and 160,147 IPv6
//! prefixes). So is, roughly, how they lie: half of the prefixes continue where the one before them
//! ended, as blocks cut up by one network do; others lie inside a shorter prefix; the rest stand
//! alone.

use std::collections::HashSet;

use figures::Random;

use crate::address::Address;
use crate::next_hop::NextHop;
use crate::prefix::Prefix;
use crate::prefix_file::Prefixes;

/// Prefixes by length: (length, how many).
const V4_LENGTHS: [(u8, u32); 25] = [
    (8, 16),
    (9, 13),
    (10, 38),
    (11, 103),
    (12, 299),
    (13, 581),
    (14, 1203),
    (15, 2100),
    (16, 13490),
    (17, 8235),
    (18, 13798),
    (19, 24870),
    (20, 42611),
    (21, 50750),
    (22, 108_623),
    (23, 96510),
    (24, 537_698),
    (25, 20),
    (26, 3),
    (27, 11),
    (28, 18),
    (29, 17),
    (30, 3),
    (31, 3),
    (32, 886),
];

/// The same for IPv6.
const V6_LENGTHS: [(u8, u32); 46] = [
    (16, 1),
    (19, 1),
    (20, 16),
    (21, 3),
    (22, 7),
    (23, 8),
    (24, 30),
    (25, 8),
    (26, 15),
    (27, 20),
    (28, 193),
    (29, 4371),
    (30, 650),
    (31, 284),
    (32, 22548),
    (33, 2926),
    (34, 2603),
    (35, 1043),
    (36, 5996),
    (37, 880),
    (38, 1617),
    (39, 1377),
    (40, 13418),
    (41, 903),
    (42, 2301),
    (43, 1001),
    (44, 14365),
    (45, 1553),
    (46, 3039),
    (47, 3153),
    (48, 75488),
    (49, 11),
    (50, 3),
    (52, 1),
    (55, 1),
    (56, 24),
    (58, 20),
    (60, 2),
    (64, 184),
    (112, 2),
    (122, 1),
    (124, 4),
    (125, 9),
    (126, 19),
    (127, 42),
    (128, 6),
];

/// The whole table: 901,899 IPv4 and 160,147 IPv6 prefixes, sorted, no two the same.
pub fn internet(seed: u64) -> Prefixes {
    let mut random = Random::new(seed);
    let v4 = family(&mut random, &V4_LENGTHS, |random| {
        // 1.0.0.0 to 223.255.255.255, without 10/8 and 127/8.
        loop {
            let address = random.next_u64() as u32;
            if !matches!(address >> 24, 0 | 10 | 127 | 224..) {
                return address;
            }
        }
    });
    // 2000::/3, where global unicast is given out (RFC 4291 section 2.4), in some five thousand
    // blocks.
    let blocks: Vec<u128> = (0..5000)
        .map(|_| (1 << 125) | (random.next_u128() >> 3))
        .collect();
    let v6 = family(&mut random, &V6_LENGTHS, |random| {
        let block = blocks[random.below(blocks.len())];
        let inside = random.next_u128() >> 24;
        (block & !(u128::MAX >> 24)) | inside
    });
    Prefixes { v4, v6 }
}

fn family<A: Address>(
    random: &mut Random,
    lengths: &[(u8, u32)],
    mut anywhere: impl FnMut(&mut Random) -> A,
) -> Vec<Prefix<A>> {
    let mut all: Vec<Prefix<A>> = Vec::new();
    let mut taken: HashSet<Prefix<A>> = HashSet::new();
    for &(length, count) in lengths {
        let shorter = all.len();
        let mut last = None;
        let mut made = 0;
        while made < count {
            let address = match (random.below(16), last) {
                (0..=10, Some(last)) => following(last),
                (0..=13, _) if shorter > 0 => inside(all[random.below(shorter)], random),
                _ => anywhere(random),
            };
            let prefix = Prefix::containing(address, length);
            last = Some(prefix);
            if taken.insert(prefix) {
                all.push(prefix);
                made += 1;
            } else {
                last = None;
            }
        }
    }
    all.sort_unstable();
    all
}

/// The first address after a prefix; the very first address after the last.
fn following<A: Address>(prefix: Prefix<A>) -> A {
    A::from_left_aligned(
        prefix
            .last()
            .left_aligned()
            .wrapping_add(1 << (128 - u32::from(A::BITS))),
    )
}

fn inside<A: Address>(prefix: Prefix<A>, random: &mut Random) -> A {
    let offset = random.next_u128() & !crate::address::mask(prefix.length());
    A::from_left_aligned(prefix.address().left_aligned() | offset)
}

/// A next hop from 1 to `of` for each of `count` routes.
pub fn next_hops(seed: u64, count: usize, of: u16) -> Vec<NextHop> {
    let mut random = Random::new(seed);
    (0..count)
        .map(|_| NextHop(1 + random.below(usize::from(of)) as u16))
        .collect()
}

/// `count` addresses, each in a random one of the prefixes: destinations that hit the table.
pub fn addresses_hitting<A: Address>(seed: u64, prefixes: &[Prefix<A>], count: usize) -> Vec<A> {
    let mut random = Random::new(seed);
    if prefixes.is_empty() {
        return Vec::new();
    }
    (0..count)
        .map(|_| inside(prefixes[random.below(prefixes.len())], &mut random))
        .collect()
}

/// `count` addresses, evenly random.
pub fn addresses_anywhere<A: Address>(seed: u64, count: usize) -> Vec<A> {
    let mut random = Random::new(seed);
    (0..count)
        .map(|_| A::from_left_aligned(random.next_u128()))
        .collect()
}
