//! How fast cores run: the time of a fixed piece of work, again and again while something is counted.
//!
//! What runs on the other hardware thread of a core takes up to half of it. On a virtual machine
//! that can be a stranger. The kernel counts none of it: nothing was stolen, and every thread ran
//! all the time. The piece of work shows it, because it asks for as many instructions at once as a
//! core has units for them.
//!
//! Such a stranger comes and goes within a millisecond. So who counts does best to time pieces of work
//! itself, ten in a millisecond ([`Looks`]). Where it does not, others look every two milliseconds.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::clock::{Span, now_ns};
use crate::counting::{Counting, Mark, Timer};
use crate::lookers::{Look, Lookers};
use crate::{CoreId, Pinned};

/// Steps of a piece of work: one to three microseconds; half of them where they are often.
const STEPS: u32 = 700;
/// From one piece of work to the next of a thread that counts.
const OFTEN_NS: u64 = 100_000;
/// Such a thread looks at the clock every so many turns.
const TURNS: u32 = 8;

/// Of a trial's pieces of work, this share took least: they are as long as they can be short.
const LEAST: f64 = 0.1;
/// Pieces of work that take so many times as long as those were slowed down. On a virtual machine
/// whose neighbour came and went they took 1.00 to 1.07 times as long without it, and 1.3 to 2.1
/// times with it.
const SLOWED: f64 = 1.12;
/// Pieces that lie farther away, ns, say nothing about a stretch of time: five looks were missed.
const FAR_NS: u64 = 10_000_000;
/// Of what was counted, this share must be calm, or a trial tells nothing.
const CALM: f64 = 0.05;

/// A look between trials: some thousand pieces of work.
const LOOK: Duration = Duration::from_millis(9);
/// There is calm when so many of these are quick on each core.
const MOSTLY: f64 = 0.4;
/// Who was calm so recently is calm: neighbours stay for longer.
const RECENT: Duration = Duration::from_millis(40);

/// How long a trial waits for calm cores.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often it is made again when they were not.
const AGAIN: usize = 8;

/// Holds the cores of each trial of a run against the calmest one on as many cores.
#[derive(Debug, Default)]
pub struct Calmest {
    shortest: Shortest,
    /// When each core was seen calm last.
    calm: BTreeMap<CoreId, Instant>,
}

/// The least time of a piece of work, ns, by who timed it, how many cores were at work, and on which.
type Shortest = BTreeMap<(Timer, usize, CoreId), f64>;

/// How calm the cores of a trial were.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calm {
    /// Whether one of them was slower than it can be, for so long that the trial tells nothing.
    pub slowed: bool,
    /// What was counted a second while none of them was; `None` where slowed, and where nothing was
    /// counted.
    pub per_second: Option<f64>,
    /// How much of the time another had the core that missed most ([`Counting::missed`]).
    pub missed: f64,
}

impl Calmest {
    /// What `run` gives, and how calm the `cores` that are at work for it were. `counted` says of what it
    /// gives what was counted in it: stretches of that in which all cores were calm are what it tells.
    pub fn watch<T>(
        &mut self,
        cores: &[CoreId],
        run: impl FnOnce() -> T,
        counted: impl FnOnce(&T) -> Counting,
    ) -> (T, Calm) {
        let watch = Lookers::<Pieces>::on(cores);
        let given = run();
        let calm = calm(&mut self.shortest, cores, watch.end(), &counted(&given));
        for &core in cores {
            if calm.slowed {
                self.calm.remove(&core);
            } else {
                self.calm.insert(core, Instant::now());
            }
        }
        (given, calm)
    }

    /// Returns when nobody slows `cores` for most of the time, on which no trial runs, or at `until`; at
    /// once where they were calm a moment ago. Cores are kept at work meanwhile: one that has just slept
    /// is slow by itself, on a virtual machine up to twice as slow.
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
            let pieces = keep_at_work(cores, LOOK);
            let limits = limits(&mut self.shortest, Timer::Waiting, cores, &pieces, None);
            let mut all = pieces.iter().flatten().zip(limits);
            if all.all(|(pieces, most)| pieces.share_within(most) >= MOSTLY) {
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

/// Works on each of `cores` for so long: the pieces of each, where it could be had.
fn keep_at_work(cores: &[CoreId], time: Duration) -> Vec<Option<Pieces>> {
    let end = Instant::now() + time;
    std::thread::scope(|threads| {
        let work_on = |&core: &CoreId| {
            threads.spawn(move || {
                // Elsewhere it would keep the wrong core at work.
                let _pinned = Pinned::to(core).ok()?;
                let mut pieces = Pieces::default();
                while Instant::now() < end {
                    pieces.time(STEPS);
                }
                Some(pieces)
            })
        };
        let threads: Vec<_> = cores.iter().map(work_on).collect();
        let pieces = threads.into_iter().map(|thread| thread.join().ok()?);
        pieces.collect()
    })
}

/// How long a piece of each of `cores` may take on which somebody looked, held against the calmest
/// trial until now, this one included; of those in `span`, or of all.
fn limits(
    shortest: &mut Shortest,
    timer: Timer,
    cores: &[CoreId],
    pieces: &[Option<Pieces>],
    span: Option<Span>,
) -> Vec<f64> {
    let pairs = cores.iter().zip(pieces);
    let looked = pairs.filter_map(|(&core, pieces)| Some((core, pieces.as_ref()?)));
    let limit = |(core, pieces): (CoreId, &Pieces)| {
        let least = pieces.least(span).unwrap_or(f64::INFINITY);
        let shortest = shortest.entry((timer, cores.len(), core)).or_insert(least);
        *shortest = shortest.min(least);
        SLOWED * *shortest
    };
    looked.map(limit).collect()
}

/// How calm `cores` were while something was counted, by the pieces of work that they timed themselves,
/// else by the `looked`. A core on which nobody looked is taken for calm.
fn calm(
    shortest: &mut Shortest,
    cores: &[CoreId],
    looked: Vec<Option<Pieces>>,
    counting: &Counting,
) -> Calm {
    let Some(span) = counting.span() else {
        return Calm {
            slowed: false,
            per_second: None,
            missed: 0.0,
        };
    };
    let (timer, pieces) = match counting.own() {
        Some((timer, marks)) => (timer, marks.iter().map(|of| Some(of.into())).collect()),
        None => (Timer::Lookers, looked),
    };
    let limits = limits(shortest, timer, cores, &pieces, Some(span));
    let looked: Vec<(&Pieces, f64)> = pieces.iter().flatten().zip(limits).collect();
    let is_calm = |span| {
        let mut all = looked.iter();
        all.all(|(pieces, most)| pieces.are_calm_around(span, *most))
    };
    let calm = counting.within(is_calm);
    let tells = calm.share_of(counting) >= CALM;
    Calm {
        slowed: !tells,
        per_second: tells.then(|| calm.per_second()),
        missed: counting.missed(),
    }
}

/// Times pieces of work on a thread that counts, as it goes on.
#[derive(Debug)]
pub struct Looks {
    turn: u32,
    last_ns: u64,
    marks: Marks,
}

/// What a thread that counts has timed, for others to read.
pub type Marks = Arc<Mutex<Vec<Mark>>>;

impl Looks {
    /// Nothing yet; pieces of work become `marks`.
    pub fn new(marks: Marks) -> Self {
        Self {
            turn: 0,
            last_ns: 0,
            marks,
        }
    }

    /// A turn of what counts, which has counted so far: a piece of work is timed, if it is time for one.
    #[inline]
    pub fn turn(&mut self, count: u64) {
        self.turn = self.turn.wrapping_add(1);
        if self.turn.is_multiple_of(TURNS) {
            self.look(count);
        }
    }

    fn look(&mut self, count: u64) {
        let now = now_ns();
        if now - self.last_ns < OFTEN_NS {
            return;
        }
        let (begun_ns, took_ns) = timed(STEPS / 2);
        self.last_ns = begun_ns;
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        marks.push(Mark {
            begun_ns,
            took_ns,
            count,
        });
    }
}

/// When each piece of work on one core began, and how long it took, ns.
#[derive(Debug, Default)]
struct Pieces(Vec<(u64, u64)>);

impl Look for Pieces {
    fn look(&mut self, _due_ns: u64, _now_ns: u64) {
        self.time(STEPS);
    }
}

impl From<&Vec<Mark>> for Pieces {
    fn from(marks: &Vec<Mark>) -> Self {
        let pieces = marks.iter().map(|mark| (mark.begun_ns, mark.took_ns));
        Self(pieces.collect())
    }
}

impl Pieces {
    /// One more piece of work.
    fn time(&mut self, steps: u32) {
        self.0.push(timed(steps));
    }

    /// How long pieces take at their shortest, ns: what a tenth of them stays within, of those in a
    /// stretch of time, or of all.
    fn least(&self, within: Option<Span>) -> Option<f64> {
        let is_within = |begun: u64| {
            within.is_none_or(|within| (within.from_ns..within.to_ns).contains(&begun))
        };
        let of = |&(begun, took): &(u64, u64)| is_within(begun).then_some(took);
        let mut pieces: Vec<u64> = self.0.iter().filter_map(of).collect();
        pieces.sort_unstable();
        let place = (pieces.len() as f64 * LEAST) as usize;
        pieces.get(place).map(|&took| took as f64)
    }

    /// The share of pieces that took at most so long, ns.
    fn share_within(&self, most: f64) -> f64 {
        let quick = self.0.iter().filter(|&&(_, took)| took as f64 <= most);
        quick.count() as f64 / self.0.len().max(1) as f64
    }

    /// Whether no piece from the last before a stretch of time to the first behind it took longer than
    /// `most` ns.
    fn are_calm_around(&self, span: Span, most: f64) -> bool {
        let first = self.0.partition_point(|&(begun, _)| begun <= span.from_ns);
        let last = self.0.partition_point(|&(begun, _)| begun < span.to_ns);
        let before = first.checked_sub(1);
        let Some(around) = before.and_then(|first| self.0.get(first..=last)) else {
            return false;
        };
        let is_near = |begun: u64| begun + FAR_NS > span.from_ns && begun < span.to_ns + FAR_NS;
        let mut around = around.iter();
        around.all(|&(begun, took)| is_near(begun) && took as f64 <= most)
    }
}

/// When a piece of work began and how long it took, ns.
fn timed(steps: u32) -> (u64, u64) {
    // The first steps fetch the instructions.
    black_box(work(STEPS / 10));
    let begun = now_ns();
    black_box(work(steps));
    (begun, now_ns() - begun)
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
