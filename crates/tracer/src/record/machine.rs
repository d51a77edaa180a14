//! What the machine says about itself and its threads before a recording: cores, clocks, names.

use std::fs;
use std::path::Path;

use host::cores::parse_list;
use host::tasks;
use rustix::time::{ClockId, clock_gettime};

use crate::event::{TaskChange, TaskNews};
use crate::trace::Header;

fn core_file(name: &str) -> Vec<u16> {
    let text = fs::read_to_string(Path::new("/sys/devices/system/cpu").join(name));
    let cores = text.ok().and_then(|text| parse_list(&text).ok());
    let cores = cores.unwrap_or_default().into_iter();
    cores.filter_map(|core| core.0.try_into().ok()).collect()
}

/// The machine's part of a header.
pub(crate) fn header() -> Header {
    let read = |path: &str| {
        fs::read_to_string(path)
            .map(|text| text.trim().to_owned())
            .unwrap_or_default()
    };
    Header {
        recorder: concat!("corelane ", env!("CARGO_PKG_VERSION")).to_owned(),
        kernel: read("/proc/sys/kernel/osrelease"),
        architecture: std::env::consts::ARCH.to_owned(),
        host: read("/proc/sys/kernel/hostname"),
        cores: core_file("online"),
        isolated: core_file("isolated"),
        boot_offset: clock(ClockId::Boottime) - clock(ClockId::Monotonic),
        real_offset: clock(ClockId::Realtime) - clock(ClockId::Monotonic),
        interrupt_names: interrupt_names(&read("/proc/interrupts")),
        ..Header::default()
    }
}

/// A clock's reading in nanoseconds.
pub(crate) fn clock(id: ClockId) -> i64 {
    let time = clock_gettime(id);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

fn interrupt_names(table: &str) -> Vec<(u16, String)> {
    table
        .lines()
        .skip(1)
        .filter_map(|line| {
            let (number, rest) = line.trim().split_once(':')?;
            let name = rest.split_whitespace().last()?;
            Some((number.parse().ok()?, name.to_owned()))
        })
        .collect()
}

/// The threads that live now, with their processes and names.
pub(crate) fn threads() -> Vec<TaskChange> {
    let mut found = Vec::new();
    for process in tasks::all() {
        let mut tell = |tid, what| {
            found.push(TaskChange {
                time: 0,
                tid,
                process,
                what,
            });
        };
        for tid in tasks::threads(process).unwrap_or_default() {
            if let Ok(name) = fs::read_to_string(format!("/proc/{process}/task/{tid}/comm")) {
                tell(tid, TaskNews::Named(name.trim_end().to_owned()));
            }
        }
        if let Some(parent) = tasks::parent_of(process) {
            tell(process, TaskNews::Forked { parent });
        }
    }
    found
}

#[cfg(test)]
#[path = "../../tests/unit/machine.rs"]
mod tests;
