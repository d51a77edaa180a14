//! The track record of forecasts.

use figures::Interval;
use scaling::harness::plan::{Mode, Placement};
use scaling::harness::series::{Run, Series};
use scaling::laws::forecast::Band;
use scaling::laws::rates::Rates;
use scaling::result::record::{Forecasts, TOLERANCE};
use scaling::result::{ScaleResult, judge};

/// A result of a sweep in which `n` cores did `n / (1 + e (n - 1))` times the work.
fn result(e: f64, most: u32) -> ScaleResult {
    let counts: Vec<u32> = (1..=most).collect();
    let run = |n: u32| {
        let n = f64::from(n);
        let wall = (1.0 + e * (n - 1.0)) / n;
        Run {
            rate: 1.0 / wall,
            wall,
            user: 1.0,
            system: 0.0,
            steal: 0.0,
            involuntary_switches: 0,
            disturbed: false,
        }
    };
    let series = Series {
        placement: Placement::Pinned,
        rounds: vec![counts.iter().map(|&n| run(n)).collect(); 9],
        counts,
    };
    let rates: Rates = series.rates();
    ScaleResult {
        schema: scaling::result::SCHEMA.to_owned(),
        environment: host::environment::Environment::default(),
        command: vec!["job".to_owned()],
        mode: Mode::Threads,
        unit: "runs".to_owned(),
        rounds: 9,
        seconds: 1.0,
        points: judge::points(std::slice::from_ref(&series), Mode::Threads, 1),
        control: None,
        law: judge::law(&rates, &[], 1),
        boundaries: Vec::new(),
        cause: Vec::new(),
        unexplained: None,
        instruments: Vec::new(),
        pressure: Vec::new(),
        interventions: Vec::new(),
        budget: None,
        one_core_forecast: Vec::new(),
        beside: None,
        notes: Vec::new(),
        sentence: String::new(),
        next_experiment: String::new(),
        not_measured: Vec::new(),
        series: vec![series],
    }
}

#[test]
fn a_forecast_stays_open_until_its_core_count_is_measured() {
    let mut record = Forecasts::default();
    record.keep(&result(0.1, 2));
    assert_eq!(record.kept.len(), 2, "three cores and four");
    assert_eq!(record.score(&result(0.1, 2)), 0, "two cores decide nothing");
    assert!(record.kept.iter().all(|kept| kept.score.is_none()));
    let mut other = result(0.1, 4);
    other.command = vec!["another".to_owned()];
    assert_eq!(record.score(&other), 0);
    assert_eq!(record.score(&result(0.1, 4)), 2);
    assert!(record.kept.iter().all(|kept| kept.score.unwrap().held));
    assert_eq!(record.score(&result(0.1, 4)), 0, "decided once");
}

#[test]
fn a_miss_is_a_miss_and_the_record_says_so() {
    let mut record = Forecasts::default();
    record.keep(&result(0.05, 2));
    record.keep(&result(0.05, 2));
    assert_eq!(
        record.kept.len(),
        2,
        "the newer takes the place of the open one"
    );
    record.score(&result(0.4, 4));
    assert!(record.kept.iter().all(|kept| !kept.score.unwrap().held));
    let text = report::terminal::render(&record.document());
    assert!(text.contains("From sweeps: 0 of 2 held"), "{text}");
}

#[test]
fn one_core_forecasts_are_kept_with_their_score() {
    let mut record = Forecasts::default();
    let band = Band {
        cores: 2,
        speedup: Interval::new(1.2, 2.0),
    };
    let mut first = result(0.1, 2);
    first.one_core_forecast = vec![band.score(first.points[1].speedup, TOLERANCE)];
    record.keep(&first);
    let text = report::terminal::render(&record.document());
    assert!(text.contains("From one core: 1 of 1 held"), "{text}");
    let json = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<Forecasts>(&json).unwrap(), record);
}
