//! The process as every client of Prometheus describes itself. What `/proc` does not say is left
//! out.

use std::fs;

use rustix::process::{Resource, getrlimit};

use super::{Page, families};

/// Where `stat` has what, counted behind the name of the program, from field 3
/// (`proc_pid_stat(5)`).
const USER: usize = 11;
const SYSTEM: usize = 12;
const THREADS: usize = 17;
const START: usize = 19;
const VIRTUAL: usize = 20;
const RESIDENT: usize = 21;

pub(super) fn write(page: &mut Page) {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    if let Some(fields) = fields(&stat) {
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        let page_size = rustix::param::page_size() as f64;
        let used = (fields[USER] + fields[SYSTEM]) / ticks;
        page.single(families::PROCESS_CPU, used);
        page.single(families::PROCESS_RESIDENT, fields[RESIDENT] * page_size);
        page.single(families::PROCESS_VIRTUAL, fields[VIRTUAL]);
        page.single(families::PROCESS_THREADS, fields[THREADS]);
        let system = fs::read_to_string("/proc/stat").unwrap_or_default();
        if let Some(booted) = booted(&system) {
            page.single(families::PROCESS_START, booted + fields[START] / ticks);
        }
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        // The directory itself is open meanwhile.
        let open = open.count().saturating_sub(1);
        page.single(families::PROCESS_OPEN, open as f64);
    }
    if let Some(most) = getrlimit(Resource::Nofile).current {
        page.single(families::PROCESS_MOST_OPEN, most as f64);
    }
}

/// The fields of `stat` behind the name, which may have blanks and brackets in it.
fn fields(stat: &str) -> Option<Vec<f64>> {
    let (_, rest) = stat.rsplit_once(')')?;
    let words = rest.split_whitespace();
    let fields: Vec<f64> = words.map(|word| word.parse().unwrap_or(0.0)).collect();
    (fields.len() > RESIDENT).then_some(fields)
}

/// When the system started, in seconds since 1970.
fn booted(system: &str) -> Option<f64> {
    let line = system.lines().find_map(|line| line.strip_prefix("btime "));
    line?.trim().parse().ok()
}

#[cfg(test)]
#[path = "../../../tests/unit/process.rs"]
mod tests;
