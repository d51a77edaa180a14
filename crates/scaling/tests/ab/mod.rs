//! The verdict of a comparison on synthetic noise, whose truth is known.

use figures::{Interval, Random};
use scaling::ab::judge::{Verdict, figures, ratio};
use scaling::ab::{Block, Sample};

/// A machine in small: runs scatter by 2 %, one of twenty is held up by up to a half, and all grow
/// slower by 1 % a block.
struct Machine {
    random: Random,
    runs: u32,
}

impl Machine {
    fn seconds(&mut self, seconds: f64) -> f64 {
        let units: f64 = (0..12).map(|_| self.random.unit()).sum();
        let held_up = if self.random.below(20) == 0 {
            1.0 + 0.5 * self.random.unit()
        } else {
            1.0
        };
        self.runs += 1;
        let drift = 1.0025_f64.powf(f64::from(self.runs));
        seconds * held_up * drift * (1.0 + 0.02 * (units - 6.0))
    }

    fn block(&mut self, slower: f64) -> Block {
        let a_outside = self.random.below(2) == 0;
        let (outer, inner) = if a_outside {
            (1.0, slower)
        } else {
            (slower, 1.0)
        };
        let [first, second, third, last] =
            [outer, inner, inner, outer].map(|seconds| sample(self.seconds(seconds)));
        let (outside, inside) = ([first, last], [second, third]);
        let (a, b) = if a_outside {
            (outside, inside)
        } else {
            (inside, outside)
        };
        Block { a, b, a_outside }
    }

    fn verdict(&mut self, blocks: usize, slower: f64) -> (Verdict, Interval) {
        let blocks: Vec<Block> = (0..blocks).map(|_| self.block(slower)).collect();
        let found = ratio(&blocks).unwrap();
        (Verdict::of(found.interval, 0.03), found.interval)
    }
}

fn sample(seconds: f64) -> Sample {
    Sample {
        cost: seconds,
        wall: seconds,
        user: 0.9 * seconds,
        system: 0.0,
        faults: 100,
        voluntary_switches: 3,
    }
}

/// How many of 1,000 comparisons of so many blocks end as `count` says.
fn of_thousand(blocks: usize, slower: f64, count: impl Fn(Verdict, Interval) -> bool) -> usize {
    let mut random = Random::new(1);
    (0..1000)
        .filter(|_| {
            let mut machine = Machine {
                random: Random::new(random.next_u64()),
                runs: 0,
            };
            let (verdict, interval) = machine.verdict(blocks, slower);
            count(verdict, interval)
        })
        .count()
}

#[test]
fn nothing_against_nothing_differs_in_at_most_one_case_of_twenty() {
    for blocks in [7, 12, 60] {
        let alarms = of_thousand(blocks, 1.0, |verdict, _| verdict.differs());
        assert!(alarms <= 50, "{alarms} of 1000 with {blocks} blocks");
    }
}

#[test]
fn the_interval_holds_the_truth_in_nineteen_cases_of_twenty() {
    let held = of_thousand(20, 1.05, |_, interval| interval.contains(1.05));
    assert!(held >= 950, "{held} of 1000");
}

#[test]
fn a_slow_down_of_three_per_cent_is_found() {
    let found = of_thousand(60, 1.03, |verdict, _| verdict == Verdict::Slower);
    assert!(found >= 950, "{found} of 1000");
    let cleared = of_thousand(60, 1.0, |verdict, _| verdict == Verdict::NotSlower);
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
    let mut machine = Machine {
        random: Random::new(3),
        runs: 0,
    };
    let mut blocks: Vec<Block> = (0..20).map(|_| machine.block(1.0)).collect();
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
