//! The generated table is what is said of it.

use std::sync::LazyLock;

use fib::Prefix;
use fib::generated::{addresses_hitting, internet, next_hops};
use fib::prefix_file::Prefixes;

/// A table of the Internet's size, made once for all tests: that takes as long as many of them.
pub(crate) static TABLE: LazyLock<Prefixes> = LazyLock::new(|| internet(1));

#[test]
fn the_table_has_the_recorded_size_and_lengths() {
    let table = &*TABLE;
    assert_eq!((table.v4.len(), table.v6.len()), (901_899, 160_147));
    assert_eq!(
        table
            .v4
            .iter()
            .filter(|prefix| prefix.length() == 24)
            .count(),
        537_698
    );
    assert_eq!(
        table
            .v6
            .iter()
            .filter(|prefix| prefix.length() == 48)
            .count(),
        75_488
    );
    assert!(table.v4.is_sorted_by(|a, b| a < b) && table.v6.is_sorted_by(|a, b| a < b));
}

#[test]
fn the_same_seed_makes_the_same_numbers() {
    assert_eq!(next_hops(7, 50, 16), next_hops(7, 50, 16));
    assert_ne!(next_hops(7, 50, 16), next_hops(8, 50, 16));
    assert!(
        next_hops(7, 5000, 16)
            .iter()
            .all(|next_hop| (1..=16).contains(&next_hop.0))
    );
    let prefixes = [Prefix::containing(0x0A00_0000_u32, 8)];
    assert!(
        addresses_hitting(1, &prefixes, 100)
            .iter()
            .all(|&address| prefixes[0].contains(address))
    );
}
