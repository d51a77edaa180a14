//! The peers that our look-ups are measured against find what the golden table finds.

use fib::generated::{addresses_anywhere, addresses_hitting, next_hops};
use fib::golden::GoldenTable;
use fib::{Family, NextHop, Prefix};
use figures::Random;

#[path = "../examples/peers/planb.rs"]
mod planb;
#[path = "../examples/peers/poptrie.rs"]
mod poptrie;
#[path = "../examples/peers/processor.rs"]
mod processor;

use planb::PlanB;
use poptrie::Poptrie;

type Routes<A> = Vec<(Prefix<A>, NextHop)>;

/// Somebody's look-ups of an address, and of a burst.
type Lookups<'a, A> = (&'a dyn Fn(A) -> u16, &'a dyn Fn(&[A], &mut [NextHop]));

/// First and last addresses of the routes, their neighbours, and those given.
fn addresses<A: Family>(routes: &Routes<A>, mut others: Vec<A>) -> Vec<A> {
    let unit = 1 << (128 - u32::from(A::BITS));
    for (prefix, _) in routes {
        let (first, last) = (prefix.address(), prefix.last());
        others.extend([first, last]);
        others.push(A::from_left_aligned(
            first.left_aligned().wrapping_sub(unit),
        ));
        others.push(A::from_left_aligned(last.left_aligned().wrapping_add(unit)));
    }
    others
}

fn agree<A: Family>(routes: &Routes<A>, others: Vec<A>, (one, burst): Lookups<'_, A>) {
    let mut golden = GoldenTable::new();
    for &(prefix, next_hop) in routes {
        golden.insert(prefix, next_hop);
    }
    let addresses = addresses(routes, others);
    let mut out = vec![NextHop(u16::MAX); addresses.len()];
    burst(&addresses, &mut out);
    for (&address, &found) in addresses.iter().zip(&out) {
        let right = golden.lookup(address);
        assert_eq!(found, right, "{} in a burst", address.to_ip());
        assert_eq!(NextHop(one(address)), right, "{} alone", address.to_ip());
    }
}

fn poptrie_agrees<A: Family>(routes: &Routes<A>, others: Vec<A>) {
    let trie = Poptrie::new(routes);
    let burst = |addresses: &[A], out: &mut [NextHop]| trie.lookup_burst(addresses, out);
    agree(routes, others, (&|address| trie.lookup(address), &burst));
}

fn planb_agrees(routes: &Routes<u128>, others: Vec<u128>) {
    let tree = PlanB::new(routes);
    let burst = |addresses: &[u128], out: &mut [NextHop]| tree.lookup_burst(addresses, out);
    agree(routes, others, (&|address| tree.lookup(address), &burst));
}

/// Up to `most` routes near each other and at both ends of the addresses, none longer than
/// `longest`; few next hops, so that neighbours are often equal.
fn crowded<A: Family>(random: &mut Random, most: usize, longest: u8) -> Routes<A> {
    let mut routes: Routes<A> = (0..random.below(most))
        .map(|_| {
            let near = [0, u128::MAX << 12, 0x2001 << 112][random.below(3)];
            let address = near ^ (random.next_u128() >> random.below(60));
            let length = random.below(usize::from(longest) + 1) as u8;
            let prefix = Prefix::containing(A::from_left_aligned(address), length);
            (prefix, NextHop(1 + random.below(3) as u16))
        })
        .collect();
    routes.sort_unstable();
    routes.dedup_by_key(|(prefix, _)| *prefix);
    random.shuffle(&mut routes);
    routes
}

#[test]
fn poptrie_agrees_on_crowded_routes() {
    let mut random = Random::new(1);
    for _ in 0..300 {
        poptrie_agrees(&crowded::<u32>(&mut random, 200, 32), vec![0, u32::MAX]);
        poptrie_agrees(&crowded::<u128>(&mut random, 200, 128), vec![0, u128::MAX]);
    }
}

#[test]
fn planb_agrees_on_crowded_routes() {
    let mut random = Random::new(2);
    for _ in 0..1000 {
        let routes = crowded(&mut random, 100, planb::LONGEST);
        planb_agrees(&routes, vec![0, u128::MAX]);
    }
}

/// Trees whose last leaf is full, has one bound, and everything between, on all depths up to four.
#[test]
fn planb_agrees_for_every_number_of_bounds() {
    for count in (0..200).chain(640..660).chain(5820..5840) {
        let routes: Routes<u128> = (0..count)
            .map(|index| {
                (
                    Prefix::containing(index << 66, 64),
                    NextHop(1 + index as u16),
                )
            })
            .collect();
        planb_agrees(&routes, vec![0, u128::MAX]);
    }
}

#[test]
fn peers_agree_on_a_generated_table() {
    let table = &crate::generated::TABLE;
    let routes = |count| next_hops(5, count, 16);
    let v4: Routes<u32> = table
        .v4
        .iter()
        .copied()
        .zip(routes(table.v4.len()))
        .collect();
    let v6: Routes<u128> = table
        .v6
        .iter()
        .copied()
        .zip(routes(table.v6.len()))
        .collect();
    let mut others = addresses_hitting(3, &table.v4, 100_000);
    others.extend(addresses_anywhere::<u32>(4, 100_000));
    poptrie_agrees(&v4, others);
    let mut others = addresses_hitting(3, &table.v6, 100_000);
    others.extend(addresses_anywhere::<u128>(4, 100_000));
    poptrie_agrees(&v6, others.clone());
    let short: Routes<u128> = v6
        .into_iter()
        .filter(|(prefix, _)| prefix.length() <= planb::LONGEST)
        .collect();
    planb_agrees(&short, others);
}

#[test]
fn bytes_are_those_of_the_arrays() {
    // Poptrie: 2^18 direct entries; one /24 needs a node of 24 bytes with three leaves.
    assert_eq!(Poptrie::new::<u32>(&[]).bytes(), 4 << 18);
    let route = (Prefix::containing(0x0A00_0100_u32, 24), NextHop(1));
    assert_eq!(Poptrie::new(&[route]).bytes(), (4 << 18) + 24 + 3 * 2);
    // PlanB: one leaf node; three intervals.
    let route = (Prefix::containing(0x2001_u128 << 112, 16), NextHop(1));
    assert_eq!(PlanB::new(&[route]).bytes(), 64 + 3 * 2);
}
