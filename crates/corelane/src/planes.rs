//! `corelane planes`: user and management plane on one kernel and on several, who disturbs whom.

use std::process::ExitCode;

use clap::ValueEnum;
use host::Environment;
use planes::{
    compare::{Plan, compare},
    deployment::Deployment,
    guest, page,
    protocol::UserPlaneMode,
};
use report::Progress;

use crate::common::{Outcome, ResultOptions};

/// Compares SMP free, SMP bound, partitioned and AMP: the same planes, the same load, one table
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Compare only these deployments
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAMES")]
    deployments: Vec<DeploymentName>,
    /// Move packets only so
    #[arg(long, value_enum, value_name = "MODE")]
    mode: Option<ModeName>,
    /// UDP payloads in bytes, 18 to 3358
    #[arg(long, value_delimiter = ',', value_name = "BYTES", value_parser = clap::value_parser!(u32).range(18..=3358))]
    payloads: Vec<u32>,
    #[command(flatten)]
    results: ResultOptions,
}

const EXAMPLES: &str = "Examples:
  corelane planes --quick --html planes.html
  corelane planes --deployments smp-bound,amp --mode kernel --payloads 64,1464";

/// The article's payloads, and a jumbo frame.
const PAYLOADS: [u32; 5] = [64, 264, 564, 1064, 1464];
const JUMBO: u32 = 3_358;

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DeploymentName {
    /// One kernel, tasks float
    SmpFree,
    /// One kernel, workers and NAPI threads bound
    SmpBound,
    /// One kernel, the user plane's core in an isolated cpuset
    Partitioned,
    /// A kernel of its own for the user plane
    Amp,
    /// Several kernels, flows spread over them
    AmpSpread,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ModeName {
    /// The kernel forwards
    Kernel,
    /// Our worker forwards, in user space
    UserSpace,
}

impl From<DeploymentName> for Deployment {
    fn from(name: DeploymentName) -> Self {
        match name {
            DeploymentName::SmpFree => Self::SmpFree,
            DeploymentName::SmpBound => Self::SmpBound,
            DeploymentName::Partitioned => Self::Partitioned,
            DeploymentName::Amp => Self::Amp,
            DeploymentName::AmpSpread => Self::AmpSpread,
        }
    }
}

impl From<ModeName> for UserPlaneMode {
    fn from(name: ModeName) -> Self {
        match name {
            ModeName::Kernel => Self::Kernel,
            ModeName::UserSpace => Self::UserSpace,
        }
    }
}

/// Runs the verb.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    host::cleanup::on_signal()?;
    let results = &arguments.results;
    let program = guest::program().ok_or(
        "no program for the planes: build it with \"make guest\", or name it in CORELANE_GUEST",
    )?;
    let plan = plan(arguments);
    let progress = Progress::new(0);
    let environment = Environment::read(env!("CARGO_PKG_VERSION"), results.seed);
    let comparison = compare(&plan, &program, environment, |what| progress.note(what))?;
    print!("{}", report::terminal::render(&page::summary(&comparison)));
    if let Some(path) = &results.json {
        report::json::write(path, &comparison)?;
    }
    if let Some(path) = &results.html {
        report::html::write(path, &page::page(&comparison))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn plan(arguments: &Arguments) -> Plan {
    let quick = arguments.results.quick;
    let deployments = match arguments.deployments.as_slice() {
        [] => Deployment::ALL.to_vec(),
        names => names.iter().map(|&name| name.into()).collect(),
    };
    let modes = match arguments.mode {
        Some(mode) => vec![mode.into()],
        None => vec![UserPlaneMode::Kernel, UserPlaneMode::UserSpace],
    };
    let payloads = match arguments.payloads.as_slice() {
        [] if quick => vec![PAYLOADS[0], PAYLOADS[PAYLOADS.len() - 1]],
        [] => PAYLOADS.into_iter().chain([JUMBO]).collect(),
        given => given.to_vec(),
    };
    Plan {
        deployments,
        modes,
        payloads,
        quick,
        seed: arguments.results.seed,
    }
}
