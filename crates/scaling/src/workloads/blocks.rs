//! Three passes over one huge block against three passes over each of many small ones.

use std::hint::black_box;
use std::time::{Duration, Instant};

use figures::{Rounds, median};
use host::loops;
use host::pin::Pinned;

use super::bench::{Bench, Unable};
use super::findings::Findings;
use super::{Kind, Workload};

/// The workload.
pub const WORKLOAD: Workload = Workload {
    name: "blocks",
    sentence: "Clears 100 MB and changes every byte in three passes, over the whole or over \
               blocks of 10,000 bytes one by one.",
    then: "Celeron: 8.609 s over the whole, 6.766 s in small blocks: 21 % less",
    kind: Kind::Experiment { run, planned },
};

const TOTAL: usize = 100_000_000;
const SMALL: usize = 10_000;

fn rounds(bench: &Bench) -> usize {
    if bench.quick { 3 } else { 7 }
}

/// A turn takes a tenth of a second where memory gives 4 GB a second.
fn planned(bench: &Bench) -> Duration {
    Duration::from_millis(100) * 3 * rounds(bench) as u32
}

fn run(bench: &Bench) -> Result<Findings, Unable> {
    let _pin = Pinned::to(bench.first()).map_err(|e| Unable::Failed(e.to_string()))?;
    let mut findings = Findings::of(&["time", "less"]);
    let mut data: Vec<u8> = vec![1; TOTAL];
    let sizes = [TOTAL, SMALL, bench.caches.second / 2];
    let mut seconds = Rounds::new(sizes.len(), bench.seed);
    seconds.run(rounds(bench), |place| {
        bench.go_on()?;
        let start = Instant::now();
        passes(&mut data, sizes[place]);
        Ok(start.elapsed().as_secs_f64())
    })?;
    let [whole, small, own] = [0, 1, 2].map(|place| median(seconds.of(place)));
    let figures = |time: f64| {
        [
            format!("{time:.4} s"),
            format!("{:.0} %", (1.0 - time / whole) * 100.0),
        ]
    };
    findings.line("one block of 100 MB", "8.609 s", figures(whole));
    findings.line(
        "blocks of 10,000 bytes",
        "6.766 s, 21 % less",
        figures(small),
    );
    findings.line(
        format!(
            "blocks of half a second-level cache, {}",
            report::units::Bytes(sizes[2] as u64)
        ),
        "",
        figures(own),
    );
    findings.sentence = format!(
        "Small blocks make the three passes {:.2} times as fast here; then it was 1.27 times.",
        whole / small
    );
    Ok(findings)
}

/// Clears `data` and makes three passes over it, `block` bytes at a time.
fn passes(data: &mut [u8], block: usize) {
    for block in data.chunks_mut(block.max(loops::LINE)) {
        block.fill(black_box(0));
        black_box(&mut *block);
        for byte in &mut *block {
            *byte ^= 1;
        }
        black_box(&mut *block);
        for byte in &mut *block {
            *byte |= 2;
        }
        black_box(&mut *block);
        for byte in &mut *block {
            *byte = byte.wrapping_add(3);
        }
        black_box(&mut *block);
    }
}

#[cfg(test)]
#[path = "../../tests/unit/blocks.rs"]
mod tests;
