//! The study as a document: short for the terminal, whole for the page.

use report::{Block, Document};
use tester::profile::Profile;

use crate::result::Study;
use crate::transfers::Transfers;
use crate::{model, plots, sentences, tables};

/// What is printed: verdict and tables.
pub fn summary(study: &Study) -> Document {
    let mut document = opening(study);
    document.blocks = table_blocks(study);
    let document = footnote(study, document);
    document.text(format!("Measured on {}.", study.environment.machine()))
}

/// The document with what "–" stands for.
fn footnote(study: &Study, document: Document) -> Document {
    match sentences::footnote(study) {
        Some(footnote) => document.text(footnote),
        None => document,
    }
}

/// The page: verdict, tables, plots, method, environment.
pub fn page(study: &Study) -> Document {
    let mut document = opening(study).text(format!("Measured on {}.", study.environment.machine()));
    let mut plots = plots::all(study).into_iter().map(Block::Plot);
    document.blocks.extend(plots.next());
    document = document.heading("Tables");
    document.blocks.extend(table_blocks(study));
    let details = study.transfers.as_ref().map(Transfers::details);
    document.blocks.extend(details.map(Block::Table));
    document = footnote(study, document).heading("Plots");
    document.blocks.extend(plots);
    document.blocks.extend(trace_blocks(study));
    document = document.heading("How it was measured");
    document = document.text(rounds(study));
    if let Some(profile) = &study.search_profile {
        document = document.text(search(profile));
    }
    if let Some(transfers) = &study.transfers {
        document = document.text(transfers.method());
    }
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

/// How rates were measured.
fn rounds(study: &Study) -> String {
    format!(
        "Every case of every engine was measured once in each of {}, for {:.0} ms; each round has \
         a random order of its own, in which what is compared stays together: the numbers of \
         workers of one engine, table organisation and frame size, and the rates of route \
         changes. Figures are medians of the rounds, with the lowest and the highest beside them. \
         One core is each core in turn, and its rate the mean of these. A speed-up compares with \
         that mean, round by round: it is the median of these ratios, in \
         brackets the interval of that median (of at least nine rounds 95 % by bootstrap, of \
         fewer the lowest and the highest). What route changes cost is the median of the rounds' \
         own ratios. What others disturbed (stolen time, cores that others had) was \
         measured again within its round while the time planned for it lasted; where most rounds \
         were calm, a figure is of these alone.",
        sentences::rounds(study),
        study.trial_milliseconds
    )
}

/// How rates without loss were searched for.
fn search(profile: &Profile) -> String {
    format!(
        "The highest rates without loss are the tester's (corelane test throughput), on the \
         interfaces, generators and cores of the closed loop, now at a rate: a bisection (RFC \
         2544 §26.1) that begins well above the closed loop's rate in its round and ends when its \
         bounds are {:.0} % apart. A rate holds when {} of at most {} trials of {:.0} ms pass, and \
         the answer again in trials of {:.0} ms; a trial passes when every frame arrives and at \
         most one in a thousand could not be sent in its time. One that was disturbed is taken \
         again, at most {} times. The smallest frames are searched in several rounds, all \
         engines one after the other, and engines are compared with the kernel within a round; \
         other sizes are searched once.",
        profile.resolution * 100.0,
        profile.passes,
        profile.tries,
        profile.search_seconds * 1e3,
        profile.final_seconds * 1e3,
        profile.retries
    )
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
    let tables = shown
        .chain(tables::lock_price(study))
        .chain(tables::changes(study))
        .chain(tables::without_device(study))
        .chain(tables::no_loss(study))
        .chain(study.transfers.as_ref().map(Transfers::table))
        .map(Block::Table);
    let model = study.model.iter().flat_map(model::shown::blocks);
    tables.chain(model).collect()
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
#[path = "../tests/unit/page.rs"]
mod tests;
