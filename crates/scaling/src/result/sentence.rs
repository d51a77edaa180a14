//! The result in a sentence, and the next thing to try.

use super::{Cause, LawResult, PointResult, ScaleResult};
use crate::cause::blame::{IDLE, STEAL, SYSTEM};
use crate::cause::pressure::strongest;
use crate::harness::notes::Note;
use crate::harness::plan::{Mode, Placement};
use crate::laws::peak::{Peak, TOO_FEW_CORES};

/// A part of the loss below this share is not worth naming.
const WORTH_NAMING: f64 = 0.1;
/// A loss below this is no loss.
const NO_LOSS: f64 = 0.03;

/// The last point of the first placement: what the sentence is about.
fn subject(points: &[PointResult]) -> Option<&PointResult> {
    let placement = points.first()?.placement;
    points.iter().rfind(|p| p.placement == placement)
}

/// A sentence each: what the cores bought, where the rest went, how far it goes.
pub fn sentence(
    mode: Mode,
    points: &[PointResult],
    cause: &[Cause],
    unexplained: Option<f64>,
    law: &LawResult,
) -> String {
    let Some(point) = subject(points) else {
        return "Nothing was measured.".to_owned();
    };
    if point.cores == 1 {
        return "One core tells nothing about more cores; allow this process a second one."
            .to_owned();
    }
    let (cores, range) = (point.cores, point.range());
    let mut text = match mode {
        Mode::Copies => {
            format!("{cores} copies on {cores} cores do {range} times the work of one")
        }
        Mode::Threads | Mode::Make => format!("{cores} cores do it {range} times as fast as one"),
    };
    let lost = 1.0 - point.efficiency;
    if lost < -NO_LOSS {
        text += ", more than their number";
    } else if lost < NO_LOSS {
        text += ": nothing to speak of is lost";
    } else {
        text += &format!(". Of the {:.0} % lost", lost * 100.0);
        text += &parts(cause);
        if let Some(rest) = unexplained.filter(|&rest| rest >= WORTH_NAMING) {
            text += &format!(", {:.0} % of it unexplained", rest * 100.0);
        }
    }
    let peak = match law.peak {
        Peak::TooFewCores { tried } => {
            let fraction = law.serial_fraction.map_or(String::new(), |(e, interval)| {
                format!(": only e({tried}) = {e:.3} {interval:#.3} is known")
            });
            let tried = if tried <= TOO_FEW_CORES {
                tried
            } else {
                point.cores
            };
            format!("{tried} cores cannot show where it ends{fraction}")
        }
        ref peak => report::capital(&peak.to_string()),
    };
    format!("{text}. {peak}.")
}

fn parts(cause: &[Cause]) -> String {
    let mut named: Vec<&Cause> = cause
        .iter()
        .filter(|c| c.of.is_none() && c.share >= WORTH_NAMING)
        .filter(|c| c.interval.is_some_and(|interval| interval.low > 0.0))
        .collect();
    named.sort_by(|a, b| b.share.total_cmp(&a.share));
    if named.is_empty() {
        return ", the parts cannot be told".to_owned();
    }
    let words: Vec<String> = named
        .iter()
        .map(|c| {
            let why = mostly(cause, &c.name)
                .map_or_else(String::new, |child| format!(" (most of it {})", child.name));
            format!("{:.0} % is {}{why}", c.share * 100.0, c.name)
        })
        .collect();
    format!(", {}{}", words.join(" and "), won_back(cause))
}

/// The parts that gained where the whole lost: without them the shares named would seem to be too
/// large.
fn won_back(cause: &[Cause]) -> String {
    let words: Vec<String> = cause
        .iter()
        .filter(|c| c.of.is_none() && c.share <= -WORTH_NAMING)
        .map(|c| {
            let gain = match c.name.as_str() {
                IDLE => "busier cores",
                STEAL => "less steal",
                SYSTEM => "cheaper system work",
                _ => "cheaper user work",
            };
            format!("{:.0} % is won back by {gain}", -c.share * 100.0)
        })
        .collect();
    if words.is_empty() {
        String::new()
    } else {
        format!("; {}", words.join(" and "))
    }
}

/// The child that is more than half of the part `name`.
fn mostly<'a>(cause: &'a [Cause], name: &str) -> Option<&'a Cause> {
    let whole = cause
        .iter()
        .find(|c| c.of.is_none() && c.name == name)?
        .share;
    cause
        .iter()
        .find(|c| c.of.as_deref() == Some(name) && c.share > whole / 2.0)
}

/// `text` with a full stop at its end.
pub fn finished(text: &str) -> String {
    if text.ends_with('.') {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

/// The one experiment that would tell most, given what is known.
pub fn next_experiment(result: &ScaleResult) -> String {
    // What is odd about the command comes before what is odd about the machine.
    let odd = result.notes.iter().find_map(|note| match note {
        Note::IgnoresCores { .. } => Some(
            "Run copies instead: `--mode copies` shows what the machine gives when the program \
             itself cannot divide its work.",
        ),
        Note::Short { .. } => Some(
            "Give the command more work, so that a run takes at least a tenth of a second, and \
             sweep again.",
        ),
        Note::ControlMissed { .. } => Some(
            "Sweep again with `--rounds 21` on a quieter machine: the control says that these \
             ratios are not to be trusted.",
        ),
        _ => None,
    });
    if let Some(words) = odd {
        return words.to_owned();
    }
    let free_gain = free_over_pinned(&result.points);
    let largest = result
        .cause
        .iter()
        .filter(|cause| cause.of.is_none())
        .max_by(|a, b| a.share.total_cmp(&b.share));
    match largest {
        None => "Nothing was lost here: sweep a machine with more cores, and set both results \
                 side by side with `corelane scale compare`."
            .to_owned(),
        Some(cause) if cause.name == IDLE && free_gain > 1.05 => format!(
            "Leave the placement to the kernel: free to move the command was {free_gain:.2} times \
             as fast as pinned; find out which core was shared."
        ),
        Some(cause) if cause.name == IDLE && result.budget.is_some() => {
            match mostly(&result.cause, IDLE) {
                Some(child) if child.name.contains("lock") || child.name.contains("mutex") => {
                    format!(
                        "Shorten what is done under one lock, or divide the lock, and sweep \
                         again: the cores' idle time is mostly {}.",
                        child.name
                    )
                }
                Some(child) if child.name.starts_with("other programs") => {
                    "Stop what else runs and sweep again: other programs had the cores.".to_owned()
                }
                Some(child) => format!(
                    "Give the cores something to do in that time and sweep again: it is mostly \
                     {}; `corelane trace record -- ` with the same command shows when.",
                    child.name
                ),
                None => "Record the run on all cores with `corelane trace record`: no reason for \
                         idling is more than half of it."
                    .to_owned(),
            }
        }
        Some(cause) if cause.name == IDLE => "Press on with `corelane scale --cause` and the same \
                                              command (as root): the profiler says what the idle \
                                              cores waited for."
            .to_owned(),
        Some(cause) if cause.name == STEAL => {
            "Repeat on a host without neighbours: the loss is not the program's.".to_owned()
        }
        Some(cause) if cause.name == SYSTEM => "Record the run with `corelane trace` and look for \
                                                the kernel lock that its tasks meet in. Running \
                                                copies (`--mode copies`) shows whether it is the \
                                                program's or the kernel's."
            .to_owned(),
        Some(_) if result.pressure.is_empty() => "Press on one shared resource at a time: \
                                                  `corelane scale --cause` with the same command \
                                                  tells memory bandwidth from cache."
            .to_owned(),
        Some(_) => strongest(&result.pressure).map_or_else(
            || {
                "No shared resource that was pressed on explains the dearer work: look for \
                 spinning on locks with `corelane trace`."
                    .to_owned()
            },
            |channel| {
                format!(
                    "Give the command less of what it shares, {channel}: halve its working set \
                     and sweep again."
                )
            },
        ),
    }
}

/// How much faster the largest core count is free than pinned.
fn free_over_pinned(points: &[PointResult]) -> f64 {
    let last = |placement| {
        points
            .iter()
            .rfind(|p| p.placement == placement)
            .map(|p| p.speedup)
    };
    match (last(Placement::Free), last(Placement::Pinned)) {
        (Some(free), Some(pinned)) => free / pinned,
        _ => 1.0,
    }
}

#[cfg(test)]
#[path = "../../tests/unit/sentence.rs"]
mod tests;
