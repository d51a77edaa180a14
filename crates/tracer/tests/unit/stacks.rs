use super::*;

#[test]
fn a_place_is_kept_once() {
    let mut stacks = Stacks::default();
    assert_eq!(stacks.number(1, &[10, 20]), 0);
    assert_eq!(stacks.number(1, &[10]), 1);
    assert_eq!(stacks.bounded(1, &[10, 20]), Some(0));
    assert_eq!(stacks.fresh().len(), 2);
    assert_eq!(stacks.number(2, &[10]), 2);
    assert_eq!(stacks.fresh(), [(2, vec![10])]);
}

#[test]
fn places_of_one_fingerprint_stay_apart() {
    let mut stacks = Stacks::default();
    let other = stacks.number(1, &[10]);
    // As if the next two had the fingerprint of the first.
    stacks.numbers.insert(fingerprint(1, &[20]), other);
    stacks.numbers.insert(fingerprint(2, &[20]), other);
    for (tid, number) in [(1, 1), (2, 2)] {
        assert_eq!(stacks.number(tid, &[20]), number);
        assert_eq!(stacks.number(tid, &[20]), number, "found again");
    }
    assert_eq!(stacks.all().len(), 3);
}
