//! What the kernel counted on some cores between two moments: busy, idle and stolen time,
//! interrupts by kind.

use std::collections::BTreeMap;

use crate::cores::CoreId;
use crate::files;

/// Seconds in a tick of `/proc/stat`: `USER_HZ` is 100 on every architecture that Linux has for us.
pub const TICK: f64 = 0.01;

/// Time of some cores, summed, in seconds. Its grain is [`TICK`]. Guests' time is part of `busy`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Times {
    /// In user and system mode, in interrupts and softirqs.
    pub busy: f64,
    /// Idle, waiting for input or output included.
    pub idle: f64,
    /// Taken by the hypervisor.
    pub steal: f64,
    /// In interrupts and softirqs, also part of `busy`.
    pub interrupt: f64,
}

impl Times {
    /// Reads the times of `cores` now. Where `/proc/stat` cannot be read all are 0.
    pub fn now(cores: &[CoreId]) -> Self {
        parse_stat(&files::text("/proc/stat"), cores)
    }

    /// All of it.
    pub fn total(&self) -> f64 {
        self.busy + self.idle + self.steal
    }

    /// What passed from `self` to `later`.
    #[must_use]
    pub fn until(&self, later: &Self) -> Self {
        Self {
            busy: (later.busy - self.busy).max(0.0),
            idle: (later.idle - self.idle).max(0.0),
            steal: (later.steal - self.steal).max(0.0),
            interrupt: (later.interrupt - self.interrupt).max(0.0),
        }
    }
}

fn parse_stat(text: &str, cores: &[CoreId]) -> Times {
    let mut times = Times::default();
    for line in text.lines().skip(1) {
        let Some(rest) = line.strip_prefix("cpu") else {
            break;
        };
        let mut words = rest.split_ascii_whitespace();
        let Some(core) = words.next().and_then(|n| n.parse().ok()) else {
            break;
        };
        if !cores.contains(&CoreId(core)) {
            continue;
        }
        let mut ticks = [0.0; 8];
        for (slot, word) in ticks.iter_mut().zip(words) {
            *slot = word.parse::<f64>().unwrap_or(0.0) * TICK;
        }
        let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
        times.busy += user + nice + system + irq + softirq;
        times.idle += idle + iowait;
        times.steal += steal;
        times.interrupt += irq + softirq;
    }
    times
}

/// Interrupts and softirqs by name, summed over some cores.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Interrupts(pub BTreeMap<String, u64>);

impl Interrupts {
    /// Reads the counts of `cores` now.
    pub fn now(cores: &[CoreId]) -> Self {
        let mut counts = BTreeMap::new();
        for (file, kind) in [
            ("/proc/interrupts", "interrupt"),
            ("/proc/softirqs", "softirq"),
        ] {
            parse_counts(&files::text(file), kind, cores, &mut counts);
        }
        Self(counts)
    }

    /// What came between `self` and `later`, most frequent first, none with a count of 0.
    pub fn until(&self, later: &Self) -> Vec<(String, u64)> {
        let passed = |(name, &count): (&String, &u64)| {
            let before = self.0.get(name).copied().unwrap_or(0);
            (name.clone(), count.saturating_sub(before))
        };
        let mut grown: Vec<(String, u64)> = later.0.iter().map(passed).collect();
        grown.retain(|(_, count)| *count > 0);
        grown.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        grown
    }
}

/// Both files have a heading of `CPUn` columns and rows of `name: counts… words…`.
fn parse_counts(text: &str, kind: &str, cores: &[CoreId], counts: &mut BTreeMap<String, u64>) {
    let mut lines = text.lines();
    let columns: Vec<u32> = lines
        .next()
        .unwrap_or_default()
        .split_ascii_whitespace()
        .filter_map(|name| name.strip_prefix("CPU")?.parse().ok())
        .collect();
    for line in lines {
        let Some((name, rest)) = line.split_once(':') else {
            continue;
        };
        let mut words = rest.split_ascii_whitespace();
        let mut sum = 0;
        for &core in &columns {
            let Some(count) = words.next().and_then(|w| w.parse::<u64>().ok()) else {
                break;
            };
            if cores.contains(&CoreId(core)) {
                sum += count;
            }
        }
        let words: Vec<&str> = words.collect();
        let name = name.trim();
        // Numbered lines end with the device; named ones with a description.
        let label = if name.bytes().all(|b| b.is_ascii_digit()) {
            words
                .last()
                .map_or_else(|| name.to_owned(), |device| (*device).to_owned())
        } else if words.is_empty() {
            name.to_owned()
        } else {
            words.join(" ").to_lowercase()
        };
        *counts.entry(format!("{kind} {label}")).or_default() += sum;
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "whole ticks")]
#[path = "../tests/unit/observe.rs"]
mod tests;
