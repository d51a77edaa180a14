//! `corelane scale ab`: is the second command slower than the first?

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use host::environment::Environment;
use scaling::ab::judge::Verdict;
use scaling::ab::measure::measure;
use scaling::ab::show::document;
use scaling::ab::{AbResult, Request};

use super::shell;
use crate::common::{Outcome, ResultOptions, answer};
use crate::values::time;

/// Exit code when it cannot be told.
const CANNOT_TELL: u8 = 4;

/// Most blocks, and how long they may take; when measuring less.
const FULL: (usize, u64) = (60, 120);
const QUICK: (usize, u64) = (12, 10);

/// Compare two commands: is the second slower than the first?
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct Arguments {
    /// The smallest slow-down that matters, in per cent
    #[arg(long, value_name = "PERCENT", default_value_t = 3.0, value_parser = percent)]
    worth: f64,
    /// Measure for so long at most [default: 120, with --quick 10]
    #[arg(long, value_name = "SECONDS", value_parser = time(1.0, 1e6))]
    seconds: Option<Duration>,
    /// Record a run of each with the profiler (as root)
    #[arg(long)]
    cause: bool,
    /// Run this before each timed run (by `sh -c`)
    #[arg(long, value_name = "COMMAND")]
    prepare: Option<String>,
    /// Text that both commands print before their own measure of work a second
    #[arg(long, value_name = "TEXT")]
    progress: Option<String>,
    /// End a run after this many seconds
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "600",
        value_parser = time(1.0, 1e6)
    )]
    timeout: Duration,
    #[command(flatten)]
    results: ResultOptions,
    /// A and B, with `--` between them
    #[arg(last = true, required = true, value_name = "A -- B")]
    commands: Vec<String>,
}

const HELP: &str = "Exit codes:
  0  B is faster, or not slower by as much as matters
  1  a command failed
  2  the arguments are wrong
  3  B is slower
  4  it cannot be told

Example:
  corelane scale ab -- ./before/sort file -- ./after/sort file";

fn percent(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| format!("{text:?} is no number"))?;
    if (0.1..=100.0).contains(&value) {
        Ok(value)
    } else {
        Err(format!("{value} % is not from 0.1 to 100 %"))
    }
}

/// Runs the verb.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    Ok(match compare(arguments)? {
        Verdict::Faster | Verdict::NotSlower => answer(true),
        Verdict::Slower => answer(false),
        Verdict::CannotTell => ExitCode::from(CANNOT_TELL),
    })
}

fn compare(arguments: &Arguments) -> Result<Verdict, Box<dyn std::error::Error + Send + Sync>> {
    let options = &arguments.results;
    let (blocks, seconds) = if options.quick { QUICK } else { FULL };
    let request = Request {
        commands: two(&arguments.commands)?,
        worth: arguments.worth / 100.0,
        budget: arguments.seconds.unwrap_or(Duration::from_secs(seconds)),
        blocks,
        cause: arguments.cause,
        prepare: arguments.prepare.as_deref().map(shell),
        progress: arguments.progress.clone(),
        timeout: arguments.timeout,
        seed: options.seed,
        interrupted: host::interrupted,
    };
    let environment = Environment::read(env!("CARGO_PKG_VERSION"), options.seed);
    let result: AbResult = measure(&request, environment)?;
    options.written.deliver(&document(&result), &result)?;
    Ok(result.verdict)
}

/// The commands before and after the `--` between them.
fn two(words: &[String]) -> Result<[Vec<String>; 2], String> {
    let sides: Vec<&[String]> = words.split(|word| word == "--").collect();
    match sides[..] {
        [a, b] if !a.is_empty() && !b.is_empty() => Ok([a.to_vec(), b.to_vec()]),
        _ => Err(format!(
            "{} commands were given; write two with `--` before each, as in `corelane scale ab -- \
             A -- B`, and put one that has a `--` of its own in `sh -c '…'`",
            sides.iter().filter(|side| !side.is_empty()).count()
        )),
    }
}
