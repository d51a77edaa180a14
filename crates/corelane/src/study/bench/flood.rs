//! Generators inside the kernel, as fast as they go: the load for engines that forward in the sender's own call.
//!
//! A program makes the frames and redirects them into the cable; the kernel runs the device's receive path on the same core before it
//! makes the next ones. So the generator cannot outrun the device, no queue overflows, and the rate at which frames arrive is the
//! highest that goes through without loss, found without a search. Whether none was lost is checked.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use fastpath::generate::{Destinations, Frames, Generator};
use host::{CoreId, Pinned};

use super::{Bench, FCS, INGRESS};
use crate::study::Error;

/// Time after the first frames before counting begins: one call has some 20 ms of set-up, and the caches are cold.
const WARM_UP: Duration = Duration::from_millis(10);
/// How often the sink is looked at while waiting for the first frames.
const PATIENCE: Duration = Duration::from_micros(500);
/// Longest wait for the first frames.
const PATIENCE_MAX: Duration = Duration::from_millis(500);
/// What a generator is taken to send in a second before it has been measured.
const FIRST_GUESS: f64 = 500_000.0;
/// A generator is given this many times the frames that it is expected to send, so that it outlasts the counting.
const MARGIN: f64 = 1.3;
/// Longer runs that are tried when a generator came to its end before the counting did.
const RETRIES: usize = 8;
/// Frames that a generator must still have had to send when the counting ended.
const LAST_FRAMES: u64 = 1024;
/// Shortest counting.
const LENGTH_MIN: Duration = Duration::from_millis(20);

/// A measurement by flooding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Flow {
    /// Frames that arrived a second, all cores together.
    pub(crate) frames_per_second: f64,
    /// Frames sent in all.
    pub(crate) sent: u64,
    /// Frames lost of them.
    pub(crate) lost: u64,
}

/// Generators of a bench, for frames of one size at a time.
#[derive(Default)]
pub(crate) struct Flood {
    /// Frame size and number of cores that the generators are made for.
    made_for: (u32, usize),
    generators: Vec<Generator>,
    /// Frames a second of one generator, from the last measurement.
    expected: Option<f64>,
}

impl Flood {
    /// Sends frames of `frame_bytes` on the bench's first `workers` cores, and counts for `length`.
    ///
    /// # Errors
    /// When nothing arrives, an interface has vanished, a core is refused, or the user interrupts.
    pub(crate) fn measure(
        &mut self,
        bench: &Bench,
        frame_bytes: u32,
        workers: usize,
        length: Duration,
    ) -> Result<Flow, Error> {
        let flow = self.try_measure(bench, frame_bytes, workers, length);
        if flow.is_err() {
            // An interface that has gone fails in many ways; this is the one to name.
            host::cleanup::check()?;
            bench.check_interfaces()?;
        }
        flow
    }

    fn try_measure(
        &mut self,
        bench: &Bench,
        frame_bytes: u32,
        workers: usize,
        length: Duration,
    ) -> Result<Flow, Error> {
        let length = length.max(LENGTH_MIN);
        if self.made_for != (frame_bytes, workers) {
            self.generators = generators(bench, frame_bytes, workers)?;
            self.made_for = (frame_bytes, workers);
        }
        for _ in 0..RETRIES {
            let expected = self.expected.unwrap_or(FIRST_GUESS);
            let seconds = (length + WARM_UP).as_secs_f64() * MARGIN;
            let count = (expected * seconds + LAST_FRAMES as f64).min(f64::from(u32::MAX)) as u32;
            let flow = self.run(bench, count, length)?;
            if let Some(flow) = flow {
                self.expected = Some(flow.frames_per_second / workers as f64);
                return Ok(flow);
            }
            self.expected = Some(expected * 2.0);
        }
        Err("the generator could not be kept sending; run again with --seconds larger".into())
    }

    /// One run of `count` frames for each generator; `None` when one ended before the counting did.
    fn run(&mut self, bench: &Bench, count: u32, length: Duration) -> Result<Option<Flow>, Error> {
        let cores = self.generators.len();
        let before = arrived(bench, cores)?;
        let start = Barrier::new(self.generators.len() + 1);
        let (counted, sent) = thread::scope(|scope| {
            let threads: Vec<_> = self
                .generators
                .iter_mut()
                .zip(&bench.cores)
                .map(|(generator, &core)| {
                    let start = &start;
                    scope.spawn(move || -> Result<u32, Error> {
                        let pinned = Pinned::to(core);
                        start.wait();
                        let _pinned = pinned?;
                        Ok(generator.send(count)?)
                    })
                })
                .collect();
            start.wait();
            let counted = count_arrivals(bench, &before, length);
            let join = |thread: thread::ScopedJoinHandle<'_, _>| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            let sent: Result<Vec<u32>, Error> = threads.into_iter().map(join).collect();
            (counted, sent)
        });
        host::cleanup::check()?;
        bench.drain()?;
        let after = arrived(bench, cores)?;
        if after == before {
            bench.check_interfaces()?;
            return Err("the device forwarded none of the frames sent to it".into());
        }
        let Some(counted) = counted? else {
            return Ok(None);
        };
        // A generator that came to its end while others were counted has sent too little to be counted.
        if (0..cores).any(|core| after[core] - counted.until[core] < LAST_FRAMES) {
            return Ok(None);
        }
        let arrived: u64 = after
            .iter()
            .zip(&before)
            .map(|(after, before)| after - before)
            .sum();
        let sent: u64 = sent?.into_iter().map(u64::from).sum();
        Ok(Some(Flow {
            frames_per_second: counted.rate,
            sent,
            lost: sent.saturating_sub(arrived),
        }))
    }
}

/// What was counted while generators were sending.
struct Counted {
    /// Frames a second, all cores together.
    rate: f64,
    /// The count of each core at the end.
    until: Vec<u64>,
}

/// Counts arrivals for `length` once they have begun on every core; `None` when they do not.
fn count_arrivals(
    bench: &Bench,
    before: &[u64],
    length: Duration,
) -> Result<Option<Counted>, Error> {
    let begun = Instant::now();
    while arrived(bench, before.len())?
        .iter()
        .zip(before)
        .any(|(now, before)| now == before)
    {
        if begun.elapsed() > PATIENCE_MAX {
            return Ok(None);
        }
        thread::sleep(PATIENCE);
    }
    thread::sleep(WARM_UP);
    let (first, start) = (arrived(bench, before.len())?, Instant::now());
    thread::sleep(length);
    let (until, end) = (arrived(bench, before.len())?, Instant::now());
    let frames: u64 = until
        .iter()
        .zip(&first)
        .map(|(until, first)| until - first)
        .sum();
    let rate = frames as f64 / (end - start).as_secs_f64();
    Ok(Some(Counted { rate, until }))
}

/// Frames that have arrived on each of the bench's first `cores` cores: a generator's frames arrive on its own core.
fn arrived(bench: &Bench, cores: usize) -> Result<Vec<u64>, Error> {
    let per_core = bench.arrived_per_core()?;
    let count = |core: &CoreId| per_core.get(core.0 as usize).copied().unwrap_or(0);
    Ok(bench.cores[..cores].iter().map(count).collect())
}

/// Every generator has its share of the destinations, so that together they send to all of them.
pub(super) fn generators(
    bench: &Bench,
    frame_bytes: u32,
    workers: usize,
) -> Result<Vec<Generator>, Error> {
    let share = bench.destinations.len().div_ceil(workers);
    let each = bench.destinations.chunks(share).map(|destinations| {
        let frames = Frames {
            source_mac: bench.generator.mac,
            destination_mac: bench.ingress.mac,
            vlan: None,
            source: IpAddr::V4(Ipv4Addr::from_bits(INGRESS.to_bits() + 1)),
            destinations: Destinations::V4(
                destinations
                    .iter()
                    .copied()
                    .map(Ipv4Addr::from_bits)
                    .collect(),
            ),
            source_port: 49_152,
            source_ports: 1,
            destination_port: 9,
            ttl: 64,
            lengths: vec![(frame_bytes - FCS) as u16],
            stream: 0,
            stamp_every: 0,
        };
        let index = bench.generator.index;
        Ok(bench
            .generator
            .namespace
            .enter(|| Generator::new(index, &frames))??)
    });
    each.collect()
}
