//! Forecasts kept until a later measurement tells how good they were: the track record of the
//! forecasting itself.
//!
//! A forecast belongs to a machine, a command and the way it uses cores. It stays open until a
//! sweep of the same reaches the core count that it speaks of, on this machine or on one of the
//! same name with more cores.

use figures::median;
use report::{Block, Document, Table};
use serde::{Deserialize, Serialize};

use super::ScaleResult;
use crate::harness::plan::Mode;
use crate::laws::forecast::{Band, Score};

/// The name of this format.
pub const SCHEMA: &str = "corelane-scale-forecasts/1";

/// The measured speed-up itself is known to about this share.
pub const TOLERANCE: f64 = 0.03;

/// What a forecast was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// A look at one core.
    OneCore,
    /// A sweep to this many cores.
    Sweep(u32),
}

impl Source {
    fn name(self) -> String {
        match self {
            Self::OneCore => "one core".to_owned(),
            Self::Sweep(cores) => format!("a sweep to {cores} cores"),
        }
    }
}

/// What must be the same for a forecast to be held against a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Subject {
    /// Name of the machine.
    pub host: String,
    /// Its processor.
    pub cpu: String,
    /// The command, `{cores}` not filled in.
    pub command: Vec<String>,
    /// How it uses cores.
    pub mode: Mode,
}

impl Subject {
    fn of(result: &ScaleResult) -> Self {
        Self {
            host: result.environment.host.clone(),
            cpu: result.environment.cpu.clone(),
            command: result.command.clone(),
            mode: result.mode,
        }
    }
}

/// One forecast.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Kept {
    /// Of what.
    pub subject: Subject,
    /// From what.
    pub source: Source,
    /// When it was made: seconds since 1970.
    pub made: u64,
    /// The forecast.
    pub band: Band,
    /// How it came out; open while nothing was measured.
    pub score: Option<Score>,
}

/// Forecasts that `corelane scale` keeps, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Forecasts {
    /// [`SCHEMA`].
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// The forecasts.
    pub kept: Vec<Kept>,
}

impl Default for Forecasts {
    fn default() -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            kept: Vec::new(),
        }
    }
}

impl Forecasts {
    /// Holds the open forecasts against `result`; returns how many that decided.
    pub fn score(&mut self, result: &ScaleResult) -> usize {
        let subject = Subject::of(result);
        let Some(placement) = result.points.first().map(|p| p.placement) else {
            return 0;
        };
        let mut decided = 0;
        for kept in &mut self.kept {
            let measured = result
                .points
                .iter()
                .find(|p| p.cores == kept.band.cores && p.placement == placement);
            if let (None, Some(point)) = (kept.score, measured)
                && kept.subject == subject
            {
                kept.score = Some(kept.band.score(point.speedup, TOLERANCE));
                decided += 1;
            }
        }
        decided
    }

    /// Keeps what `result` forecasts: from one core, scored already, and from its sweep, open. A
    /// newer forecast takes the place of an open one of the same.
    pub fn keep(&mut self, result: &ScaleResult) {
        let subject = Subject::of(result);
        let tried = result.points.iter().map(|p| p.cores).max().unwrap_or(1);
        let one = result
            .one_core_forecast
            .iter()
            .map(|score| (Source::OneCore, score.band, Some(*score)));
        let swept = result
            .law
            .forecast
            .iter()
            .map(|band| (Source::Sweep(tried), *band, None));
        for (source, band, score) in one.chain(swept) {
            self.kept.retain(|old| {
                old.score.is_some()
                    || old.subject != subject
                    || old.source != source
                    || old.band.cores != band.cores
            });
            self.kept.push(Kept {
                subject: subject.clone(),
                source,
                made: result.environment.time,
                band,
                score,
            });
        }
    }

    /// How well the scored forecasts of one kind did, in a sentence.
    fn verdict(&self, name: &str, of: impl Fn(Source) -> bool) -> Option<String> {
        let scores: Vec<Score> = self
            .kept
            .iter()
            .filter(|kept| of(kept.source))
            .filter_map(|kept| kept.score)
            .collect();
        if scores.is_empty() {
            return None;
        }
        let held = scores.iter().filter(|score| score.held).count();
        let errors: Vec<f64> = scores.iter().map(|score| score.against_bound).collect();
        Some(format!(
            "From {name}: {held} of {} held; measured against the upper edge {:+.0} % (median).",
            scores.len(),
            median(&errors) * 100.0
        ))
    }

    /// Draws the record.
    pub fn document(&self) -> Document {
        let mut table = Table::new("Forecasts")
            .texts(["command", "on"])
            .number("cores")
            .text("from")
            .numbers(["speed-up", "measured"])
            .text("held");
        for kept in &self.kept {
            let (measured, held) = kept.score.map_or(("–".to_owned(), "open"), |score| {
                (
                    format!("{:.2}", score.measured),
                    if score.held { "yes" } else { "no" },
                )
            });
            table.push([
                kept.subject.command.join(" "),
                kept.subject.host.clone(),
                kept.band.cores.to_string(),
                kept.source.name(),
                format!("{:.2}", kept.band.speedup),
                measured,
                held.to_owned(),
            ]);
        }
        let verdicts = [
            self.verdict("one core", |source| source == Source::OneCore),
            self.verdict("sweeps", |source| source != Source::OneCore),
        ];
        let mut document = Document::new("Track record of the forecasts");
        document.verdict.extend(verdicts.into_iter().flatten());
        if document.verdict.is_empty() {
            document = document.verdict("No forecast has been held against a measurement yet.");
        }
        document.block(Block::Table(table.caption(
            "A forecast holds when the speed-up measured later lies in its band, give or take 3 \
             %. One is open until a sweep of the same command reaches its core count.",
        )))
    }
}
