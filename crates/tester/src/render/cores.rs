//! Throughput by cores, and what more cores bring.

use std::collections::BTreeMap;

use report::units::Times;
use report::{Block, Table};

use super::cells::{label, rate, verdict};
use super::sentence;
use crate::by_cores::{self, ByCores, SpeedUp};
use crate::honest;
use crate::result::{Entry, Report};
use crate::trial::Direction;

/// A cell without a value.
const NOTHING: &str = "–";

/// The rows that are of some cores.
fn rows(report: &Report) -> Vec<(&Entry, &ByCores)> {
    let rows = report.results.iter();
    rows.filter_map(|entry| Some((entry, by_cores::of(entry)?)))
        .collect()
}

/// A sentence for each size on several cores; where there is none, for each row.
pub(super) fn sentences(report: &Report) -> Vec<String> {
    let rows = rows(report);
    let is_several = |found: &ByCores| found.cores.len() > 1;
    if !rows.iter().any(|(_, found)| is_several(found)) {
        return rows.iter().map(|(entry, _)| sentence(entry)).collect();
    }
    let several = rows.into_iter().filter(|(_, found)| is_several(found));
    let ways = if report.direction == Direction::BothWays {
        " in each direction"
    } else {
        ""
    };
    let sentence = |(entry, found): (&Entry, &ByCores)| {
        let (bytes, cores) = (entry.frame_bytes, found.cores.len());
        match by_cores::speed_up(report, entry) {
            SpeedUp::Told(times) => format!(
                "{cores} cores forward {} the frames of {bytes} bytes of one core without loss{ways} \
                 ({} to {}).",
                Times(times.value),
                Times(times.interval.low),
                Times(times.interval.high)
            ),
            SpeedUp::Weak(_) | SpeedUp::Limited | SpeedUp::Unmeasured => format!(
                "How many times the frames of {bytes} bytes of one core {cores} cores forward \
                 cannot be told here: see the table's notes."
            ),
        }
    };
    several.map(sentence).collect()
}

pub(super) fn table(report: &Report) -> Vec<Block> {
    let rows = rows(report);
    if rows.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new("Throughput by cores (RFC 2544 §26.1)")
        .texts(["frame bytes", "cores"])
        .numbers(["throughput", "interval", "times one core", "its interval"])
        .numbers(["no device", "device alone, at most"])
        .text("verdict");
    let mut notes = Notes::default();
    for (entry, found) in rows {
        let told = entry.frames_per_second;
        if told.is_none() {
            notes.add(&entry.because, &label(entry));
        }
        let interval = found.low.zip(found.high).filter(|_| told.is_some());
        let [times, its] = speed_up(report, entry, found, &mut notes);
        let alone = told.zip(entry.selftest_frames_per_second);
        let alone = alone.and_then(|(rate, selftest)| honest::upper_bound(rate, selftest));
        table.push([
            entry.frame_bytes.to_string(),
            cores(found),
            or_nothing(told, |told| rate(Some(told))),
            or_nothing(interval, |(low, high)| {
                format!("{} to {}", rate(Some(low)), rate(Some(high)))
            }),
            times,
            its,
            or_nothing(entry.selftest_frames_per_second, |most| rate(Some(most))),
            or_nothing(alone, |most| rate(Some(most))),
            verdict(entry),
        ]);
    }
    let rates = if report.direction == Direction::BothWays {
        "Rates are in each direction, both at once. "
    } else {
        ""
    };
    let caption = format!(
        "{rates}Generator, device and sink share each core: each makes, forwards and counts its own \
         frames. No device: what the same cores do over a cable alone. Device alone, at most: with \
         that time taken off. Medians of interleaved rounds; times one core against the mean of \
         the cores, each alone, within a round.{notes}"
    );
    vec![Block::Table(table.caption(caption))]
}

/// The speed-up and its interval; of one core there is none.
fn speed_up(report: &Report, entry: &Entry, found: &ByCores, notes: &mut Notes) -> [String; 2] {
    if found.cores.len() == 1 {
        return [String::new(), String::new()];
    }
    let what = format!("the speed-up of {}", label(entry));
    match by_cores::speed_up(report, entry) {
        SpeedUp::Told(times) => {
            let (low, high) = (Times(times.interval.low), Times(times.interval.high));
            return [Times(times.value).to_string(), format!("{low} to {high}")];
        }
        SpeedUp::Weak(weak) => notes.add(by_cores::words(weak), &what),
        SpeedUp::Limited => notes.add("the tester holds one of the rates down", &what),
        SpeedUp::Unmeasured => notes.add(
            "no round has a rate of these cores and of each alone",
            &what,
        ),
    }
    [NOTHING.to_owned(), NOTHING.to_owned()]
}

/// The cores of a row: how many, and which.
fn cores(found: &ByCores) -> String {
    let numbers: Vec<String> = found.cores.iter().map(u32::to_string).collect();
    format!("{} ({})", found.cores.len(), numbers.join(", "))
}

fn or_nothing<T>(value: Option<T>, words: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| NOTHING.to_owned(), words)
}

/// Why cells have no value: each reason once, with what it is of.
#[derive(Default)]
struct Notes(BTreeMap<String, Vec<String>>);

impl Notes {
    fn add(&mut self, reason: &str, what: &str) {
        let of = self.0.entry(reason.to_owned()).or_default();
        of.push(what.to_owned());
    }
}

impl std::fmt::Display for Notes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (reason, of) in &self.0 {
            write!(f, " –: {reason} ({}).", of.join(", "))?;
        }
        Ok(())
    }
}
