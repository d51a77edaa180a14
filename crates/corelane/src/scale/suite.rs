//! The built-in workloads: listing them, and running them by name.

use clap::Args;
use host::environment::Environment;
use scaling::suite;
use scaling::workloads::bench::Bench;
use scaling::workloads::list::List;
use scaling::workloads::{self, Workload};

use super::{PlacementName, forward};
use crate::common::{Outcome, ResultOptions};

/// Which workloads, and how.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Names from `corelane scale list`, or `all`
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// Compile a Linux kernel too (needs Debian's `linux-source`)
    #[arg(long)]
    kernel: bool,
    /// Who chooses the cores of the workloads that are swept
    #[arg(long, default_value = "pinned")]
    placement: PlacementName,
    #[command(flatten)]
    results: ResultOptions,
}

/// The workloads of the crate `scaling`, and our own engine's.
fn workloads() -> Vec<&'static Workload> {
    workloads::all()
        .iter()
        .chain([&forward::WORKLOAD])
        .collect()
}

/// The list, with the time that each takes here.
pub(crate) fn list() -> std::io::Result<List> {
    let bench = Bench::here(false, 0)?;
    Ok(List::of(&workloads(), &bench))
}

/// Runs the workloads named.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let chosen = choose(&arguments.names)?;
    let options = &arguments.results;
    let environment = Environment::read(env!("CARGO_PKG_VERSION"), options.seed);
    let bench = Bench {
        kernel: arguments.kernel,
        placements: arguments.placement.placements(),
        ..Bench::here(options.quick, options.seed)?
    };
    let result = suite::run(&chosen, &bench, environment)?;
    options.written.deliver(&result.document(), &result)
}

fn choose(names: &[String]) -> Result<Vec<&'static Workload>, String> {
    let all = workloads();
    if names.iter().any(|name| name == "all") {
        return Ok(all);
    }
    let find = |name: &String| {
        let found = all.iter().copied().find(|workload| workload.name == name);
        found.ok_or_else(|| format!("no workload is called {name:?}; see `corelane scale list`"))
    };
    names.iter().map(find).collect()
}

#[cfg(test)]
#[path = "../../tests/unit/suite.rs"]
mod tests;
