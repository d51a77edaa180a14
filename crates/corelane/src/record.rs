//! `corelane record`: what a running router did in its last seconds, as a document and as a page.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use report::Table;
use router::management_plane::console::replay;
use router::management_plane::recording::SCHEMA;
use serde_json::Value;

use crate::common::{Outcome, Stored, Written, unless_interrupted};
use crate::show::Named;
use crate::values::time;

/// Write down what a running router did in its last seconds
///
/// Counters of each second, the log's events, and frames that were sampled or looked at in the console:
/// as one document (--json), and as one page that shows it as the console does (--html). The router
/// keeps a quarter of an hour when its file has console = true or recorder.directory. With the latter it
/// writes recordings by itself, too, when something goes wrong.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// How far back
    #[arg(long, value_name = "SECONDS", default_value = "900", value_parser = time(1.0, 900.0))]
    seconds: Duration,
    #[command(flatten)]
    router: Named,
    #[command(flatten)]
    written: Written,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Show a recording again: in lines, or as a page (--html) that plays it
    Report(Stored),
}

/// Lines of the log that are printed.
const EVENTS: usize = 20;

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let (value, written) = match &arguments.verb {
        Some(Verb::Report(stored)) => (read(&stored.stored)?, &stored.written),
        None => {
            let question = format!("record {}", arguments.seconds.as_secs_f64().ceil());
            let router = arguments.router.clone();
            let asked = unless_interrupted(move || router.ask(&question))?;
            (asked?, &arguments.written)
        }
    };
    written.json.deliver(&text(&value), &value)?;
    if let Some(file) = &written.html {
        let page = replay(&value.to_string())?;
        let named = |error| format!("writing {}: {error}", file.display());
        fs::write(file, page).map_err(named)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A recording of earlier.
fn read(file: &Path) -> Result<Value, Box<dyn Error + Send + Sync>> {
    let name = file.display();
    let text = fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
    let remedy = "give what corelane record --json, or the router itself, has written";
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| format!("{name}: no recording: {error}; {remedy}"))?;
    match value["schema"].as_str() {
        Some(SCHEMA) if value["points"].is_array() => Ok(value),
        Some(SCHEMA) => Err(format!("{name}: a recording without points; {remedy}").into()),
        other => {
            let form = other.unwrap_or("no form");
            Err(format!("{name}: no recording: it is of {form}, not {SCHEMA}; {remedy}").into())
        }
    }
}

/// For people: the sums, and the last events.
fn text(value: &Value) -> String {
    let points = value["points"].as_array().map_or(&[][..], Vec::as_slice);
    let of = |name: &str| value[name].as_str().unwrap_or("–");
    let seconds: f64 = points
        .iter()
        .filter_map(|point| point["seconds"].as_f64())
        .sum();
    let frames = value["frames"].as_array().map_or(0, Vec::len);
    let why = value["why"]["said"].as_str().unwrap_or_default();
    let mut text = format!(
        "router {}: {seconds:.0} s, {frames} frames; {why}\n\n",
        of("instance")
    );
    text += &sums(
        points,
        "carried",
        &["port", "received", "forwarded"],
        0,
        &[0, 2],
    )
    .to_text();
    text.push('\n');
    text += &sums(points, "left", &["reason", "frames"], 2, &[]).to_text();
    let end = value["time_ms"].as_f64().unwrap_or_default();
    let events = points.iter().filter_map(|point| point["events"].as_array());
    let events: Vec<&Value> = events.flatten().collect();
    text.push('\n');
    for event in &events[events.len().saturating_sub(EVENTS)..] {
        let before = (end - event["time_ms"].as_f64().unwrap_or_default()) / 1e3;
        let (level, name, said) = (&event["level"], &event["name"], &event["text"]);
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        // Text takes whatever is written.
        let _ = writeln!(
            text,
            "{before:.1} s before the end: {} {} {}",
            word(level),
            word(name),
            word(said)
        );
    }
    text
}

/// Sums of rows of all points by the column `name`: of the `figures` in their last column, or that itself.
fn sums(points: &[Value], rows: &str, heads: &[&str], name: usize, figures: &[usize]) -> Table {
    let mut sums: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for row in points
        .iter()
        .filter_map(|point| point[rows].as_array())
        .flatten()
    {
        let Some(columns) = row.as_array() else {
            continue;
        };
        let (Some(name), Some(last)) = (columns.get(name).and_then(Value::as_str), columns.last())
        else {
            continue;
        };
        let figures: Vec<u64> = match last.as_array() {
            Some(all) => figures
                .iter()
                .filter_map(|at| all.get(*at)?.as_u64())
                .collect(),
            None => last.as_u64().into_iter().collect(),
        };
        let sum = sums
            .entry(name.to_owned())
            .or_insert_with(|| vec![0; figures.len()]);
        sum.iter_mut()
            .zip(figures)
            .for_each(|(sum, more)| *sum += more);
    }
    let mut table = Table::new("").text(heads[0]);
    for head in &heads[1..] {
        table = table.number(*head);
    }
    for (name, sum) in sums {
        let figures = sum.iter().map(u64::to_string);
        table.push(std::iter::once(name).chain(figures));
    }
    table
}
