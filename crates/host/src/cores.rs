//! Cores by number, and those this process may run on.

use std::{fmt, io};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};

use crate::process;

/// A logical CPU as Linux numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct CoreId(pub u32);

impl fmt::Display for CoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The cores that the calling thread may run on, ascending: what `taskset` and cpusets have left.
///
/// # Errors
/// When the kernel refuses to say, which it does not for the calling thread.
pub fn allowed_cores() -> io::Result<Vec<CoreId>> {
    allowed_to(0)
}

/// The cores that a thread may run on, ascending; 0 is the calling one.
///
/// # Errors
/// When there is no such thread.
pub fn allowed_to(thread: u32) -> io::Result<Vec<CoreId>> {
    let set = sched_getaffinity(process::pid(thread))?;
    let cores = (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core));
    Ok(cores.map(|core| CoreId(core as u32)).collect())
}

/// Restricts a thread to `cores`; 0 is the calling one.
///
/// # Errors
/// When there is no such thread, or none of the cores can be used.
pub fn bind(thread: u32, cores: &[CoreId]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for core in cores {
        if core.0 as usize >= CpuSet::MAX_CPU {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        set.set(core.0 as usize);
    }
    Ok(sched_setaffinity(process::pid(thread), &set)?)
}

/// Cores in the kernel's list notation, with ranges where there are runs.
pub fn write_list(cores: &[CoreId]) -> String {
    let mut numbers: Vec<u32> = cores.iter().map(|core| core.0).collect();
    numbers.sort_unstable();
    numbers
        .chunk_by(|a, b| a + 1 == *b)
        .map(|run| match run {
            [one] => one.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => String::new(),
        })
        .collect::<Vec<_>>()
        .join(",")
}

/// Reads the kernel's list notation: `0-3,8` is 0, 1, 2, 3, 8. An empty list has no cores.
///
/// # Errors
/// The part that is no number or range, in words.
pub fn parse_list(text: &str) -> Result<Vec<CoreId>, String> {
    let mut cores = Vec::new();
    for part in text
        .trim()
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        let number = |word: &str| {
            word.parse::<u32>()
                .ok()
                .filter(|&core| (core as usize) < CpuSet::MAX_CPU)
                .ok_or_else(|| {
                    format!("\"{part}\" is no core or range of cores; write them as 0-3,8")
                })
        };
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(part)?, number(part)?),
        };
        if last < first {
            return Err(format!(
                "the range \"{part}\" runs backwards; write {last}-{first}"
            ));
        }
        cores.extend((first..=last).map(CoreId));
    }
    cores.sort_unstable();
    cores.dedup();
    Ok(cores)
}
