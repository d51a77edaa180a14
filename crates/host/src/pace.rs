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
use crate::counting::Counting;
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
/// Pieces that lie farther away, ns, say nothing about a stretch of time: five looks were missed.
const FAR_NS: u64 = 10_000_000;
/// Of what was counted, this share must be calm, or a trial tells nothing.
const CALM: f64 = 0.25;
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
    /// The least time of a piece of work in a trial, ns, by how many cores were at work, on each.
    working: Shortest,
    /// The same between trials, while the cores are kept at work.
    between: Shortest,
    /// When each core was seen calm last.
    calm: BTreeMap<CoreId, Instant>,
}

type Shortest = BTreeMap<(usize, CoreId), f64>;

/// How calm the cores of a trial were.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calm {
    /// Whether one of them was slower than it can be, for so long that the trial tells nothing.
    pub slowed: bool,
    /// What was counted a second while none of them was; `None` where slowed, and where nothing was
    /// counted.
    pub per_second: Option<f64>,
}

impl Calmest {
    /// What `run` gives, and how calm the `cores` that are at work for it were. `counted` says of what it
    /// gives what was counted in it: stretches of that in which all cores were calm are what it tells.
    /// Where nothing was counted, all the time must have been calm.
    pub fn watch<T>(
        &mut self,
        cores: &[CoreId],
        run: impl FnOnce() -> T,
        counted: impl FnOnce(&T) -> Counting,
    ) -> (T, Calm) {
        let watch = Watch::on(cores);
        let given = run();
        let calm = calm(&mut self.working, cores, &watch.end(), &counted(&given));
        self.remember(cores, calm.slowed);
        (given, calm)
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
            let watch = Watch::on(cores);
            keep_at_work(cores, LOOK);
            let pieces = watch.end();
            if !calm(&mut self.between, cores, &pieces, &Counting::default()).slowed {
                return;
            }
        }
    }

    /// What `trial` gives on `cores`, and how calm they were, as with [`Calmest::watch`]: made as soon as
    /// there is calm, for which it waits a second, and again where that did not last, at most eight
    /// times.
    ///
    /// # Errors
    /// Those of `trial`.
    pub fn calmly<T, E>(
        &mut self,
        cores: &[CoreId],
        mut trial: impl FnMut() -> Result<T, E>,
        counted: impl Fn(&T) -> Counting,
    ) -> Result<(T, Calm), E> {
        let mut once = || {
            self.wait(cores, Instant::now() + PATIENCE);
            let counted = |given: &Result<T, E>| given.as_ref().map(&counted).unwrap_or_default();
            let (given, calm) = self.watch(cores, &mut trial, counted);
            given.map(|given| (given, calm))
        };
        let mut given = once()?;
        for _ in 0..AGAIN {
            if !given.1.slowed {
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

/// How calm `cores` were by their `pieces` of work, held against the calmest trial until now, this one
/// included. A core on which nobody looked is taken for calm.
fn calm(
    shortest: &mut Shortest,
    cores: &[CoreId],
    pieces: &[Option<Pieces>],
    counting: &Counting,
) -> Calm {
    let counted = counting.span();
    let mut looked: Vec<(&Pieces, f64)> = Vec::new();
    for (&core, pieces) in cores.iter().zip(pieces) {
        let Some((pieces, least)) = pieces
            .as_ref()
            .and_then(|of| Some((of, of.least(counted)?)))
        else {
            continue;
        };
        let shortest = shortest.entry((cores.len(), core)).or_insert(least);
        *shortest = shortest.min(least);
        looked.push((pieces, SLOWED * *shortest));
    }
    if counted.is_none() {
        let is_slow = |(pieces, most): &(&Pieces, f64)| pieces.mean().is_some_and(|of| of > *most);
        return Calm {
            slowed: looked.iter().any(is_slow),
            per_second: None,
        };
    }
    let is_calm = |span| {
        let mut all = looked.iter();
        all.all(|(pieces, most)| pieces.are_calm_around(span, *most))
    };
    let calm = counting.within(is_calm);
    let tells = calm.seconds() >= CALM * counting.seconds();
    Calm {
        slowed: !tells,
        per_second: tells.then(|| calm.per_second()),
    }
}

/// Watches some cores from its making on, as root; elsewhere it sees nothing.
#[derive(Debug)]
struct Watch(Lookers<Pieces>);

impl Watch {
    fn on(cores: &[CoreId]) -> Self {
        Self(Lookers::on(cores))
    }

    /// The pieces of work on each core, in their order; `None` where nobody looked.
    fn end(self) -> Vec<Option<Pieces>> {
        self.0.end()
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
    /// How long pieces take, ns: the mean of those that no interrupt fell into.
    fn mean(&self) -> Option<f64> {
        let mut pieces: Vec<u64> = self.0.iter().map(|&(_, took)| took).collect();
        pieces.sort_unstable();
        let interrupted = (pieces.len() as f64 * INTERRUPTED).ceil() as usize;
        pieces.truncate(pieces.len().saturating_sub(interrupted));
        let all: u64 = pieces.iter().sum();
        (!pieces.is_empty()).then(|| all as f64 / pieces.len() as f64)
    }

    /// How long pieces take at their shortest, ns: what a quarter of them stays within, of those in a
    /// stretch of time, or of all.
    fn least(&self, within: Option<Span>) -> Option<f64> {
        let is_within = |begun: u64| {
            within.is_none_or(|within| (within.from_ns..within.to_ns).contains(&begun))
        };
        let of = |&(begun, took): &(u64, u64)| is_within(begun).then_some(took);
        let mut pieces: Vec<u64> = self.0.iter().filter_map(of).collect();
        pieces.sort_unstable();
        pieces.get(pieces.len() / 4).map(|&took| took as f64)
    }

    /// Whether no piece from the last before a stretch of time to the first behind it took longer than
    /// `most` ns.
    fn are_calm_around(&self, span: Span, most: f64) -> bool {
        let first = self.0.partition_point(|&(begun, _)| begun <= span.from_ns);
        let last = self.0.partition_point(|&(begun, _)| begun < span.to_ns);
        let Some(around) = first
            .checked_sub(1)
            .and_then(|first| self.0.get(first..=last))
        else {
            return false;
        };
        let is_near = |begun: u64| begun + FAR_NS > span.from_ns && begun < span.to_ns + FAR_NS;
        let mut around = around.iter();
        around.all(|&(begun, took)| is_near(begun) && took as f64 <= most)
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
