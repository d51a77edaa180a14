//! The noise on cores that ought to be quiet: those kept from the scheduler, and those that one
//! thread has to itself.

use std::collections::BTreeMap;

use crate::event::Tid;
use crate::threads::Role;
use crate::timeline::{Timeline, UNKNOWN};

/// What disturbed a quiet core.
#[derive(Clone, Debug, PartialEq)]
pub struct Noise {
    /// The core.
    pub cpu: u16,
    /// Whose core it is: the thread that has nearly all of it.
    pub owner: Tid,
    /// True when the kernel was told to leave it alone (`isolcpus`).
    pub isolated: bool,
    /// How often the owner was interrupted.
    pub count: u64,
    /// For how long in all.
    pub time: u64,
    /// The longest interruption.
    pub longest: u64,
    /// Who it was: (name, count, time), longest first.
    pub by: Vec<(String, u64, u64)>,
}

/// A thread that has this share of a core has it to itself.
const TO_ITSELF: f64 = 0.9;

/// The noise of each quiet core.
pub fn noise(timeline: &Timeline, isolated: &[u16]) -> Vec<Noise> {
    let wall = timeline.wall().max(1) as f64;
    let mut all = Vec::new();
    for (core, cpu) in timeline.cores.iter().enumerate() {
        let mut ran: BTreeMap<Tid, u64> = BTreeMap::new();
        for run in &timeline.runs[core] {
            *ran.entry(run.tid).or_default() += run.end - run.start;
        }
        let owner = ran
            .iter()
            .filter(|(tid, _)| timeline.threads.role(**tid) == Role::Target)
            .max_by_key(|(_, time)| **time)
            .map(|(tid, time)| (*tid, *time));
        let is_isolated = isolated.contains(cpu);
        let Some((owner, time)) = owner else { continue };
        if !is_isolated && (time as f64) < TO_ITSELF * wall {
            continue;
        }
        let mut found = Noise {
            cpu: *cpu,
            owner,
            isolated: is_isolated,
            count: 0,
            time: 0,
            longest: 0,
            by: Vec::new(),
        };
        let mut by: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        let mut add = |name: String, length: u64| {
            found.count += 1;
            found.time += length;
            found.longest = found.longest.max(length);
            let entry = by.entry(name).or_default();
            entry.0 += 1;
            entry.1 += length;
        };
        for run in &timeline.runs[core] {
            if run.tid != owner && run.tid != 0 && run.tid != UNKNOWN {
                add(timeline.threads.name(run.tid), run.end - run.start);
            }
        }
        for handler in &timeline.handlers[core] {
            add(handler.what.to_string(), handler.end - handler.start);
        }
        found.by = by
            .into_iter()
            .map(|(name, (count, time))| (name, count, time))
            .collect();
        found
            .by
            .sort_by_key(|(_, _, time)| std::cmp::Reverse(*time));
        all.push(found);
    }
    all
}
