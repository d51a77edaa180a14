//! A comparison as a document: verdict in sentences, tables, the four figures of the article side
//! by side.

mod figures;
mod tables;
mod verdict;

use agent::protocol::UserPlaneMode;
use report::units::prefixed;
use report::{Block, Document};

use self::figures::plots;
use self::tables::tables;
use crate::result::Comparison;
use verdict::remarks;
pub use verdict::verdict;

const MODES: [UserPlaneMode; 2] = [UserPlaneMode::Kernel, UserPlaneMode::UserSpace];

/// What is printed: verdict and tables.
pub fn summary(comparison: &Comparison) -> Document {
    let mut document = opening(comparison);
    document.blocks = tables(comparison).into_iter().map(Block::Table).collect();
    document.blocks.extend(notes(comparison));
    document.text(format!("Measured on {}.", comparison.environment.machine()))
}

/// The sentences and tables as Markdown, for documents.
pub fn markdown(comparison: &Comparison) -> String {
    let mut text = format!("Measured on {}.\n\n", comparison.environment.machine());
    for sentence in verdict(comparison) {
        text.push_str("- ");
        text.push_str(&sentence);
        text.push('\n');
    }
    for table in tables(comparison) {
        for part in ["\n", &table.title, ":\n\n", &table.to_markdown()] {
            text.push_str(part);
        }
    }
    for (title, items) in lists(comparison) {
        text.push('\n');
        text.push_str(title);
        text.push_str(":\n\n");
        for item in items {
            for part in ["- ", &item, "\n"] {
                text.push_str(part);
            }
        }
    }
    text
}

/// What to mind when reading the tables, each list under its title.
fn lists(comparison: &Comparison) -> Vec<(&'static str, Vec<String>)> {
    let lists = [
        ("What disturbed the measurement", remarks(comparison)),
        ("Not measured here", comparison.not_measured.clone()),
    ];
    lists
        .into_iter()
        .filter(|(_, items)| !items.is_empty())
        .collect()
}

fn notes(comparison: &Comparison) -> impl Iterator<Item = Block> {
    lists(comparison)
        .into_iter()
        .map(|(title, items)| Block::List {
            title: title.to_owned(),
            items,
        })
}

/// The page: verdict, figures, tables, method, environment.
pub fn page(comparison: &Comparison) -> Document {
    let mut document =
        opening(comparison).text(format!("Measured on {}.", comparison.environment.machine()));
    // As in the article: two and two.
    let markup = |text: &str| Block::Html(text.to_owned());
    document.blocks.push(markup("<div class=\"beside\">\n"));
    document
        .blocks
        .extend(plots(comparison).into_iter().map(Block::Plot));
    document.blocks.push(markup("</div>\n"));
    document = document.heading("Tables");
    document
        .blocks
        .extend(tables(comparison).into_iter().map(Block::Table));
    document = document.heading("How it was measured").text(format!(
        "The user plane's core is {}; the tester, the control plane and the management plane \
         share the others. Throughput is the highest rate at which no more than one frame in a \
         thousand was lost, delay and jitter come from a trial at half the rate that the user \
         plane carried alone. The management plane was asked {} times a second by a timetable; \
         response time counts from the intended start. During all trials the control plane \
         changed {} routes a second ({}) over the link to the user plane.",
        comparison.user_core,
        comparison.requests_per_second,
        comparison.route_changes_per_second,
        comparison.route_origin.name()
    ));
    document.blocks.extend(notes(comparison));
    document.environment(comparison.environment.facts())
}

fn opening(comparison: &Comparison) -> Document {
    Document {
        verdict: verdict(comparison),
        ..Document::new("User plane and management plane, on one kernel and on several")
    }
}

fn bits(rate: Option<f64>) -> String {
    rate.map_or_else(|| "-".to_owned(), |rate| prefixed(rate, ""))
}

fn time(ns: Option<f64>) -> String {
    match ns {
        None => "-".to_owned(),
        Some(ns) if ns >= 1e6 => format!("{:.1} ms", ns / 1e6),
        Some(ns) if ns >= 1e3 => format!("{:.1} µs", ns / 1e3),
        Some(ns) => format!("{ns:.0} ns"),
    }
}

fn milliseconds(ms: Option<f64>) -> String {
    ms.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.1}"))
}

fn count(number: Option<u64>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| number.to_string())
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A share of frames lost, down to the hundredth of a per cent.
fn loss(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}
