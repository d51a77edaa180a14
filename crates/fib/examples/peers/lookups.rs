//! Look-ups of one table by ours and by the peers, by turns in one process.

use std::net::Ipv6Addr;

use fib::generated::{addresses_anywhere, addresses_hitting};
use fib::{Family, NextHop, Prefix};
use figures::Random;
use ip_network_table_deps_treebitmap::IpLookupTable;

use crate::planb::{self, PlanB};
use crate::poptrie::Poptrie;
use crate::timing::{pass, print_rounds};
use crate::{Failure, ROUNDS, Routes, SEED, V4_ADDRESSES, prefixes, table_of, with_next_hops};

const V6_ADDRESSES: usize = 1 << 20;

/// Destinations that Zipf traffic goes to.
const ZIPF_DESTINATIONS: usize = 1 << 16;

/// Addresses under the name of their pattern.
pub(crate) type Set<A> = (&'static str, Vec<A>);

/// Somebody's look-up of a burst.
type Lookup<'a, A> = Box<dyn Fn(&[A], &mut [NextHop]) + 'a>;

/// Somebody who looks up, and the bytes that the look-ups read, if known.
struct Peer<'a, A> {
    name: &'static str,
    bytes: Option<usize>,
    lookup: Lookup<'a, A>,
}

fn in_bursts<'a, A>(
    name: &'static str,
    bytes: usize,
    lookup: impl Fn(&[A], &mut [NextHop]) + 'a,
) -> Peer<'a, A> {
    Peer {
        name,
        bytes: Some(bytes),
        lookup: Box::new(lookup),
    }
}

fn one_by_one<'a, A: Copy>(
    name: &'static str,
    bytes: Option<usize>,
    lookup: impl Fn(A) -> u16 + 'a,
) -> Peer<'a, A> {
    let each = move |addresses: &[A], out: &mut [NextHop]| {
        for (&address, out) in addresses.iter().zip(out) {
            *out = NextHop(lookup(address));
        }
    };
    Peer {
        name,
        bytes,
        lookup: Box::new(each),
    }
}

/// The patterns of IPv4.
pub(crate) fn v4_sets(prefixes: &[Prefix<u32>]) -> [Set<u32>; 3] {
    [
        ("random", addresses_anywhere(SEED, V4_ADDRESSES)),
        ("hitting", addresses_hitting(SEED, prefixes, V4_ADDRESSES)),
        ("zipf", zipf(prefixes, V4_ADDRESSES)),
    ]
}

fn v6_sets(prefixes: &[Prefix<u128>]) -> [Set<u128>; 3] {
    // In 2000::/3, where all unicast addresses in use are.
    let global = |address: u128| (1 << 125) | (address >> 3);
    let random = addresses_anywhere(SEED, V6_ADDRESSES);
    [
        ("random", random.into_iter().map(global).collect()),
        ("hitting", addresses_hitting(SEED, prefixes, V6_ADDRESSES)),
        ("zipf", zipf(prefixes, V6_ADDRESSES)),
    ]
}

/// Addresses that hit the table, the *n*-th most popular one drawn 1/*n* times as often as the
/// first.
fn zipf<A: Family>(prefixes: &[Prefix<A>], count: usize) -> Vec<A> {
    let destinations = addresses_hitting(SEED + 1, prefixes, ZIPF_DESTINATIONS);
    let mut sum = 0.0;
    let shares: Vec<f64> = (1..=destinations.len())
        .map(|rank| {
            sum += 1.0 / rank as f64;
            sum
        })
        .collect();
    let mut random = Random::new(SEED);
    (0..count)
        .map(|_| {
            let drawn = random.unit() * sum;
            let rank = shares.partition_point(|&share| share <= drawn);
            destinations[rank.min(destinations.len() - 1)]
        })
        .collect()
}

/// Prints the bytes of each, and for each pattern what a look-up takes each; first those of whom
/// the others must be copies.
fn compare<A: Family>(family: &str, sets: &[Set<A>], peers: &[Peer<'_, A>]) {
    for peer in peers {
        if let Some(bytes) = peer.bytes {
            println!("{family} memory {:20} {bytes:9} bytes", peer.name);
        }
    }
    for (pattern, addresses) in sets {
        assert_same(addresses, peers);
        let mut rounds: Vec<Vec<(f64, f64)>> = vec![Vec::new(); peers.len()];
        for _ in 0..ROUNDS {
            for (peer, rounds) in peers.iter().zip(&mut rounds) {
                rounds.push(pass(addresses, &*peer.lookup));
            }
        }
        let medians: Vec<f64> = peers
            .iter()
            .zip(&mut rounds)
            .map(|(peer, rounds)| {
                print_rounds(&format!("{family} {pattern} {}", peer.name), rounds)
            })
            .collect();
        let times = |(peer, median): (&Peer<'_, A>, &f64)| {
            format!("{:.2} {}", median / medians[0], peer.name)
        };
        let times: Vec<String> = peers.iter().zip(&medians).skip(1).map(times).collect();
        println!(
            "{family} {pattern}: times {}: {}",
            peers[0].name,
            times.join(", ")
        );
    }
}

/// Panics unless all give the same next hops.
fn assert_same<A: Family>(addresses: &[A], peers: &[Peer<'_, A>]) {
    let found = |peer: &Peer<'_, A>| {
        let mut out = vec![NextHop::NONE; addresses.len()];
        (peer.lookup)(addresses, &mut out);
        out
    };
    let ours = found(&peers[0]);
    for peer in &peers[1..] {
        assert!(found(peer) == ours, "{} finds other routes", peer.name);
    }
}

pub(crate) fn lookup4() -> Result<(), Failure> {
    let prefixes = prefixes()?;
    let routes = with_next_hops(&prefixes.v4);
    let table = table_of(&routes)?;
    let poptrie = Poptrie::new(&routes);
    let bytes = table.memory().used();
    let peers = [
        in_bursts("corelane burst", bytes, |addresses, out| {
            table.lookup_burst(addresses, out);
        }),
        one_by_one("corelane single", None, |address| table.lookup(address).0),
        in_bursts("poptrie burst", poptrie.bytes(), |addresses, out| {
            poptrie.lookup_burst(addresses, out);
        }),
        one_by_one("poptrie single", None, |address| poptrie.lookup(address)),
    ];
    compare("IPv4", &v4_sets(&prefixes.v4), &peers);
    Ok(())
}

/// Routes that every peer can hold.
fn short_enough(prefixes: &[Prefix<u128>]) -> Routes<u128> {
    let mut routes = with_next_hops(prefixes);
    let all = routes.len();
    routes.retain(|(prefix, _)| prefix.length() <= planb::LONGEST);
    println!(
        "# IPv6: {} routes; {} are left out, longer than /{}, which planb cannot hold",
        routes.len(),
        all - routes.len(),
        planb::LONGEST
    );
    routes
}

pub(crate) fn lookup6() -> Result<(), Failure> {
    let prefixes = prefixes()?;
    let routes = short_enough(&prefixes.v6);
    let table = table_of(&routes)?;
    let (poptrie, planb) = (Poptrie::new(&routes), PlanB::new(&routes));
    let mut trie = prefix_trie::PrefixMap::<(u128, u8), u16>::new();
    let mut bitmap = IpLookupTable::<Ipv6Addr, u16>::new();
    for &(prefix, next_hop) in &routes {
        trie.insert((prefix.address(), prefix.length()), next_hop.0);
        bitmap.insert(prefix.address().into(), prefix.length().into(), next_hop.0);
    }
    let (bitmap_nodes, bitmap_results) = bitmap.mem_usage();
    let peers = [
        in_bursts("corelane burst", table.memory().used(), |addresses, out| {
            table.lookup_burst(addresses, out);
        }),
        one_by_one("corelane single", None, |address| table.lookup(address).0),
        in_bursts("poptrie burst", poptrie.bytes(), |addresses, out| {
            poptrie.lookup_burst(addresses, out);
        }),
        one_by_one("poptrie single", None, |address| poptrie.lookup(address)),
        in_bursts("planb burst", planb.bytes(), |addresses, out| {
            planb.lookup_burst(addresses, out);
        }),
        one_by_one("planb single", None, |address| planb.lookup(address)),
        one_by_one("prefix-trie single", None, |address| {
            trie.get_lpm(&(address, 128))
                .map_or(0, |(_, &next_hop)| next_hop)
        }),
        one_by_one(
            "treebitmap single",
            Some(bitmap_nodes + bitmap_results),
            |address: u128| {
                bitmap
                    .longest_match(address.into())
                    .map_or(0, |(_, _, &next_hop)| next_hop)
            },
        ),
    ];
    compare("IPv6", &v6_sets(&prefixes.v6), &peers);
    Ok(())
}
