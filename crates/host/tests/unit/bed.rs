//! Of `host/src/bed.rs`.

use super::*;

#[test]
fn a_core_is_a_bit_of_a_word_of_its_own_after_the_thirty_second() {
    let masks = [0, 5, 31, 32, 70].map(|core| mask(CoreId(core)));
    let wide = ["1,00000000", "40,00000000,00000000"];
    assert_eq!(masks, ["1", "20", "80000000", wide[0], wide[1]]);
}

#[test]
fn several_cores_are_one_mask() {
    assert_eq!(masks(&[CoreId(0), CoreId(1)]), "00000003");
    assert_eq!(masks(&[CoreId(33), CoreId(0)]), "00000002,00000001");
}
