//! The load: generators in the kernel, and the counting behind the device.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fastpath::generate::{Destinations, Generator};
use fastpath::sink::Sink;
use fib::prefix_file::Prefixes;
use host::pin::Pinned;

use super::bed::Bed;
use super::{DESTINATIONS, Outcome, SEED};

/// For each family a generator for each of `cores` cores.
pub(crate) fn generators(
    bed: &Bed,
    table: &Prefixes,
    cores: usize,
) -> Outcome<BTreeMap<&'static str, Vec<Generator>>> {
    let mut generators = BTreeMap::new();
    for family in ["IPv4", "IPv6"] {
        let mut all = Vec::new();
        for core in 0..cores {
            let seed = SEED + core as u64;
            let destinations = if family == "IPv4" {
                let list = fib::generated::addresses_hitting(seed, &table.v4, 2 * DESTINATIONS);
                Destinations::V4(
                    list.into_iter()
                        .filter(|&address| !wire::ipv4::destination_is_martian(address))
                        .map(Ipv4Addr::from)
                        .take(DESTINATIONS)
                        .collect(),
                )
            } else {
                let list = fib::generated::addresses_hitting(seed, &table.v6, DESTINATIONS);
                Destinations::V6(list.into_iter().map(Ipv6Addr::from).collect())
            };
            let frames = bed.frames(destinations, core as u16);
            let end = &bed.left.a;
            all.push(
                end.namespace
                    .enter(|| Generator::new(end.index, &frames))??,
            );
        }
        generators.insert(family, all);
    }
    Ok(generators)
}

/// Frames a second that reach the sink while the generators run, each on its own core.
pub(crate) fn measure(sink: &Sink, generators: &mut [Generator], seconds: f64) -> Outcome<f64> {
    let stop = AtomicBool::new(false);
    let cores = host::cores::allowed_cores()?;
    std::thread::scope(|scope| -> Outcome<f64> {
        let threads: Vec<_> = generators
            .iter_mut()
            .zip(&cores)
            .map(|(generator, &core)| {
                let stop = &stop;
                scope.spawn(move || -> Result<(), String> {
                    let _pinned = Pinned::to(core).map_err(|error| error.to_string())?;
                    while !stop.load(Ordering::Relaxed) {
                        generator
                            .send(16 << 10)
                            .map_err(|error| error.to_string())?;
                    }
                    Ok(())
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(150));
        let (begin, before) = (Instant::now(), sink.counts()?.frames);
        std::thread::sleep(Duration::from_secs_f64(seconds));
        let (after, elapsed) = (sink.counts()?.frames, begin.elapsed());
        stop.store(true, Ordering::Relaxed);
        for thread in threads {
            thread.join().map_err(|_| "a generator panicked")??;
        }
        Ok((after - before) as f64 / elapsed.as_secs_f64())
    })
}
