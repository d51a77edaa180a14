//! `corelane doctor`: what this machine allows, and what to change where it does not.

mod kernel;
mod machine;
mod port;

use std::fs;
use std::process::ExitCode;

use report::Table;
use serde::Serialize;

use crate::common::{Json, Outcome};

/// Name and version of the JSON form.
const SCHEMA: &str = "corelane-doctor/2";

/// Say what this machine can and cannot do, and what to change
///
/// With --port, what these interfaces can do, by trying: our program is attached to each for a
/// moment, forwarding nothing. On some cards that resets the link. Exit code 0 whatever is found.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Try these interfaces as ports: separated by commas, or each with a --port of its own
    #[arg(long = "port", value_name = "INTERFACE,...", value_delimiter = ',')]
    ports: Vec<String>,
    #[command(flatten)]
    json: Json,
}

/// How good something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    /// Nothing to be done.
    Good,
    /// Works, and could be better.
    Limited,
    /// What needs it does not work.
    Missing,
}

/// One line of the diagnosis.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Finding {
    /// Of what.
    what: String,
    /// How good it is.
    verdict: Verdict,
    /// What was found.
    state: String,
    /// What to do about it; empty when nothing is to be done.
    remedy: String,
}

impl Finding {
    fn good(what: impl Into<String>, state: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            verdict: Verdict::Good,
            state: state.into(),
            remedy: String::new(),
        }
    }

    fn limited(
        what: impl Into<String>,
        state: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            verdict: Verdict::Limited,
            remedy: remedy.into(),
            ..Self::good(what, state)
        }
    }

    fn missing(
        what: impl Into<String>,
        state: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            verdict: Verdict::Missing,
            ..Self::limited(what, state, remedy)
        }
    }
}

/// What `corelane doctor` found.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Diagnosis {
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    schema: &'static str,
    /// In the order of the table.
    findings: Vec<Finding>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut findings = Vec::new();
    for name in &arguments.ports {
        findings.extend(port::look(name)?);
    }
    if !arguments.ports.is_empty() {
        findings.push(left_on_the_table(&arguments.ports));
    }
    findings.extend(kernel::look());
    findings.extend(machine::look());
    let text = shown(&findings);
    let diagnosis = Diagnosis {
        schema: SCHEMA,
        findings,
    };
    arguments.json.deliver(&text, &diagnosis)?;
    Ok(ExitCode::SUCCESS)
}

/// A table, then what to do.
fn shown(findings: &[Finding]) -> String {
    let mut table = Table::new("").text("what").text("verdict").text("state");
    for finding in findings {
        let Finding {
            what,
            verdict,
            state,
            ..
        } = finding;
        table.push([what, &report::json::name(verdict), state]);
    }
    let mut text = table.to_text();
    let mut heading = "\nwhat to do\n";
    for finding in findings.iter().filter(|finding| !finding.remedy.is_empty()) {
        let Finding { what, remedy, .. } = finding;
        text.extend([heading, "  ", what, ": ", remedy, "\n"]);
        heading = "";
    }
    text
}

/// Whether `corelane tune` would change something.
fn left_on_the_table(ports: &[String]) -> Finding {
    let what = "left on the table";
    let remedy = format!("corelane tune {}", ports.join(" "));
    match crate::tune::left(ports) {
        Ok(0) => Finding::good(what, "no setting"),
        Ok(1) => Finding::limited(what, "1 setting", remedy),
        Ok(many) => Finding::limited(what, format!("{many} settings"), remedy),
        Err(error) => Finding::limited(what, format!("not known: {error}"), remedy),
    }
}

/// A small file of the system, trimmed.
fn read(path: &str) -> Option<String> {
    fs::read_to_string(path)
        .ok()
        .map(|text| text.trim().to_owned())
}
