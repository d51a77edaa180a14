//! The fuzz target's body on the same random inputs each time, for a few seconds.

use figures::Random;

#[test]
fn random_scripts_agree_with_the_golden_table() {
    let mut random = Random::new(2026);
    let inputs = if cfg!(miri) { 4 } else { 150 };
    for _ in 0..inputs {
        let length = if cfg!(miri) { 300 } else { random.below(4000) };
        let bytes: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
        crate::script::run(&bytes);
    }
}
