//! Of `study/src/plots.rs`.

use super::*;
use crate::testing::study;

#[test]
fn throughput_has_one_core_and_each_organisation_on_all() {
    let plots = throughput(&study());
    assert_eq!(plots.len(), 2);
    let names: Vec<&str> = plots[0]
        .series
        .iter()
        .map(|series| series.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "one core, shipped",
            "both cores, shipped",
            "both cores, locked",
            "both cores, shared",
            "both cores, per-core"
        ]
    );
    let last = plots[0].series[1].points.last().unwrap();
    assert_eq!((last.x, last.y), (1518.0, 59.4e6 * 1518.0 * 8.0));
}

#[test]
fn speed_up_has_the_ideal_and_starts_at_one() {
    let plots = speed_up(&study());
    assert_eq!(plots.len(), 1);
    let series = &plots[0].series;
    assert_eq!(series.len(), 1 + 4 + 1);
    assert!(
        series[1..]
            .iter()
            .all(|series| (series.points[0].y - 1.0).abs() < 1e-12)
    );
    assert!((series[1].points[1].y - 1.98).abs() < 1e-9);
}

#[test]
fn changes_are_shares_of_the_quiet_rate() {
    let plot = changes(&study()).unwrap();
    assert_eq!(plot.series.len(), 4);
    assert!((plot.series[2].points[3].y - 97.0).abs() < 1e-9);
}

#[test]
fn what_could_not_be_told_has_no_place_in_a_plot() {
    let mut study = study();
    for row in &mut study.forwarding {
        row.weak = (row.key.frame_bytes == SMALLEST).then_some(figures::Weak::Scattered);
    }
    let plots = throughput(&study);
    let points = |plots: &[Plot]| plots[0].series[0].points.len();
    assert_eq!(points(&plots), FRAME_SIZES.len() - 1);
    assert!(speed_up(&study).is_empty());

    for row in &mut study.forwarding {
        row.weak = Some(figures::Weak::Disturbed);
    }
    for cost in &mut study.route_changes {
        cost.weak = Some(figures::Weak::Disturbed);
    }
    assert!(all(&study).is_empty());
    let (picture, others) = opening_and_rest(&study);
    assert!(picture.is_none() && others.is_empty());
}
