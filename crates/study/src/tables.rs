//! The three tables of the study, and the table of route changes.

use std::collections::BTreeSet;

use dut::case::SMALLEST;
use dut::kind::Table;
use report::Table as Shown;
use report::units::{FramesPerSecond, Times, engineering, grouped};

use crate::lock_price::{BASE, HELD, LockPrice};
use crate::plan::CHANGE_RATES;
use crate::result::{Study, UNLOCKED, ratio};
use crate::route_changes::RouteChanges;
use crate::row::Row;
use crate::sentences;

/// A cell without a value.
pub(crate) const NOTHING: &str = "–";

/// Table 1: one core, no lock; beside it what the lock alone costs one core.
pub(crate) fn one_core(study: &Study) -> Shown {
    let mut shown = Shown::new("Table 1. One core")
        .texts(["engine", "table"])
        .numbers(["frame bytes", "frames/s", "behind a lock", "bit/s"])
        .number("frames/s, lowest to highest round");
    for engine in study.engines() {
        let best = study.best_table(engine).into_iter();
        for row in best.flat_map(|table| study.rows(engine, table, 1, 0)) {
            let locked = study.row(engine, Table::Locked, 1, row.key.frame_bytes, 0);
            let locked = locked.filter(|locked| locked.weak.or(row.weak).is_none());
            let times = locked.and_then(|locked| ratio(locked, row));
            shown.push(cells(row, times));
        }
    }
    shown.caption(sentences::one_core(study))
}

/// What generator, cable and sink take, beside the engines between interfaces; `None` without one.
pub(crate) fn without_device(study: &Study) -> Option<Shown> {
    let mut shown = Shown::new(format!(
        "Generator, cable and sink: their share of a {SMALLEST}-byte frame's time on a core"
    ))
    .text("engine")
    .numbers([
        "cores",
        "frames/s",
        "ns a frame and core",
        "of these without a device",
    ]);
    for one in &study.without_device {
        let workers = one.workers;
        let told = study.without_device(workers);
        let ns = |FramesPerSecond(rate): FramesPerSecond| workers as f64 * 1e9 / rate;
        let own = told.map(|bare| ns(bare.frames_per_second));
        let whole = |ns: Option<f64>| ns.map_or(NOTHING.to_owned(), |ns| format!("{ns:.0}"));
        shown.push([
            "none".to_owned(),
            workers.to_string(),
            told.map_or(NOTHING.to_owned(), |told| bare(told.frames_per_second)),
            whole(own),
            String::new(),
        ]);
        for engine in study
            .engines()
            .into_iter()
            .filter(|engine| *engine != "memory")
        {
            let row = study
                .best_table(engine)
                .and_then(|table| study.smallest(engine, table, workers));
            let Some(row) = row else { continue };
            let time = (row.weak.is_none() && row.frames_per_second.0 > 0.0)
                .then(|| ns(row.frames_per_second));
            let of = own.zip(time).map(|(own, time)| own / time);
            shown.push([
                engine.to_owned(),
                workers.to_string(),
                rate_of(row),
                whole(time),
                of.map_or(NOTHING.to_owned(), share),
            ]);
        }
    }
    let caption = "Without a device the frames end where the device would begin, after one cable; \
                   with one they cross two. What is left is the device's and the second cable's.";
    (!shown.rows.is_empty()).then(|| shown.caption(caption))
}

/// Table 2: all cores, the table behind one lock.
pub(crate) fn locked(study: &Study) -> Shown {
    let title = "Table 2. {cores}, one table behind a lock: an experiment";
    all_cores(study, title, &[Table::Locked]).caption(sentences::locked(study))
}

/// What the lock costs, apart from giving up bursts; `None` when that was not measured.
pub(crate) fn lock_price(study: &Study) -> Option<Shown> {
    let mut shown = Shown::new(format!(
        "What the lock costs: {SMALLEST}-byte frames, against one address at a time without a lock"
    ))
    .text("table")
    .numbers(["cores", "frames/s", "of one at a time", "interval"]);
    let base = study.smallest("memory", BASE, 1)?;
    let most = study.most_workers(&base.key.engine);
    for workers in BTreeSet::from([1, most]) {
        for table in [BASE].into_iter().chain(HELD) {
            let Some(row) = study.smallest("memory", table, workers) else {
                continue;
            };
            let price = study.lock_price(table, workers).and_then(LockPrice::told);
            let words = |of: &dyn Fn(&LockPrice) -> String| price.map_or(NOTHING.to_owned(), of);
            shown.push([
                sentences::looked_up(table).to_owned(),
                workers.to_string(),
                rate_of(row),
                words(&|price| share(price.share)),
                words(&|price| format!("{} to {}", share(price.low), share(price.high))),
            ]);
        }
    }
    Some(shown.caption(sentences::lock_price(study)))
}

/// Table 3: all cores, nothing written by two of them for a frame.
pub(crate) fn unlocked(study: &Study) -> Shown {
    let title = "Table 3. {cores}, a table for each core, or one that nobody locks";
    all_cores(study, title, &UNLOCKED).caption(sentences::unlocked(study))
}

fn all_cores(study: &Study, title: &str, tables: &[Table]) -> Shown {
    let mut shown = Shown::new(title.replace("{cores}", &cores(study)))
        .texts(["engine", "table"])
        .numbers(["frame bytes", "frames/s", "speed-up", "bit/s"])
        .numbers([
            "frames/s, lowest to highest round",
            "interval of the speed-up",
        ]);
    for engine in study.engines() {
        let workers = study.most_workers(engine);
        let rows = tables
            .iter()
            .flat_map(|&table| study.rows(engine, table, workers, 0));
        for row in rows {
            let up = study.speed_up_with_interval(row);
            let interval = up.and_then(|(_, interval)| interval);
            let interval = interval.map_or(NOTHING.to_owned(), |[low, high]| {
                format!("{low:.2} to {high:.2}")
            });
            let times = up.map(|(times, _)| times);
            shown.push(cells(row, times).into_iter().chain([interval]));
        }
    }
    shown
}

/// Table 4: route changes while all cores forward; `None` when none were measured.
pub(crate) fn changes(study: &Study) -> Option<Shown> {
    let mut shown = Shown::new(format!(
        "Table 4. Routes change while {} forward",
        cores(study).to_lowercase()
    ))
    .texts(["engine", "table"])
    .numbers(["route changes/s", "frames/s"])
    .numbers(["of those without changes", "lowest to highest round"]);
    for engine in study.engines() {
        for table in study.tables(engine) {
            let workers = study.most_workers(engine);
            for rate in CHANGE_RATES {
                let Some(row) = study.row(engine, table, workers, SMALLEST, rate) else {
                    continue;
                };
                let cost = study.cost_of_changes(engine, table, rate);
                // Without route changes in the plan, the row without is no row of this table.
                let changes = study.cost_of_changes(engine, table, CHANGE_RATES[1]);
                if cost.or(changes).is_none() {
                    continue;
                }
                let told = cost.filter(|cost| cost.weak.is_none());
                let words = |of: fn(&RouteChanges) -> String| told.map_or(NOTHING.to_owned(), of);
                shown.push([
                    engine.to_owned(),
                    table.to_string(),
                    grouped(rate),
                    rate_of(row),
                    words(|cost| share(cost.kept)),
                    words(|cost| format!("{} to {}", share(cost.kept_low), share(cost.kept_high))),
                ]);
            }
        }
    }
    (!shown.rows.is_empty()).then(|| shown.caption(sentences::changes(study)))
}

/// Table 5: the highest rates without loss between interfaces, beside the closed loop's; `None`
/// when nothing was searched.
pub(crate) fn no_loss(study: &Study) -> Option<Shown> {
    let mut shown = Shown::new("Table 5. Between interfaces, the highest rate without loss")
        .texts(["engine", "table"])
        .numbers(["cores", "frame bytes", "frames/s without loss", "interval"])
        .numbers(["frames/s in the closed loop", "share of it"]);
    for row in &study.forwarding {
        let Some(search) = study.search(row) else {
            continue;
        };
        let FramesPerSecond(closed_loop) = row.frames_per_second;
        let found = search.told();
        let interval = search.low.zip(search.high).filter(|_| found.is_some());
        let interval = interval.map_or(NOTHING.to_owned(), |(low, high)| {
            format!("{} to {}", figure(low), figure(high))
        });
        let held = found.map(|FramesPerSecond(held)| held / closed_loop);
        shown.push([
            row.key.engine.clone(),
            row.key.table.to_string(),
            row.key.workers.to_string(),
            row.key.frame_bytes.to_string(),
            found.map_or(NOTHING.to_owned(), bare),
            interval,
            rate_of(row),
            held.filter(|held| held.is_finite() && row.weak.is_none())
                .map_or(NOTHING.to_owned(), share),
        ]);
    }
    (!shown.rows.is_empty()).then(|| shown.caption(sentences::no_loss(study)))
}

/// `97.3 %`.
fn share(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn cells(row: &Row, times: Option<f64>) -> [String; 7] {
    [
        row.key.engine.clone(),
        row.key.table.to_string(),
        row.key.frame_bytes.to_string(),
        rate_of(row),
        times.map_or(NOTHING.to_owned(), |times| Times(times).to_string()),
        row.weak
            .map_or_else(|| figure(row.bits_per_second.0), |_| NOTHING.to_owned()),
        format!("{} to {}", bare(row.low), bare(row.high)),
    ]
}

/// The rate of a row, where its rounds are evidence for it.
pub(crate) fn rate_of(row: &Row) -> String {
    match row.weak {
        None => bare(row.frames_per_second),
        Some(_) => NOTHING.to_owned(),
    }
}

/// `31.4 M`: the unit is in the heading.
fn bare(rate: FramesPerSecond) -> String {
    figure(rate.0)
}

/// `16.1 G`: the unit is in the heading.
pub(crate) fn figure(value: f64) -> String {
    engineering(value, "").trim_end().to_owned()
}

/// `Two cores`, `All 8 cores`: how many cores the workers had.
fn cores(study: &Study) -> String {
    sentences::cores_in_words(study.cores)
}

#[cfg(test)]
#[path = "../tests/unit/tables.rs"]
mod tests;
