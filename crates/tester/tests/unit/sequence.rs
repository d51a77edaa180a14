//! Of `tester/src/sequence.rs`.

use proptest::prelude::*;

use super::*;

fn count(sent: u32, arrivals: impl IntoIterator<Item = u32>) -> Sequenced {
    let mut window = SequenceWindow::new(1);
    for sequence in arrivals {
        window.take(sequence);
    }
    window.finish(sent)
}

#[test]
fn all_in_order() {
    let counted = count(1_000_000, 1..=1_000_000);
    assert_eq!(
        counted,
        Sequenced {
            received: 1_000_000,
            ..Sequenced::default()
        }
    );
}

#[test]
fn loss_duplication_and_order_are_told_apart() {
    let counted = count(10, [1, 2, 5, 4, 4, 7, 7, 8]);
    assert_eq!(
        (counted.received, counted.duplicate, counted.reordered),
        (6, 2, 1)
    );
    assert_eq!(
        (counted.gaps, counted.longest_gap, counted.last_lost),
        (3, 2, Some(10))
    );
}

#[test]
fn what_is_older_than_the_window_is_late() {
    let counted = count(WINDOW + 10, (2..=WINDOW + 10).chain([1]));
    assert_eq!((counted.late, counted.received), (1, u64::from(WINDOW) + 9));
    assert_eq!((counted.gaps, counted.last_lost), (1, Some(1)));
}

#[test]
fn a_jump_beyond_the_window_loses_one_run() {
    let counted = count(3_000_000, [1, 2, 3_000_000]);
    assert_eq!((counted.gaps, counted.longest_gap), (1, 2_999_997));
    assert_eq!(counted.received, 3);
}

#[test]
fn nothing_comes() {
    let counted = count(500, []);
    assert_eq!(
        (counted.received, counted.gaps, counted.longest_gap),
        (0, 1, 500)
    );
}

#[test]
fn flows_may_overtake_each_other() {
    let mut window = SequenceWindow::new(2);
    for sequence in [1, 3, 5, 2, 4, 6] {
        window.take(sequence);
    }
    let counted = window.finish(6);
    assert_eq!((counted.received, counted.reordered), (6, 0));
}

proptest! {
    /// Against sets and a plain list: any arrivals within the window.
    #[test]
    fn equals_the_obvious_count(arrivals in prop::collection::vec(1_u32..2000, 0..3000)) {
        let counted = count(2000, arrivals.iter().copied());
        let mut seen = std::collections::BTreeSet::new();
        let (mut duplicate, mut reordered, mut newest) = (0, 0, 0);
        for &sequence in &arrivals {
            if !seen.insert(sequence) {
                duplicate += 1;
            } else if sequence < newest {
                reordered += 1;
            } else {
                newest = sequence;
            }
        }
        let missing: Vec<u32> = (1..=2000)
            .filter(|sequence| !seen.contains(sequence))
            .collect();
        let runs = missing
            .iter()
            .enumerate()
            .filter(|&(i, &m)| i == 0 || missing[i - 1] + 1 != m)
            .count();
        prop_assert_eq!(counted.received, seen.len() as u64);
        prop_assert_eq!(counted.duplicate, duplicate);
        prop_assert_eq!(counted.reordered, reordered);
        prop_assert_eq!(counted.gaps, runs as u64);
        prop_assert_eq!(counted.last_lost, missing.last().copied());
    }
}
