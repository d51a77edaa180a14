//! The verdict of a comparison on synthetic noise, whose truth is known.

use figures::Interval;
use scaling::ab::Block;
use scaling::ab::judge::{Verdict, figures, ratio};
use scaling::calibration::synthetic::{Machine, of_thousand};

fn interval(blocks: &[Block]) -> Interval {
    ratio(blocks).unwrap().interval
}

fn verdict(blocks: &[Block]) -> Verdict {
    Verdict::of(interval(blocks), 0.03)
}

#[test]
fn nothing_against_nothing_differs_in_at_most_one_case_of_a_hundred() {
    for blocks in [9, 12, 60] {
        let alarms = of_thousand(blocks, 1.0, |blocks| verdict(blocks).differs());
        assert!(alarms <= 10, "{alarms} of 1000 with {blocks} blocks");
    }
}

#[test]
fn the_interval_holds_the_truth_in_99_cases_of_a_hundred() {
    let held = of_thousand(20, 1.05, |blocks| interval(blocks).contains(1.05));
    assert!(held >= 990, "{held} of 1000");
}

#[test]
fn a_slow_down_of_three_per_cent_is_found() {
    let found = of_thousand(60, 1.03, |blocks| verdict(blocks) == Verdict::Slower);
    assert!(found >= 950, "{found} of 1000");
    let cleared = of_thousand(60, 1.0, |blocks| verdict(blocks) == Verdict::NotSlower);
    assert!(cleared >= 900, "{cleared} of 1000");
}

#[test]
fn each_verdict_has_its_interval() {
    let of = |low, high| Verdict::of(Interval::new(low, high), 0.03);
    assert_eq!(of(0.9, 0.99), Verdict::Faster);
    assert_eq!(of(1.001, 1.01), Verdict::Slower);
    assert_eq!(of(0.99, 1.02), Verdict::NotSlower);
    assert_eq!(of(0.99, 1.04), Verdict::CannotTell);
}

#[test]
fn what_else_differs_is_named_and_the_rest_is_not() {
    let mut blocks = Machine::new(3).blocks(20, 1.0);
    for block in &mut blocks {
        block.b.iter_mut().for_each(|run| run.faults = 130);
    }
    let found = figures(&blocks);
    let differing: Vec<&str> = found
        .iter()
        .filter(|f| f.differs)
        .map(|f| f.name.as_str())
        .collect();
    assert_eq!(differing, ["page faults"]);
}
