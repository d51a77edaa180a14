//! How fast cores run: the time of a fixed piece of work, every two milliseconds.
//!
//! What runs on the other hardware thread of a core takes up to half of it. On a virtual machine
//! that can be a stranger. The kernel counts none of it: nothing was stolen, and every thread ran
//! all the time. The piece of work shows it, because it asks for as many instructions at once as a
//! core has units for them.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::clock::{Span, now_ns};
use crate::lookers::{Look, Lookers};
use crate::{CoreId, Pinned};

/// Steps of a piece of work: one to three microseconds.
const STEPS: u32 = 700;
/// Of the pieces of a core, this share took longest and does not count: an interrupt fell into
/// them.
const INTERRUPTED: f64 = 0.1;

/// Pieces of work that take so many times as long as in the calmest trial were slowed down. On a
/// virtual machine whose neighbour came and went they took 1.00 to 1.07 times as long without it,
/// and 1.3 to 2.1 times with it.
const SLOWED: f64 = 1.12;
/// Fewer pieces of work within what was counted say nothing: then those of the whole trial do.
const FEWEST: usize = 3;
/// A look between trials: some pieces of work.
const LOOK: Duration = Duration::from_millis(9);

/// Who was calm so recently is calm: neighbours stay for longer.
const RECENT: Duration = Duration::from_millis(40);

/// How long a trial waits for calm cores.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often it is made again when they were not.
const AGAIN: usize = 8;

/// Holds the cores of each trial of a run against the calmest one on as many cores.
#[derive(Debug, Default)]
pub struct Calmest {
    /// The shortest mean of a trial's pieces of work, ns, by how many cores were at work, on each.
    working: Shortest,
    /// The same between trials, while the cores are kept at work.
    between: Shortest,
    /// When each core was seen calm last.
    calm: BTreeMap<CoreId, Instant>,
}

type Shortest = BTreeMap<(usize, CoreId), f64>;

impl Calmest {
    /// What `run` gives, and whether one of the `cores` that are at work for it was slower than it
    /// can be while it counted, which `counted` says of what it gives; `None`: all the time.
    pub fn watch<T>(
        &mut self,
        cores: &[CoreId],
        run: impl FnOnce() -> T,
        counted: impl FnOnce(&T) -> Option<Span>,
    ) -> (T, bool) {
        let pace = Watch::on(cores);
        let given = run();
        let slowed = is_slowed(&mut self.working, cores, &pace.end(counted(&given)));
        self.remember(cores, slowed);
        (given, slowed)
    }

    fn remember(&mut self, cores: &[CoreId], slowed: bool) {
        for &core in cores {
            if slowed {
                self.calm.remove(&core);
            } else {
                self.calm.insert(core, Instant::now());
            }
        }
    }

    /// Returns when nobody slows `cores`, on which no trial runs, or at `until`; at once where they were
    /// calm a moment ago. Cores are kept at work meanwhile: one that has just slept is slow by itself,
    /// on a virtual machine up to twice as slow.
    pub fn wait(&mut self, cores: &[CoreId], until: Instant) {
        let is_calm = |core| {
            self.calm
                .get(core)
                .is_some_and(|seen| seen.elapsed() < RECENT)
        };
        if cores.iter().all(is_calm) {
            return;
        }
        while Instant::now() + LOOK < until && !crate::interrupted() {
            let pace = Watch::on(cores);
            keep_at_work(cores, LOOK);
            if !is_slowed(&mut self.between, cores, &pace.end(None)) {
                return;
            }
        }
    }

    /// What `trial` gives on `cores`, and whether one of them was slowed down while it counted, as
    /// with [`Calmest::watch`]: made as soon as there is calm, for which it waits a second, and again
    /// where that did not last, at most eight times.
    ///
    /// # Errors
    /// Those of `trial`.
    pub fn calmly<T, E>(
        &mut self,
        cores: &[CoreId],
        mut trial: impl FnMut() -> Result<T, E>,
        counted: impl Fn(&T) -> Option<Span>,
    ) -> Result<(T, bool), E> {
        let mut once = || {
            self.wait(cores, Instant::now() + PATIENCE);
            let counted = |given: &Result<T, E>| counted(given.as_ref().ok()?);
            let (given, slowed) = self.watch(cores, &mut trial, counted);
            given.map(|given| (given, slowed))
        };
        let mut given = once()?;
        for _ in 0..AGAIN {
            if !given.1 {
                break;
            }
            given = once()?;
        }
        Ok(given)
    }
}

/// Works on each of `cores` for so long.
fn keep_at_work(cores: &[CoreId], time: Duration) {
    let end = Instant::now() + time;
    std::thread::scope(|threads| {
        for &core in cores {
            threads.spawn(move || {
                // Elsewhere it would keep the wrong core at work.
                let Ok(_pinned) = Pinned::to(core) else {
                    return;
                };
                while Instant::now() < end {
                    black_box(work(STEPS));
                }
            });
        }
        std::thread::sleep(time);
    });
}

/// Whether one of `cores` was slower than in the calmest trial until now, this one included.
fn is_slowed(shortest: &mut Shortest, cores: &[CoreId], pieces: &[Option<f64>]) -> bool {
    let mut slowed = false;
    for (&core, &piece) in cores.iter().zip(pieces) {
        let Some(piece) = piece else { continue };
        let shortest = shortest.entry((cores.len(), core)).or_insert(piece);
        *shortest = shortest.min(piece);
        slowed |= piece > SLOWED * *shortest;
    }
    slowed
}

/// Watches some cores from its making on, as root; elsewhere it sees nothing.
#[derive(Debug)]
struct Watch(Lookers<Pieces>);

impl Watch {
    fn on(cores: &[CoreId]) -> Self {
        Self(Lookers::on(cores))
    }

    /// How long a piece of work took on each core in a stretch of time, in their order, ns: the mean
    /// of those that no interrupt fell into. `None` where none was timed.
    fn end(self, counted: Option<Span>) -> Vec<Option<f64>> {
        let cores = self.0.end().into_iter();
        cores.map(|pieces| pieces?.mean(counted)).collect()
    }
}

/// When each piece of work on one core began, and how long it took, ns.
#[derive(Debug, Default)]
struct Pieces(Vec<(u64, u64)>);

impl Look for Pieces {
    fn look(&mut self, _due_ns: u64, _now_ns: u64) {
        // The first piece fetches the instructions.
        black_box(work(STEPS / 10));
        let begun = now_ns();
        black_box(work(STEPS));
        self.0.push((begun, now_ns() - begun));
    }
}

impl Pieces {
    fn mean(&self, counted: Option<Span>) -> Option<f64> {
        let is_counted = |begun: u64| {
            counted.is_none_or(|counted| (counted.from_ns..counted.to_ns).contains(&begun))
        };
        let took = |&(begun, took): &(u64, u64)| is_counted(begun).then_some(took);
        let mut pieces: Vec<u64> = self.0.iter().filter_map(took).collect();
        if counted.is_some() && pieces.len() < FEWEST {
            return self.mean(None);
        }
        pieces.sort_unstable();
        let interrupted = (pieces.len() as f64 * INTERRUPTED).ceil() as usize;
        pieces.truncate(pieces.len().saturating_sub(interrupted));
        let all: u64 = pieces.iter().sum();
        (!pieces.is_empty()).then(|| all as f64 / pieces.len() as f64)
    }
}

/// Six chains of shifts that do not wait for each other. They differ, so that no compiler makes one
/// of them all.
fn work(steps: u32) -> u64 {
    let mut chains = black_box([1_u64, 2, 3, 4, 5, 6]);
    for _ in 0..steps {
        chains[0] ^= chains[0] << 13;
        chains[1] ^= chains[1] >> 7;
        chains[2] ^= chains[2] << 17;
        chains[3] ^= chains[3] >> 5;
        chains[4] ^= chains[4] << 11;
        chains[5] ^= chains[5] >> 19;
        chains[0] = chains[0].wrapping_add(0x9e37);
        chains[1] = chains[1].wrapping_add(0x79b9);
        chains[2] = chains[2].wrapping_sub(0x7f4a);
        chains[3] = chains[3].wrapping_add(0x7c15);
        chains[4] = chains[4].wrapping_sub(0xbf58);
        chains[5] = chains[5].wrapping_add(0x476d);
    }
    chains.iter().fold(0, |all, chain| all ^ chain)
}

#[cfg(test)]
#[path = "../tests/unit/pace.rs"]
mod tests;
