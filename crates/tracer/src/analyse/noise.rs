//! The noise on cores that ought to be quiet: those kept from the scheduler, and those that one
//! thread has to itself.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::waits::Durations;
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
    /// The owner's interruptions.
    pub times: Durations,
    /// Who it was, longest first.
    pub by: Vec<(String, Durations)>,
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
        let mut times = Durations::default();
        let mut by: BTreeMap<String, Durations> = BTreeMap::new();
        let mut add = |name: String, length: u64| {
            times.add(length);
            by.entry(name).or_default().add(length);
        };
        for run in &timeline.runs[core] {
            if run.tid != owner && run.tid != 0 && run.tid != UNKNOWN {
                add(timeline.threads.name(run.tid), run.end - run.start);
            }
        }
        for handler in &timeline.handlers[core] {
            add(handler.what.to_string(), handler.end - handler.start);
        }
        let mut by: Vec<_> = by.into_iter().collect();
        by.sort_by_key(|(_, times)| Reverse(times.sum));
        all.push(Noise {
            cpu: *cpu,
            owner,
            isolated: is_isolated,
            times,
            by,
        });
    }
    all
}
