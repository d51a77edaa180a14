use super::*;

#[test]
fn every_turn_changes_the_side_of_every_network() {
    let (first, again) = (Change::number(5), Change::number(5 + NETWORKS));
    assert_eq!(first.network, again.network);
    assert_eq!(first.network, Ipv4Addr::new(100, 64, 5, 0));
    assert_eq!((first.side, again.side), (0, 1));
    assert_eq!(Change::following(4, 2), [Change::number(4), first]);
}
