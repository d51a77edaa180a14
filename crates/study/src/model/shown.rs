//! The model in tables and sentences.

use dut::case::SMALLEST;
use report::units::{Bytes, engineering};
use report::{Block, Table as Shown};

use super::formula::BANDS;
use super::machine::Machine;
use super::{Forecast, Model};
use crate::sentences::cores_in_words;
use crate::tables::{NOTHING, figure};

/// Under the tables where there is such a cell.
const FOOTNOTE: &str = "– in a forecast: rounds differ too much, or readers do not slow each \
                        other, so these cores do not show where memory ends.";

/// All that the report has of it.
pub(crate) fn blocks(model: &Model) -> Vec<Block> {
    let mut blocks = vec![Block::Table(machine(&model.machine))];
    if model.forecasts.is_empty() {
        return blocks;
    }
    let tables = [forecasts(model), bands(model)];
    let weak = tables.iter().any(is_weak);
    let tables = tables.into_iter().filter(|table| !table.rows.is_empty());
    blocks.extend(tables.map(Block::Table));
    blocks.extend(weak.then(|| Block::Text(FOOTNOTE.to_owned())));
    blocks.push(Block::List {
        title: "What the forecast assumes".to_owned(),
        items: assumptions(&model.machine),
    });
    blocks
}

/// What the cores share.
fn machine(machine: &Machine) -> Shown {
    let all = cores_in_words(machine.cores).to_lowercase();
    let mut shown = Shown::new("What the cores share: measured without forwarding")
        .text("")
        .number("one core")
        .number(all);
    let share = 100.0 / machine.computing.value;
    let loaded = machine.table_load.value * machine.table_loaded.value;
    let table = Bytes(machine.table);
    for (what, one, all) in [
        (
            "memory read, bytes/s".to_owned(),
            figure(machine.read_one.value),
            figure(machine.read_all.value),
        ),
        (
            "load from memory, ns".to_owned(),
            tenths(machine.load_one.value),
            tenths(machine.load_all.value),
        ),
        (
            format!("load from {table}, ns (all: the others read memory)"),
            tenths(machine.table_load.value),
            tenths(loaded),
        ),
        (
            "computing, of one core's pace".to_owned(),
            "100.0 %".to_owned(),
            format!("{share:.1} %"),
        ),
        (
            "a cache line from core to core, ns".to_owned(),
            String::new(),
            tenths(machine.line_move.value),
        ),
    ] {
        shown.push([what, one, all]);
    }
    shown.caption(format!(
        "A core's second-level cache has {}, the last-level cache {}, the forwarding table \
         {table}. Memory is a buffer of {}. Loads wait for each other.",
        Bytes(machine.second_level),
        Bytes(machine.last_level),
        Bytes(machine.buffer)
    ))
}

/// Predicted beside measured.
fn forecasts(model: &Model) -> Shown {
    let all = cores_in_words(model.machine.cores).to_lowercase();
    let mut shown = Shown::new(format!(
        "Forecast: what {all} forward, from one core's figures"
    ))
    .text("engine")
    .numbers(["one core, frames/s", "beside readers", "of it shared"])
    .numbers(["bytes/frame", "predicted, frames/s", "×", "interval"])
    .numbers(["measured ×", "difference"]);
    for forecast in &model.forecasts {
        shown.push(forecast_cells(forecast));
    }
    let lines: Vec<String> = model.forecasts.iter().map(|of| line(model, of)).collect();
    let caption = format!(
        "Frames/s of {SMALLEST} bytes. Beside readers: of its frames, while the other cores read \
         memory. Shared: the part of a frame's time that waits for what cores share. A cache line \
         moved for each frame would take {}. The difference is predicted over measured, less \
         one: what the model does not know.",
        lines.join(", ")
    );
    shown.caption(caption)
}

/// `12 % of its time (xdp)`: what a line moved between cores for each frame would cost.
fn line(model: &Model, forecast: &Forecast) -> String {
    let frame = 1e9 / forecast.one_core;
    let share = 100.0 * model.machine.line_move.value / frame;
    format!("{share:.0} % of its time ({})", forecast.key.engine)
}

fn forecast_cells(forecast: &Forecast) -> [String; 10] {
    let predicted = forecast.predicted;
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    [
        forecast.key.engine.clone(),
        figure(forecast.one_core),
        percent(1.0 / forecast.slowed.value),
        or_weak(forecast.shared_part.map(percent)),
        or_weak(forecast.bytes_per_frame.map(|of| format!("{of:.0}"))),
        or_weak(predicted.map(|of| figure(of.value * forecast.one_core))),
        or_weak(predicted.map(|of| format!("{:.2}", of.value))),
        or_weak(predicted.map(|of| format!("{:.2}", of.interval))),
        or_weak(forecast.measured.map(|times| format!("{times:.2}"))),
        or_weak(
            forecast
                .difference()
                .map(|of| format!("{:+.1} %", 100.0 * of)),
        ),
    ]
}

/// What more cores than these may forward.
fn bands(model: &Model) -> Shown {
    let beyond: Vec<usize> = BANDS
        .into_iter()
        .filter(|&cores| cores > model.machine.cores)
        .collect();
    let mut shown = Shown::new("Forecast: frames/s of more cores, none of them measured");
    shown = shown.text("engine");
    for cores in &beyond {
        shown = shown.number(format!("{cores} cores"));
    }
    if beyond.is_empty() {
        return shown;
    }
    for forecast in &model.forecasts {
        let cell = |cores: &usize| {
            let band = forecast.bands.iter().find(|band| band.cores == *cores)?;
            let rate = |times: f64| engineering(times * forecast.one_core, "");
            let [low, high] = [band.shared.map(rate), Some(rate(band.grown))]
                .map(|end| or_weak(end).trim_end().to_owned());
            Some(format!("{low} to {high}"))
        };
        let cells = beyond.iter().map(|cores| or_weak(cell(cores)));
        shown.push([forecast.key.engine.clone()].into_iter().chain(cells));
    }
    let caption = "From this machine's memory bandwidth for all of them to bandwidth that grows \
                   with the cores.";
    shown.caption(caption)
}

/// What has to be true of cores that nobody measured.
fn assumptions(machine: &Machine) -> Vec<String> {
    let cores = machine.cores;
    vec![
        format!(
            "Further cores are like these: the same clock when all work, {} of second-level cache \
             each.",
            Bytes(machine.second_level)
        ),
        "The last-level cache keeps as much of the table for each core as here.".to_owned(),
        format!(
            "Lower end: all cores share the memory bandwidth that {cores} have here. Upper end: \
             bandwidth grows with the cores."
        ),
        "A core waits longer with all traffic of the others, or only when memory is full. The \
         interval spans both."
            .to_owned(),
        "A forwarding core takes no more of memory than a reading one.".to_owned(),
        format!(
            "No cache line is written by two cores for a frame; one would cost {} ns.",
            tenths(machine.line_move.value)
        ),
        "Each core gets its share of the frames. Cards, their queues and buses are not in it."
            .to_owned(),
    ]
}

fn or_weak(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| NOTHING.to_owned())
}

fn is_weak(shown: &Shown) -> bool {
    shown
        .rows
        .iter()
        .flatten()
        .any(|cell| cell.contains(NOTHING))
}

/// `71.3`.
fn tenths(value: f64) -> String {
    format!("{value:.1}")
}

#[cfg(test)]
#[path = "../../tests/unit/model/shown.rs"]
mod tests;
