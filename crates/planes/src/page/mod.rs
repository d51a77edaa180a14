//! A comparison as a document: verdict in sentences, tables, the four figures of the article side
//! by side.

mod figures;
mod tables;
mod verdict;
mod words;

use report::{Block, Document};

use self::figures::plots;
use self::tables::tables;
use crate::result::Comparison;
use verdict::{answer, evidence, remarks};

/// What is printed: verdict and tables.
pub fn summary(comparison: &Comparison) -> Document {
    let mut document = opening(comparison);
    document.blocks.push(sentences(comparison));
    let tables = tables(comparison).into_iter().map(Block::Table);
    document.blocks.extend(tables);
    document.blocks.extend(notes(comparison));
    document.text(format!("Measured on {}.", comparison.environment.machine()))
}

/// The sentences and tables as Markdown, for documents.
pub fn markdown(comparison: &Comparison) -> String {
    let items = |items: &[String]| {
        let lines = items.iter().map(|item| ["- ", item, "\n"].concat());
        lines.collect::<String>()
    };
    let machine = format!("Measured on {}.\n\n", comparison.environment.machine());
    let tables = tables(comparison).into_iter().map(|table| {
        let markdown = table.to_markdown();
        format!("\n{}:\n\n{markdown}", table.title)
    });
    let lists = lists(comparison)
        .into_iter()
        .map(|(title, listed)| format!("\n{title}:\n\n{}", items(&listed)));
    let sentences = [answer(comparison), evidence(comparison)].concat();
    let opening = [machine, items(&sentences)].into_iter();
    opening.chain(tables).chain(lists).collect()
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

/// The page: answer, figures, sentences, tables, what disturbed them; folded the method and environment.
pub fn page(comparison: &Comparison) -> Document {
    let mut document = opening(comparison);
    // As in the article: two and two.
    let markup = |text: &str| Block::Html(text.to_owned());
    document.blocks.push(markup("<div class=\"beside\">\n"));
    document
        .blocks
        .extend(plots(comparison).into_iter().map(Block::Plot));
    document.blocks.push(markup("</div>\n"));
    document = document
        .text(format!("Measured on {}.", comparison.environment.machine()))
        .heading("Evidence");
    document.blocks.push(sentences(comparison));
    document
        .blocks
        .extend(tables(comparison).into_iter().map(Block::Table));
    document.blocks.extend(notes(comparison));
    let method = Block::Text(format!(
        "The user plane's core is {}; the tester, the control plane and the management plane \
         share the others. Throughput is the highest rate at which no more than one frame in a \
         thousand was lost. Delay, jitter and the responses beside packets come from trials at \
         {} frames a second, in every deployment the same. The management plane was asked {} \
         times a second by a timetable; \
         response time counts from the intended start. During all trials the control plane \
         changed {} routes a second ({}) over the link to the user plane.",
        comparison.user_core,
        comparison.delay_frames_per_second,
        comparison.requests_per_second,
        comparison.route_changes_per_second,
        comparison.route_origin.name()
    ));
    let document = document.details("How it was measured", vec![method]);
    document.environment(comparison.environment.facts())
}

fn opening(comparison: &Comparison) -> Document {
    Document {
        verdict: answer(comparison),
        ..Document::new("User plane and management plane, on one kernel and on several")
    }
}

fn sentences(comparison: &Comparison) -> Block {
    Block::List {
        title: String::new(),
        items: evidence(comparison),
    }
}
