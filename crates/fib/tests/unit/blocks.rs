use figures::Random;

use super::*;

#[test]
fn blocks_never_overlap_and_everything_comes_back() {
    let mut random = Random::new(3);
    let mut blocks = Blocks::new(2, 3000);
    let mut taken: Vec<(u32, u32)> = Vec::new();
    for _ in 0..200_000 {
        if random.below(100) < 52 {
            let units = 1 + random.below(33) as u32;
            if let Some(first) = blocks.take(units) {
                taken.push((first, units));
            }
        } else if !taken.is_empty() {
            let (first, units) = taken.swap_remove(random.below(taken.len()));
            blocks.give(first, units);
        }
    }
    let mut used = vec![false; 3000];
    for &(first, units) in &taken {
        for unit in &mut used[first as usize..(first + units) as usize] {
            assert!(!std::mem::replace(unit, true), "two blocks share a unit");
        }
    }
    assert!(!used[0] && !used[1]);
    for (first, units) in taken {
        blocks.give(first, units);
    }
    blocks.merge();
    assert_eq!((blocks.high_water(), blocks.free_units), (2, 0));
}

#[test]
fn fragments_are_merged_before_giving_up() {
    let mut blocks = Blocks::new(0, 330);
    let all: Vec<u32> = std::iter::from_fn(|| blocks.take(3)).collect();
    assert_eq!(all.len(), 110);
    for first in all {
        blocks.give(first, 3);
    }
    assert_eq!(std::iter::from_fn(|| blocks.take(33)).count(), 10);
}
