//! Readers while the table changes: every answer must be one that the address may have at some
//! moment.
//!
//! Small enough for Miri, which looks for data races and uninitialised memory as well (`make
//! miri`). Its aliasing model is off there: it walks an array of 2^18 atomics at each reborrow, and
//! would need hours.

use std::sync::atomic::{AtomicBool, Ordering};

use fib::organisation::{Change, Locked, Options, Organisation, PerCore, Reader, Shared};
use fib::table::Capacity;
use fib::{NextHop, Prefix};
use figures::Random;

/// Next hop of the covering routes.
const COVER: NextHop = NextHop(7);

/// The prefixes that come and go; prefix *i* has next hop 1000 + *i*.
fn prefixes() -> Vec<(Prefix<u32>, Prefix<u128>)> {
    let mut random = Random::new(1);
    let count = if cfg!(miri) { 12 } else { 400 };
    // Lengths on both sides of the ends of levels; each prefix in a /16 (IPv6: /40) of its own or
    // shared with few.
    (0..count)
        .map(|index| {
            let v4 = 0x0A00_0000 | (random.next_u64() as u32 & 0x003F_FFFF);
            let v6 = (0x2001_0db8 << 96) | (random.next_u128() >> 36);
            let (length4, length6) = (
                [17, 18, 19, 24, 25, 32][index % 6],
                [40, 48, 49, 60, 64, 128][index % 6],
            );
            (
                Prefix::containing(v4, length4),
                Prefix::containing(v6, length6),
            )
        })
        .collect()
}

/// Every next hop that an address may have: the cover, or one of a prefix that contains it.
fn may_be<A: fib::Address>(address: A, next_hop: NextHop, prefixes: &[Prefix<A>]) -> bool {
    next_hop == COVER
        || next_hop
            .0
            .checked_sub(1000)
            .is_some_and(|index| prefixes[usize::from(index)].contains(address))
}

fn stress<O: Organisation>(tables: &O) {
    let both = prefixes();
    let v4: Vec<_> = both.iter().map(|both| both.0).collect();
    let v6: Vec<_> = both.iter().map(|both| both.1).collect();
    // Not wider than need be: a default route is 2^18 stores, which take Miri minutes.
    let covers = [
        Change::V4(Prefix::containing(0x0A00_0000, 8), COVER),
        Change::V6(Prefix::containing(0x2001_0db8 << 96, 32), COVER),
    ];
    tables.apply(&covers).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let (v4, v6, stop) = (&v4, &v6, &stop);
            let mut reader = tables.reader(worker).unwrap();
            scope.spawn(move || {
                let addresses4: Vec<u32> = v4.iter().map(Prefix::last).collect();
                let addresses6: Vec<u128> = v6.iter().map(Prefix::address).collect();
                let lengths = vec![60; addresses4.len()];
                let mut out = vec![NextHop::NONE; addresses4.len()];
                while !stop.load(Ordering::Relaxed) {
                    reader.resolve_v4(&addresses4, &lengths, &mut out);
                    for (&address, &next_hop) in addresses4.iter().zip(&out) {
                        assert!(
                            may_be(address, next_hop, v4),
                            "{next_hop:?} for {address:#x}"
                        );
                    }
                    reader.resolve_v6(&addresses6, &lengths, &mut out);
                    for (&address, &next_hop) in addresses6.iter().zip(&out) {
                        assert!(
                            may_be(address, next_hop, v6),
                            "{next_hop:?} for {address:#x}"
                        );
                    }
                    reader.quiesce();
                }
            });
        }
        let mut random = Random::new(2);
        let rounds = if cfg!(miri) { 30 } else { 30_000 };
        for _ in 0..rounds {
            let batch: Vec<Change> = (0..=random.below(4))
                .map(|_| {
                    let index = random.below(v4.len());
                    let next_hop = [NextHop::NONE, NextHop(1000 + index as u16)][random.below(2)];
                    match random.below(2) {
                        0 => Change::V4(v4[index], next_hop),
                        _ => Change::V6(v6[index], next_hop),
                    }
                })
                .collect();
            // A full table is no failure here: readers may be slow to let go of blocks.
            if tables.apply(&batch).is_err() {
                std::thread::yield_now();
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// Routes of many slots, with longer ones inside, move to and fro between two next hops each while
/// readers look: an address has one of the two, never what is beside or inside.
fn move_in_place<O: Organisation>(tables: &O) {
    // A node for each family: IPv4 slots are /24, IPv6 slots /48.
    let v4 = [("10.0.0.0", 20), ("10.0.4.0", 22), ("10.0.5.0", 24)];
    let v6 = [
        ("2001:db8::", 44),
        ("2001:db8:4::", 46),
        ("2001:db8:5::", 48),
    ];
    let next_hop = |route: usize, which: usize| NextHop((10 * route + which + 1) as u16);
    let v4 = v4.map(|(address, length)| {
        let address: std::net::Ipv4Addr = address.parse().unwrap();
        Prefix::containing(u32::from(address), length)
    });
    let v6 = v6.map(|(address, length)| {
        let address: std::net::Ipv6Addr = address.parse().unwrap();
        Prefix::containing(u128::from(address), length)
    });
    let moved = |route: usize, which: usize| {
        let next_hop = next_hop(route, which);
        [
            Change::V4(v4[route], next_hop),
            Change::V6(v6[route], next_hop),
        ]
    };
    tables
        .apply(&[0, 1, 2].map(|route| moved(route, 0)).concat())
        .unwrap();
    // Slots of each route: first, last, and around the longer ones.
    let owners = [0, 0, 1, 2, 1, 0, 0];
    let slots = [0, 3, 4, 5, 6, 8, 15];
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let mut reader = tables.reader(worker).unwrap();
            let (stop, v4, v6) = (&stop, &v4, &v6);
            scope.spawn(move || {
                let addresses4 = slots.map(|slot| v4[0].address() + (slot << 8));
                let addresses6 = slots.map(|slot| v6[0].address() + (u128::from(slot) << 80));
                let mut out = [NextHop::NONE; 7];
                while !stop.load(Ordering::Relaxed) {
                    for family in [4, 6] {
                        match family {
                            4 => reader.resolve_v4(&addresses4, &[60; 7], &mut out),
                            _ => reader.resolve_v6(&addresses6, &[60; 7], &mut out),
                        }
                        for (&owner, found) in owners.iter().zip(&out) {
                            let may = [0, 1].map(|which| next_hop(owner, which));
                            assert!(may.contains(found), "{found:?}, not one of {may:?}");
                        }
                    }
                    reader.quiesce();
                }
            });
        }
        let mut random = Random::new(3);
        for _ in 0..if cfg!(miri) { 30 } else { 30_000 } {
            let changes = moved(random.below(3), random.below(2));
            tables.apply(&changes).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
}

fn options() -> Options {
    // Little room, so that blocks are reused all the time.
    let room = Capacity { node_words: 6000 };
    Options {
        workers: 2,
        v4: room,
        v6: room,
        next_hops: 4,
        buckets: 4,
    }
}

#[test]
fn readers_of_a_shared_table_see_only_answers_that_are_possible() {
    stress(&Shared::new(&options()).unwrap());
}

#[test]
fn readers_of_their_own_copies_see_only_answers_that_are_possible() {
    stress(&PerCore::new(&options()).unwrap());
}

#[test]
fn readers_of_a_locked_table_see_only_answers_that_are_possible() {
    stress(&Locked::new(&options()).unwrap());
}

#[test]
fn readers_see_the_old_or_the_new_next_hop_of_routes_that_move_in_place() {
    move_in_place(&Shared::new(&options()).unwrap());
    move_in_place(&PerCore::new(&options()).unwrap());
}
