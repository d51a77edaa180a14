//! The loops touch what they say.

use std::collections::BTreeSet;

use host::loops::{LINE, buffer, chase, fill, read, spin, spin_wide, thrash};

#[test]
fn loops_touch_what_they_say() {
    let mut words = buffer(1 << 16);
    fill(&mut words, 3);
    assert_eq!(read(&words), 3 * (1 << 13));
    let mut place = 0;
    thrash(&mut words, (1 << 16) / LINE, &mut place);
    assert_eq!(
        words.iter().filter(|&&w| w == 4).count(),
        (1 << 16) / LINE,
        "every line once"
    );
    assert_ne!(spin(10, 1), spin(11, 1));
    assert_ne!(spin_wide(10), spin_wide(11));
}

#[test]
fn a_chase_visits_every_line_whatever_the_words_are() {
    // Not a power of two of lines: the first 1024 are chased.
    for words in [buffer(1500 * LINE), vec![u64::MAX; 1500 * LINE / 8]] {
        let mut place = 0;
        let visited: BTreeSet<usize> = (0..1024)
            .map(|_| {
                chase(&words, 1, &mut place);
                place
            })
            .collect();
        assert_eq!(visited, (0..1024).collect());
        assert_eq!(place, 0, "a full period");
    }
    chase(&[], 1, &mut 5);
}
