//! The study as a document: short for the terminal, whole for the page.

use report::{Block, Document};
use tester::profile::Profile;

use crate::answer::{beside, opening};
use crate::result::Study;
use crate::transfers::Transfers;
use crate::{matrix, model, plots, sentences, tables};

const TITLE: &str = "What the cores of this machine forward";

/// What is printed of everything: the answer, the evidence, all tables.
pub fn summary(study: &Study) -> Document {
    let mut document = opening(study, TITLE);
    document.blocks.extend(evidence(study));
    document.blocks.extend(matrices(study));
    document.blocks.extend(cases(study));
    document.blocks.extend(measurements(study));
    document.blocks.extend(model_blocks(study));
    let document = more(study, document);
    document.text(format!("Measured on {}.", study.environment.machine()))
}

/// The page: the answer, its picture, the matrix, the evidence, and folded what few will ask for.
pub fn page(study: &Study) -> Document {
    let (picture, plots) = plots::opening_and_rest(study);
    let mut document = opening(study, TITLE);
    document.blocks.extend(picture.map(Block::Plot));
    document = more(study, document).text(format!("Measured on {}.", study.environment.machine()));
    document = document.heading("By frame size");
    document.blocks.extend(matrices(study));
    document = document.heading("Evidence");
    document.blocks.extend(evidence(study));
    document.blocks.extend(measurements(study));
    let transfers = study.transfers.as_ref().map(Transfers::details);
    let cases = cases(study).chain(transfers.map(Block::Table));
    document
        .details("Every case, round by round", cases.collect())
        .details("More plots", plots.into_iter().map(Block::Plot).collect())
        .details("What more cores would forward", model_blocks(study))
        .details("What the cores did", trace_blocks(study))
        .details("How it was measured", method(study))
        .environment(study.environment.facts())
}

/// What is to be known beside the answer.
fn more(study: &Study, document: Document) -> Document {
    beside(study).into_iter().fold(document, Document::text)
}

/// The sentences of the evidence, and what was not measured.
fn evidence(study: &Study) -> Option<Block> {
    let items = sentences::evidence(study);
    let title = String::new();
    (!items.is_empty()).then_some(Block::List { title, items })
}

fn matrices(study: &Study) -> impl Iterator<Item = Block> {
    matrix::all(study).into_iter().map(Block::Table)
}

/// A row for each case.
fn cases(study: &Study) -> impl Iterator<Item = Block> {
    let three = [
        tables::one_core(study),
        tables::locked(study),
        tables::unlocked(study),
    ];
    let shown = three.into_iter().filter(|table| !table.rows.is_empty());
    shown.map(Block::Table)
}

/// What was measured beside the cases.
fn measurements(study: &Study) -> impl Iterator<Item = Block> {
    let changes = tables::changes(study);
    let searches = tables::no_loss(study);
    let transfers = study.transfers.as_ref().map(Transfers::table);
    tables::lock_price(study)
        .into_iter()
        .chain(changes)
        .chain(tables::without_device(study))
        .chain(searches)
        .chain(transfers)
        .map(Block::Table)
}

fn model_blocks(study: &Study) -> Vec<Block> {
    study.model.iter().flat_map(model::shown::blocks).collect()
}

fn method(study: &Study) -> Vec<Block> {
    let mut method = vec![rounds(study)];
    method.extend(study.search_profile.as_ref().map(search));
    method.extend(study.transfers.as_ref().map(Transfers::method));
    method.push(format!("Routing table: {}.", study.routes_from));
    let methods = study.methods.iter();
    let engines = methods.map(|method| format!("{}: {}", method.engine, method.text));
    let engines = Block::List {
        title: String::new(),
        items: engines.collect(),
    };
    method
        .into_iter()
        .map(Block::Text)
        .chain([engines])
        .collect()
}

/// How rates were measured.
fn rounds(study: &Study) -> String {
    format!(
        "Every case of every engine was measured once in each of {}, for {:.0} ms. Each round has \
         a random order of its own, in which what is compared stays together. That is the numbers \
         of workers of one engine, table organisation and frame size, and the rates of route \
         changes. Figures are medians of the rounds, with the lowest and the highest beside them. \
         One core is each core in turn, and its rate the mean of these. A speed-up compares with \
         that mean, round by round: it is the median of these ratios. In brackets is the interval \
         of that median: of at least nine rounds 95 % by bootstrap, of fewer the lowest and the \
         highest. What route changes cost is the median of the rounds' own ratios. What others \
         disturbed (stolen time, cores that others had) was measured again within its round, while \
         the time planned for it lasted. Where most rounds were calm, a figure is of these alone. \
         Where rounds are no evidence, six or more calm trials of each case can tell a figure. \
         It is their median, with its interval beside it.",
        sentences::rounds(study),
        study.trial_milliseconds
    )
}

/// How rates without loss were searched for.
fn search(profile: &Profile) -> String {
    format!(
        "The highest rates without loss are the tester's (corelane test throughput), on the \
         interfaces, generators and cores of the closed loop, now at a rate. The search is a \
         bisection (RFC 2544 §26.1) that begins well above the closed loop's rate in its round. \
         It ends when its bounds are {:.0} % apart. A rate holds when {} of at most {} trials of \
         {:.0} ms pass, and the answer again in trials of {:.0} ms. A trial passes when every \
         frame arrives and at most one in a thousand could not be sent in its time. One that was \
         disturbed is taken again, at most {} times. The smallest frames are searched in several \
         rounds, all engines one after the other. Engines are compared with the kernel within a \
         round. Other sizes are searched once.",
        profile.resolution * 100.0,
        profile.passes,
        profile.tries,
        profile.search_seconds * 1e3,
        profile.final_seconds * 1e3,
        profile.retries
    )
}

/// What the cores did: a picture and the profiler's sentences for each trace.
fn trace_blocks(study: &Study) -> Vec<Block> {
    let mut blocks = Vec::new();
    for picture in &study.traces {
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
#[path = "../tests/unit/page.rs"]
mod tests;
