//! `corelane verify`: that a running router's answers equal the kernel's; with `--frames`, that
//! frames end as they would with the kernel alone.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use router::engine::EngineKind;
use serde_json::{Value, json};
use twin::{Case, Order, Start, Summary, Twins};

use crate::common::{Outcome, print};
use crate::show::{self, Which};

/// Prove that a running router's answers equal the kernel's, now
///
/// Reads the kernel's tables afresh and compares the answer for both ends of every range of
/// addresses that share a route, and asks the kernel for some at random. Exit code 0: equal; 2:
/// different, and the differences are printed.
///
/// With --frames no running router is asked: in twin beds of namespaces, one forwarded by the
/// kernel alone and one by this program, random configurations get random frames, and every frame
/// that leaves or does not is compared. Exit code 1: different, and the smallest configuration and
/// frames that show it are printed. Needs root.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Compare what becomes of frames, in twin beds
    #[arg(long)]
    frames: bool,
    /// How long to draw configurations
    #[arg(long, value_name = "N", default_value_t = 20, requires = "frames")]
    seconds: u64,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1, requires = "frames")]
    seed: u64,
    /// Twin beds that work side by side: most of their time they wait
    #[arg(long, value_name = "N", default_value_t = 4, requires = "frames")]
    twins: usize,
    /// What moves the frames [default: xdp, then af-xdp]
    #[arg(long, value_name = "ENGINE", requires = "frames")]
    engine: Vec<EngineKind>,
    /// Run the case in FILE, as printed here before, and draw none; can be given again
    #[arg(long = "case", value_name = "FILE", requires = "frames")]
    cases: Vec<PathBuf>,
}

const DIFFERENT: u8 = 2;
const FRAMES_DIFFERENT: u8 = 1;
const ENGINES: [EngineKind; 2] = [EngineKind::Xdp, EngineKind::AfXdp];

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if arguments.frames {
        return frames(arguments);
    }
    let value = show::ask(&arguments.which, "verify")?;
    let result = &value["verification"];
    print(&if arguments.which.json {
        format!("{value:#}\n")
    } else if result.is_null() {
        "this engine asks the kernel for every packet: there is nothing to compare\n".to_owned()
    } else {
        show::shown(result)
    })?;
    let different = result["different"]
        .as_u64()
        .is_some_and(|different| different > 0);
    Ok(if different {
        ExitCode::from(DIFFERENT)
    } else {
        ExitCode::SUCCESS
    })
}

fn frames(arguments: &Arguments) -> Outcome {
    host::cleanup::on_signal()?;
    let cases = arguments.cases.iter().map(|file| Case::read(file));
    let cases: Vec<Case> = cases.collect::<Result<_, _>>()?;
    let engines = match arguments.engine.as_slice() {
        [] => &ENGINES,
        chosen => chosen,
    };
    let duration = Duration::from_secs(arguments.seconds) / engines.len() as u32;
    let mut results = Vec::new();
    for engine in engines {
        let start = Start {
            executable: std::env::current_exe()?,
            engine: engine.name().to_owned(),
            options: Vec::new(),
        };
        let mut summary = Summary::default();
        if cases.is_empty() {
            let order = Order {
                seed: arguments.seed,
                duration,
                most: u64::MAX,
                twins: arguments.twins,
            };
            summary = twin::search(&start, &order)?;
        } else {
            let mut twins = Twins::lay(start)?;
            for case in &cases {
                summary.add(twin::replay(&mut twins, case)?);
            }
        }
        results.push((engine.name(), summary));
    }
    print(&if arguments.which.json {
        let results: Vec<Value> = results.iter().map(document).collect();
        format!(
            "{:#}\n",
            json!({ "seed": arguments.seed, "engines": results })
        )
    } else {
        results.iter().map(sentences).collect()
    })?;
    let different = results
        .iter()
        .any(|(_, summary)| !summary.findings.is_empty());
    Ok(if different {
        ExitCode::from(FRAMES_DIFFERENT)
    } else {
        ExitCode::SUCCESS
    })
}

fn document((engine, summary): &(&str, Summary)) -> Value {
    let findings = summary.findings.iter().map(
        |finding| json!({ "case": finding.case.to_string(), "differences": finding.differences }),
    );
    json!({
        "engine": engine,
        "pairs": summary.pairs,
        "configurations": summary.configurations,
        "seconds": summary.elapsed.as_secs_f64(),
        "by_the_fast_path": summary.forwarded,
        "different": summary.different,
        "unsteady_configurations": summary.unsteady,
        "exceptions": summary.excused,
        "findings": findings.collect::<Vec<_>>(),
    })
}

fn sentences((engine, summary): &(&str, Summary)) -> String {
    let Summary {
        pairs,
        configurations,
        different,
        unsteady,
        forwarded,
        ..
    } = summary;
    let seconds = summary.elapsed.as_secs_f64();
    let rate = *pairs as f64 / seconds.max(0.001);
    let mut text = format!(
        "{engine}: {pairs} frames compared in {configurations} configurations, {rate:.0} a second; \
         {forwarded} went the fast way\n\
         {engine}: {different} differ; {unsteady} configurations differed once and not again\n"
    );
    for (exception, count) in &summary.excused {
        let _ = writeln!(text, "{engine}: {count} differ as they may ({exception:?})");
    }
    for finding in &summary.findings {
        let _ = write!(text, "\n# engine {engine}\n{}", finding.case);
        for difference in &finding.differences {
            let ends = |ends: &[String]| match ends {
                [] => "does not leave".to_owned(),
                ends => format!("leaves {}", ends.join(" and ")),
            };
            let _ = write!(
                text,
                "# frame {}, kernel: {}\n# frame {}, router: {}\n",
                difference.number,
                ends(&difference.kernel),
                difference.number,
                ends(&difference.router)
            );
        }
    }
    text
}
