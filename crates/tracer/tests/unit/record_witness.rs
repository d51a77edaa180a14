//! Of `tracer/src/record/witness.rs`.

use super::*;

#[test]
fn a_word_that_was_two_locks_has_both_names_and_when_the_first_ended() {
    let word = Box::new(0_u64);
    let address = &raw const *word as usize;
    let mut witness = Witness::default();
    let first = marker::name_lock(address, 8, "the first table");
    witness.look();
    witness.look();
    drop(first);
    let second = marker::name_lock(address, 8, "the second table");
    witness.look();
    drop(second);
    let mut trailer = Trailer::default();
    witness.finish(&[], &mut trailer);
    let found: Vec<_> = trailer
        .names
        .iter()
        .filter(|name| name.address == address as u64)
        .map(|name| (name.name.as_str(), name.until.is_some()))
        .collect();
    // The second was not looked at again after its end.
    assert_eq!(
        found,
        [("the first table", true), ("the second table", false)]
    );
}
