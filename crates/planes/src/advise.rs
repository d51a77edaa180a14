//! Which deployment for these requirements: a pure function of a comparison.
//!
//! A deployment is judged by its figures with both planes loaded, at one payload. What a run did
//! not measure cannot be met: it is said, not assumed. Among those that fit the one with the
//! largest smallest margin is advised.

use std::collections::BTreeSet;

use agent::protocol::UserPlaneMode;
use host::Environment;
use report::table::Table;
use report::units::{Nanoseconds, prefixed};
use report::{Block, Document};
use serde::{Deserialize, Serialize};

use crate::deployment::Variant;
use crate::result::{Cell, Comparison, LARGEST_STANDARD, Plane, is_told};

/// Name and version of the JSON form of an advice.
pub const SCHEMA: &str = "corelane-planes-advice/1";

/// What the system must do while both planes work. At least one is given.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Requirements {
    /// Least payload bits a second of the user plane.
    pub user_plane_bps: Option<f64>,
    /// Largest jitter of the user plane, ns.
    pub jitter_ns: Option<f64>,
    /// Largest 99th percentile of the management plane's responses, ms.
    pub response_ms: Option<f64>,
    /// Only packets moved so.
    pub mode: Option<UserPlaneMode>,
    /// At this payload in bytes; the largest that fits a standard Ethernet frame otherwise.
    pub payload_bytes: Option<u32>,
}

impl Requirements {
    /// Whether anything is required at all.
    ///
    /// # Errors
    /// [`AdviceError::Nothing`].
    pub fn check(&self) -> Result<(), AdviceError> {
        let any = [self.user_plane_bps, self.jitter_ns, self.response_ms];
        if any.iter().all(Option::is_none) {
            return Err(AdviceError::Nothing);
        }
        Ok(())
    }
}

/// One requirement held against one figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// What is required, in words.
    pub required: String,
    /// What was measured, in words.
    pub measured: String,
    /// How many times better than required; below 1 it is not met, 0 where there is no figure.
    pub margin: f64,
}

/// A deployment and how it does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Candidate {
    /// Where the planes are, and how packets are moved.
    #[serde(flatten)]
    pub variant: Variant,
    /// One check for each requirement.
    pub checks: Vec<Check>,
}

impl Candidate {
    /// The smallest margin.
    pub fn margin(&self) -> f64 {
        let margins = self.checks.iter().map(|check| check.margin);
        margins.fold(f64::INFINITY, f64::min)
    }

    /// Whether every requirement is met.
    pub fn fits(&self) -> bool {
        self.margin() >= 1.0
    }
}

/// What `corelane planes advise` says: which deployment meets the requirements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Advice {
    /// [`SCHEMA`].
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// The machine and the run whose figures these are.
    pub environment: Environment,
    /// Whether that run measured less.
    pub quick: bool,
    /// At this payload.
    pub payload_bytes: u32,
    /// Every deployment and mode measured, best first.
    pub candidates: Vec<Candidate>,
}

/// Why there is no advice.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AdviceError {
    /// Nothing is required.
    #[error("nothing is required: give --user-plane-rate, --worst-jitter or --management-response")]
    Nothing,
    /// No cell at that payload with both planes loaded.
    #[error("no figures with both planes loaded at {wanted}; the run has payloads of {has}")]
    Payload {
        /// What was asked for.
        wanted: String,
        /// What there is.
        has: String,
    },
}

/// Holds every deployment of `comparison` against `requirements`.
///
/// # Errors
/// [`AdviceError`].
pub fn advise(comparison: &Comparison, requirements: &Requirements) -> Result<Advice, AdviceError> {
    requirements.check()?;
    let loaded = |cell: &&Cell| cell.plane == Plane::User && cell.other_plane_load && cell.is_udp();
    let cells = comparison.cells.iter().filter(loaded);
    let payloads: BTreeSet<u32> = cells.map(|cell| cell.payload_bytes).collect();
    let standard = payloads.range(..=LARGEST_STANDARD).next_back().copied();
    let chosen = requirements.payload_bytes.or(standard);
    let Some(payload_bytes) = chosen.filter(|bytes| payloads.contains(bytes)) else {
        let has: Vec<String> = payloads.iter().map(ToString::to_string).collect();
        return Err(AdviceError::Payload {
            wanted: chosen.map_or("a standard payload".to_owned(), |bytes| {
                format!("{bytes} bytes")
            }),
            has: if has.is_empty() {
                "none".to_owned()
            } else {
                has.join(", ") + " bytes"
            },
        });
    };
    let wanted = |of: &Variant| requirements.mode.is_none_or(|only| only == of.mode);
    let variants = comparison.variants().into_iter().filter(wanted);
    let mut candidates: Vec<Candidate> = variants
        .filter_map(|variant| {
            let cell = |plane| comparison.cell(variant, plane, payload_bytes, true);
            let checks = checks(requirements, cell(Plane::User)?, cell(Plane::Management));
            Some(Candidate { variant, checks })
        })
        .collect();
    // Equal margins keep the tables' order, in which simpler deployments come first.
    candidates.sort_by(|a, b| b.margin().total_cmp(&a.margin()));
    Ok(Advice {
        schema: SCHEMA.to_owned(),
        environment: comparison.environment.clone(),
        quick: comparison.quick,
        payload_bytes,
        candidates,
    })
}

/// One check for each requirement; `user` and `asked` are the planes' cells.
fn checks(requirements: &Requirements, user: &Cell, asked: Option<&Cell>) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut check = |required, measured: Option<String>, missing, margin: Option<f64>| {
        checks.push(Check {
            required,
            measured: measured.unwrap_or(missing),
            margin: margin.unwrap_or(0.0),
        });
    };
    let missing = || "not measured".to_owned();
    if let Some(required) = requirements.user_plane_bps {
        let words = |rate| prefixed(rate, "bit/s");
        let rate = user.throughput_bps;
        check(
            format!("at least {}", words(required)),
            rate.map(words),
            "no rate found".to_owned(),
            rate.map(|rate| rate / required),
        );
    }
    if let Some(required) = requirements.jitter_ns {
        let words = |ns: f64| Nanoseconds(ns as u64).to_string();
        let jitter = user.jitter_ns;
        check(
            format!("jitter at most {}", words(required)),
            jitter.map(words),
            missing(),
            jitter.map(|jitter| required / jitter.max(1.0)),
        );
    }
    if let Some(required) = requirements.response_ms {
        let (name, response) = response(asked);
        let words = |ms: f64| format!("{ms:.1} ms");
        check(
            format!("{name} at most {}", words(required)),
            response.map(words),
            match asked.and_then(|cell| cell.timeouts).unwrap_or(0) {
                0 => missing(),
                timeouts => format!("{name} among {timeouts} timeouts"),
            },
            // No response is faster than a nanosecond.
            response.map(|ms| required / ms.max(1e-6)),
        );
    }
    checks
}

/// The farthest percentile of the responses that enough requests back, and what it is: nothing when
/// it lies among the timeouts.
fn response(asked: Option<&Cell>) -> (&'static str, Option<f64>) {
    let Some(cell) = asked else {
        return ("response p99", None);
    };
    let requests = cell.requests.map_or(0.0, |requests| requests as f64);
    let far = [
        ("response p99", 0.99, cell.response_p99_ms),
        ("response p90", 0.9, cell.response_p90_ms),
    ];
    let told = far
        .into_iter()
        .find(|&(_, share, _)| is_told(share, requests));
    told.map_or(
        ("response median", cell.response_p50_ms),
        |(name, _, ms)| (name, ms),
    )
}

impl Advice {
    /// The advice in a sentence or two.
    pub fn sentences(&self) -> Vec<String> {
        let name = |of: &Candidate| of.variant.to_string();
        let figures = |of: &Candidate| {
            let words: Vec<String> = of
                .checks
                .iter()
                .map(|check| format!("{} ({})", check.measured, check.required))
                .collect();
            words.join(", ")
        };
        let Some(best) = self.candidates.first() else {
            return vec!["No deployment was measured with packets moved so.".to_owned()];
        };
        if !best.fits() {
            let missed: Vec<String> = best
                .checks
                .iter()
                .filter(|check| check.margin < 1.0)
                .map(|check| format!("{} instead of {}", check.measured, check.required))
                .collect();
            return vec![format!(
                "None fits at {} bytes of payload. The nearest is {}, which misses: {}.",
                self.payload_bytes,
                name(best),
                missed.join(", ")
            )];
        }
        let others: Vec<String> = self.candidates[1..]
            .iter()
            .filter(|other| other.fits())
            .map(name)
            .collect();
        vec![
            format!(
                "Take {}: {} at {} bytes of payload with both planes loaded; its smallest margin, \
                 {:.2} times, is the largest.",
                name(best),
                figures(best),
                self.payload_bytes,
                best.margin()
            ),
            if others.is_empty() {
                "No other fits.".to_owned()
            } else {
                format!("Also fit: {}.", others.join("; "))
            },
        ]
    }

    /// Whether a deployment meets every requirement.
    pub fn is_met(&self) -> bool {
        self.candidates.iter().any(Candidate::fits)
    }

    /// The advice for reading.
    pub fn document(&self) -> Document {
        let run = if self.quick { "quick" } else { "full" };
        let machine = self.environment.machine();
        Document {
            verdict: self.sentences(),
            ..Document::new("Which deployment")
        }
        .block(Block::Table(self.table()))
        .text(format!("From a {run} run of {machine}."))
    }

    /// The figures behind it.
    pub fn table(&self) -> Table {
        let mut table = Table::new("Every deployment against the requirements")
            .texts(["deployment", "packets in"]);
        let headings = self.candidates.first().map_or(&[][..], |of| &of.checks);
        for check in headings {
            table = table.number(check.required.clone());
        }
        table = table.number("smallest margin").text("fits");
        for of in &self.candidates {
            let measured = of.checks.iter().map(|check| check.measured.clone());
            table.push(
                [of.variant.deployment.name(), of.variant.mode.name()]
                    .map(str::to_owned)
                    .into_iter()
                    .chain(measured)
                    .chain([
                        format!("{:.2}", of.margin()),
                        if of.fits() { "yes" } else { "no" }.to_owned(),
                    ]),
            );
        }
        table
    }
}
