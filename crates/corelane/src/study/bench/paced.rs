//! Generators that keep a rate: the load for engines that a flood would outrun, because they forward on threads of their own.
//!
//! Each core in use carries one generator with its share of the rate. Generators sleep between their bursts: they share the cores
//! with the workers that they measure, and waiting must not cost those anything.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use fastpath::generate::Generator;
use host::Pinned;

use super::flood::generators;
use super::{Bench, DRAIN_READINGS};
use crate::study::Error;

/// Between two bursts of a generator.
const TICK: Duration = Duration::from_micros(500);
/// Most frames of one burst; a generator that is late catches up in several.
const BURST: u32 = 256;
/// A generator that cannot keep the rate stops after this many times the length of the trial.
const LATEST: f64 = 1.25;
/// After the last frame was sent, arrivals are still in time for so long.
pub(crate) const GRACE: Duration = Duration::from_millis(1);
/// Pause between looks for late arrivals.
const DRAIN: Duration = Duration::from_millis(4);

/// What came of offering a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Offered {
    /// Frames sent, all cores together.
    pub(crate) sent: u64,
    /// Frames of them that arrived.
    pub(crate) arrived: u64,
    /// Frames of them that had arrived when sending had just ended: the others had been waiting in a buffer.
    pub(crate) in_time: u64,
    /// How long sending took.
    pub(crate) elapsed: Duration,
}

/// Generators of a bench, for frames of one size at a time.
#[derive(Default)]
pub(crate) struct Paced {
    /// Frame size and number of cores that the generators are made for.
    made_for: (u32, usize),
    generators: Vec<Generator>,
}

impl Paced {
    /// Offers `rate` frames a second for `length`, from the bench's first `workers` cores.
    ///
    /// # Errors
    /// When an interface has vanished, a core is refused, or the user interrupts.
    pub(crate) fn offer(
        &mut self,
        bench: &Bench,
        (frame_bytes, workers): (u32, usize),
        rate: f64,
        length: Duration,
    ) -> Result<Offered, Error> {
        let offered = self
            .prepare(bench, (frame_bytes, workers))
            .and_then(|()| self.run(bench, rate, length));
        if offered.is_err() {
            // An interface that has gone fails in many ways; this is the one to name.
            host::cleanup::check()?;
            bench.check_interfaces()?;
        }
        offered
    }

    fn prepare(&mut self, bench: &Bench, wanted: (u32, usize)) -> Result<(), Error> {
        if self.made_for != wanted {
            self.generators = generators(bench, wanted.0, wanted.1)?;
            self.made_for = wanted;
            // The first call of a generator has some 20 ms of set-up.
            for generator in &mut self.generators {
                generator.send(1)?;
            }
            drain(bench)?;
        }
        Ok(())
    }

    fn run(&mut self, bench: &Bench, rate: f64, length: Duration) -> Result<Offered, Error> {
        let each = rate / self.generators.len() as f64;
        let before = bench.arrived()?;
        let start = Barrier::new(self.generators.len());
        let ended: Vec<Result<(u64, Duration), Error>> = thread::scope(|scope| {
            let threads: Vec<_> = self
                .generators
                .iter_mut()
                .zip(&bench.cores)
                .map(|(generator, &core)| {
                    let start = &start;
                    scope.spawn(move || {
                        let pinned = Pinned::to(core);
                        start.wait();
                        let _pinned = pinned?;
                        send(generator, each, length)
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| {
                    thread
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .collect()
        });
        host::cleanup::check()?;
        thread::sleep(GRACE);
        let in_time = bench.arrived()? - before;
        let arrived = drain(bench)? - before;
        let (mut sent, mut elapsed) = (0, Duration::ZERO);
        for end in ended {
            let (frames, took) = end?;
            sent += frames;
            elapsed = elapsed.max(took);
        }
        Ok(Offered {
            sent,
            arrived,
            in_time,
            elapsed,
        })
    }
}

/// Sends by the timetable; how many frames in which time.
fn send(generator: &mut Generator, rate: f64, length: Duration) -> Result<(u64, Duration), Error> {
    let wanted = (rate * length.as_secs_f64()).ceil() as u64;
    let begun = Instant::now();
    let mut sent = 0;
    while sent < wanted && begun.elapsed() < length.mul_f64(LATEST) && !host::interrupted() {
        let due = ((begun.elapsed().as_secs_f64() * rate) as u64 + 1).min(wanted) - sent;
        if due > 0 {
            sent += u64::from(generator.send(due.min(u64::from(BURST)) as u32)?);
        }
        if due <= u64::from(BURST) && sent < wanted {
            thread::sleep(TICK);
        }
    }
    // The last burst was due at the end of the length: a trial is not shorter for being sent in bursts.
    Ok((sent, begun.elapsed().max(length)))
}

/// Waits until nothing arrives any more; the count then.
fn drain(bench: &Bench) -> Result<u64, Error> {
    let mut last = bench.arrived()?;
    for _ in 0..DRAIN_READINGS {
        thread::sleep(DRAIN);
        let now = bench.arrived()?;
        if now == last {
            break;
        }
        last = now;
    }
    Ok(last)
}
