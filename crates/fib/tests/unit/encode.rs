use figures::Random;

use super::*;

fn every_slot_is_found<E: Entry>() {
    let mut random = Random::new(9);
    for round in 0..3000 {
        let limit = [3, 256, 60_000, 1 << 32][round % 4];
        let mut value = random.below(limit) as u32;
        let slots: [u32; 64] = std::array::from_fn(|_| {
            if random.below(4) == 0 {
                value = random.below(limit) as u32;
            }
            value
        });
        let form = Form::<E>::of(&slots, u64::MAX);
        let words = form.pack(&slots);
        assert!(form.holds(form));
        let entry = form.entry(7);
        let load = |at: usize| words[at - 7];
        assert_eq!(Form::behind(entry, form.vector), Some(form));
        for slot in 0..E::SLOTS {
            let value = u64::from(slots[slot as usize]);
            let (word, bit) = form.position(slot);
            assert!(word < form.words());
            assert_eq!(words[word as usize] >> bit & form.element_mask(), value);
            let rest = u64::from(slot) << (64 - E::STRIDE) | 5;
            assert_eq!(entry.step(rest, load).into(), value);
            let alone = (slot == 0 || slots[slot as usize] != slots[slot as usize - 1])
                && (slot == E::SLOTS - 1 || slots[slot as usize] != slots[slot as usize + 1]);
            assert_eq!(form.isolates(slot), alone);
        }
    }
}

#[test]
fn every_slot_is_found_where_the_form_says() {
    every_slot_is_found::<u32>();
    every_slot_is_found::<u64>();
}

#[test]
fn the_longest_node_has_33_words() {
    let slots: [u32; 64] = std::array::from_fn(|slot| u32::MAX - slot as u32);
    assert_eq!(
        Form::<u32>::of(&slots, u64::MAX).words() as usize,
        LONGEST_NODE
    );
    assert_eq!(Form::<u64>::of(&slots, u64::MAX).words(), 32);
    let equal = Form::<u32>::of(&[7_u16; 64], u64::MAX);
    assert_eq!((equal.vector, equal.log2_bits), (0, 3));
}
