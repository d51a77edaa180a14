//! Where interrupts are handled, and how long they take.

use std::collections::BTreeMap;

use crate::event::Interrupt;
use crate::timeline::Timeline;

/// One kind of interrupt on one core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The core.
    pub cpu: u16,
    /// The interrupt.
    pub what: Interrupt,
    /// How often.
    pub count: u64,
    /// How long in all.
    pub time: u64,
    /// The longest stretch.
    pub longest: u64,
}

/// All interrupts by core, the longest time first.
pub fn interrupts(timeline: &Timeline) -> Vec<Placement> {
    let mut found: BTreeMap<(u16, Interrupt), Placement> = BTreeMap::new();
    for (cpu, handlers) in timeline.cores.iter().zip(&timeline.handlers) {
        for handler in handlers {
            let entry = found.entry((*cpu, handler.what)).or_insert(Placement {
                cpu: *cpu,
                what: handler.what,
                count: 0,
                time: 0,
                longest: 0,
            });
            let length = handler.end - handler.start;
            entry.count += u64::from(handler.first);
            entry.time += length;
            entry.longest = entry.longest.max(length);
        }
    }
    let mut all: Vec<_> = found.into_values().collect();
    all.sort_by_key(|placement| {
        (
            std::cmp::Reverse(placement.time),
            placement.cpu,
            placement.what,
        )
    });
    all
}

/// A core that does most of the device and software interrupt work while others could share it:
/// (core, its share of that work, the share of its own time that goes there).
pub fn concentrated(timeline: &Timeline, placements: &[Placement]) -> Option<(u16, f64, f64)> {
    const MOST: f64 = 0.8;
    const WORTH_SAYING: f64 = 0.05;
    let work =
        |placement: &&Placement| matches!(placement.what, Interrupt::Line(_) | Interrupt::Soft(_));
    let all: u64 = placements
        .iter()
        .filter(work)
        .map(|placement| placement.time)
        .sum();
    if all == 0 || timeline.cores.len() < 2 {
        return None;
    }
    timeline.cores.iter().find_map(|cpu| {
        let here: u64 = placements
            .iter()
            .filter(work)
            .filter(|p| p.cpu == *cpu)
            .map(|p| p.time)
            .sum();
        let share = here as f64 / all as f64;
        let of_core = here as f64 / timeline.wall().max(1) as f64;
        (share >= MOST && of_core >= WORTH_SAYING).then_some((*cpu, share, of_core))
    })
}
