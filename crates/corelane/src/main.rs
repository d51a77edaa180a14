//! Corelane forwards IP packets on every core of a Linux machine, and shows what each core buys.
//!
//! This file is the table of contents: one verb, one module, one `run`. What several verbs share is
//! in [`common`].

mod announce;
mod capture;
mod common;
mod doctor;
mod drain;
mod explain;
mod fleet;
mod health;
mod help;
mod installed;
mod lab;
mod planes;
mod record;
mod run;
mod scale;
mod show;
mod study;
mod test;
mod top;
mod trace;
mod tune;
mod values;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Forwards IP packets on every core of a Linux machine, and shows what each core buys.
#[derive(Parser)]
#[command(
    name = "corelane",
    version,
    propagate_version = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
struct Arguments {
    #[command(flatten)]
    talk: common::Talk,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Announce(announce::Arguments),
    Capture(capture::Arguments),
    Completions(installed::Completions),
    Doctor(doctor::Arguments),
    Drain(drain::Arguments),
    Explain(explain::Arguments),
    Fleet(fleet::Arguments),
    Health(health::Arguments),
    Help(help::Arguments),
    Lab(lab::Arguments),
    Manual(installed::Manual),
    Planes(planes::Arguments),
    Record(record::Arguments),
    Run(run::Arguments),
    Scale(scale::Arguments),
    Show(show::Arguments),
    Study(study::Arguments),
    Test(test::Arguments),
    Top(top::Arguments),
    Trace(trace::Arguments),
    Tune(tune::Arguments),
    Undrain(drain::Undrain),
    Verify(verify::Arguments),
}

fn main() -> ExitCode {
    let Arguments { talk, verb } = Arguments::parse();
    talk.set();
    common::exit_code(match verb {
        Verb::Announce(arguments) => announce::run(arguments),
        Verb::Capture(arguments) => capture::run(&arguments),
        Verb::Completions(arguments) => installed::completions(&arguments),
        Verb::Doctor(arguments) => doctor::run(&arguments),
        Verb::Drain(arguments) => drain::run(&arguments),
        Verb::Explain(arguments) => explain::run(&arguments),
        Verb::Fleet(arguments) => fleet::run(&arguments),
        Verb::Health(arguments) => health::run(&arguments),
        Verb::Help(arguments) => help::run(&arguments),
        Verb::Lab(arguments) => lab::run(&arguments),
        Verb::Manual(arguments) => installed::manual(&arguments),
        Verb::Planes(arguments) => planes::run(&arguments),
        Verb::Record(arguments) => record::run(&arguments),
        Verb::Run(arguments) => run::run(&arguments),
        Verb::Scale(arguments) => scale::run(arguments),
        Verb::Show(arguments) => show::run(&arguments),
        Verb::Study(arguments) => study::run(&arguments),
        Verb::Test(arguments) => test::run(&arguments),
        Verb::Top(arguments) => top::run(&arguments),
        Verb::Trace(arguments) => trace::run(&arguments),
        Verb::Tune(arguments) => tune::run(&arguments),
        Verb::Undrain(arguments) => drain::undrain(&arguments),
        Verb::Verify(arguments) => verify::run(&arguments),
    })
}

#[cfg(test)]
#[path = "../tests/unit/schemas.rs"]
mod schemas;
