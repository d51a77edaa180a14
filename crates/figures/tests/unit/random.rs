use super::*;

#[test]
fn the_numbers_are_those_of_the_reference_implementation() {
    // Vigna's splitmix64.c with the seed 1234567.
    let mut random = Random::new(1_234_567);
    let first = [0; 3].map(|_| random.next_u64());
    let expected = [
        6_457_827_717_110_365_317,
        3_203_168_211_198_807_973,
        9_817_491_932_198_370_423,
    ];
    assert_eq!(first, expected);
}

#[test]
fn same_seed_gives_the_same_order_and_every_item_once() {
    let order = |seed| Random::new(seed).order(20);
    assert_eq!(order(7), order(7));
    assert_ne!(order(7), order(8));
    let mut sorted = order(7);
    sorted.sort_unstable();
    assert_eq!(sorted, (0..20).collect::<Vec<_>>());
}

#[test]
fn below_reaches_every_value_and_no_other() {
    let mut random = Random::new(1);
    let mut seen = [0_u32; 5];
    for _ in 0..5000 {
        seen[random.below(5)] += 1;
    }
    assert!(seen.iter().all(|&n| n > 850), "{seen:?}");
    assert_eq!(random.below(0), 0);
}

#[test]
fn units_lie_evenly_from_nought_to_below_one() {
    let mut random = Random::new(2);
    let mut tenths = [0_u32; 10];
    for _ in 0..10_000 {
        tenths[(random.unit() * 10.0) as usize] += 1;
    }
    assert!(tenths.iter().all(|&n| n > 850), "{tenths:?}");
}
