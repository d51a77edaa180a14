use crate::next_hop::NextHop;
use crate::prefix::Prefix;
use crate::table::Table;

/// Does the change leave nothing to be painted?
fn in_place(table: &mut Table<u32>, prefix: Prefix<u32>, next_hop: u16) -> bool {
    let Table {
        routes,
        arrays,
        transaction,
    } = table;
    transaction.change(routes, arrays, prefix, NextHop(next_hop));
    transaction.inherit(routes, arrays);
    let painted = transaction.dirty_levels != 0;
    transaction.finish(routes, arrays).expect("room");
    !painted
}

fn prefix(text: &str) -> Prefix<u32> {
    let crate::IpPrefix::V4(prefix) = text.parse().expect("a prefix") else {
        panic!("{text} is no IPv4 prefix");
    };
    prefix
}

fn table(routes: &[(&str, u16)]) -> Table<u32> {
    let mut table = Table::new().expect("memory");
    for &(text, next_hop) in routes {
        table.insert(prefix(text), NextHop(next_hop)).expect("room");
    }
    table
}

#[test]
fn a_route_of_many_slots_moves_to_another_next_hop_in_place() {
    let mut table = table(&[
        ("10.0.0.0/18", 1),
        ("10.0.0.0/20", 2),
        ("10.0.4.0/23", 3),
        ("10.0.5.0/24", 4),
    ]);
    assert!(in_place(&mut table, prefix("10.0.0.0/20"), 5));
    let look = |table: &Table<u32>, address| table.lookup(address).0;
    assert_eq!(look(&table, 0x0A00_0000), 5);
    assert_eq!(look(&table, 0x0A00_0400), 3);
    assert_eq!(look(&table, 0x0A00_0500), 4);
    assert_eq!(look(&table, 0x0A00_0600), 5);
    assert_eq!(look(&table, 0x0A00_0FFF), 5);
    assert_eq!(look(&table, 0x0A00_1000), 1);
    // To the next hop of its neighbours, and away from there again.
    assert!(in_place(&mut table, prefix("10.0.0.0/20"), 1));
    assert_eq!(look(&table, 0x0A00_0600), 1);
    assert!(in_place(&mut table, prefix("10.0.0.0/20"), 6));
    assert_eq!(look(&table, 0x0A00_0600), 6);
    assert_eq!(look(&table, 0x0A00_1000), 1);
    // Withdrawn and announced again.
    assert!(in_place(&mut table, prefix("10.0.0.0/20"), 0));
    assert_eq!(look(&table, 0x0A00_0600), 1);
    assert!(in_place(&mut table, prefix("10.0.0.0/20"), 7));
    assert_eq!(look(&table, 0x0A00_0FFF), 7);
}

#[test]
fn a_route_that_longer_ones_cover_wholly_changes_nothing() {
    let mut table = table(&[("10.0.2.0/23", 1), ("10.0.2.0/24", 2), ("10.0.3.0/24", 3)]);
    assert!(in_place(&mut table, prefix("10.0.2.0/23"), 4));
    assert_eq!(table.lookup(0x0A00_0201), NextHop(2));
    assert_eq!(table.lookup(0x0A00_0301), NextHop(3));
    table.remove(prefix("10.0.3.0/24")).expect("room");
    assert_eq!(table.lookup(0x0A00_0301), NextHop(4));
}

#[test]
fn what_does_not_fit_is_painted() {
    let mut table = table(&[("10.0.0.0/20", 1), ("10.0.4.0/26", 2)]);
    // The node below inherits the next hop.
    assert!(!in_place(&mut table, prefix("10.0.0.0/20"), 3));
    assert_eq!(table.lookup(0x0A00_0440), NextHop(3));
    // Elements of 8 bits become elements of 16.
    let mut table = self::table(&[("10.0.0.0/20", 1)]);
    assert!(!in_place(&mut table, prefix("10.0.0.0/20"), 300));
    assert_eq!(table.lookup(0x0A00_0001), NextHop(300));
    // A new route in the middle of a run.
    assert!(!in_place(&mut table, prefix("10.0.1.0/24"), 4));
    assert_eq!(table.lookup(0x0A00_0101), NextHop(4));
    assert_eq!(table.lookup(0x0A00_0201), NextHop(300));
}

#[test]
fn what_a_node_inherits_moves_to_another_next_hop_in_place() {
    let mut table = table(&[("10.0.0.0/18", 1), ("10.0.4.0/23", 3), ("10.0.5.0/24", 4)]);
    let look = |table: &Table<u32>, address| table.lookup(address).0;
    for next_hop in [5, 3, 6, 0, 7] {
        assert!(in_place(&mut table, prefix("10.0.0.0/18"), next_hop));
        assert_eq!(look(&table, 0x0A00_0000), next_hop);
        assert_eq!(look(&table, 0x0A00_0400), 3);
        assert_eq!(look(&table, 0x0A00_0500), 4);
        assert_eq!(look(&table, 0x0A00_0600), next_hop);
        assert_eq!(look(&table, 0x0A00_3FFF), next_hop);
    }
}

#[test]
fn a_node_is_painted_if_a_node_below_inherits_too() {
    let mut table = table(&[("10.0.0.0/18", 1), ("10.0.4.0/23", 3), ("10.0.8.0/25", 4)]);
    assert!(!in_place(&mut table, prefix("10.0.0.0/18"), 5));
    let look = |table: &Table<u32>, address| table.lookup(address).0;
    assert_eq!(look(&table, 0x0A00_0000), 5);
    assert_eq!(look(&table, 0x0A00_0400), 3);
    assert_eq!(look(&table, 0x0A00_0800), 4);
    assert_eq!(look(&table, 0x0A00_0880), 5);
}
