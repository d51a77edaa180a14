use proptest::prelude::*;

use wire::checksum::{fold, of, sum, update};

#[test]
fn the_example_of_rfc_1624_section_4() {
    assert_eq!(update(0xdd2f, 0x5555, 0x3285), 0x0000);
}

#[test]
fn the_example_of_rfc_1071_section_3() {
    assert_eq!(
        fold(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7])),
        0xddf2
    );
}

#[test]
fn an_odd_byte_counts_as_the_high_half() {
    assert_eq!(sum(&[0x12, 0x34, 0x56]), 0x1234 + 0x5600);
}

proptest! {
    /// Incremental equals recomputed for every header, also where the result is 0x0000.
    #[test]
    fn update_equals_recomputation(
        mut words in prop::collection::vec(any::<u16>(), 2..20),
        new: u16,
    ) {
        // A datagram whose words are all zero has no representative of plus zero; IPv4 never
        // has one.
        words[0] |= 0x4000;
        let bytes = |words: &[u16]| {
            words
                .iter()
                .flat_map(|word| word.to_be_bytes())
                .collect::<Vec<_>>()
        };
        let before = of(&bytes(&words));
        let last = words.len() - 1;
        let old = std::mem::replace(&mut words[last], new);
        prop_assert_eq!(update(before, old, new), of(&bytes(&words)));
    }

    #[test]
    fn fold_is_the_residue(sum in any::<u64>()) {
        let folded = u64::from(fold(sum));
        prop_assert_eq!(folded % 0xffff, sum % 0xffff);
        prop_assert_eq!(folded == 0, sum == 0);
    }
}
