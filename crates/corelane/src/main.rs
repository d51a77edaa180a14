//! Corelane forwards IP packets on every core of a Linux machine, and shows what each core buys.
//!
//! This file is the table of contents: one verb, one module, one `run`. What several verbs share is in [`common`].

mod common;
mod scale;
mod study;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Forwards IP packets on every core of a Linux machine, and shows what each core buys.
#[derive(Parser)]
#[command(
    name = "corelane",
    version,
    propagate_version = true,
    max_term_width = 100
)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Scale(scale::Arguments),
    Study(study::Arguments),
}

fn main() -> ExitCode {
    common::exit_code(match Arguments::parse().verb {
        Verb::Scale(arguments) => scale::run(arguments),
        Verb::Study(arguments) => study::run(&arguments),
    })
}
