//! The profiler against programs whose serial share is known.
//!
//! Every program is run many times under the recorder. The table says how often the printed
//! interval held the truth, how often the lock that is to blame was blamed, and how often another.
//! `cargo run --release -p tracer --example prove_profiler [ROUNDS] [MILLISECONDS] [NAME]`, where
//! NAME is a program's or `fast`.

// The helpers' counts are small.
#![allow(clippy::cast_precision_loss)]

mod clock;
mod programs;
mod table;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use programs::{Kind, Program};
use table::Row;
use tracer::record::{Kept, Options};

/// The word that makes this program one of those it records.
const BE: &str = "--be";

/// One asked: its answer.
pub(crate) struct Answer {
    /// The share of the program's time that one thread worked at a time, by its own clocks.
    pub(crate) truth: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Why no interval was told, where none was.
    pub(crate) untold: Option<String>,
    pub(crate) right: bool,
    pub(crate) innocent: bool,
    /// Core time that the host gave to others meanwhile, in nanoseconds.
    pub(crate) stolen: u64,
    pub(crate) sentences: Vec<String>,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == BE) {
        return match parse(&words[1..]) {
            Some((program, told)) => be(&program, told),
            None => ExitCode::from(2),
        };
    }
    let number = |at: usize, otherwise: u64| {
        let word = words.get(at).map(|word| word.parse());
        word.unwrap_or(Ok(otherwise)).ok()
    };
    let (Some(rounds), Some(length)) = (number(0, 10), number(1, 1_000)) else {
        eprintln!("usage: prove [ROUNDS] [MILLISECONDS] [NAME]");
        return ExitCode::from(2);
    };
    let only = words.get(2).map(String::as_str);
    match prove(rounds, Duration::from_millis(length), only) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(1)
        }
    }
}

fn program(
    kind: Kind,
    percent: u64,
    threads: usize,
    operation: u64,
    duration: Duration,
) -> Program {
    Program {
        kind,
        percent,
        threads,
        operation,
        duration,
    }
}

/// Is the program, and leaves in the file what it measured of itself.
fn be(program: &Program, told: &str) -> ExitCode {
    let Some(share) = program.run() else {
        eprintln!("the program measured nothing of itself");
        return ExitCode::from(1);
    };
    match std::fs::write(told, share.to_string()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{told}: {error}");
            ExitCode::from(1)
        }
    }
}

/// From the words of a command line: the program and the file for what it measures.
fn parse(words: &[String]) -> Option<(Program, &str)> {
    let [kind, percent, threads, operation, milliseconds, told] = words else {
        return None;
    };
    let program = Program {
        kind: Kind::named(kind)?,
        percent: percent.parse().ok()?,
        threads: threads.parse().ok()?,
        operation: operation.parse().ok()?,
        duration: Duration::from_millis(milliseconds.parse().ok()?),
    };
    Some((program, told))
}

/// The word that chooses a few programs that take seconds.
const FAST: &str = "fast";

/// All programs, those of one kind, or a few.
fn asked(duration: Duration, only: Option<&str>) -> Vec<Program> {
    let mut asked = Vec::new();
    if only == Some(FAST) {
        let few = [
            (Kind::Pthread, 50),
            (Kind::Mutex, 50),
            (Kind::Logger, 50),
            (Kind::Free, 0),
        ];
        return few
            .map(|(kind, percent)| program(kind, percent, 2, 50, duration))
            .into();
    }
    for kind in Kind::ALL {
        if only.is_some_and(|name| name != kind.name()) {
            continue;
        }
        // Every share by two threads, three of them by three and four too.
        let shares: &[(&[usize], &[u64])] = match kind {
            Kind::Mutex | Kind::Pthread => &[
                (&[2], &[5, 10, 20, 35, 50, 70, 90]),
                (&[3, 4], &[10, 50, 90]),
            ],
            Kind::Free => &[(&[2], &[0])],
            _ => &[(&[2], &[20, 50, 80])],
        };
        for (threads, percents) in shares {
            for percent in *percents {
                for threads in *threads {
                    for operation in [20, 200] {
                        asked.push(program(kind, *percent, *threads, operation, duration));
                    }
                }
            }
        }
    }
    asked
}

/// Runs all, prints the table; true when the intervals hold as often as they say. Where a few rounds
/// say that they do not, three times as many more decide, together with the first.
fn prove(
    rounds: u64,
    duration: Duration,
    only: Option<&str>,
) -> Result<bool, Box<dyn std::error::Error>> {
    let mut rows: Vec<Row> = asked(duration, only).into_iter().map(Row::new).collect();
    // Else each question waits a second for the tracepoints of the one before.
    let _kept = Kept::open(&Options::default())?;
    let mut held = false;
    for rounds in [rounds, 3 * rounds] {
        table::head();
        for row in &mut rows {
            let start = Instant::now();
            for _ in 0..rounds {
                row.answers.push(table::ask(&row.program)?);
            }
            row.took += start.elapsed();
            row.print();
        }
        held = table::sum(&rows);
        if held {
            break;
        }
    }
    Ok(held)
}
