//! Whole tables, the recorded one and the generated one, against the golden table.

use fib::generated::{addresses_anywhere, addresses_hitting, next_hops};
use fib::golden::GoldenTable;
use fib::prefix_file::Prefixes;
use fib::{Family, NextHop, Prefix, Table};

const MIB: usize = 1 << 20;

fn agree<A: Family>(table: &Table<A>, golden: &GoldenTable<A>, prefixes: &[Prefix<A>]) {
    let mut addresses = addresses_hitting(3, prefixes, 60_000);
    addresses.extend(addresses_anywhere::<A>(4, 20_000));
    addresses.extend(
        prefixes
            .iter()
            .step_by(37)
            .flat_map(|prefix| [prefix.address(), prefix.last()]),
    );
    let mut out = vec![NextHop::NONE; addresses.len()];
    table.lookup_burst(&addresses, &mut out);
    for (&address, &next_hop) in addresses.iter().zip(&out) {
        assert_eq!(next_hop, golden.lookup(address), "{}", address.to_ip());
    }
    assert_eq!(table.len(), golden.len());
}

/// Builds, compares, withdraws every third route, compares, announces them again, compares. Returns
/// the bytes that look-ups read: just built, and at the end.
fn lives<A: Family>(prefixes: &[Prefix<A>], of: u16) -> (usize, usize) {
    let routes: Vec<_> = prefixes
        .iter()
        .copied()
        .zip(next_hops(5, prefixes.len(), of))
        .collect();
    let mut table = Table::new().expect("memory");
    let mut golden = GoldenTable::new();
    table.insert_all(&routes).expect("room");
    for &(prefix, next_hop) in &routes {
        golden.insert(prefix, next_hop);
    }
    agree(&table, &golden, prefixes);
    let built = table.memory().used();
    for next_hop_of in [|_| NextHop::NONE, |next_hop| next_hop] {
        let changes: Vec<_> = routes
            .iter()
            .step_by(3)
            .map(|&(prefix, next_hop)| (prefix, next_hop_of(next_hop)))
            .collect();
        for (epoch, changes) in changes.chunks(100).enumerate() {
            table.insert_all(changes).expect("room");
            for &(prefix, next_hop) in changes {
                golden.insert(prefix, next_hop);
            }
            table.seal(epoch as u64);
            // SAFETY: nobody looks up at the same time.
            unsafe { table.reclaim(epoch as u64) };
        }
        agree(&table, &golden, prefixes);
    }
    (built, table.memory().used())
}

fn fits(prefixes: &Prefixes, limit: usize) {
    let (v4, v4_after) = lives(&prefixes.v4, 16);
    let (v6, v6_after) = lives(&prefixes.v6, 16);
    assert!(v4 + v6 <= limit, "{} bytes, more than {limit}", v4 + v6);
    let after = v4_after + v6_after;
    assert!(
        after <= limit * 5 / 4,
        "{after} bytes after withdrawals: free blocks are not reused"
    );
}

#[test]
fn the_recorded_table_agrees_and_fits_in_5_mebibytes() {
    if let Some(prefixes) = crate::recorded::table() {
        fits(&prefixes, 5 * MIB);
    }
}

#[test]
fn a_generated_table_agrees_and_fits_in_6_5_mebibytes() {
    fits(&crate::generated::TABLE, 6 * MIB + MIB / 2);
}

#[test]
fn sixty_five_thousand_next_hops_are_told_apart() {
    lives(&crate::generated::TABLE.v4, 65_000);
}
