//! Of `tester/src/by_cores.rs`, and of its table.

use super::*;
use crate::profile::Profile;
use crate::render;
use crate::result::{SCHEMA, Throughput};
use crate::sizes::Family;
use crate::trial::Direction;

/// The entry of a search that found `rate`.
fn search(rate: Option<f64>) -> Entry {
    Entry {
        test: Test::Throughput,
        frame_bytes: 64,
        label: "64".to_owned(),
        frames_per_second: rate,
        verdict: if rate.is_some() {
            Grade::Clean
        } else {
            Grade::Failed
        },
        because: "nothing came".to_owned(),
        stopped: None,
        selftest_frames_per_second: None,
        theoretical_frames_per_second: None,
        details: Details::Throughput(Throughput {
            at_most_load: None,
            drain_ns: None,
            lower: rate,
            upper: rate.map(|rate| rate * 1.01),
            limit: "device".to_owned(),
            ended: "converged and confirmed".to_owned(),
            unlooked: None,
            goals: Vec::new(),
        }),
        trials: Vec::new(),
    }
}

/// The row of some cores that do `without` a device; 0: the round found nothing.
fn of(cores: &[u32], without: f64, rounds: [f64; 5]) -> Entry {
    let searches = rounds.map(|rate| search((rate > 0.0).then_some(rate)));
    row("64", cores, Some(without), searches.to_vec(), 1).unwrap()
}

#[test]
fn a_rate_far_below_the_closed_loop_is_none() {
    let entry = beside_closed_loop(search(Some(593.0)), 1e6);
    assert_eq!(
        (entry.frames_per_second, entry.verdict),
        (None, Grade::Invalid)
    );
    assert!(
        entry.because.contains("593 frames/s held, and 1.00 M"),
        "{}",
        entry.because
    );
    let row = row("64", &[0], Some(2e6), vec![entry], 1).unwrap();
    assert_eq!((row.frames_per_second, row.verdict), (None, Grade::Invalid));
    let usual = search(Some(0.8e6));
    assert_eq!(beside_closed_loop(usual.clone(), 1e6), usual);
    let none = search(None);
    assert_eq!(beside_closed_loop(none.clone(), 1e6), none);
}

fn report(results: Vec<Entry>) -> Report {
    Report {
        schema: SCHEMA.to_owned(),
        environment: host::Environment::read("0", 1),
        setup: Vec::new(),
        family: Family::Ipv4,
        direction: Direction::OneWay,
        destinations: 1,
        profile: Profile::QUICK,
        deviations: Vec::new(),
        results,
        stopped: None,
    }
}

/// The words of a report on a terminal, whatever its lines.
fn words(report: &Report) -> String {
    let shown = report::terminal::render(&render::document(report));
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Each round is slower than the one before; the ratios within rounds are what was made.
#[test]
fn a_speed_up_is_of_the_rounds_against_the_mean_of_the_cores_alone() {
    let slower = [1.0, 0.95, 0.9, 0.85, 0.8];
    let report = report(vec![
        of(&[0], 4e6, slower.map(|share| 0.9e6 * share)),
        of(&[1], 4e6, slower.map(|share| 1.1e6 * share)),
        of(&[0, 1], 8e6, slower.map(|share| 1.8e6 * share)),
    ]);
    let SpeedUp::Told(times) = speed_up(&report, &report.results[2]) else {
        panic!("{:?}", speed_up(&report, &report.results[2]));
    };
    assert!((times.value - 1.8).abs() < 1e-9, "{times:?}");
    assert!(times.interval.high - times.interval.low < 1e-9, "{times:?}");
    let median = report.results[2].frames_per_second.unwrap();
    assert!((median - 1.8e6 * 0.9).abs() < 1.0, "{median}");
    let words = words(&report);
    assert!(
        words.contains("2 cores forward 1.80× the frames of 64 bytes"),
        "{words}"
    );
    assert!(words.contains("share each core"), "{words}");
    // 1 / (1 / 1.62 M − 1 / 8 M): what the generators and the sink take is off.
    assert!(words.contains("2.03 M"), "{words}");
}

#[test]
fn rounds_that_differ_too_much_are_a_dash_with_its_reason() {
    let report = report(vec![
        of(&[0], 4e6, [1e6; 5]),
        of(&[1], 4e6, [1e6; 5]),
        of(&[0, 1], 8e6, [0.4e6, 1.9e6, 1.0e6, 2.0e6, 0.5e6]),
    ]);
    let several = &report.results[2];
    assert_eq!(several.frames_per_second, None);
    assert_eq!(several.verdict, Grade::Noisy);
    assert_eq!(speed_up(&report, several), SpeedUp::Weak(Weak::Scattered));
    let words = words(&report);
    assert!(words.contains("cannot be told here"), "{words}");
    let note = "–: the rounds differ too much to tell (64 on 2 cores, the speed-up of 64 on 2";
    assert!(words.contains(note), "{words}");
}

#[test]
fn without_each_core_alone_there_is_no_speed_up() {
    let several = of(&[0, 1], 8e6, [2e6; 5]);
    let silent = of(&[1], 4e6, [0.0; 5]);
    assert_eq!(
        (silent.frames_per_second, silent.verdict),
        (None, Grade::Failed)
    );
    for results in [
        vec![several.clone()],
        vec![of(&[0], 4e6, [1e6; 5]), several.clone()],
        vec![of(&[0], 4e6, [1e6; 5]), silent, several],
    ] {
        let report = report(results);
        let several = report.results.last().unwrap();
        assert_eq!(speed_up(&report, several), SpeedUp::Unmeasured);
        assert_eq!(several.frames_per_second, Some(2e6));
    }
}

#[test]
fn a_row_near_what_the_generators_do_alone_is_limited_and_makes_no_speed_up() {
    let entry = of(&[0], 1.05e6, [1e6; 5]);
    assert_eq!(entry.verdict, Grade::Limited);
    let report = report(vec![
        entry,
        of(&[1], 4e6, [1e6; 5]),
        of(&[0, 1], 8e6, [1.9e6; 5]),
    ]);
    assert_eq!(speed_up(&report, &report.results[2]), SpeedUp::Limited);
    assert!(words(&report).contains("cannot be told here"));
}
