//! A forecast for people: the answer, the band, the assumptions.

use report::units::engineering;
use report::{Block, Document, Table};

use crate::forecast::{Forecast, Group};

/// The report of a forecast.
pub fn document(forecast: &Forecast) -> Document {
    let mut document = Document::new("What a fleet carries");
    for sentence in sentences(forecast) {
        document = document.verdict(sentence);
    }
    let items = forecast.assumptions.iter();
    document
        .block(Block::Table(table(forecast)))
        .block(Block::List {
            title: "It assumes that".to_owned(),
            items: items.map(|&item| item.to_owned()).collect(),
        })
        .environment(forecast.environment.facts())
}

fn frames(rate: f64) -> String {
    engineering(rate, "frames/s")
}

fn sentences(forecast: &Forecast) -> Vec<String> {
    let mut sentences = Vec::new();
    let may_fail = match forecast.failed {
        0 => "none of which fails".to_owned(),
        1 => "one of which may fail".to_owned(),
        failed => format!("{failed} of which may fail"),
    };
    match (forecast.load_per_second, forecast.needs_nodes) {
        (Some(load), Some(nodes)) => {
            sentences.push(format!("{} need {nodes} nodes, {may_fail}.", frames(load)));
        }
        (Some(load), None) => sentences.push(format!(
            "{} are more than these fleets carry: give more --nodes.",
            frames(load)
        )),
        (None, _) => {}
    }
    if let Some(row) = forecast.rows.last() {
        sentences.push(format!(
            "{} nodes, {may_fail}, carry {} in 99 of 100 spreads, and {} in half of them.",
            row.nodes,
            frames(row.carries_p99),
            frames(row.carries_p50)
        ));
    }
    sentences.push(
        match forecast.kernel_is_like_chance {
            Some(true) => "The kernel's own hash spreads flows as chance does.",
            Some(false) => "The kernel's own hash spreads flows otherwise than chance does: do not rely on this.",
            None => "The kernel's own hash was not asked: that needs root.",
        }
        .to_owned(),
    );
    sentences
}

fn table(forecast: &Forecast) -> Table {
    let mut table = Table::new("").numbers([
        "nodes",
        "living",
        "carry in 99 % of spreads",
        "carry in half of them",
        "imbalance, 99 %",
        "imbalance, half",
        "the kernel's",
    ]);
    for row in &forecast.rows {
        let kernel = row.imbalance_kernel;
        table.push([
            row.nodes.to_string(),
            row.living.to_string(),
            frames(row.carries_p99),
            frames(row.carries_p50),
            format!("{:.3}", row.imbalance_p99),
            format!("{:.3}", row.imbalance_p50),
            kernel.map_or("-".to_owned(), |kernel| format!("{kernel:.3}")),
        ]);
    }
    table.caption(format!(
        "A node forwards {}; {} flows of one rate; {}. The imbalance is the fullest node's share against the \
         mean of the living.",
        frames(forecast.node_per_second),
        forecast.flows,
        match forecast.group {
            Group::Resilient => "a resilient group of 1024 buckets",
            Group::Plain => "a plain group",
        }
    ))
}
