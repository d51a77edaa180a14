//! Of `tracer/src/record/witness.rs`.

use super::*;

#[test]
fn a_word_that_was_two_locks_has_both_names() {
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
    let mut names = trailer.names.iter();
    let name = names.find(|name| name.address == address as u64);
    let name = name.expect("the lock had a name");
    assert_eq!(name.name, "the first table, later the second table");
}
