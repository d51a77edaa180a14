//! The plain sentence under each table, and the verdict: words made from the rows and from nothing
//! else.

use figures::Weak;
use std::fmt::Write as _;

use dut::case::SMALLEST;
use dut::kind::Table;
use report::capital;
use report::units::{FramesPerSecond, Share, Times, grouped};

use crate::lock_price::{BASE, HELD, LockPrice};
use crate::plan::CHANGE_RATES;
use crate::result::{Study, UNLOCKED, ratio};
use crate::row::Row;
use crate::tables::NOTHING;

const ONE_CORE: &str = "This run had one core, so it says nothing about a second.";
/// A share of the frames at and above which nothing is said to be lost.
const VISIBLE: f64 = 0.99;

/// `3 interleaved rounds (with 64 bytes and no route changes in 11)`: what figures are medians of.
pub(crate) fn rounds(study: &Study) -> String {
    let pairs = study.speed_ups.iter().map(|up| up.rounds).max();
    let more = pairs.filter(|&pairs| pairs > study.rounds);
    let more = more.map_or(String::new(), |pairs| {
        format!(" (with {SMALLEST} bytes and no route changes in {pairs})")
    });
    format!("{} interleaved rounds{more}", study.rounds)
}

/// What is said of the engine without a network wherever its figures stand beside others'.
const EXPERIMENTS: &str = " Memory with the shipped table runs the workers of `corelane run` \
                           without a network. Its other tables are experiments: no engine that \
                           `corelane run` starts has them.";

/// Under table 1.
pub(crate) fn one_core(study: &Study) -> String {
    let parts = of_engines(study, |engine| {
        let row = study.smallest(engine, study.best_table(engine)?, 1)?;
        row.weak.is_none().then_some(())?;
        let engine = capital(engine_in_words(engine));
        Some(format!(" {engine}: {}.", frames(row)))
    });
    if parts.is_empty() {
        return String::new();
    }
    format!(
        "What one core forwards of {SMALLEST} bytes, with {} routes.{}{}",
        routes(study),
        parts.concat(),
        experiments(study)
    )
}

/// What is to be said of each engine.
fn of_engines(study: &Study, sentence: impl Fn(&str) -> Option<String>) -> Vec<String> {
    study.engines().into_iter().filter_map(sentence).collect()
}

fn experiments(study: &Study) -> &'static str {
    if study.engines().contains(&"memory") {
        EXPERIMENTS
    } else {
        ""
    }
}

/// Under table 2: what the lock costs.
pub(crate) fn locked(study: &Study) -> String {
    let parts = of_engines(study, |engine| cost_of_lock(study, engine));
    if parts.is_empty() {
        return "No engine of this run keeps its table behind a lock.".to_owned();
    }
    parts.join(" ")
}

fn cost_of_lock(study: &Study, engine: &str) -> Option<String> {
    let cores = study.most_workers(engine);
    let locked = study.smallest(engine, Table::Locked, cores)?;
    // Like with like: a table behind a lock is asked one address at a time.
    let base = study.smallest(engine, BASE, cores);
    let best = || study.smallest(engine, study.best_table(engine)?, cores);
    let free = base.or_else(best)?;
    locked.weak.or(free.weak).is_none().then_some(())?;
    let name = capital(engine_in_words(engine));
    let share = match study.lock_price(Table::Locked, cores).map(LockPrice::told) {
        Some(None) => return Some(format!("{name}: what the lock costs cannot be told here.")),
        Some(Some(price)) => price.share,
        None => ratio(locked, free)?,
    };
    if cores == 1 {
        return Some(format!(
            "{name}: the lock costs a single core {}, with nobody to wait for.",
            percent(1.0 - share)
        ));
    }
    let times = study.speed_up(locked)?;
    let bought = if times < 0.98 {
        "More cores forward less:"
    } else {
        "They forward"
    };
    Some(format!(
        "{name}: the lock costs {}. Behind it {} forward {} of {SMALLEST} bytes, without it {}. \
         {bought} {} one core's frames.",
        if share < VISIBLE {
            format!("{} of the frames", percent(1.0 - share))
        } else {
            "nothing that shows".to_owned()
        },
        cores_in_words(cores).to_lowercase(),
        frames(locked),
        frames(free),
        Times(times)
    ))
}

/// Under the table of the lock's price.
pub(crate) fn lock_price(study: &Study) -> String {
    let price = |table| study.lock_price(table, study.most_workers("memory"));
    let parts = HELD.into_iter().filter_map(|table| {
        let price = price(table)?.told()?;
        Some(format!("{} {}", looked_up(table), price.in_words()))
    });
    let parts: Vec<String> = parts.collect();
    let untold = HELD
        .into_iter()
        .filter_map(price)
        .filter(|price| price.told().is_none());
    let mut text = String::new();
    if !parts.is_empty() {
        let _ = write!(
            text,
            "Of the frames that {} forward with one address at a time and no lock: {}.",
            cores_in_words(study.cores).to_lowercase(),
            list(&parts)
        );
    }
    if untold.count() > 0 {
        let space = if text.is_empty() { "" } else { " " };
        let _ = write!(
            text,
            "{space}{NOTHING}: the rounds differ by more than the lock costs."
        );
    }
    text
}

/// How a table is asked.
pub(crate) fn looked_up(table: Table) -> &'static str {
    match table {
        Table::OneByOne => "one address at a time, no lock",
        Table::Locked => "one address at a time, one table and lock",
        Table::LockedPerCore => "one address at a time, a table and a lock for each core",
        _ => "bursts, no lock",
    }
}

/// Under table 3: what the other cores bring.
pub(crate) fn unlocked(study: &Study) -> String {
    let parts = of_engines(study, |engine| {
        let ups = what_cores_make(study, engine, &UNLOCKED)?;
        Some(format!("{}: {ups}", capital(engine_in_words(engine))))
    });
    if parts.is_empty() {
        return ONE_CORE.to_owned();
    }
    parts.join(" ") + experiments(study)
}

/// Under table 4: what route changes cost.
pub(crate) fn changes(study: &Study) -> String {
    let fastest = CHANGE_RATES[CHANGE_RATES.len() - 1];
    let at_most = study
        .route_changes
        .iter()
        .filter(|cost| cost.asked == fastest && cost.weak.is_none());
    let parts: Vec<String> = at_most
        .map(|cost| {
            let shares = [cost.kept, cost.kept_low, cost.kept_high];
            let [kept, low, high] = shares.map(|share| share * 100.0);
            let engine = capital(engine_in_words(&cost.engine));
            let table = with_table(cost.table);
            format!(" {engine} {table}: {kept:.1} % ({low:.1} to {high:.1} by round).")
        })
        .collect();
    let mut text = match parts[..] {
        [] => "What route changes cost cannot be told here.".to_owned(),
        _ => format!(
            "Of the frames that go without changes, so many go at {} route changes a second.{}",
            grouped(fastest),
            parts.concat()
        ),
    };
    for short in study.route_changes.iter().filter(|cost| cost.fell_behind()) {
        let _ = write!(
            text,
            " {} {}: only {} of the {} changes a second asked for were made.",
            capital(engine_in_words(&short.engine)),
            with_table(short.table),
            grouped(short.made as u64),
            grouped(short.asked)
        );
    }
    text
}

/// What the measurements say beyond the answer, and what was not measured.
pub(crate) fn evidence(study: &Study) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(first) = study.engines().first() {
        lines.extend(core_buys(study, first));
    }
    lines.extend(between_engines(study));
    lines.extend(study.left_out.iter().cloned());
    lines
}

/// What the machine's other users took of it, when it shows.
pub(crate) fn noise(study: &Study) -> Option<String> {
    let said = format!(
        "Noisy: the hypervisor gave {} of these cores' time to others; look at the lowest and \
         highest rounds, and run again on a quieter machine.",
        Share(study.noise.steal)
    );
    study.noise.is_noisy().then_some(said)
}

/// What "–" stands for, once for all tables; `None` where it stands for nothing but what was not
/// measured.
pub(crate) fn footnote(study: &Study) -> Option<String> {
    let of = |why| study.weak().filter(|&weak| weak == Some(why)).count();
    let (disturbed, scattered) = (of(Weak::Disturbed), of(Weak::Scattered));
    let (none, all) = (disturbed + scattered, study.weak().count());
    let mut text = format!("{NOTHING}: no evidence for {none} of {all} figures:");
    if disturbed > 0 {
        let _ = write!(
            text,
            " {disturbed} because others had the cores in most rounds, and these differ or are only two;"
        );
    }
    if scattered > 0 {
        let _ = write!(text, " {scattered} because the rounds differ too much;");
    }
    text.pop();
    (none > 0).then(|| text + ".")
}

/// What all cores bring on the first engine, by organisation.
fn core_buys(study: &Study, engine: &str) -> Option<String> {
    if study.most_workers(engine) < 2 {
        return Some(ONE_CORE.to_owned());
    }
    let ups = what_cores_make(study, engine, &[&UNLOCKED[..], &[Table::Locked]].concat())?;
    let (engine, routes) = (capital(engine_in_words(engine)), routes(study));
    Some(format!(
        "{engine}, {SMALLEST}-byte frames, {routes} routes: {ups}"
    ))
}

/// `the second core makes it 1.97× with the shipped table. With …`: all cores against one, by table.
fn what_cores_make(study: &Study, engine: &str, tables: &[Table]) -> Option<String> {
    let cores = study.most_workers(engine);
    let up = |&table: &Table| {
        let times = speed_up(study, study.smallest(engine, table, cores)?)?;
        Some((times, with_table(table)))
    };
    let mut ups = tables.iter().filter_map(up);
    let more = match cores {
        0 | 1 => return None,
        2 => "the second core makes it".to_owned(),
        more => format!("all {more} cores together make it"),
    };
    let (times, table) = ups.next()?;
    let others = ups.map(|(times, table)| format!(" {}: {times}.", capital(table)));
    let others: String = others.collect();
    Some(format!("{more} {times} {table}.{others}"))
}

/// Engines between Linux interfaces, fastest first, against the kernel: all by their rates without
/// loss where the rounds tell each of them, else all by the closed loop. Two measures do not
/// compare. Engines whose rounds tell nothing are named as such.
fn between_engines(study: &Study) -> Option<String> {
    let engines = study.engines();
    let between: Vec<&str> = engines.into_iter().filter(|&of| of != "memory").collect();
    let told = |without_loss| {
        let one = |&engine: &&str| study.against_kernel(engine, without_loss);
        let told = between.iter().filter_map(one);
        told.filter(|one| one.is_told()).collect::<Vec<_>>()
    };
    let (without_loss, closed_loop) = (told(true), told(false));
    let (measure, mut told) = if without_loss.len() == between.len() {
        ("without loss", without_loss)
    } else {
        ("in a closed loop", closed_loop)
    };
    between.contains(&"kernel").then_some(())?;
    let Some(kernel) = told.iter().position(|one| one.engine == "kernel") else {
        return Some("How engines compare with the kernel cannot be told here.".to_owned());
    };
    let kernel = told.remove(kernel);
    told.sort_by(|a, b| b.times.total_cmp(&a.times));
    let mut text = format!(
        "Between Linux interfaces the kernel forwards {} {measure}.",
        rate(kernel.frames_per_second)
    );
    for one in &told {
        let _ = write!(
            text,
            " {}: {} ({}, {:.2} to {:.2}{}).",
            capital(engine_in_words(&one.engine)),
            rate(one.frames_per_second),
            Times(one.times),
            one.low,
            one.high,
            if one.differs() { "" } else { ": no difference" }
        );
    }
    let is_told = |engine: &&str| told.iter().any(|one| one.engine == *engine);
    let untold = between.iter().filter(|of| **of != "kernel" && !is_told(of));
    let untold: Vec<String> = untold
        .map(|&engine| engine_in_words(engine).to_owned())
        .collect();
    if !untold.is_empty() {
        let _ = write!(
            text,
            " Not told here, for want of rounds that agree: {}.",
            list(&untold)
        );
    }
    Some(text)
}

/// Under the table of rates without loss: what a closed loop's rate is worth, and why a search
/// found nothing.
pub(crate) fn no_loss(study: &Study) -> String {
    let found: Vec<f64> = study
        .searches
        .iter()
        .filter_map(|search| {
            let mut rows = study.forwarding.iter();
            let row = rows.find(|row| row.is_quiet(&search.key) && row.weak.is_none())?;
            let rate = search.told()?;
            (row.frames_per_second.0 > 0.0).then(|| rate.0 / row.frames_per_second.0)
        })
        .collect();
    let mut text = format!(
        "RFC 2544's search found a rate without loss in {} of {} cases",
        found.len(),
        study.searches.len()
    );
    if !found.is_empty() {
        let (least, most) = figures::range(&found);
        let _ = write!(
            text,
            ". That was {:.0} to {:.0} % of what the closed loop gives, {:.0} % in the middle",
            least * 100.0,
            most * 100.0,
            figures::median(&found) * 100.0
        );
    }
    text.push('.');
    for (why, cases) in crate::no_loss::reasons(&study.searches) {
        let _ = write!(text, " None in {cases}: {why}.");
    }
    text
}

/// `Both cores`, `All 8 cores`, `One core`.
pub(crate) fn cores_in_words(cores: usize) -> String {
    match cores {
        1 => "One core".to_owned(),
        2 => "Both cores".to_owned(),
        more => format!("All {more} cores"),
    }
}

/// What an engine is, for a reader who has not met its name.
pub(crate) fn engine_in_words(engine: &str) -> &str {
    match engine {
        "memory" => "memory ports",
        "kernel" => "the Linux kernel",
        "auto" => "XDP or tc with our table (auto)",
        "xdp" => "XDP with our table",
        "xdp-kernel-fib" => "XDP with the kernel's table",
        "tc" => "tc with our table",
        "af-xdp" => "XDP sockets (af-xdp)",
        "af-packet" => "packet sockets (af-packet)",
        other => other,
    }
}

fn with_table(table: Table) -> &'static str {
    match table {
        Table::Shipped => "with the shipped table",
        Table::Locked => "with one table behind a lock",
        Table::Shared => "with one shared table",
        Table::PerCore => "with a table per core",
        Table::OneByOne => "with one address at a time",
        Table::LockedPerCore => "with a table and a lock per core",
        Table::Kernel => "with the kernel's table",
    }
}

fn frames(row: &Row) -> String {
    rate(row.frames_per_second)
}

fn rate(FramesPerSecond(rate): FramesPerSecond) -> String {
    report::units::engineering(rate, "frames/s")
}

/// `1.97× (1.95 to 2.01)`: times one worker, with the interval of that median where rounds were
/// compared.
fn speed_up(study: &Study, row: &Row) -> Option<String> {
    let (times, interval) = study.speed_up_with_interval(row)?;
    let times = Times(times).to_string();
    Some(match interval {
        Some([low, high]) => format!("{times} ({low:.2} to {high:.2})"),
        None => times,
    })
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn routes(study: &Study) -> String {
    grouped(study.forwarding.first().map_or(0, |row| row.routes) as u64)
}

fn list(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
#[path = "../tests/unit/sentences.rs"]
mod tests;
