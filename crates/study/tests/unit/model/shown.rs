use figures::{Estimate, Interval};

use super::*;
use crate::model::tests::{beside, forecast, machine, model};
use crate::page::{page, summary};
use crate::testing::study;

fn text(model: Model) -> String {
    let mut study = study();
    study.model = Some(model);
    report::terminal::render(&summary(&study))
}

/// The row of the engine without a network in the table with this heading.
fn row<'a>(text: &'a str, heading: &str) -> &'a str {
    let (_, table) = text.split_once(heading).unwrap();
    let mut lines = table.lines();
    lines
        .find(|line| line.trim().starts_with("memory"))
        .unwrap()
}

#[test]
fn the_report_has_the_machine_the_forecast_the_bands_and_the_assumptions() {
    let text = text(model());
    for part in [
        "10.0 G",
        "15.0 G",
        "6.00 MiB",
        "32.0 MiB",
        "4 cores",
        "64 cores",
        "What the forecast assumes",
        "the memory bandwidth that 2 have here",
        "150 % of its time (memory)",
    ] {
        let text = text.replace('\n', " ");
        assert!(text.contains(part), "{part} not in\n{text}");
    }
    let predicted = row(&text, "from one core's figures");
    assert!(predicted.contains("95.2 %"), "of its frames: {predicted}");
    assert!(predicted.contains("5.0 %"), "of it shared: {predicted}");
    assert!(predicted.contains("1.98"), "measured: {predicted}");
    assert!(!text.contains("– in a forecast"), "{text}");
    let bands = row(&text, "none of them measured");
    assert_eq!(bands.matches(" to ").count(), 5, "{bands}");
    let mut study = study();
    study.model = Some(model());
    assert!(report::html::render(&page(&study)).contains("What the forecast assumes"));
}

/// Readers that do not slow each other show no limit: the cell says so, and one footnote why.
#[test]
fn weak_evidence_is_a_dash_with_one_footnote() {
    let mut machine = machine();
    let interval = Interval::new(0.99, 1.01);
    machine.reader_keeps = Estimate {
        value: 1.0,
        interval,
    };
    machine.table_loaded.interval.low = 1.0;
    let mut beside = beside();
    beside.slowed.value = 1.0;
    beside.slowed.interval = Interval::new(0.99, 1.01);
    let forecast = forecast(&study(), &machine, &beside);
    let text = text(Model {
        machine,
        forecasts: vec![forecast],
    });
    assert!(
        row(&text, "from one core's figures").contains(NOTHING),
        "{text}"
    );
    assert!(
        row(&text, "none of them measured").contains("– to "),
        "{text}"
    );
    assert_eq!(text.matches("– in a forecast").count(), 1, "{text}");
}

#[test]
fn without_a_model_nothing_is_said_of_one() {
    let text = report::terminal::render(&summary(&study()));
    assert!(!text.contains("orecast"), "{text}");
}
