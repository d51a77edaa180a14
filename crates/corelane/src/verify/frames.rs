//! `corelane verify --frames`: the search in twin beds, and its verdict.

use std::collections::BTreeMap;
use std::fmt::Write;

use router::engine::EngineKind;
use serde::Serialize;
use twin::{Case, Cause, Difference, Exception, Finding, Order, Start, Summary, Twins};

use super::Arguments;
use crate::common::{Outcome, answer};

const SCHEMA: &str = "corelane-verify-frames/1";
const ENGINES: [EngineKind; 3] = [EngineKind::Xdp, EngineKind::Tc, EngineKind::AfXdp];

pub(super) fn run(arguments: &Arguments) -> Outcome {
    host::cleanup::on_signal()?;
    let cases = arguments.cases.iter().map(|file| Case::read(file));
    let cases: Vec<Case> = cases.collect::<Result<_, _>>()?;
    let captured = twin::captured(&arguments.captures)?;
    let engines = match arguments.engine.as_slice() {
        [] => &ENGINES,
        chosen => chosen,
    };
    let order = Order {
        seed: arguments.seed,
        duration: arguments.seconds / engines.len() as u32,
        most: u64::MAX,
        twins: arguments.twins,
        captured,
    };
    let mut results = Vec::new();
    for engine in engines {
        let start = Start {
            executable: std::env::current_exe()?,
            engine: engine.name().to_owned(),
            options: Vec::new(),
        };
        let mut summary = Summary::default();
        if cases.is_empty() {
            summary = twin::search(&start, &order)?;
        } else {
            let mut twins = Twins::lay(start)?;
            for case in &cases {
                summary.add(twin::replay(&mut twins, case)?);
            }
        }
        results.push((engine.name(), summary));
        if host::interrupted() {
            break;
        }
    }
    let engines: String = results.iter().map(sentences).collect();
    let text = verdict(&results) + &engines;
    arguments
        .which
        .json
        .deliver(&text, &document(arguments.seed, &results))?;
    let different = results.iter().any(|(_, summary)| differs(summary));
    Ok(answer(!different))
}

fn differs(summary: &Summary) -> bool {
    !summary.findings.is_empty() || !summary.unexplained.is_empty()
}

/// What `corelane verify --frames` found.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Search<'a> {
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    schema: &'static str,
    /// Of everything random.
    seed: u64,
    /// In the order in which they ran.
    engines: Vec<Searched<'a>>,
}

/// What came of one engine.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Searched<'a> {
    engine: &'a str,
    /// Frames compared, each in one configuration.
    pairs: u64,
    configurations: u64,
    /// Configurations by what is in them.
    configurations_with: &'a BTreeMap<&'static str, u64>,
    seconds: f64,
    /// Frames that the router forwarded itself.
    by_the_fast_path: u64,
    /// Pairs whose end differed twice.
    different: u64,
    /// Pairs that differ as they may.
    exceptions: &'a BTreeMap<Exception, u64>,
    /// Configurations in which something differed in one of two tries, by cause.
    configurations_different_once: &'a BTreeMap<Cause, u64>,
    findings: Vec<Told<'a>>,
    /// What differed once, without a cause.
    unexplained: Vec<Told<'a>>,
}

/// A case, and what differs in it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Told<'a> {
    /// As `--case` reads it.
    case: String,
    differences: &'a [Difference],
}

impl<'a> Searched<'a> {
    fn of(engine: &'a str, summary: &'a Summary) -> Self {
        Self {
            engine,
            pairs: summary.pairs,
            configurations: summary.configurations,
            configurations_with: &summary.kinds,
            seconds: summary.elapsed.as_secs_f64(),
            by_the_fast_path: summary.forwarded,
            different: summary.different,
            exceptions: &summary.excused,
            configurations_different_once: &summary.once,
            findings: cases(&summary.findings),
            unexplained: cases(&summary.unexplained),
        }
    }
}

fn document<'a>(seed: u64, results: &'a [(&str, Summary)]) -> Search<'a> {
    let engines = results.iter();
    Search {
        schema: SCHEMA,
        seed,
        engines: engines
            .map(|(engine, summary)| Searched::of(engine, summary))
            .collect(),
    }
}

fn cases(findings: &[Finding]) -> Vec<Told<'_>> {
    findings
        .iter()
        .map(|Finding { case, differences }| Told {
            case: case.to_string(),
            differences,
        })
        .collect()
}

/// The answer in a sentence.
fn verdict(results: &[(&str, Summary)]) -> String {
    let mut all = Summary::default();
    for (_, summary) in results {
        all.add(summary.clone());
    }
    let unexplained = all.once.get(&Cause::Unexplained).copied().unwrap_or(0);
    let said = match (all.different, unexplained) {
        (0, 0) => "the same".to_owned(),
        (0, some) => {
            format!("the same, but in {some} configurations once not, for no known cause")
        }
        (some, _) => format!("DIFFERENT: {some} frames end otherwise than with the kernel alone"),
    };
    format!(
        "{said}: {} frames compared with the kernel's in {} configurations\n",
        all.pairs, all.configurations
    )
}

fn sentences((engine, summary): &(&str, Summary)) -> String {
    let Summary {
        pairs,
        configurations,
        different,
        forwarded,
        ..
    } = summary;
    let seconds = summary.elapsed.as_secs_f64();
    let rate = *pairs as f64 / seconds.max(0.001);
    let mut text = format!(
        "{engine}: {pairs} frames in {configurations} configurations, {rate:.0} a second; \
         {forwarded} went the fast way; {different} differ\n"
    );
    let counts = [
        ("configurations with", counts(&summary.kinds)),
        ("frames differ as they may", counts(&summary.excused)),
        ("configurations differed once", counts(&summary.once)),
    ];
    for (what, counts) in counts.into_iter().filter(|(_, counts)| !counts.is_empty()) {
        let _ = writeln!(text, "{engine}: {what}: {counts}");
    }
    for finding in &summary.findings {
        text += &shown(engine, "", finding);
    }
    for finding in &summary.unexplained {
        text += &shown(engine, ", once", finding);
    }
    text
}

/// Numbers by name: `member 3, rate 1`.
fn counts<'a, T: Serialize + 'a>(by_name: impl IntoIterator<Item = (&'a T, &'a u64)>) -> String {
    let counts = by_name
        .into_iter()
        .map(|(name, count)| format!("{} {count}", report::json::name(name)));
    counts.collect::<Vec<_>>().join(", ")
}

/// A finding as a case that can be kept and run again.
fn shown(engine: &str, when: &str, finding: &Finding) -> String {
    let mut text = format!("\n# engine {engine}{when}\n{}", finding.case);
    for words in finding.case.in_words() {
        let _ = writeln!(text, "# {words}");
    }
    for difference in &finding.differences {
        let ends = |ends: &[String]| match ends {
            [] => "does not leave".to_owned(),
            ends => format!("leaves {}", ends.join(" and ")),
        };
        for (who, seen) in [
            ("kernel", &difference.kernel),
            ("router", &difference.router),
        ] {
            let _ = writeln!(text, "# frame {}, {who}: {}", difference.number, ends(seen));
        }
    }
    text
}
