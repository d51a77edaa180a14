//! Look-ups of one table by ours and by the peers, by turns in one process.

use std::net::Ipv6Addr;

use fib::generated::{addresses_anywhere, addresses_hitting};
use ip_network_table_deps_treebitmap::IpLookupTable;

use crate::timing::{in_bursts, one_by_one, print_rounds};
use crate::{Failure, ROUNDS, SEED, prefixes, table_of, v4_sets, with_next_hops};

const V6_ADDRESSES: usize = 1 << 20;

pub(crate) fn lookup4() -> Result<(), Failure> {
    let prefixes = prefixes()?;
    let table = table_of(&with_next_hops(&prefixes.v4))?;
    for (name, addresses) in v4_sets(&prefixes.v4) {
        let mut bursts: Vec<_> = (0..ROUNDS).map(|_| in_bursts(&addresses, &table)).collect();
        let mut singles: Vec<_> = (0..ROUNDS)
            .map(|_| one_by_one(&addresses, |address| table.lookup(address).0))
            .collect();
        print_rounds(&format!("IPv4 {name} burst"), &mut bursts);
        print_rounds(&format!("IPv4 {name} single"), &mut singles);
    }
    Ok(())
}

pub(crate) fn lookup6() -> Result<(), Failure> {
    let prefixes = prefixes()?;
    let routes = with_next_hops(&prefixes.v6);
    let table = table_of(&routes)?;
    let mut trie = prefix_trie::PrefixMap::<(u128, u8), u16>::new();
    let mut bitmap = IpLookupTable::<Ipv6Addr, u16>::new();
    for &(prefix, next_hop) in &routes {
        trie.insert((prefix.address(), prefix.length()), next_hop.0);
        bitmap.insert(prefix.address().into(), prefix.length().into(), next_hop.0);
    }
    let in_trie = |address: u128| {
        trie.get_lpm(&(address, 128))
            .map_or(0, |(_, &next_hop)| next_hop)
    };
    let in_bitmap = |address: u128| {
        bitmap
            .longest_match(address.into())
            .map_or(0, |(_, _, &next_hop)| next_hop)
    };

    let global = |address: u128| (1 << 125) | (address >> 3);
    let sets = [
        (
            "random in 2000::/3",
            addresses_anywhere(SEED, V6_ADDRESSES)
                .into_iter()
                .map(global)
                .collect(),
        ),
        (
            "hitting",
            addresses_hitting(SEED, &prefixes.v6, V6_ADDRESSES),
        ),
    ];
    for (name, addresses) in sets {
        for &address in addresses.iter().step_by(64) {
            assert_eq!(
                table.lookup(address).0,
                in_trie(address),
                "ours against prefix-trie"
            );
            assert_eq!(
                table.lookup(address).0,
                in_bitmap(address),
                "ours against treebitmap"
            );
        }
        let mut rounds: [Vec<(f64, f64)>; 4] = Default::default();
        for _ in 0..ROUNDS {
            rounds[0].push(in_bursts(&addresses, &table));
            rounds[1].push(one_by_one(&addresses, |address| table.lookup(address).0));
            rounds[2].push(one_by_one(&addresses, in_trie));
            rounds[3].push(one_by_one(&addresses, in_bitmap));
        }
        let medians = rounds.each_mut().map(|rounds| {
            rounds.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            rounds[ROUNDS / 2].0
        });
        let names = ["burst", "single", "prefix-trie", "treebitmap"];
        for (which, rounds) in names.iter().zip(&mut rounds) {
            print_rounds(&format!("IPv6 {name} {which}"), rounds);
        }
        println!(
            "IPv6 {name}: {:.1} times prefix-trie, {:.1} times treebitmap",
            medians[2] / medians[0],
            medians[3] / medians[0]
        );
    }
    Ok(())
}
