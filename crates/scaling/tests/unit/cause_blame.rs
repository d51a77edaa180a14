//! Of `scaling/src/cause/blame.rs`.

use super::*;
use host::pressure::Channel;

use crate::cause::pressure::Sensitivity;

/// A part of the split with this share of the loss of a half, known exactly.
pub(crate) fn part(name: &str, share: f64) -> Cause {
    Cause {
        name: name.to_owned(),
        of: None,
        share,
        interval: Some(Interval::new(share, share)),
        factor: 0.5_f64.powf(share),
        evidence: String::new(),
    }
}

fn split() -> Vec<Cause> {
    vec![part(IDLE, 0.5), part(STEAL, 0.1), part(USER, 0.4)]
}

#[test]
fn without_instruments_everything_but_steal_is_unexplained() {
    let none = children(&split(), -0.7, &Evidence::default());
    assert!(none.is_empty());
    assert!((unexplained(&split(), &none) - 0.9).abs() < 1e-12);
}

#[test]
fn the_budget_divides_the_idle_cores_and_small_change_stays_unexplained() {
    let budget = Budget {
        lost: vec![
            ("waiting for mutex `table`".to_owned(), 0.90),
            ("no further task to run".to_owned(), 0.08),
            ("kernel threads on the cores".to_owned(), 0.02),
        ],
        polling: 0.1,
        ..Budget::default()
    };
    let evidence = Evidence {
        budget: Some(&budget),
        ..Evidence::default()
    };
    let total = 0.5_f64.ln();
    let found = children(&split(), total, &evidence);
    let share = |name: &str| found.iter().find(|c| c.name == name).map(|c| c.share);
    assert!((share("waiting for mutex `table`").unwrap() - 0.45).abs() < 1e-12);
    assert!(
        found.iter().all(|c| c.interval.is_none()),
        "one run has none"
    );
    assert!((share("no further task to run").unwrap() - 0.04).abs() < 1e-12);
    assert_eq!(
        share("kernel threads on the cores"),
        None,
        "below a fiftieth"
    );
    let polled = 0.9_f64.ln() / total;
    assert!((share("polling locks").unwrap() - polled).abs() < 1e-12);
    let left = 0.5 - 0.45 - 0.04 + 0.4 - polled;
    assert!((unexplained(&split(), &found) - left).abs() < 1e-12);
}

#[test]
fn overlapping_channels_explain_no_more_than_there_is() {
    let felt = |channel, share| Sensitivity {
        channel,
        doses: Vec::new(),
        felt: true,
        share: Some(share),
    };
    let pressure = [felt(Channel::Cache, 0.8), felt(Channel::MemoryReads, 0.7)];
    let evidence = Evidence {
        pressure: &pressure,
        ..Evidence::default()
    };
    let found = children(&split(), -0.7, &evidence);
    assert_eq!(found.len(), 2);
    assert!(
        (unexplained(&split(), &found) - 0.5).abs() < 1e-12,
        "the idle half only"
    );
}

#[test]
fn counters_explain_the_dearer_work_exactly() {
    let inflation = Inflation {
        instructions: -0.1,
        stalls: -0.3,
        clock: 0.0,
    };
    let evidence = Evidence {
        counters: Some(&inflation),
        ..Evidence::default()
    };
    let found = children(&split(), -0.7, &evidence);
    assert!((found.iter().map(|c| c.share).sum::<f64>() - 0.4).abs() < 1e-12);
    assert_eq!(found[1].name, "stalls");
}
