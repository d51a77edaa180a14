//! Where interrupts are handled, and how long they take.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::waits::Durations;
use crate::event::Interrupt;
use crate::timeline::Timeline;

/// One kind of interrupt on one core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The core.
    pub cpu: u16,
    /// The interrupt.
    pub what: Interrupt,
    /// How often, and how long in all; the longest stretch without another one on top.
    pub times: Durations,
}

/// All interrupts by core, the longest time first.
pub fn interrupts(timeline: &Timeline) -> Vec<Placement> {
    let mut found: BTreeMap<(u16, Interrupt), Placement> = BTreeMap::new();
    for (cpu, handlers) in timeline.cores.iter().zip(&timeline.handlers) {
        for handler in handlers {
            let entry = found.entry((*cpu, handler.what)).or_insert(Placement {
                cpu: *cpu,
                what: handler.what,
                times: Durations::default(),
            });
            entry.times.add(handler.end - handler.start);
            // The rest of one that was itself interrupted is none of its own.
            entry.times.count -= u64::from(!handler.first);
        }
    }
    let mut all: Vec<_> = found.into_values().collect();
    all.sort_by_key(|placement| (Reverse(placement.times.sum), placement.cpu, placement.what));
    all
}

/// A core that does most of the device and software interrupt work while others could share it:
/// (core, its share of that work, the share of its own time that goes there).
pub fn concentrated(timeline: &Timeline, placements: &[Placement]) -> Option<(u16, f64, f64)> {
    const MOST: f64 = 0.8;
    const WORTH_SAYING: f64 = 0.05;
    let work = |on: Option<u16>| -> u64 {
        placements
            .iter()
            .filter(|found| matches!(found.what, Interrupt::Line(_) | Interrupt::Soft(_)))
            .filter(|found| on.is_none_or(|cpu| cpu == found.cpu))
            .map(|found| found.times.sum)
            .sum()
    };
    let all = work(None);
    if all == 0 || timeline.cores.len() < 2 {
        return None;
    }
    timeline.cores.iter().find_map(|cpu| {
        let here = work(Some(*cpu)) as f64;
        let (share, of_core) = (here / all as f64, here / timeline.wall().max(1) as f64);
        (share >= MOST && of_core >= WORTH_SAYING).then_some((*cpu, share, of_core))
    })
}
