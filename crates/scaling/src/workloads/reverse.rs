//! Reading a block backward after it was written forward: its end is still in the cache, its
//! beginning no longer. Or reading it forward after it was written backward.

use std::convert::Infallible;
use std::hint::black_box;
use std::time::{Duration, Instant};

use figures::{Rounds, median};
use host::loops;
use host::pin::Pinned;

use super::bench::{Bench, Unable};
use super::findings::Findings;
use super::{Kind, Workload};
use crate::result::show::seconds;

/// The workload.
pub const WORKLOAD: Workload = Workload {
    name: "reverse",
    sentence: "Clears a block, then reads it forward or backward: backward finds what is still in \
               the cache, and so does forward after clearing backward.",
    then: "advice without figures: count down instead of up after a memset of 256,000 bytes, or \
           replace memset by one that fills backward",
    kind: Kind::Experiment { run, planned },
};

const LINE_WORDS: usize = loops::LINE / 8;
/// Time of a block size.
const TIME: Duration = Duration::from_millis(900);

fn planned(bench: &Bench) -> Duration {
    3 * bench.time(TIME)
}

fn run(bench: &Bench) -> Result<Findings, Unable> {
    let _pin = Pinned::to(bench.first()).map_err(|e| Unable::Failed(e.to_string()))?;
    let mut findings = Findings::of(&[
        "forward",
        "backward",
        "backward saves",
        "forward, cleared backward",
        "that saves",
    ]);
    let mut best: f64 = 0.0;
    let sizes = [
        ("as printed", 256_000),
        (
            "1.5 times the second-level cache",
            bench.caches.second * 3 / 2,
        ),
        ("1.5 times the last-level cache", bench.caches.last * 3 / 2),
    ];
    for (label, bytes) in sizes {
        let [forward, backward, cleared] = measure(bytes, bench);
        bench.go_on()?;
        let saving = 1.0 - backward / forward;
        best = best.max(saving);
        findings.line(
            format!("{label}, {}", report::units::Bytes(bytes as u64)),
            "",
            [
                seconds(forward),
                seconds(backward),
                format!("{:.1} %", saving * 100.0),
                seconds(cleared),
                format!("{:.1} %", (1.0 - cleared / forward) * 100.0),
            ],
        );
    }
    findings.sentence = if best > 0.02 {
        format!(
            "Reading backward after writing forward saves up to {:.0} % of the reading here.",
            best * 100.0
        )
    } else {
        "Reading backward after writing forward saves nothing to speak of here: the caches hold \
         the block, or prefetching hides them."
            .to_owned()
    };
    Ok(findings)
}

/// Median seconds of reading a block of `bytes` in rounds of random order: forward and backward
/// after it was cleared forward, and forward after it was cleared backward.
fn measure(bytes: usize, bench: &Bench) -> [f64; 3] {
    let mut words = loops::buffer(bytes);
    // A round takes less than one and a half nanoseconds a byte.
    let rounds =
        (bench.time(TIME).as_secs_f64() / (bytes as f64 * 1.5e-9)).clamp(5.0, 2001.0) as usize;
    let mut seconds = Rounds::new(3, bench.seed);
    let Ok(()) = seconds.run(rounds, |way| {
        if way == 2 {
            fill_backward(&mut words);
        } else {
            loops::fill(&mut words, 0);
        }
        let start = Instant::now();
        black_box(touch(&words, way == 1));
        Ok::<_, Infallible>(start.elapsed().as_secs_f64())
    });
    [0, 1, 2].map(|way| median(seconds.of(way)))
}

/// Clears `words` from their end, a page at a time: the article's `memset_r`.
fn fill_backward(words: &mut [u64]) {
    const PAGE_WORDS: usize = 4096 / 8;
    for page in words.rchunks_mut(PAGE_WORDS) {
        loops::fill(page, 0);
    }
}

/// One load a line, so that the cache and not the adder is the limit. Both directions are the same
/// instructions with another step: what differs is the memory's doing and not the compiler's.
#[inline(never)]
fn touch(words: &[u64], backward: bool) -> u64 {
    let lines = words.len() / LINE_WORDS;
    let (mut place, step) = if backward {
        (
            lines.wrapping_sub(1).wrapping_mul(LINE_WORDS),
            LINE_WORDS.wrapping_neg(),
        )
    } else {
        (0, LINE_WORDS)
    };
    let mut sum = 0_u64;
    for _ in 0..lines {
        // The places are the first words of the lines, in one order or the other.
        sum = sum.wrapping_add(words[place]);
        place = place.wrapping_add(step);
    }
    sum
}

#[cfg(test)]
#[path = "../../tests/unit/reverse.rs"]
mod tests;
