//! Collapsed stacks, for flame graphs of time on cores and off them: a line for each stack, outermost
//! first, and the microseconds spent there.
//!
//! The first two frames are the process and the thread. What a thread waited for is the innermost
//! frame, in brackets.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::spent::{Spent, State, spent};
use crate::analyse::Analysis;
use crate::trace::Trace;

/// Writes all stacks, in the order of the alphabet.
///
/// # Errors
/// What the writer says.
pub fn write(trace: &Trace, analysis: &Analysis, out: &mut impl Write) -> io::Result<()> {
    let threads = &analysis.timeline.threads;
    let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
    for (tid, stretches) in spent(trace, analysis) {
        let process = threads.name(threads.process(tid));
        let thread = format!("{} {tid}", threads.name(tid));
        for stretch in stretches {
            let line = line(&process, &thread, &stretch);
            *stacks.entry(line).or_default() += stretch.length;
        }
    }
    for (stack, time) in stacks {
        let microseconds = time / 1000;
        if microseconds > 0 {
            writeln!(out, "{stack} {microseconds}")?;
        }
    }
    Ok(())
}

fn line(process: &str, thread: &str, stretch: &Spent<'_>) -> String {
    let doing = doing(stretch);
    let frames = stretch.frames.iter().rev().map(String::as_str);
    let all = [process, thread].into_iter().chain(frames);
    let all = all.chain(doing.as_deref());
    let frames: Vec<String> = all.map(|frame| frame.replace([';', '\n'], ":")).collect();
    frames.join(";")
}

/// What a thread that did not run did, in brackets.
pub(super) fn doing(stretch: &Spent<'_>) -> Option<String> {
    match (stretch.state, &stretch.wait) {
        (State::OnCore, _) => None,
        (State::Waited, wait) => Some(format!(
            "[waited for {}]",
            wait.as_deref().unwrap_or("nothing known")
        )),
        (State::NoCore, _) => Some("[had no core]".to_owned()),
    }
}
