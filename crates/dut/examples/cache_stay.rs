//! How long lines stay in a cache that is shared with others, also with neighbours of a virtual
//! machine, who cannot be seen.
//!
//! One core loads the lines of a set that is twice as large as its own second level, each load after
//! the one before. Between loads it waits, so that a line comes again after so many milliseconds.
//! The longer that is, the more lines others have replaced meanwhile. Lines of a router's tables
//! that are asked for as seldom then come from memory too, even where the tables would fit.
//!
//! `make bench-cache`.

use std::error::Error;
use std::time::{Duration, Instant};

use figures::median;
use host::pressure::Caches;
use host::{Pinned, Topology, allowed_cores, loops};
use report::Table;

/// A line comes again after so many milliseconds, or as many as the loads alone take.
const AGAIN: [u64; 6] = [1, 2, 4, 8, 16, 32];
/// Each of them is measured for so long.
const WINDOW: Duration = Duration::from_millis(500);
/// A load is from memory when it takes this share of the way from the one latency to the other: for
/// the second the processor looks up a page, too, which it seldom does within the set.
const BEYOND: f64 = 0.25;
/// Loads for a latency to hold others against.
const LOADS: usize = 1 << 18;

fn main() -> Result<(), Box<dyn Error>> {
    let core = *allowed_cores()?.first().ok_or("no core is allowed")?;
    let _pin = Pinned::to(core)?;
    let caches = Caches::read(&Topology::read());
    let set = loops::buffer((2 * caches.second).next_power_of_two());
    let near = latency(&set);
    let far = latency(&loops::buffer(caches.stream()));
    let title = format!(
        "Core {core}, {} KiB: {near:.0} ns a load with nothing between, {far:.0} ns from memory",
        8 * set.len() / 1024,
    );
    let mut table = Table::new(title)
        .number("again after, ms")
        .number("ns a load")
        .number("from memory");
    let clock = median(times(&loops::buffer(loops::LINE), Duration::ZERO, LOADS));
    for again in AGAIN {
        let lines = 8 * set.len() / loops::LINE;
        let wait = Duration::from_millis(again) / u32::try_from(lines)?;
        // One pass brings the lines, and is not counted.
        times(&set, wait, lines);
        let start = Instant::now();
        let (mut loads, mut passes) = (Vec::new(), 0);
        while start.elapsed() < WINDOW {
            loads.extend(times(&set, wait, lines));
            passes += 1;
        }
        let took = start.elapsed().as_secs_f64() * 1e3 / f64::from(passes);
        let beyond = clock + near + (far - near) * BEYOND;
        let from_memory = loads.iter().filter(|&&load| load > beyond).count();
        table.push([
            format!("{took:.1}"),
            format!("{:.0}", (median(&loads) - clock).max(0.0)),
            format!("{:.0} %", 100.0 * from_memory as f64 / loads.len() as f64),
        ]);
    }
    println!("{}", table.to_text());
    Ok(())
}

/// Nanoseconds of a load from `words` while the core does nothing else.
fn latency(words: &[u64]) -> f64 {
    let mut place = 0;
    loops::chase(words, LOADS, &mut place);
    let start = Instant::now();
    loops::chase(words, LOADS, &mut place);
    start.elapsed().as_secs_f64() * 1e9 / LOADS as f64
}

/// Nanoseconds of each of `count` loads from `words`, with the clock's own; `wait` from one to the
/// next.
fn times(words: &[u64], wait: Duration, count: usize) -> Vec<f64> {
    let mut place = 0;
    let mut next = Instant::now();
    let each = (0..count).map(|_| {
        while Instant::now() < next {}
        let start = Instant::now();
        loops::chase(words, 1, &mut place);
        let took = start.elapsed();
        next = start + wait;
        took.as_nanos() as f64
    });
    each.collect()
}
