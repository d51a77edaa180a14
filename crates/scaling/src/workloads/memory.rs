//! Filling memory, once and on every core at a time: the two ends of what a second processor buys.

use host::loops;
use host::pressure::Caches;

use super::{Body, Kind, Loop, Workload, gain};
use crate::result::ScaleResult;

/// A block far beyond the caches.
pub const MEMORY: Workload = Workload {
    name: "memory",
    sentence: "Fills 50 MB again and again, and a block that no cache of this machine holds.",
    then: "dual Celeron 500: one copy 175 MB/s, two copies 100 MB/s each, 12.5 % more together. \
           Quad Xeon with 1 MB of cache: two copies took 20 % longer than one",
    kind: Kind::Loop(Loop {
        unit: "MB",
        variants: |caches| sizes("50 MB", 50_000_000, caches.stream()),
        start,
        threads: false,
        now,
    }),
};

/// A block that a cache holds.
pub const CACHE: Workload = Workload {
    name: "cache",
    sentence: "Fills 50 kB again and again, and half of a core's own second-level cache.",
    then: "dual Celeron 500: one copy 1180 MB/s, two copies 1180 MB/s each: twice as much",
    kind: Kind::Loop(Loop {
        unit: "MB",
        variants: |caches: &Caches| sizes("50 kB", 50_000, caches.second / 2),
        start,
        threads: false,
        now,
    }),
};

fn sizes(name: &str, printed: usize, scaled: usize) -> Vec<(String, usize)> {
    vec![
        (format!("as printed, {name}"), printed),
        (
            format!(
                "scaled to this machine, {}",
                report::units::Bytes(scaled as u64)
            ),
            scaled,
        ),
    ]
}

fn start(bytes: usize) -> Body {
    let mut words = loops::buffer(bytes);
    let times = (1_000_000 / bytes.max(1)).max(1);
    Box::new(move || {
        for _ in 0..times {
            loops::fill(&mut words, 0);
        }
        (words.len() * 8 * times) as f64 / 1e6
    })
}

fn now(results: &[(String, ScaleResult)]) -> String {
    let words: Vec<String> = results
        .iter()
        .map(|(label, result)| {
            let one = result.points.first().map_or(0.0, |p| p.rate);
            format!("{label}: one copy {one:.0} MB/s, {}", gain(result))
        })
        .collect();
    words.join("; ")
}
