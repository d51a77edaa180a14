//! `corelane trace`: the system profiler. Record a command, a process or everything; say what stops
//! the second core.

mod demo;
mod export;
mod record;
mod report;

use clap::Subcommand;

use crate::common::Outcome;
#[cfg(test)]
pub(crate) use report::Comparison;

/// Record what the scheduler, locks and interrupts did, and say what stops the second core
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Record(record::Arguments),
    Report(report::Arguments),
    Diff(report::DiffArguments),
    Export(export::Arguments),
    Demo(demo::Arguments),
    /// The program that `demo` records
    #[command(hide = true)]
    DemoProgram(demo::program::Arguments),
}

/// Prints sentences, one a line.
fn lines(sentences: &[String]) -> String {
    sentences.join("\n") + "\n"
}

/// Runs the verb.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match &arguments.verb {
        Verb::Record(arguments) => record::run(arguments),
        Verb::Report(arguments) => report::run(arguments),
        Verb::Diff(arguments) => report::diff(arguments),
        Verb::Export(arguments) => export::run(arguments),
        Verb::Demo(arguments) => demo::run(arguments),
        Verb::DemoProgram(arguments) => demo::program::run(arguments),
    }
}
