//! The lab held against known answers: what was asked, the truth, what was found, and whether it
//! held.
//!
//! `cargo run --release -p scaling --example prove_lab`. Everything is computed from seeded noise, so
//! that the answers are the same on every machine. It returns 1 when one did not hold. What this
//! machine does with loads of known scaling is asked by `corelane scale calibrate`.

use std::process::ExitCode;

use figures::{Random, Rounds};
use report::Table;
use scaling::ab::Block;
use scaling::ab::judge::{Verdict, ratio};
use scaling::calibration::synthetic::{Machine, of_thousand};
use scaling::cause::pressure::slower;
use scaling::cause::split::{Cost, split};
use scaling::laws::Point;
use scaling::laws::fit::fit;
use scaling::laws::form::{Form, Weighting};
use scaling::laws::peak::fell_after;
use scaling::laws::rates::Rates;
use scaling::laws::usl::Usl;
use scaling::result::judge::law;

/// What was asked, the truth, what was found, and whether it held.
type Answer = (&'static str, String, String, bool);

fn main() -> ExitCode {
    let answers = [
        nothing_against_nothing(),
        three_per_cent(),
        interval(),
        flat_curve(),
        no_pressure(),
        published_curve(),
        rounds_of_different_speed(),
        serial_half(),
    ];
    let mut table = Table::new("Known answers").texts(["asked", "truth", "found", "held"]);
    for (asked, truth, found, held) in &answers {
        let held = if *held { "yes" } else { "no" };
        table.push([*asked, truth, found, held]);
    }
    print!("{}", table.to_text());
    if answers.iter().all(|(.., held)| *held) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn verdict(blocks: &[Block]) -> Option<Verdict> {
    Some(Verdict::of(ratio(blocks)?.interval, 0.03))
}

fn at_most(most: usize, asked: &'static str, alarms: usize) -> Answer {
    let (truth, found) = (
        format!("at most {most} of 1000"),
        format!("{alarms} of 1000"),
    );
    (asked, truth, found, alarms <= most)
}

fn at_least(least: usize, asked: &'static str, found: usize) -> Answer {
    let held = found >= least;
    let truth = format!("at least {least} of 1000");
    (asked, truth, format!("{found} of 1000"), held)
}

fn nothing_against_nothing() -> Answer {
    let differs = |blocks: &[Block]| verdict(blocks).is_some_and(Verdict::differs);
    at_most(
        10,
        "nothing against nothing differs",
        of_thousand(12, 1.0, differs),
    )
}

fn three_per_cent() -> Answer {
    let found = |blocks: &[Block]| verdict(blocks) == Some(Verdict::Slower);
    at_least(
        950,
        "3 % slower is found in 60 blocks",
        of_thousand(60, 1.03, found),
    )
}

fn interval() -> Answer {
    let holds = |blocks: &[Block]| ratio(blocks).is_some_and(|r| r.interval.contains(1.05));
    at_least(
        990,
        "the interval of a ratio holds 1.05",
        of_thousand(20, 1.05, holds),
    )
}

/// Five rounds of as many settings that take a second each, in random order.
fn flat(seed: u64, settings: usize) -> Vec<Vec<f64>> {
    let mut machine = Machine::new(seed);
    let mut rounds = Rounds::new(settings, seed);
    let Ok(()) = rounds.run(5, |_| {
        Ok::<_, std::convert::Infallible>(machine.seconds(1.0))
    });
    rounds.rows().collect()
}

fn flat_curve() -> Answer {
    let fell = |&seed: &u64| {
        let rates = Rates {
            cores: vec![1, 2, 3, 4],
            rates: flat(seed, 4),
        };
        fell_after(&rates).is_some()
    };
    at_most(
        50,
        "a flat curve falls beyond a core count",
        (0..1000).filter(fell).count(),
    )
}

fn no_pressure() -> Answer {
    let felt = |&seed: &u64| slower(&flat(seed, 23)).contains(&true);
    at_most(
        50,
        "one of 21 pressures that are none is felt",
        (0..1000).filter(felt).count(),
    )
}

/// SPEC SDM91, as distributed with the R package `usl`, which prints the peak.
fn published_curve() -> Answer {
    let data = [
        (1, 64.9),
        (18, 995.9),
        (36, 1652.4),
        (72, 1853.2),
        (108, 1828.9),
        (144, 1775.0),
        (216, 1702.2),
    ];
    let points = data.map(|(cores, rate)| Point { cores, rate });
    let found = fit(&points, Form::Usl, Weighting::Absolute);
    let peak = found
        .ok()
        .and_then(|fit| fit.law.peak())
        .unwrap_or(f64::NAN);
    let held = (peak - 96.52).abs() < 0.01;
    (
        "peak of a published curve",
        "96.52".to_owned(),
        format!("{peak:.2}"),
        held,
    )
}

fn rounds_of_different_speed() -> Answer {
    let truth = Usl {
        gamma: 10.0,
        sigma: 0.02,
        kappa: 0.004,
    };
    let mut random = Random::new(7);
    let cores = vec![1, 2, 3, 4, 6, 8];
    let rates = (0..11)
        .map(|_| {
            let speed = 1.0 + 2.0 * random.unit();
            let mut rate =
                |&n: &u32| truth.rate(f64::from(n)) * speed * (1.0 + 0.02 * (random.unit() - 0.5));
            cores.iter().map(&mut rate).collect()
        })
        .collect();
    let found = law(&Rates { cores, rates }, &[], 1).coefficients;
    let held = found.is_some_and(|f| f.kappa.contains(truth.kappa) && f.kappa.high < 0.006);
    let words = found.map_or("–".to_owned(), |f| format!("{:.4}", f.kappa));
    (
        "coherency, through rounds of different speed",
        "0.0040".to_owned(),
        words,
        held,
    )
}

fn serial_half() -> Answer {
    let cost = |cores, wall| Cost {
        cores,
        work: 1.0,
        wall,
        user: 10.0,
        system: 0.0,
        steal: 0.0,
    };
    let share = split(&cost(1, 10.0), &cost(2, 7.5)).map_or(f64::NAN, |s| s.idle / s.total);
    (
        "share of idle cores in the loss of a serial half",
        "100 %".to_owned(),
        format!("{:.0} %", share * 100.0),
        (share - 1.0).abs() < 1e-9,
    )
}
