use fib::NextHop;
use router::control_plane::buckets::deal;

fn count(buckets: &[NextHop], member: u16) -> usize {
    buckets.iter().filter(|bucket| bucket.0 == member).count()
}

#[test]
fn a_fresh_group_is_fair_by_weight() {
    let buckets = deal(&[], &[(NextHop(7), 1), (NextHop(8), 1), (NextHop(9), 2)]);
    assert_eq!(buckets.len(), 64);
    assert_eq!(
        [count(&buckets, 7), count(&buckets, 8), count(&buckets, 9)],
        [16, 16, 32]
    );
}

#[test]
fn removing_a_member_moves_only_its_buckets() {
    let before = deal(&[], &[(NextHop(7), 1), (NextHop(8), 1), (NextHop(9), 1)]);
    let after = deal(&before, &[(NextHop(7), 1), (NextHop(9), 1)]);
    for (old, new) in before.iter().zip(&after) {
        assert!(
            old == new || old.0 == 8,
            "a flow of {old:?} moved to {new:?}"
        );
    }
    assert_eq!(count(&after, 7).abs_diff(count(&after, 9)), 0);
}

#[test]
fn a_returning_member_takes_only_its_share() {
    let before = deal(&[], &[(NextHop(7), 1), (NextHop(9), 1)]);
    let after = deal(
        &before,
        &[(NextHop(7), 1), (NextHop(8), 1), (NextHop(9), 1)],
    );
    let moved = before
        .iter()
        .zip(&after)
        .filter(|(old, new)| old != new)
        .count();
    assert_eq!(moved, count(&after, 8));
    assert!((20..=22).contains(&moved), "{moved} of 64 for a third");
}

#[test]
fn no_members_no_buckets() {
    assert!(deal(&[NextHop(3)], &[]).is_empty());
}

#[test]
fn equal_weights_take_the_least_room_whatever_their_unit() {
    for (weights, size) in [
        ((1, 1), 64),
        ((200, 200), 64),
        ((200, 100), 64),
        ((200, 199), 1024),
    ] {
        let buckets = deal(&[], &[(NextHop(7), weights.0), (NextHop(8), weights.1)]);
        assert_eq!(buckets.len(), size, "{weights:?}");
    }
}
