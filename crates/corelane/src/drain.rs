//! `corelane drain` and `undrain`: takes a running router out of traffic, and puts it back.
//!
//! The router itself runs no programs and knows no routing daemon: this process does.

pub(crate) mod routing;
mod traffic;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use host::cleanup;
use report::Table;
use router::management_plane::config::Config;
use serde::Serialize;

use crate::common::{Outcome, answer, print};
use crate::show::{Which, ask};

/// Where the service's configuration is.
const FILE: &str = "/etc/corelane.toml";

/// Take a running router out of traffic, and wait until the traffic has gone
///
/// It is not ready from now on. The routing daemon or the command of the configuration (keys
/// drain-…) withdraws its routes. Exit code 0: the traffic has gone; 3: some remains at the limit,
/// and the router stays as it is. What cannot be withdrawn changes nothing.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    told: Told,
    /// How long the traffic may take to go [default: 60]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=86400))]
    limit_seconds: Option<u32>,
    #[command(flatten)]
    which: Which,
}

/// Put a router that was drained into traffic again
///
/// Restores the routes as the configuration says (keys drain-…). Then it is ready again, when
/// nothing else is against it (corelane health).
#[derive(clap::Args)]
pub(crate) struct Undrain {
    #[command(flatten)]
    told: Told,
    #[command(flatten)]
    which: Which,
}

/// The form of [`Drained`].
const SCHEMA: &str = "corelane-drain/1";

/// Whether the traffic has gone. Rates are frames a second.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Drained {
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    schema: &'static str,
    gone: bool,
    /// How long that took.
    seconds: f64,
    frames_per_second: f64,
    /// The bound: fewer are none.
    below_frames: u64,
    ports: Vec<Remaining>,
}

/// What still comes by a port.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Remaining {
    port: String,
    frames_per_second: f64,
}

/// Who withdraws and restores.
#[derive(clap::Args)]
pub(crate) struct Told {
    /// Configuration file of the router [default: /etc/corelane.toml, if there is one]
    #[arg(id = "configuration", value_name = "FILE")]
    file: Option<PathBuf>,
}

impl Told {
    pub(crate) fn config(&self) -> Result<Config, Box<dyn std::error::Error + Send + Sync>> {
        match &self.file {
            Some(file) => Ok(Config::read(file)?),
            None if Path::new(FILE).exists() => Ok(Config::read(Path::new(FILE))?),
            None => Ok(Config::default()),
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    cleanup::on_signal()?;
    let config = arguments.told.config()?;
    let which = &arguments.which;
    ask(which, "drain")?;
    if let Err(error) = routing::withdraw(&config) {
        ask(which, "undrain")?;
        return Err(format!("{error}; the router is in traffic as before").into());
    }
    let limit = arguments
        .limit_seconds
        .unwrap_or(config.drain_limit_seconds);
    let goal = traffic::Goal {
        below: config.drain_below_frames.into(),
        quiet: Duration::from_secs(config.drain_quiet_seconds.into()),
        limit: Duration::from_secs(limit.into()),
    };
    let found = traffic::wait(&goal, || traffic::Counts::ask(which))?;
    let mut table = Table::new("").text("port").number("frames/s");
    for (port, rate) in &found.rates {
        table.push([port.clone(), format!("{rate:.0}")]);
    }
    let said = if found.is_gone {
        "the traffic has gone"
    } else {
        "traffic remains"
    };
    let (seconds, all) = (found.took.as_secs_f64(), found.rate());
    let text = format!(
        "{said} after {seconds:.1} s: {all:.0} frames a second pass, the bound is {}\n\n{}",
        goal.below,
        table.to_text()
    );
    let rates = found.rates.iter();
    let ports = rates.map(|(port, &frames_per_second)| Remaining {
        port: port.clone(),
        frames_per_second,
    });
    let value = Drained {
        schema: SCHEMA,
        gone: found.is_gone,
        seconds,
        frames_per_second: all,
        below_frames: goal.below,
        ports: ports.collect(),
    };
    which.json.deliver(&text, &value)?;
    Ok(answer(found.is_gone))
}

pub(crate) fn undrain(arguments: &Undrain) -> Outcome {
    let config = arguments.told.config()?;
    let restored = routing::restore(&config);
    restored.map_err(|error| format!("{error}; the router stays drained"))?;
    let health = ask(&arguments.which, "undrain")?;
    if !arguments.which.json.is_alone() {
        print("the router may have traffic again\n")?;
    }
    arguments.which.json.write(&health)?;
    Ok(ExitCode::SUCCESS)
}
