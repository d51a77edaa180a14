//! What a setting runs: the command with its core count put in, how many copies, on which cores.

use std::ffi::CString;
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use clap::ValueEnum;
use host::cores::CoreId;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::keeper::Spec;

/// In a command, this is replaced by the number of cores.
pub const CORES: &str = "{cores}";

/// How a command is made to use several cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// One process that is told the core count
    ///
    /// In `{cores}` or in the usual environment variables.
    Threads,
    /// As many processes as cores
    ///
    /// Each does the whole work.
    Copies,
    /// `make -j N`
    Make,
}

impl Mode {
    /// The mode that fits a command by its name.
    pub fn guess(command: &[String]) -> Self {
        let program = command
            .first()
            .map_or("", |p| p.rsplit('/').next().unwrap_or(p));
        if matches!(program, "make" | "gmake" | "ninja") {
            Self::Make
        } else {
            Self::Threads
        }
    }

    /// The name in words.
    pub fn name(self) -> String {
        report::json::name(&self)
    }
}

/// Who chooses the cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// The command may use as many cores as the setting has, chosen by topology; each copy has one
    /// of its own.
    Pinned,
    /// The kernel's scheduler places tasks on all cores.
    Free,
}

impl Placement {
    /// The setting of so many cores under this placement.
    pub const fn on(self, cores: u32) -> Setting {
        Setting {
            cores,
            placement: self,
        }
    }
}

/// One setting of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Number of cores.
    pub cores: u32,
    /// Who chooses them.
    pub placement: Placement,
}

/// A command to be swept.
#[derive(Debug, Clone)]
pub struct Job {
    /// Program and arguments.
    pub command: Vec<String>,
    /// How it uses several cores.
    pub mode: Mode,
    /// Cores in the order of the sweep; a pinned setting takes the first of them.
    pub order: Vec<CoreId>,
    /// Time limit of one run.
    pub timeout: Duration,
    /// Text that the command prints before a number: its own measure of work a second.
    pub progress: Option<String>,
    /// Run before each run, not timed.
    pub prepare: Option<Vec<String>>,
    /// Seed of the order of its runs.
    pub seed: u64,
    /// Asked while waiting; yes ends the measurement.
    pub interrupted: fn() -> bool,
}

/// A command that cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the argument {argument:?} has a zero byte, which no command line can hold; leave it out")]
pub struct BadArgument {
    argument: String,
}

/// Environment variables from which common run-times take their number of threads.
pub const THREAD_VARIABLES: [&str; 8] = [
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "GOMAXPROCS",
    "TOKIO_WORKER_THREADS",
    "NUMEXPR_NUM_THREADS",
    "JULIA_NUM_THREADS",
];

/// Environment variables by which a make tells the makes below it what to do.
const MAKE_VARIABLES: [&str; 3] = ["MAKEFLAGS", "MFLAGS", "MAKELEVEL"];

impl Job {
    /// Whether the command names the core count itself.
    pub fn names_cores(&self) -> bool {
        self.command.iter().any(|argument| argument.contains(CORES))
    }

    /// The cores that the command may use at `setting`.
    pub fn cores(&self, setting: Setting) -> &[CoreId] {
        match setting.placement {
            Placement::Pinned => &self.order[..self.order.len().min(setting.cores as usize)],
            Placement::Free => &self.order,
        }
    }

    /// What a keeper runs for `setting`.
    ///
    /// # Errors
    /// When an argument holds a zero byte.
    pub fn spec(&self, setting: Setting) -> Result<Spec, BadArgument> {
        let count = setting.cores.to_string();
        let mut argv: Vec<String> = self
            .command
            .iter()
            .map(|argument| argument.replace(CORES, &count))
            .collect();
        if self.mode == Mode::Make && !self.names_cores() {
            argv.push(format!("-j{count}"));
        }
        let own: Vec<u32> = self.cores(setting).iter().map(|core| core.0).collect();
        let copies = match (self.mode, setting.placement) {
            (Mode::Copies, Placement::Pinned) => own.iter().map(|&core| Some(vec![core])).collect(),
            (Mode::Copies, Placement::Free) => vec![None; setting.cores as usize],
            (_, Placement::Pinned) => vec![Some(own)],
            (_, Placement::Free) => vec![None],
        };
        let argv = argv
            .into_iter()
            .map(|argument| CString::new(argument.clone()).map_err(|_| BadArgument { argument }))
            .collect::<Result<_, _>>()?;
        Ok(Spec {
            argv,
            env: environment(self.mode, &count),
            copies,
            timeout: self.timeout,
            capture: self.progress.is_some(),
            count_events: false,
            repeat: false,
            interrupted: self.interrupted,
        })
    }

    /// Units of work that a run at `setting` does: copies do one each.
    pub fn work(&self, setting: Setting) -> f64 {
        if self.mode == Mode::Copies {
            f64::from(setting.cores)
        } else {
            1.0
        }
    }
}

/// Our own environment, with the thread counts put in when one process is to use several cores.
fn environment(mode: Mode, count: &str) -> Vec<CString> {
    // A make above us must not lend its job server to the make that is measured.
    let (ours, told): (&[&str], &[&str]) = match mode {
        Mode::Threads => (&THREAD_VARIABLES, &THREAD_VARIABLES),
        Mode::Make => (&MAKE_VARIABLES, &[]),
        Mode::Copies => (&[], &[]),
    };
    let inherited = std::env::vars_os()
        .filter(|(name, _)| !ours.iter().any(|ours| name == ours))
        .map(|(mut name, value)| {
            name.push("=");
            name.push(value);
            name.into_vec()
        });
    let told = told
        .iter()
        .map(|name| format!("{name}={count}").into_bytes());
    // An environment string cannot hold a zero byte, so nothing is lost here.
    inherited
        .chain(told)
        .filter_map(|line| CString::new(line).ok())
        .collect()
}

/// The sum of the numbers that follow `mark` in what a command or its copies printed; `None` when
/// there is none.
pub fn rate_printed(printed: &[u8], mark: &str) -> Option<f64> {
    let text = String::from_utf8_lossy(printed);
    let numbers: Vec<f64> = text
        .split(mark)
        .skip(1)
        .filter_map(leading_number)
        .collect();
    (!numbers.is_empty()).then(|| numbers.iter().sum())
}

fn leading_number(text: &str) -> Option<f64> {
    let text = text.trim_start_matches([' ', '\t', ':', '=']);
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-')))
        .unwrap_or(text.len());
    let number = text[..end].trim_end_matches(['.', 'e', 'E', '+', '-']);
    number
        .parse()
        .ok()
        .filter(|n: &f64| n.is_finite() && *n > 0.0)
}
