//! What was odd about a command or the machine. Each note ends with the next thing to try.

use serde::{Deserialize, Serialize};

/// Something the reader of a result has to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Note {
    /// Fewer cores are allowed than were asked for.
    #[error(
        "{asked} cores were asked for, {allowed} {} allowed (affinity or a control \
         group); the sweep ends there. Widen the affinity with `taskset` or the group's \
         cpuset.",
        if *allowed == 1 { "is" } else { "are" }
    )]
    FewerCores {
        /// Cores asked for.
        asked: u32,
        /// Cores that this process may use.
        allowed: u32,
    },
    /// A control group limits the processor time.
    #[error(
        "a control group limits the processor time to {cores:.2} cores: beyond that \
         nothing can get faster. Raise `cpu.max` of the group."
    )]
    Quota {
        /// The limit in cores.
        cores: f64,
    },
    /// The command prints so much that printing may be what is measured.
    #[error(
        "the command prints {:.0} MB in a run; it is thrown away, but writing it is \
         measured. Silence the command to measure its work alone.",
        *bytes as f64 / 1e6
    )]
    PrintsMuch {
        /// Bytes in one run.
        bytes: u64,
    },
    /// Processes outlived the command.
    #[error(
        "{processes} process{} outlived the command and {} ended; work done after the \
         command ended is not in its time. Use an option that keeps it in the foreground.",
        if *processes == 1 { "" } else { "es" },
        if *processes == 1 { "was" } else { "were" }
    )]
    ForksAway {
        /// How many were ended.
        processes: u32,
    },
    /// The command used one core however many it had.
    #[error(
        "with {cores} cores the command kept {busy:.2} busy: it does not use the cores it \
         is given. Put {} in the command where it takes its number of threads, or try \
         `--mode copies`.",
        super::plan::CORES
    )]
    IgnoresCores {
        /// Cores kept busy at the largest count.
        busy: f64,
        /// That count.
        cores: u32,
    },
    /// Told to use one core, the command used more.
    #[error(
        "told to use one core and free to move, the command used {busy:.2}: it does not \
         heed the usual variables. The pinned figures hold it to its cores."
    )]
    UsesMore {
        /// Cores kept busy when told one.
        busy: f64,
    },
    /// The command is so short that starting a process is what is measured.
    #[error(
        "a run takes {milliseconds:.1} ms: starting a process is a large part of it. Give \
         the command more work."
    )]
    Short {
        /// Milliseconds of one run on one core.
        milliseconds: f64,
    },
    /// Runs were repeated because something else used the cores.
    #[error(
        "{repeated} run{} disturbed by other programs or the hypervisor and repeated, \
         {kept} stayed disturbed. Stop what else runs, or use more rounds.",
        if *repeated == 1 { " was" } else { "s were" }
    )]
    Disturbed {
        /// Runs repeated.
        repeated: u32,
        /// Runs still disturbed after that.
        kept: u32,
    },
    /// The control is not 1 within its interval.
    #[error(
        "the control, one core against one core, gave {low:.3} to {high:.3} instead of 1: \
         differences of that size mean nothing here. Use more rounds or a quieter machine."
    )]
    ControlMissed {
        /// Lower end of the control's interval.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// More cores made it faster than linear.
    #[error(
        "the speed-up is above the core count: more cores bring more cache, or the work \
         shrinks when divided. No scaling law holds; sweep the working set."
    )]
    Superlinear,
    /// More cores seem to make it faster than linear because the single one was held up.
    #[error(
        "the speed-up is above the core count because the runs on one core were held up. \
         They were busy for {:.0} % of the time, against {:.0} % of each core when there were \
         several. Stop what else runs and sweep again.",
        one * 100.0,
        each * 100.0
    )]
    HeldUp {
        /// Share of the time that one core's runs were busy.
        one: f64,
        /// The same for each of several cores.
        each: f64,
    },
    /// One core gave no forecast.
    #[error("No forecast from one core: {why}.")]
    NoForecast {
        /// Why, and what to do.
        why: String,
    },
    /// Anything else, in words.
    #[error("{text}")]
    Other {
        /// The words.
        text: String,
    },
}
