//! One line for each event, in the manner of `perf script`: thread, number, core, seconds, event,
//! details.

use std::io::{self, Write};

use crate::event::{FutexCall, Kind};
use crate::threads::Threads;
use crate::trace::Trace;

/// Writes all events as text.
///
/// # Errors
/// What the writer says.
pub fn write(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    let threads = Threads::new(trace);
    for event in &trace.events {
        let (seconds, nanoseconds) = (event.time / 1_000_000_000, event.time % 1_000_000_000);
        let name = threads.name(event.tid);
        write!(
            out,
            "{name:>16} {:>7} [{:03}] {seconds}.{nanoseconds:09}: ",
            event.tid, event.cpu
        )?;
        match event.kind {
            Kind::Switch { left, next } => {
                writeln!(
                    out,
                    "sched_switch: {} ==> {}:{next}",
                    left.letter(),
                    threads.name(next)
                )
            }
            Kind::Waking {
                woken,
                target,
                by,
                new,
            } => writeln!(
                out,
                "sched_waking: {}:{woken} target_cpu={target:03} by={by:?}{}",
                threads.name(woken),
                if new { " new" } else { "" }
            ),
            Kind::Migrate { moved, from, to } => {
                writeln!(
                    out,
                    "sched_migrate_task: {}:{moved} orig_cpu={from} dest_cpu={to}",
                    threads.name(moved)
                )
            }
            Kind::FutexEnter(FutexCall {
                address,
                value,
                operation,
                private,
                timeout,
            }) => writeln!(
                out,
                "futex: {operation:?}{}{} uaddr={address:#x} val={value:#x}",
                if private { " private" } else { "" },
                if timeout { " timeout" } else { "" }
            ),
            Kind::FutexExit(result) => writeln!(out, "futex: = {result}"),
            Kind::LockBegin { address, flags } => {
                writeln!(out, "contention_begin: {address:#x} flags={flags:#x}")
            }
            Kind::LockEnd { address, result } => {
                writeln!(out, "contention_end: {address:#x} ret={result}")
            }
            Kind::InterruptBegin(what) => writeln!(out, "interrupt_entry: {what}"),
            Kind::InterruptEnd(what) => writeln!(out, "interrupt_exit: {what}"),
            Kind::Poll { work, budget } => writeln!(out, "napi_poll: work {work} budget {budget}"),
            Kind::Packets { sent, dropped } => writeln!(out, "xdp: sent {sent} dropped {dropped}"),
            Kind::Stack(stack) => writeln!(out, "stack: {}", frames(trace, stack)),
            Kind::Sample(stack) => writeln!(out, "cpu-clock: {}", frames(trace, stack)),
            Kind::Progress { point, total } => {
                let name = trace
                    .trailer
                    .progress
                    .get(usize::from(point))
                    .map_or("?", String::as_str);
                writeln!(out, "progress: {name} {total}")
            }
            Kind::Stolen { time, within } => writeln!(out, "stolen: {time} of {within} ns"),
            Kind::Lost(events) => writeln!(out, "LOST {events} events"),
        }?;
    }
    Ok(())
}

fn frames(trace: &Trace, stack: u32) -> String {
    trace
        .trailer
        .stacks
        .get(stack as usize)
        .map_or_else(String::new, |frames| frames.join(" < "))
}
