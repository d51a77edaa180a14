//! The study as a document: short for the terminal, whole for the page.

use report::{Block, Document};

use super::result::Study;
use super::{plots, sentences, tables};

/// What is printed: verdict and tables.
pub(crate) fn summary(study: &Study) -> Document {
    let mut document = opening(study);
    document.blocks = table_blocks(study);
    document.text(format!("Measured on {}.", study.environment.machine()))
}

/// The page: verdict, tables, plots, method, environment.
pub(crate) fn page(study: &Study) -> Document {
    let mut document = opening(study).text(format!("Measured on {}.", study.environment.machine()));
    let mut plots = plots::all(study).into_iter().map(Block::Plot);
    document.blocks.extend(plots.next());
    document = document.heading("Tables");
    document.blocks.extend(table_blocks(study));
    document = document.heading("Plots");
    document.blocks.extend(plots);
    document.blocks.extend(trace_blocks(study));
    document = document.heading("How it was measured");
    document = document.text(format!(
        "Every case of every engine was measured once in each of {} rounds, for {:.0} ms; each round has a random order of its own, in which \
         the rates of route changes that are compared with each other stay together. Figures are medians of the rounds, with the lowest \
         and the highest beside them. A speed-up compares with one core, same engine, same table organisation, same frame size. What \
         route changes cost is the median of the rounds' own ratios.",
        study.rounds, study.trial_milliseconds
    ));
    document = document.text(format!("Routing table: {}.", study.routes_from));
    let methods = study.methods.iter();
    document = document.block(Block::List {
        title: String::new(),
        items: methods
            .map(|method| format!("{}: {}", method.engine, method.text))
            .collect(),
    });
    document.environment(study.environment.facts())
}

fn opening(study: &Study) -> Document {
    Document {
        verdict: sentences::verdict(study),
        ..Document::new("What the cores of this machine forward")
    }
}

fn table_blocks(study: &Study) -> Vec<Block> {
    let three = [
        tables::one_core(study),
        tables::locked(study),
        tables::unlocked(study),
    ];
    let shown = three.into_iter().filter(|table| !table.rows.is_empty());
    shown
        .chain(tables::changes(study))
        .map(Block::Table)
        .collect()
}

/// What the cores did: a picture and the profiler's sentences for each trace.
fn trace_blocks(study: &Study) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (index, picture) in study.traces.iter().enumerate() {
        if index == 0 {
            blocks.push(Block::Heading("What the cores did".to_owned()));
        }
        blocks.push(Block::List {
            title: picture.title.clone(),
            items: picture.trace.verdict.clone(),
        });
        // A study read from its JSON form has the words only.
        if !picture.timeline.is_empty() {
            blocks.push(Block::Html(picture.timeline.clone()));
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::super::testing::study;
    use super::*;

    #[test]
    fn the_page_has_verdict_tables_plots_and_environment() {
        let html = report::html::render(&page(&study()));
        for part in [
            "1.98×",
            "Table 1.",
            "Table 2.",
            "Table 3.",
            "Table 4.",
            "Speed-up against cores",
            "processor",
        ] {
            assert!(html.contains(part), "{part}");
        }
        assert!(html.contains("<figure class=\"plot\">"));
    }

    #[test]
    fn the_summary_is_text_without_markup() {
        let text = report::terminal::render(&summary(&study()));
        assert!(text.contains("Table 3.") && !text.contains('<'));
    }
}
