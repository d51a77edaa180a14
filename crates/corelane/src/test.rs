//! `corelane test`: the RFC 2544 tester, against the kernel, our router, or any device between two ports.
//!
//! The options become a [`plan`]; [`device`] sets up what is tested; [`measure`] runs the tests size by size; what is printed,
//! written and checked is a function of the stored result alone.

mod device;
mod measure;
mod plan;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Subcommand, ValueEnum};
use tester::expect::Expectation;
use tester::result::{Report, SCHEMA, Test};

use crate::common::{Outcome, ResultOptions};

/// The RFC 2544 tester: how much a device forwards, how late, and what it loses
///
/// Every result stands beside the tester's own limit, measured with a cable in the device's place.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Highest rate without loss, by frame size (RFC 2544 §26.1)
    Throughput(Options),
    /// Delay and its variation at 10, 50, 90 and 100 % of the throughput (RFC 2544 §26.2, RFC 8219)
    Latency(Options),
    /// Loss by offered rate (RFC 2544 §26.3)
    Loss(Options),
    /// Longest burst without loss, and the buffer it implies (RFC 9004)
    BackToBack(Options),
    /// How long an overload is felt (RFC 2544 §26.5)
    Recovery(Options),
    /// How long a reset stops the traffic (RFC 6201)
    Reset(Options),
    /// The tester alone: a cable in the device's place
    Selftest(Options),
    /// UDP payload 64 to 1464 bytes against throughput, delay and jitter
    Sweep(Options),
    /// Tables and plots of a stored result
    Report {
        /// What --json wrote
        file: PathBuf,
        /// Write the report as one web page to FILE
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
        /// Fail unless this holds; may be given again
        #[arg(long, value_name = "EXPECTATION")]
        expect: Vec<Expectation>,
    },
}

/// What is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Dut {
    /// Linux's own forwarding, in namespaces made for the test
    Kernel,
    /// Our router (`corelane run`), in namespaces made for the test
    Corelane,
    /// Whatever lies between the two interfaces of --ports
    External,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
#[derive(Debug, clap::Args)]
struct Options {
    /// What is tested
    #[arg(long, value_enum, default_value = "kernel")]
    dut: Dut,
    /// Engine of --dut corelane
    #[arg(long, value_name = "ENGINE", default_value = "xdp")]
    engine: String,
    /// Frame sizes in bytes with FCS, separated by commas; `imix` for the simple Internet mix [default: the standard ones]
    #[arg(long, value_name = "BYTES,...", value_delimiter = ',')]
    sizes: Vec<String>,
    /// Test with IPv6
    #[arg(long)]
    ipv6: bool,
    /// Send both ways at once
    #[arg(long)]
    both_ways: bool,
    /// Destination addresses behind each port, 1 to 1048576
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    destinations: u32,
    /// Also search the non-drop and the partial drop rate (multiple loss ratio search)
    #[arg(long)]
    loss_ratio: bool,
    /// Rate of the tests that build on a throughput, frames/s, instead of searching it
    #[arg(long, value_name = "FRAMES/S")]
    rate: Option<f64>,
    /// Interfaces of --dut external: where frames leave the tester, and where they come back
    #[arg(long, value_name = "P0,P1", value_delimiter = ',', num_args = 2)]
    ports: Vec<String>,
    /// Hardware addresses of the external device's two ports [default: from the neighbour table]
    #[arg(long, value_name = "M0,M1", value_delimiter = ',', num_args = 2)]
    device_macs: Vec<String>,
    /// Rate of the external medium, bits/s
    #[arg(long, value_name = "BITS/S")]
    line_rate: Option<f64>,
    /// Send even into an interface that carries a default route
    #[arg(long)]
    i_know: bool,
    /// Shell command run before each test
    #[arg(long, value_name = "COMMAND")]
    before: Option<String>,
    /// Shell command run after each test
    #[arg(long, value_name = "COMMAND")]
    after: Option<String>,
    /// Shell command that resets the device [default: kernel: its ports down and up; corelane: kill and start again]
    #[arg(long, value_name = "COMMAND")]
    reset: Option<String>,
    /// Fail unless this holds, 'throughput[64] >= 1.0Mpps'; may be given again
    #[arg(long, value_name = "EXPECTATION")]
    expect: Vec<Expectation>,
    #[command(flatten)]
    output: ResultOptions,
}

/// Exit code when an expectation is not met.
const UNMET: u8 = 2;
/// Exit code of a run that a signal ended; what was measured has been written.
const INTERRUPTED: u8 = 130;

/// Runs a test, or shows a stored one.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let (test, options) = match &arguments.what {
        What::Report { file, html, expect } => {
            let report = read(file)?;
            if let Some(path) = html {
                report::html::write(path, &tester::render::document(&report))?;
            }
            return Ok(show(&report, expect));
        }
        What::Throughput(options) => (Test::Throughput, options),
        What::Latency(options) => (Test::Latency, options),
        What::Loss(options) => (Test::Loss, options),
        What::BackToBack(options) => (Test::BackToBack, options),
        What::Recovery(options) => (Test::Recovery, options),
        What::Reset(options) => (Test::Reset, options),
        What::Selftest(options) => (Test::Selftest, options),
        What::Sweep(options) => (Test::Sweep, options),
    };
    let plan = plan::Plan::new(test, options)?;
    host::cleanup::on_signal()?;
    host::namespace::sweep_leftovers();
    let report = measure::run(&plan, options)?;
    if let Some(path) = &options.output.json {
        report::json::write(path, &report)?;
    }
    if let Some(path) = &options.output.html {
        report::html::write(path, &tester::render::document(&report))?;
    }
    Ok(show(&report, &options.expect))
}

/// Prints a report and checks what was expected of it.
fn show(report: &Report, expectations: &[Expectation]) -> ExitCode {
    print!(
        "{}",
        report::terminal::render(&tester::render::document(report))
    );
    let mut met = true;
    for expectation in expectations {
        match expectation.check(report) {
            Ok(()) => println!("expected {expectation}: met"),
            Err(reason) => {
                met = false;
                eprintln!("corelane: {reason}");
            }
        }
    }
    if host::interrupted() {
        ExitCode::from(INTERRUPTED)
    } else if met {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(UNMET)
    }
}

fn read(file: &PathBuf) -> Result<Report, Box<dyn std::error::Error + Send + Sync>> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let value: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| format!("{} is no JSON: {error}", file.display()))?;
    let schema = value
        .get("schema")
        .and_then(serde_json::Value::as_str)
        .unwrap_or("none");
    if schema != SCHEMA {
        return Err(format!(
            "{} has schema \"{schema}\", this program reads {SCHEMA}",
            file.display()
        )
        .into());
    }
    Ok(serde_json::from_value(value).map_err(|error| format!("{}: {error}", file.display()))?)
}
