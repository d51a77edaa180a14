//! The process that a sweep of a built-in loop starts: the loop for a fixed time, then how much it
//! did a second.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use scaling::workloads::{self, Kind, MARK};

use crate::common::Outcome;

/// Which loop, and for how long.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the workload
    name: String,
    /// Which of its variants
    #[arg(long)]
    variant: usize,
    /// On how many threads of this process
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,
    /// For how long
    #[arg(long, value_name = "N")]
    milliseconds: u32,
}

/// Runs the loop.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let name = &arguments.name;
    let Some(Kind::Loop(lap)) = workloads::find(name).map(|workload| &workload.kind) else {
        return Err(format!("{name:?} is no built-in loop; see `corelane scale list`").into());
    };
    let time = Duration::from_millis(u64::from(arguments.milliseconds));
    println!(
        "{MARK} {}",
        lap.rate(arguments.variant, arguments.threads, time)
    );
    Ok(ExitCode::SUCCESS)
}
