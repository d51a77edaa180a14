//! The sequence window: which frames of a stream came, came twice, came out of order, or never
//! came.
//!
//! A bitmap of the last [`WINDOW`] sequence numbers slides with the largest number seen. What it
//! leaves behind unseen is lost; a frame older than the window can be told neither from a duplicate
//! nor from a straggler and is counted as *late* (and stays lost). Order is judged within a flow
//! (RFC 4737: a frame is reordered when a larger number came before it), because a device
//! with several cores may overtake between flows without harm.

use serde::{Deserialize, Serialize};

/// Sequence numbers remembered: 16 KiB of bitmap, half an L1 cache.
pub const WINDOW: u32 = 1 << 17;
/// Flows whose order is judged one by one; more share a slot by number.
pub const FLOWS: u32 = 4096;

/// A run of consecutive frames that never came.
#[derive(Debug, Clone, Copy)]
struct Gap {
    first: u32,
    length: u32,
}

/// What the window counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sequenced {
    /// Distinct frames that came.
    pub received: u64,
    /// Frames that came again.
    pub duplicate: u64,
    /// Frames that came after a later one of their flow.
    pub reordered: u64,
    /// Frames older than the window.
    pub late: u64,
    /// Runs of missing frames.
    pub gaps: u64,
    /// Length of the longest run.
    pub longest_gap: u32,
    /// Largest missing sequence number.
    pub last_lost: Option<u32>,
}

/// The analyser of one stream.
#[derive(Debug, Clone)]
pub struct SequenceWindow {
    seen: Vec<u64>,
    /// Largest number seen; 0 before the first.
    largest: u32,
    /// Everything up to this number has been settled as seen or lost.
    settled: u32,
    /// Largest number seen in each flow.
    newest: Vec<u32>,
    flows: u32,
    open: Option<Gap>,
    counted: Sequenced,
}

impl SequenceWindow {
    /// A window for a stream whose frame `n` belongs to flow `n % flows`.
    pub fn new(flows: u32) -> Self {
        let flows = flows.clamp(1, FLOWS);
        Self {
            seen: vec![0; WINDOW as usize / 64],
            largest: 0,
            settled: 0,
            newest: vec![0; flows as usize],
            flows,
            open: None,
            counted: Sequenced::default(),
        }
    }

    /// Takes one frame; sequence numbers count from 1. Says whether it came for the first time.
    #[inline]
    pub fn take(&mut self, sequence: u32) -> bool {
        if sequence.wrapping_sub(self.settled).wrapping_sub(1) >= WINDOW {
            if sequence <= self.settled {
                self.counted.late += u64::from(sequence > 0);
                return false;
            }
            self.settle(sequence - WINDOW);
        }
        let (word, bit) = place(sequence);
        if self.seen[word] & bit != 0 {
            self.counted.duplicate += 1;
            return false;
        }
        self.seen[word] |= bit;
        self.counted.received += 1;
        let flow = if self.flows == 1 {
            0
        } else {
            (sequence % self.flows) as usize
        };
        if sequence < self.newest[flow] {
            self.counted.reordered += 1;
        } else {
            self.newest[flow] = sequence;
        }
        self.largest = self.largest.max(sequence);
        true
    }

    /// Moves the lower edge of the window up to `edge`, counting what stays missing.
    fn settle(&mut self, edge: u32) {
        while self.settled < edge {
            let next = self.settled + 1;
            let (word, bit) = place(next);
            if next > self.largest {
                // Beyond all that came the bitmap holds nothing: one run, and nothing to clear.
                self.lose(next, edge - self.settled);
                self.settled = edge;
                return;
            }
            if bit == 1 && edge - self.settled >= 64 && self.seen[word] == u64::MAX {
                self.seen[word] = 0;
                self.settled += 64;
                continue;
            }
            if self.seen[word] & bit == 0 {
                self.lose(next, 1);
            }
            self.seen[word] &= !bit;
            self.settled = next;
        }
    }

    fn lose(&mut self, first: u32, length: u32) {
        self.counted.last_lost = Some(first + length - 1);
        match &mut self.open {
            Some(gap) if gap.first + gap.length == first => gap.length += length,
            _ => {
                self.close();
                self.open = Some(Gap { first, length });
            }
        }
    }

    fn close(&mut self) {
        if let Some(gap) = self.open.take() {
            self.counted.gaps += 1;
            self.counted.longest_gap = self.counted.longest_gap.max(gap.length);
        }
    }

    /// Distinct frames so far: enough to know that all have come.
    pub fn received(&self) -> u64 {
        self.counted.received
    }

    /// Ends the stream of `sent` frames and says what was counted; `sent - received` frames were
    /// lost.
    pub fn finish(mut self, sent: u32) -> Sequenced {
        let last = sent.max(self.largest);
        self.settle(last);
        self.close();
        self.counted
    }
}

/// Word and bit of a sequence number in the bitmap; numbers 1, 65, 129 … start a word.
#[inline]
const fn place(sequence: u32) -> (usize, u64) {
    let index = sequence.wrapping_sub(1) % WINDOW;
    ((index / 64) as usize, 1 << (index % 64))
}

#[cfg(test)]
#[path = "../tests/unit/sequence.rs"]
mod tests;
