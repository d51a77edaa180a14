//! Loops on several cores at once, each counting what it does: reads of a large buffer, loads that
//! wait for each other, arithmetic.
//!
//! All threads read one buffer, each from a place of its own. Nobody writes it while they do. A
//! line comes again only after the whole buffer has passed, whoever read it: so the last-level
//! cache holds it no better for many readers than for one.

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use host::pressure::Caches;
use host::{CoreId, Pinned, loops};

/// Words read between two looks at the clock.
const PIECE: usize = 16 * 1024;
/// Loads between two looks at the clock.
const LOADS: usize = 256;
/// Steps of arithmetic between two looks at the clock.
const STEPS: u64 = 2_000;
/// Readers need this long to be at their pace.
const SETTLE: Duration = Duration::from_millis(2);

/// What a core does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Reads the buffer in order: counts bytes.
    Read,
    /// Loads from so many bytes of it, each after the one before: counts loads.
    Load(usize),
    /// Computes in registers: counts steps.
    Compute,
}

/// The buffer.
pub(super) struct Probe {
    words: Vec<u64>,
}

/// A count on a cache line of its own.
#[derive(Default)]
#[repr(align(128))]
struct Count(AtomicU64);

impl Probe {
    /// A buffer larger than the last-level cache.
    pub(super) fn new(caches: Caches) -> Self {
        Self {
            words: loops::buffer(caches.stream()),
        }
    }

    /// Bytes of the buffer.
    pub(super) fn bytes(&self) -> usize {
        8 * self.words.len()
    }

    /// What `cores` do together in a second of `work`, for so long.
    pub(super) fn rate(&self, cores: &[CoreId], work: Work, window: Duration) -> f64 {
        let ((), done, time) = self.beside(cores, work, || thread::sleep(window));
        done / time.as_secs_f64()
    }

    /// Calls `call` while `cores` work: its result, what they did meanwhile, and how long it took.
    pub(super) fn beside<T>(
        &self,
        cores: &[CoreId],
        work: Work,
        call: impl FnOnce() -> T,
    ) -> (T, f64, Duration) {
        let counts: Vec<Count> = cores.iter().map(|_| Count::default()).collect();
        let (stop, begin) = (AtomicBool::new(false), Barrier::new(cores.len() + 1));
        let done = || -> u64 {
            let counts = counts.iter().map(|count| count.0.load(Ordering::Relaxed));
            counts.sum()
        };
        thread::scope(|scope| {
            for (number, (&core, count)) in cores.iter().zip(&counts).enumerate() {
                let place = number * self.words.len() / cores.len();
                let (stop, begin) = (&stop, &begin);
                scope.spawn(move || {
                    // The caller chooses among the cores that it may use.
                    let _pin = Pinned::to(core);
                    begin.wait();
                    self.work(work, place, stop, &count.0);
                });
            }
            // Stops them also when `call` panics.
            let _stop = Stop(&stop);
            begin.wait();
            thread::sleep(SETTLE);
            let (before, start) = (done(), Instant::now());
            let result = call();
            let time = start.elapsed();
            (result, (done() - before) as f64, time)
        })
    }

    /// Works from the word `place` on until `stop`.
    fn work(&self, work: Work, mut place: usize, stop: &AtomicBool, count: &AtomicU64) {
        let mut line = place / (loops::LINE / 8);
        while !stop.load(Ordering::Relaxed) {
            let done = match work {
                Work::Read => {
                    let end = (place + PIECE).min(self.words.len());
                    let piece = &self.words[place..end];
                    black_box(loops::read(piece));
                    place = if end == self.words.len() { 0 } else { end };
                    8 * piece.len() as u64
                }
                Work::Load(bytes) => {
                    let words = &self.words[..(bytes / 8).min(self.words.len())];
                    loops::chase(words, LOADS, &mut line);
                    LOADS as u64
                }
                Work::Compute => {
                    black_box(loops::spin_wide(STEPS));
                    STEPS
                }
            };
            count.fetch_add(done, Ordering::Relaxed);
        }
    }
}

/// Ends the threads that look at it.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Nanoseconds that a cache line needs from one core to another: half of there and back, while two
/// threads hand one number to each other.
pub(super) fn line_move(cores: [CoreId; 2], window: Duration) -> f64 {
    let (line, stop, begin) = (Count::default(), AtomicBool::new(false), Barrier::new(2));
    // Even numbers are handed to the second thread, odd ones to the first.
    let hand = |core, mine: u64, look: &mut dyn FnMut() -> bool| {
        let _pin = Pinned::to(core);
        begin.wait();
        let mut number = mine;
        while !look() {
            if line.0.load(Ordering::Acquire) == number {
                line.0.store(number + 1, Ordering::Release);
                number += 2;
            } else {
                std::hint::spin_loop();
            }
        }
        number
    };
    thread::scope(|scope| {
        scope.spawn(|| hand(cores[1], 1, &mut || stop.load(Ordering::Relaxed)));
        let _stop = Stop(&stop);
        let start = Instant::now();
        let mut looks = 0_u32;
        let mut over = || {
            // The clock costs as much as a line: it is asked seldom.
            looks = looks.wrapping_add(1);
            looks.is_multiple_of(1024) && start.elapsed() > window
        };
        let moves = hand(cores[0], 0, &mut over);
        start.elapsed().as_secs_f64() * 1e9 / moves.max(1) as f64
    })
}

#[cfg(test)]
#[path = "../../tests/unit/model/probe.rs"]
mod tests;
