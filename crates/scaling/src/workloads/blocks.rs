//! Three passes over one huge block against three passes over each of many small ones, all forward
//! or every other one backward.

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
    sentence: "Clears 100 MB and changes every byte in three passes, over the whole or over small \
               blocks; then with the first and last pass backward.",
    then: "Celeron: 8.609 s over the whole, 6.766 s in small blocks: 21 % less; the first and the \
           last pass backward would improve it further",
    kind: Kind::Experiment { run, planned },
};

const TOTAL: usize = 100_000_000;
const SMALL: usize = 10_000;
/// A pass goes through so many bytes forward, whichever way it goes through the block: what differs
/// between the directions is the memory's doing and not the compiler's.
const PIECE: usize = 8 * loops::LINE;

fn rounds(bench: &Bench) -> usize {
    if bench.quick { 3 } else { 7 }
}

/// A turn takes a tenth of a second where memory gives 4 GB a second.
fn planned(bench: &Bench) -> Duration {
    Duration::from_millis(100) * 5 * rounds(bench) as u32
}

fn run(bench: &Bench) -> Result<Findings, Unable> {
    let _pin = Pinned::to(bench.first()).map_err(|e| Unable::Failed(e.to_string()))?;
    let mut findings = Findings::of(&["time", "less"]);
    let mut data: Vec<u8> = vec![1; TOTAL];
    let own = bench.caches.second / 2;
    let settings = [
        (TOTAL, false),
        (SMALL, false),
        (own, false),
        (TOTAL, true),
        (SMALL, true),
    ];
    let mut seconds = Rounds::new(settings.len(), bench.seed);
    seconds.run(rounds(bench), |place| {
        bench.go_on()?;
        let (block, turns) = settings[place];
        let start = Instant::now();
        passes(&mut data, block, turns);
        Ok(start.elapsed().as_secs_f64())
    })?;
    let [whole, small, own_size, whole_turned, small_turned] =
        [0, 1, 2, 3, 4].map(|place| median(seconds.of(place)));
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
            report::units::Bytes(own as u64)
        ),
        "",
        figures(own_size),
    );
    findings.line(
        "one block of 100 MB, passes one and three backward",
        "",
        figures(whole_turned),
    );
    findings.line(
        "blocks of 10,000 bytes, passes one and three backward",
        "better still",
        figures(small_turned),
    );
    findings.sentence = format!(
        "Small blocks make the three passes {:.2} times as fast here; then it was 1.27 times. \
         With two of the passes backward it is {:.2} times.",
        whole / small,
        whole / small_turned
    );
    Ok(findings)
}

/// Clears `data` and makes three passes over it, `block` bytes at a time. If it `turns`, the first
/// and the last pass begin where the one before has ended.
fn passes(data: &mut [u8], block: usize, turns: bool) {
    for block in data.chunks_mut(block.max(loops::LINE)) {
        block.fill(black_box(0));
        black_box(&mut *block);
        pass(block, turns, |byte| byte ^ 1);
        pass(block, false, |byte| byte | 2);
        pass(block, turns, |byte| byte.wrapping_add(3));
    }
}

/// Changes every byte of `block`, from its beginning or from its end.
fn pass(block: &mut [u8], backward: bool, change: impl Fn(u8) -> u8) {
    let through = |piece: &mut [u8]| {
        for byte in piece {
            *byte = change(*byte);
        }
    };
    let pieces = block.chunks_mut(PIECE);
    if backward {
        pieces.rev().for_each(through);
    } else {
        pieces.for_each(through);
    }
    black_box(block);
}

#[cfg(test)]
#[path = "../../tests/unit/blocks.rs"]
mod tests;
