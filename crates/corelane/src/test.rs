//! `corelane test`: the RFC 2544 tester, against the kernel, our router, or any device between two
//! ports.
//!
//! The options become a [`plan`]; [`device`] sets up what is tested; [`measure`] runs the tests
//! size by size, [`cores`] the throughput on one core and on several; what is printed, written and checked is a function of the stored result alone.

mod cores;
mod device;
mod hooks;
mod items;
mod measure;
mod options;
mod plan;
mod traffic;

use std::process::ExitCode;

use clap::Subcommand;
use options::Options;
use tester::expect::Expectation;
use tester::result::{Report, SCHEMA, Test};

use crate::common::{Outcome, Stored, answer, print};
use crate::values::renamed;

/// Measure how much a device forwards, how late, and what it loses (RFC 2544)
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
    Throughput(Box<Options>),
    /// Delay and its variation at 10, 50, 90 and 100 % of the throughput (RFC 2544 §26.2, RFC 8219)
    Latency(Box<Options>),
    /// Loss by offered rate (RFC 2544 §26.3)
    Loss(Box<Options>),
    /// Longest burst without loss, and the buffer it implies (RFC 9004)
    BackToBack(Box<Options>),
    /// How long an overload is felt (RFC 2544 §26.5)
    Recovery(Box<Options>),
    /// How long a reset stops the traffic (RFC 6201)
    Reset(Box<Options>),
    /// The tester alone: a cable in the device's place
    Selftest(Box<Options>),
    /// UDP payload 64 to 1464 bytes against throughput, delay and jitter
    Sweep(Box<Options>),
    /// Smallest interval without loss between bursts of 16 to 1024 frames (RFC 2544 §21)
    Bursts(Box<Options>),
    /// The receiving end of a test between two machines; started by --far, it talks on its standard
    /// streams
    #[command(hide = true)]
    Agent,
    /// Show a result made earlier again
    Report {
        #[command(flatten)]
        of: Stored,
        /// Fail unless this holds; may be given again
        #[arg(long, value_name = "EXPECTATION")]
        expect: Vec<Expectation>,
    },
}

/// Runs a test, or shows a stored one.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let (test, options) = match &arguments.what {
        What::Report { of, expect } => {
            let report: Report = report::json::read(&of.stored, SCHEMA)?;
            of.written
                .write(&tester::render::document(&report), &report)?;
            return show(&report, expect, !of.written.json.is_alone());
        }
        What::Agent => {
            host::cleanup::on_signal()?;
            dut::stand::far::serve()?;
            return Ok(ExitCode::SUCCESS);
        }
        What::Throughput(options) => (Test::Throughput, options),
        What::Latency(options) => (Test::Latency, options),
        What::Loss(options) => (Test::Loss, options),
        What::BackToBack(options) => (Test::BackToBack, options),
        What::Recovery(options) => (Test::Recovery, options),
        What::Reset(options) => (Test::Reset, options),
        What::Selftest(options) => (Test::Selftest, options),
        What::Sweep(options) => (Test::Sweep, options),
        What::Bursts(options) => (Test::Bursts, options),
    };
    renamed("--ports", "--port");
    let plan = plan::Plan::new(test, options)?;
    host::cleanup::on_signal()?;
    host::namespace::sweep_leftovers();
    let measured = match &plan.cores {
        Some(counts) => cores::run(&plan, options, counts)?,
        None => measure::run(&plan, options)?,
    };
    let report = measured.report;
    let document = tester::render::document(&report);
    options.output.written.write(&document, &report)?;
    let code = show(
        &report,
        &options.expect,
        !options.output.written.json.is_alone(),
    );
    match measured.failure {
        // What was measured before has been written and shown.
        Some(error) => Err(error),
        None => code,
    }
}

/// Prints a report if it is to be read, and checks what was expected of it.
fn show(report: &Report, expectations: &[Expectation], aloud: bool) -> Outcome {
    let mut text = report::terminal::render(&tester::render::document(report));
    let mut met = true;
    for expectation in expectations {
        match expectation.check(report) {
            Ok(()) => text.extend(["expected ", &expectation.to_string(), ": met\n"]),
            Err(reason) => {
                met = false;
                eprintln!("corelane: {reason}");
            }
        }
    }
    if aloud {
        print(&text)?;
    }
    Ok(answer(met))
}
