use proptest::prelude::*;

use figures::Random;

use super::*;
use crate::golden::GoldenTable;

/// A small table, so that blocks are reused soon.
fn table<A: Family>(words: usize) -> Table<A> {
    Table::in_storage(vec![
        TableStorage::in_memory(Capacity { node_words: words }).unwrap(),
    ])
}

/// Addresses at and around both ends of a prefix.
fn interesting<A: Family>(prefix: Prefix<A>) -> [A; 4] {
    let one = 1_u128 << (128 - u32::from(A::BITS));
    let (first, last) = (
        prefix.address().left_aligned(),
        prefix.last().left_aligned(),
    );
    [first, last, first.wrapping_sub(one), last.wrapping_add(one)].map(A::from_left_aligned)
}

/// Makes the changes one at a time (`batch` 1) or in batches; compares every address of interest
/// with the golden table.
fn agrees<A: Family>(changes: &[(Prefix<A>, NextHop)], batch: usize) {
    let mut fast = table::<A>(1 << 18);
    let mut golden = GoldenTable::new();
    for (epoch, batch) in changes.chunks(batch).enumerate() {
        if let [(prefix, next_hop)] = *batch {
            let before = golden.get(prefix);
            assert_eq!(fast.insert(prefix, next_hop).unwrap(), before);
        } else {
            fast.insert_all(batch).unwrap();
        }
        for &(prefix, next_hop) in batch {
            golden.insert(prefix, next_hop);
        }
        for &(prefix, _) in batch {
            for address in interesting(prefix) {
                assert_eq!(
                    fast.lookup(address),
                    golden.lookup(address),
                    "{prefix} {}",
                    address.to_ip()
                );
            }
        }
        fast.seal(epoch as u64);
        // SAFETY: nobody looks up at the same time.
        unsafe { fast.reclaim(epoch as u64) };
    }
    let addresses: Vec<A> = changes
        .iter()
        .flat_map(|&(prefix, _)| interesting(prefix))
        .collect();
    let mut out = vec![NextHop(u16::MAX); addresses.len()];
    fast.lookup_burst(&addresses, &mut out);
    for (&address, &next_hop) in addresses.iter().zip(&out) {
        assert_eq!(next_hop, golden.lookup(address), "{}", address.to_ip());
    }
    let mut scalar = vec![NextHop(u16::MAX); addresses.len()];
    search::Arrays::of(&fast.arrays.copies[0]).search_burst(&addresses, &mut scalar);
    assert_eq!(out, scalar, "the forms for different processors differ");
    assert_eq!(fast.len(), golden.len());
    let mut routes = 0;
    fast.for_each(|prefix, next_hop| {
        routes += 1;
        assert_eq!(golden.get(prefix), Some(next_hop), "{prefix}");
        assert_eq!(fast.get(prefix), Some(next_hop), "{prefix}");
    });
    assert_eq!(routes, golden.len());

    // Take everything out again: the arrays must be as empty as at first.
    let rest: Vec<_> = golden.routes().map(|(prefix, _)| prefix).collect();
    for prefix in rest {
        fast.remove(prefix).unwrap();
    }
    fast.seal(u64::MAX - 1);
    // SAFETY: nobody looks up at the same time.
    unsafe { fast.reclaim(u64::MAX - 1) };
    assert!(fast.is_empty());
    assert!(
        fast.arrays.copies[0]
            .root
            .elements()
            .iter()
            .all(|entry| A::Entry::load(entry) == A::Entry::default())
    );
    assert_eq!(fast.arrays.blocks.in_use(), 0, "blocks are lost");
    assert_eq!(fast.routes.nodes_in_use(), 0, "nodes are lost");
}

/// A prefix near one of few anchors, so that they nest and collide; lengths cluster at the ends of
/// levels.
fn prefix<A: Family>() -> impl Strategy<Value = Prefix<A>> {
    let boundary = prop::sample::select(vec![
        0_u8, 1, 3, 4, 6, 7, 11, 12, 17, 18, 19, 23, 24, 25, 28, 30, 31, 32, 33, 48, 49, 58, 59,
        61, 63, 64, 68, 69, 123, 124, 126, 127, 128,
    ]);
    let length = prop_oneof![boundary, 0..=128_u8].prop_map(|length| length.min(A::BITS));
    let anchor = prop::sample::select(vec![
        0_u128,
        u128::MAX,
        0x2001_0db8 << 96,
        0x0a00 << 112,
        0x3fff << 112,
    ]);
    let noise = prop_oneof![
        Just(0_u128),
        any::<u128>().prop_map(|bits| bits >> 40),
        any::<u128>(),
        any::<u8>().prop_map(|bits| u128::from(bits) << 100)
    ];
    (anchor, noise, length).prop_map(|(anchor, noise, length)| {
        Prefix::containing(A::from_left_aligned(anchor ^ noise), length)
    })
}

/// A next hop of each width, or a withdrawal.
fn next_hop() -> impl Strategy<Value = NextHop> {
    prop_oneof![Just(0_u16), 1..=3_u16, 250..=260_u16, any::<u16>()].prop_map(NextHop)
}

fn changes<A: Family>() -> impl Strategy<Value = Vec<(Prefix<A>, NextHop)>> {
    prop::collection::vec((prefix::<A>(), next_hop()), 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 250 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn v4_agrees_with_the_golden_table(
        changes in changes::<u32>(),
        batch in prop::sample::select(vec![1_usize, 7, 200]),
    ) {
        agrees(&changes, batch);
    }

    #[test]
    fn v6_agrees_with_the_golden_table(
        changes in changes::<u128>(),
        batch in prop::sample::select(vec![1_usize, 7, 200]),
    ) {
        agrees(&changes, batch);
    }
}

/// The same prefixes come and go many times: in-place changes, slack, reuse.
fn churns<A: Family>(seed: u64) {
    let mut random = Random::new(seed);
    let anchor = A::from_left_aligned(0x2001_0db8 << 96);
    let prefixes: Vec<Prefix<A>> = (0..400)
        .map(|_| {
            let bits = anchor.left_aligned() ^ (random.next_u128() >> (8 + random.below(40)));
            let mut length = || random.below(usize::from(A::BITS) + 1) as u8;
            // Short ones are rarer: they have most of the root's 2^18 entries written.
            let length = Some(length()).filter(|&it| it > 8).unwrap_or_else(length);
            Prefix::containing(A::from_left_aligned(bits), length)
        })
        .collect();
    let steps = if cfg!(miri) { 300 } else { 20_000 };
    let changes: Vec<_> = (0..steps)
        .map(|_| {
            (
                prefixes[random.below(prefixes.len())],
                NextHop(random.below(6) as u16 * 100),
            )
        })
        .collect();
    agrees(&changes, 1);
    agrees(&changes, 50);
}

#[test]
fn v4_survives_churn() {
    churns::<u32>(1);
}

#[test]
fn v6_survives_churn() {
    churns::<u128>(2);
}

#[test]
fn the_default_route_covers_everything_and_nothing_more_specific() {
    let mut table = table::<u32>(1 << 12);
    let host = Prefix::new(u32::MAX, 32).unwrap();
    table.insert(Prefix::everything(), NextHop(65_535)).unwrap();
    table.insert(host, NextHop(65_534)).unwrap();
    assert_eq!(table.lookup(0), NextHop(65_535));
    assert_eq!(table.lookup(u32::MAX - 1), NextHop(65_535));
    assert_eq!(table.lookup(u32::MAX), NextHop(65_534));
    table.remove(Prefix::everything()).unwrap();
    assert_eq!(
        (table.lookup(0), table.lookup(u32::MAX)),
        (NextHop::NONE, NextHop(65_534))
    );
}

/// Fills a small table until it is full, then checks that the failing change has changed nothing,
/// however often tried.
fn exhausts<A: Family>(seed: u64) {
    let mut random = Random::new(seed);
    let mut fast = table::<A>(300);
    let mut golden = GoldenTable::new();
    let mut failures = 0;
    for step in 0..2000_u64 {
        let bits = (0x2001_0db8 << 96) ^ (random.next_u128() >> (10 + random.below(20)));
        let length = [0, 8, 16, 20, 24, 28, 32, 48][random.below(8)].min(A::BITS);
        let change = (
            Prefix::containing(A::from_left_aligned(bits), length),
            NextHop(random.below(1000) as u16),
        );
        let result = if step % 2 == 0 {
            fast.insert(change.0, change.1).map(drop)
        } else {
            fast.insert_all(&[change])
        };
        match result {
            Ok(()) => drop(golden.insert(change.0, change.1)),
            Err(TableError::Full { capacity }) => {
                failures += 1;
                assert_eq!(capacity, 300);
            }
        }
        for address in interesting(change.0) {
            assert_eq!(fast.lookup(address), golden.lookup(address));
        }
        assert_eq!(
            (fast.len(), fast.get(change.0)),
            (golden.len(), golden.get(change.0))
        );
        if step % 5 == 0 {
            fast.seal(step);
            // SAFETY: nobody looks up at the same time.
            unsafe { fast.reclaim(step) };
            for (prefix, _) in golden.routes() {
                for address in interesting(prefix) {
                    assert_eq!(fast.lookup(address), golden.lookup(address));
                }
            }
        }
    }
    assert!(failures > 10, "the table was never full");
}

#[test]
fn a_full_table_says_so_and_loses_nothing() {
    exhausts::<u32>(3);
    exhausts::<u128>(4);
}

#[test]
fn all_copies_hold_the_same() {
    let storage = || {
        TableStorage::<u32>::in_memory(Capacity {
            node_words: 1 << 12,
        })
        .unwrap()
    };
    let mut table = Table::in_storage(vec![storage(), storage()]);
    let mut random = Random::new(8);
    let mut addresses = Vec::new();
    for _ in 0..200 {
        let prefix = Prefix::containing(random.next_u64() as u32, 10 + random.below(23) as u8);
        table
            .insert(prefix, NextHop(random.below(500) as u16))
            .unwrap();
        addresses.push(prefix.address());
    }
    let views = [table.view(0), table.view(1)];
    for address in addresses {
        assert_eq!(views[0].lookup(address), views[1].lookup(address));
        assert_eq!(views[0].lookup(address), table.lookup(address));
    }
}

/// Burst lengths around those that the vector forms take at once, with slices of unequal length.
#[test]
fn bursts_of_any_length_agree_with_single_look_ups() {
    let mut random = Random::new(11);
    let (mut v4, mut v6) = (table::<u32>(1 << 14), table::<u128>(1 << 14));
    for _ in 0..500 {
        let next_hop = NextHop(random.next_u64() as u16);
        v4.insert(
            Prefix::containing(random.next_u64() as u32, random.below(33) as u8),
            next_hop,
        )
        .unwrap();
        let bits = (1 << 125) | (random.next_u128() >> 3);
        v6.insert(
            Prefix::containing(bits, 3 + random.below(126) as u8),
            next_hop,
        )
        .unwrap();
    }
    let mut routes = Vec::new();
    v6.for_each(|prefix, _| routes.push(prefix));
    for length in 0..140_usize {
        let addresses4: Vec<u32> = (0..length).map(|_| random.next_u64() as u32).collect();
        // A third of the bursts stays within 2000::/3, and some addresses hit routes beyond /64.
        let addresses6: Vec<u128> = (0..length)
            .map(|_| match random.below(40) {
                0 if length % 3 != 0 => random.next_u128(),
                1 if length % 3 == 1 => routes[random.below(routes.len())].address(),
                _ => (1 << 125) | (random.next_u128() >> 3),
            })
            .collect();
        for room in [length, length.saturating_sub(1), length + 3] {
            let (mut out4, mut out6) = (vec![NextHop(7); room], vec![NextHop(7); room]);
            v4.lookup_burst(&addresses4, &mut out4);
            v6.lookup_burst(&addresses6, &mut out6);
            for index in 0..room {
                let of = |found: Option<NextHop>| found.unwrap_or(NextHop(7));
                assert_eq!(
                    out4[index],
                    of(addresses4.get(index).map(|&address| v4.lookup(address)))
                );
                assert_eq!(
                    out6[index],
                    of(addresses6.get(index).map(|&address| v6.lookup(address)))
                );
            }
        }
    }
}

#[test]
fn of_changes_to_one_prefix_in_a_row_only_the_last_is_made() {
    let [one, two] = [0x0A00_0000_u32, 0x0A00_0100].map(|first| Prefix::containing(first, 24));
    let changes = [
        (one, NextHop::NONE),
        (one, NextHop(1)),
        (two, NextHop(2)),
        (one, NextHop(3)),
        (two, NextHop(4)),
        (two, NextHop(5)),
        (two, NextHop::NONE),
    ];
    let counts = |at: &usize| ahead::counts(&changes, *at);
    let made: Vec<_> = (0..changes.len())
        .filter(counts)
        .map(|at| changes[at])
        .collect();
    assert_eq!(
        made,
        [
            (one, NextHop(1)),
            (two, NextHop(2)),
            (one, NextHop(3)),
            (two, NextHop::NONE),
        ]
    );
    let mut table = table::<u32>(64);
    table.insert_all(&changes).unwrap();
    assert_eq!(table.get(one), Some(NextHop(3)));
    assert_eq!(table.get(two), None);
}

/// Where a route is kept is found some changes ahead of its move; those between may move it.
#[test]
fn what_was_found_of_a_change_ahead_holds_no_longer_when_its_node_has_changed() {
    let route = |text: &str, next_hop| {
        let crate::IpPrefix::V4(prefix) = text.parse().unwrap() else {
            panic!("{text} is no IPv4 prefix");
        };
        (prefix, NextHop(next_hop))
    };
    let routes = [
        route("10.0.0.0/24", 1),
        route("10.0.2.0/24", 2),
        route("10.0.4.0/23", 3),
        route("10.0.6.0/24", 4),
        // Withdrawn: next hops behind it move up. Announced: they move down.
        route("10.0.0.0/24", 0),
        route("10.0.2.0/24", 5),
        route("10.0.1.0/24", 6),
        route("10.0.6.0/24", 7),
        // A node below inherits what is moved then.
        route("10.0.5.128/25", 8),
        route("10.0.4.0/23", 9),
        route("10.0.2.0/24", 3),
        route("10.0.6.0/24", 2),
        // Wider elements: the node is painted from its next hops.
        route("10.0.8.0/24", 300),
        route("10.0.9.0/24", 301),
        route("10.0.10.0/24", 302),
        route("10.0.11.0/24", 303),
    ];
    agrees(&routes[..8], 4);
    agrees(&[&routes[..8], &routes[12..]].concat(), 4);
    agrees(&routes, 4);
    agrees(&routes[4..], 6);
}
