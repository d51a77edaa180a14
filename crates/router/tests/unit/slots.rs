use super::*;

#[test]
fn parts_are_even_and_hold_everything() {
    let mut slots = Slots::default();
    for number in 0..64_000u32 {
        slots.insert(Prefix::containing(number << 10, 22), number);
    }
    assert_eq!(slots.len(), 64_000);
    let sizes: Vec<usize> = (0..PARTS).map(|part| slots.part(part).count()).collect();
    assert_eq!(sizes.iter().sum::<usize>(), 64_000);
    assert!(
        sizes.iter().all(|size| (500..2000).contains(size)),
        "{sizes:?}"
    );
    assert_eq!(slots.part(PARTS).count(), 0);
    assert_eq!(slots.get(Prefix::containing(1024, 22)), Some(&1));
    slots.remove(Prefix::containing(1024, 22));
    assert!(!slots.contains(Prefix::containing(1024, 22)) && !slots.is_empty());
}
