//! The process that a sweep of a built-in loop starts: the loop for a fixed time, then how much it
//! did a second.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use scaling::workloads::{self, Kind};

use crate::common::Outcome;

/// Text before the rate; the sweep looks for it.
pub(crate) const MARK: &str = "units a second:";

/// Which loop, and for how long.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the workload
    name: String,
    /// Which of its variants
    #[arg(long)]
    variant: usize,
    /// For how long
    #[arg(long, value_name = "N")]
    milliseconds: u32,
}

/// Runs the loop.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let Some(Kind::Loop(lap)) = workloads::find(&arguments.name).map(|workload| &workload.kind)
    else {
        return Err(format!(
            "{:?} is no built-in loop; see `corelane scale list`",
            arguments.name
        )
        .into());
    };
    let mut body = (lap.start)(arguments.variant);
    body(); // the first turn finds caches and branch history empty
    let time = Duration::from_millis(u64::from(arguments.milliseconds));
    let (start, mut units) = (Instant::now(), 0.0);
    while start.elapsed() < time {
        units += body();
    }
    println!("{MARK} {}", units / start.elapsed().as_secs_f64());
    Ok(ExitCode::SUCCESS)
}
