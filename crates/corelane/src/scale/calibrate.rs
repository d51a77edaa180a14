//! The instrument's own test: loads with known answers, swept like any command.

use std::process::ExitCode;

use clap::Args;
use host::environment::Environment;
use scaling::calibration::{self, Work, makefile, noise, verdict};
use scaling::workloads::MARK;

use crate::common::{Outcome, ResultOptions, answer};

/// What to calibrate with.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    results: ResultOptions,
    /// Run one load in this process
    #[arg(long, hide = true)]
    load: Option<String>,
    /// Threads of that load
    #[arg(long, hide = true, default_value_t = 1)]
    threads: usize,
}

/// Runs the verb.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    if let Some(name) = &arguments.load {
        return work(name, arguments.threads.max(1));
    }
    let options = &arguments.results;
    let environment = Environment::read(env!("CARGO_PKG_VERSION"), options.seed);
    let program = std::env::current_exe()?.display().to_string();
    let found = verdict::calibrate(&program, options.quick, environment)?;
    options.written.deliver(&found.document(), &found)?;
    Ok(answer(found.holds()))
}

/// Does the work of a load, or of a piece of the Makefile, in this process.
fn work(name: &str, threads: usize) -> Outcome {
    if let Some(piece) = makefile::Piece::find(name) {
        piece.run();
        return Ok(ExitCode::SUCCESS);
    }
    if noise::work(name) {
        return Ok(ExitCode::SUCCESS);
    }
    match calibration::find(name).map(|load| load.work) {
        Some(Work::Threads(run)) => run(threads),
        Some(Work::Rated(run)) => println!("{MARK} {}", run(threads)),
        Some(Work::Makefile) | None => {
            return Err(format!("no calibration load is called {name:?}").into());
        }
    }
    Ok(ExitCode::SUCCESS)
}
