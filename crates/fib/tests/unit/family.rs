use super::*;

/// Walks down the heap by the bits of `address` and compares with the direct formulas.
fn heap_agrees<A: Family>(address: A) {
    let mut number = A::heap_number(address, 0).unwrap();
    assert_eq!((number, A::heap_parent(number)), (1, 0));
    for length in 1..=A::BITS {
        let bit = address.left_aligned() >> (128 - u32::from(length)) & 1;
        match A::heap_below(number) {
            Below::Halves(zero, one) => {
                let half = if bit == 1 { one } else { zero };
                assert_eq!(A::heap_parent(half), number);
                assert_eq!(
                    A::heap_number(address.masked(length), length),
                    Some(half),
                    "/{length}"
                );
                assert!(half < A::HEAP);
                number = half;
            }
            Below::Entry(entry) => {
                assert_eq!((entry, u32::from(length) - 1), address.root_index());
                assert_eq!(A::heap_number(address.masked(length), length), None);
                return;
            }
        }
    }
}

#[test]
fn heap_numbers_parents_and_root_entries_fit_together() {
    let mut random = figures::Random::new(1);
    for _ in 0..2000 {
        heap_agrees(random.next_u64() as u32);
        heap_agrees(random.next_u128());
        heap_agrees((1_u128 << 125) | (random.next_u128() >> 3));
    }
}
