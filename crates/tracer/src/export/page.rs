//! The report as one page: verdict, budget bar, lock table, and the timeline drawn by `timeline.js`
//! from packed columns.
//!
//! The timeline's data are columns of variable-length numbers, deflated and in base64: about three
//! bytes a slice. The page loads nothing; `inflate.js` unpacks the data while the page loads, so
//! that even a page printed at once has its picture, and only what is in view is drawn.

mod columns;

use std::fmt::Write as _;

use columns::Columns;
use report::units::Nanoseconds;
use report::{Block, Document, Table};

use crate::analyse::Analysis;
use crate::analyse::locks::Range;
use crate::trace::Trace;
use crate::verdict::{Verdict, title, verdict};

const INFLATE: &str = include_str!("inflate.js");
const SCRIPT: &str = include_str!("timeline.js");
const STYLE: &str = include_str!("timeline.css");

/// The whole report of a trace.
pub fn document(trace: &Trace, analysis: &Analysis) -> Document {
    let verdict = verdict(trace, analysis);
    let mut document = Document::new(format!("Trace: {}", trace.header.command));
    document.verdict.clone_from(&verdict.sentences);
    document = document
        .heading("Where the cores' time went")
        .block(Block::Html(bar(analysis)))
        .heading("Timeline")
        .block(Block::Html(timeline(analysis, "trace")));
    if !analysis.locks.is_empty() {
        document = document
            .heading("Locks")
            .block(Block::Table(lock_table(analysis, &verdict)));
    }
    let interrupts = vec![Block::Table(interrupt_table(analysis))];
    document = document.details("Interrupts", interrupts);
    let environment = [
        ("host", trace.header.host.clone()),
        ("kernel", trace.header.kernel.clone()),
        ("architecture", trace.header.architecture.clone()),
        ("recorder", trace.header.recorder.clone()),
        ("events", trace.events.len().to_string()),
        ("events lost", trace.events_lost().to_string()),
        ("not available", trace.header.missing.join("; ")),
    ];
    document.environment = environment
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    document
}

/// The timeline alone, to be put into another page; `id` tells several on one page apart.
pub fn timeline(analysis: &Analysis, id: &str) -> String {
    let (data, length) = Columns::of(analysis).packed();
    let script = if id == "trace" || id.ends_with("-1") {
        format!("<script>{INFLATE}{SCRIPT}</script>")
    } else {
        String::new()
    };
    format!(
        "<style>{STYLE}</style><figure class=\"timeline\" id=\"{id}\"><div \
         class=\"timeline-tools\"><button type=\"button\" data-do=\"out\" aria-label=\"zoom \
         out\">−</button><button type=\"button\" data-do=\"in\" aria-label=\"zoom \
         in\">+</button><button type=\"button\" data-do=\"all\">all</button><span \
         class=\"timeline-where\"></span></div><canvas tabindex=\"0\" role=\"img\" \
         aria-label=\"what each core \
         and thread did over time\"></canvas><div class=\"timeline-tip\" \
         hidden></div><figcaption>Each row is a core or a thread; colour is the thread. Drag to \
         move, wheel or pinch to zoom, arrow keys and + − 0 work too. Close up, arrows show who \
         woke whom.</figcaption></figure>{script}<script>corelaneTimeline(\"{id}\",\"{data}\",\
         {length});</script>\n"
    )
}

fn bar(analysis: &Analysis) -> String {
    let budget = &analysis.budget;
    let total = budget.total().max(1) as f64;
    let (others, interrupts) = (
        budget.other + budget.recorder,
        budget.interrupts + budget.softirqs,
    );
    let parts = [
        ("program", "the program", budget.program),
        ("locks", "idle: waited for locks", budget.idle_locks),
        (
            "waits",
            "idle: waited for messages, time, devices",
            budget.idle_waits,
        ),
        (
            "waking",
            "idle: a thread was on its way",
            budget.idle_waking,
        ),
        ("other", "other programs", others),
        ("kernel", "kernel threads", budget.kernel),
        ("interrupts", "interrupts", interrupts),
        ("design", "idle: nothing further to run", budget.idle_design),
        ("unknown", "not explained", budget.unknown),
    ];
    let (mut bar, mut key) = (String::new(), String::new());
    for (class, words, part) in parts {
        let (share, cores) = (part as f64 / total * 100.0, budget.in_cores(part));
        if part > 0 {
            let _ = write!(
                bar,
                "<i class=\"b-{class}\" style=\"flex-grow:{share:.3}\" title=\"{words}: \
                 {share:.1} %\"></i>"
            );
        }
        if share >= 0.05 {
            let one = (cores - 1.0).abs() < 0.005;
            let _ = write!(
                key,
                "<li><i class=\"b-{class}\"></i>{words}: <b>{cores:.2}</b> {} ({share:.1} %)</li>",
                if one { "core" } else { "cores" }
            );
        }
    }
    format!(
        "<div class=\"budget\" role=\"img\" aria-label=\"share of core time by \
         use\">{bar}</div><ul class=\"budget-key\">{key}</ul>\n"
    )
}

fn lock_table(analysis: &Analysis, verdict: &Verdict) -> Table {
    const MOST: usize = 12;
    let mut table = Table::new("")
        .text("lock")
        .number("waits")
        .number("mean wait")
        .number("contended")
        .number("waiting")
        .number("cores lost")
        .number("serial")
        .number("gain without");
    let range = |range: Range| format!("{:.2}–{:.2}×", range.low, range.high);
    for (index, lock) in analysis.locks.iter().enumerate().take(MOST) {
        let mark = if verdict.blamed.contains(&index) {
            "▸ "
        } else {
            ""
        };
        table.push([
            format!("{mark}{}", title(lock)),
            lock.waited.waits.count.to_string(),
            Nanoseconds(lock.waited.waits.mean() as u64).to_string(),
            format!("{:.1} %", lock.cost.contended_share * 100.0),
            format!("{:.2}", lock.cost.mean_waiters),
            format!("{:.2}", lock.cost.lost_cores),
            lock.demand
                .map_or("–".to_owned(), |demand| format!("{:.2}", demand.serial)),
            lock.gain.map_or("–".to_owned(), |gain| range(gain.removed)),
        ]);
    }
    table.caption(
        "Contended: share of the time with at least one thread waiting. Waiting: threads waiting \
         on average. Cores lost: cores that idled meanwhile. Blamed locks are marked.",
    )
}

fn interrupt_table(analysis: &Analysis) -> Table {
    const MOST: usize = 10;
    let wall = analysis.timeline.wall().max(1) as f64;
    let mut table = Table::new("")
        .text("interrupt")
        .number("core")
        .number("count")
        .number("share of the core")
        .number("longest");
    for placement in analysis.interrupts.iter().take(MOST) {
        table.push([
            placement.what.to_string(),
            placement.cpu.to_string(),
            placement.times.count.to_string(),
            format!("{:.2} %", placement.times.sum as f64 / wall * 100.0),
            Nanoseconds(placement.times.longest).to_string(),
        ]);
    }
    table
}
