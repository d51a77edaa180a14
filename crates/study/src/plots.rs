//! The plots of the study: throughput against frame size, speed-up against cores, route changes.

use std::collections::BTreeSet;

use dut::case::{FRAME_SIZES, SMALLEST};
use dut::kind::Table;
use report::{Axis, Plot, Series, Style};

use crate::answer;
use crate::plan::CHANGE_RATES;
use crate::result::Study;
use crate::route_changes::RouteChanges;
use crate::row::Row;
use crate::sentences::{cores_in_words, engine_in_words};

/// Most series that a reader can tell apart in one plot.
const SERIES_MAX: usize = 8;

/// Every plot.
pub fn all(study: &Study) -> Vec<Plot> {
    let first = throughput(study).into_iter().chain(speed_up(study));
    first.chain(changes(study)).chain(engines(study)).collect()
}

/// The plot of the answer, and the others in the order of the page.
pub(crate) fn opening_and_rest(study: &Study) -> (Option<Plot>, Vec<Plot>) {
    let mut all = all(study);
    let last = engines(study).and_then(|_| all.pop());
    if last.is_some() || all.is_empty() {
        return (last, all);
    }
    (Some(all.remove(0)), all)
}

/// Throughput of all cores against frame size, a line for each engine between interfaces; `None`
/// without one.
fn engines(study: &Study) -> Option<Plot> {
    let cores = cores_in_words(study.cores);
    let mut plot = Plot::new(
        format!("{cores}: throughput against frame size"),
        sizes(),
        Axis::new("bit/s").from_zero(),
    );
    let between = answer::engines(study).into_iter();
    for (engine, table) in between.filter(|&(engine, _)| engine != "memory") {
        let rows = study.rows(engine, table, study.most_workers(engine), 0);
        let line = Series::line(report::capital(engine_in_words(engine)));
        plot = plot.series(rows.fold(line, point));
    }
    let mut plot = told(plot)?;
    plot.series.truncate(SERIES_MAX);
    Some(plot.caption(CAPTION))
}

/// Without the series of which no point could be told; `None` where none is left to compare.
fn told(mut plot: Plot) -> Option<Plot> {
    plot.series.retain(|series| !series.points.is_empty());
    let mut styles = plot.series.iter().map(|series| series.style);
    styles
        .any(|style| style != Style::Reference)
        .then_some(plot)
}

fn sizes() -> Axis {
    Axis::new("frame size, bytes with FCS")
        .range(0.0, 1536.0)
        .ticks(FRAME_SIZES.map(|size| (f64::from(size), size.to_string())))
}

/// The rate of `row` on its line, where it could be told.
fn point(line: Series, row: &Row) -> Series {
    if row.weak.is_some() {
        return line;
    }
    let bytes = row.key.frame_bytes;
    let [low, high] = [row.low, row.high].map(|frames| frames.at(bytes).0);
    line.spread(f64::from(bytes), row.bits_per_second.0, low, high)
}

const CAPTION: &str = "Layer-2 rate: frame bytes with FCS, no preamble and gap. Points are \
                       medians of the rounds, bars their range. Where rounds are no evidence, \
                       they are of calm trials: the median, and its interval.";

/// Throughput against frame size: one plot an engine, for engines differ by orders of magnitude.
pub(crate) fn throughput(study: &Study) -> Vec<Plot> {
    let engines = study.engines().into_iter();
    engines
        .filter_map(|engine| throughput_of(study, engine))
        .collect()
}

fn throughput_of(study: &Study, engine: &str) -> Option<Plot> {
    let cores = study.most_workers(engine);
    let mut plot = Plot::new(
        format!("Throughput against frame size: {}", engine_in_words(engine)),
        sizes(),
        Axis::new("bit/s").from_zero(),
    );
    for workers in BTreeSet::from([1, cores]) {
        for table in study.tables(engine) {
            // Those that tell the lock's price have the smallest frames alone.
            if matches!(table, Table::OneByOne | Table::LockedPerCore) {
                continue;
            }
            // One core needs no second line for an organisation that is the same to it.
            if workers == 1 && cores > 1 && Some(table) != study.best_table(engine) {
                continue;
            }
            let name = format!("{}, {table}", cores_in_words(workers).to_lowercase());
            let series = Series::line(name).colour(colour(workers, table));
            let rows = study.rows(engine, table, workers, 0);
            plot = plot.series(rows.fold(series, point));
        }
    }
    told(plot).map(|plot| plot.caption(CAPTION))
}

/// Grey-blue for one core, one colour for each organisation.
fn colour(workers: usize, table: Table) -> usize {
    match (workers, table) {
        (1, _) => 7,
        (_, Table::Shipped) => 0,
        (_, Table::Locked) => 1,
        (_, Table::Shared) => 2,
        (_, Table::PerCore) => 3,
        (_, Table::Kernel) => 4,
        (_, Table::OneByOne) => 5,
        (_, Table::LockedPerCore) => 6,
    }
}

/// The colour of an organisation where several engines are in one plot: the first engine keeps the
/// colours of its own plot.
fn place(study: &Study, engine: &str, table: Table) -> usize {
    if study.engines().first() == Some(&engine) {
        return colour(2, table);
    }
    let others = study.engines().into_iter().skip(1).flat_map(|engine| {
        let tables = study.tables(engine).into_iter();
        tables.map(move |table| (engine, table))
    });
    let mut others: Vec<(&str, Table)> = others.collect();
    // The kernel's tables last: they have no bars in the plot with the most engines.
    others.sort_by_key(|&(_, table)| table == Table::Kernel);
    let before = others
        .into_iter()
        .take_while(|&other| other != (engine, table));
    4 + before.count()
}

/// Speed-up against cores with the smallest frames; `None` on one core.
pub(crate) fn speed_up(study: &Study) -> Vec<Plot> {
    if study.cores < 2 {
        return Vec::new();
    }
    let lines: usize = study
        .engines()
        .iter()
        .map(|engine| study.tables(engine).len())
        .sum();
    let title = "Speed-up against cores";
    if lines < SERIES_MAX {
        let plot = speed_up_of(study, &study.engines(), title);
        return plot.into_iter().collect();
    }
    let of = |engine| {
        let title = format!("{title}: {}", engine_in_words(engine));
        speed_up_of(study, &[engine], &title)
    };
    study.engines().into_iter().filter_map(of).collect()
}

fn speed_up_of(study: &Study, engines: &[&str], title: &str) -> Option<Plot> {
    let cores = study.cores as f64;
    let mut plot = Plot::new(
        title,
        Axis::new("cores")
            .range(0.8, cores + 0.2)
            .ticks_at((1..=study.cores).map(|core| core as f64)),
        Axis::new("times one core").from_zero(),
    )
    .series(
        Series::reference("ideal")
            .point(1.0, 1.0)
            .point(cores, cores)
            .colour(7),
    );
    for engine in engines {
        for table in study.tables(engine) {
            let mut series = Series::line(format!("{engine}, {table}"))
                .colour(place(study, engine, table))
                .point(1.0, 1.0);
            for workers in 2..=study.cores {
                let row = study.smallest(engine, table, workers);
                let x = workers as f64;
                series = match row.and_then(|row| study.speed_up_with_interval(row)) {
                    Some((times, Some([low, high]))) => series.spread(x, times, low, high),
                    Some((times, None)) => series.point(x, times),
                    None => series,
                };
            }
            // One core is what others are held against, and says nothing alone.
            if series.points.len() > 1 {
                plot = plot.series(series);
            }
        }
    }
    told(plot).map(|plot| {
        plot.caption(format!(
            "{SMALLEST}-byte frames, each organisation against its own rate on one core."
        ))
    })
}

/// Frames forwarded while routes change, against none; `None` when not measured.
pub(crate) fn changes(study: &Study) -> Option<Plot> {
    let mut plot = Plot::new(
        "Forwarding while routes change",
        Axis::new("route changes a second")
            .categories(CHANGE_RATES.map(|rate| report::units::compact(rate as f64))),
        Axis::new("% of the frames without changes").from_zero(),
    );
    for engine in study.engines() {
        for table in study.tables(engine) {
            let cost = |(place, rate)| Some((place, study.cost_of_changes(engine, table, rate)?));
            let costs: Vec<(usize, &RouteChanges)> = (0..)
                .zip(CHANGE_RATES)
                .filter_map(cost)
                .filter(|(_, cost)| cost.weak.is_none())
                .collect();
            if costs.is_empty() {
                continue;
            }
            let mut series = Series::new(format!("{engine}, {table}"), Style::Bars)
                .colour(place(study, engine, table))
                .point(0.0, 100.0);
            for (place, cost) in costs {
                let [kept, low, high] =
                    [cost.kept, cost.kept_low, cost.kept_high].map(|share| 100.0 * share);
                series = series.spread(place as f64, kept, low, high);
            }
            plot = plot.series(series);
        }
    }
    (!plot.series.is_empty()).then(|| {
        plot.caption(format!(
            "{SMALLEST}-byte frames on {}, each round against its own rate without changes; bars \
             are medians, lines the range of the rounds. The thread that changes routes shares \
             the cores with the workers.",
            cores_in_words(study.cores).to_lowercase()
        ))
    })
}

#[cfg(test)]
#[path = "../tests/unit/plots.rs"]
mod tests;
