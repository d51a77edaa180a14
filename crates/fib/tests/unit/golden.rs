use super::*;

#[test]
fn the_longest_prefix_wins_and_its_removal_uncovers_the_shorter() {
    let mut table = GoldenTable::<u32>::new();
    let (short, long) = (
        Prefix::containing(0x0A00_0000, 8),
        Prefix::containing(0x0A01_0000, 16),
    );
    assert_eq!(table.insert(short, NextHop(1)), None);
    assert_eq!(table.insert(long, NextHop(2)), None);
    assert_eq!(table.insert(long, NextHop(3)), Some(NextHop(2)));
    assert_eq!(table.lookup(0x0A01_0203), NextHop(3));
    assert_eq!(table.lookup(0x0A02_0203), NextHop(1));
    assert_eq!(table.lookup(0x0B00_0000), NextHop::NONE);
    assert_eq!(table.remove(long), Some(NextHop(3)));
    assert_eq!(table.lookup(0x0A01_0203), NextHop(1));
    assert_eq!((table.len(), table.routes().count()), (1, 1));
}
