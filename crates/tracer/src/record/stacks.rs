//! Code places, each kept once and spoken of by its number.

use std::hash::{Hash, Hasher};

use crate::event::Tid;
use crate::fast_map::{FastMap, Multiply};

/// Distinct code places of samples that are kept; what a long run has more goes unsampled.
const SAMPLED_PLACES: usize = 16_384;

/// A thread and the addresses of its frames, innermost first.
type Place = (Tid, Vec<u64>);

/// All code places so far.
#[derive(Default)]
pub(crate) struct Stacks {
    /// By fingerprint; a place whose fingerprint another one has stands under the next free number
    /// after it.
    numbers: FastMap<u64, u32>,
    /// In the order of their numbers.
    all: Vec<Place>,
    /// How many of them [`Stacks::fresh`] has given out.
    shown: usize,
}

impl Stacks {
    /// The number of a code place.
    pub(crate) fn number(&mut self, tid: Tid, frames: &[u64]) -> u32 {
        match self.find(tid, frames) {
            Ok(number) => number,
            Err(free) => self.add(free, tid, frames),
        }
    }

    /// As [`Stacks::number`], but new places only while there is room.
    pub(crate) fn bounded(&mut self, tid: Tid, frames: &[u64]) -> Option<u32> {
        match self.find(tid, frames) {
            Ok(number) => Some(number),
            Err(free) if self.all.len() < SAMPLED_PLACES => Some(self.add(free, tid, frames)),
            Err(_) => None,
        }
    }

    /// The number of a known place, or the fingerprint under which a new one is to stand.
    fn find(&self, tid: Tid, frames: &[u64]) -> Result<u32, u64> {
        let mut fingerprint = fingerprint(tid, frames);
        while let Some(number) = self.numbers.get(&fingerprint) {
            let (known, place) = &self.all[*number as usize];
            if (*known, place.as_slice()) == (tid, frames) {
                return Ok(*number);
            }
            fingerprint = fingerprint.wrapping_add(1);
        }
        Err(fingerprint)
    }

    fn add(&mut self, fingerprint: u64, tid: Tid, frames: &[u64]) -> u32 {
        let number = self.all.len() as u32;
        self.numbers.insert(fingerprint, number);
        self.all.push((tid, frames.to_vec()));
        number
    }

    /// Those that came since it was asked last.
    pub(crate) fn fresh(&mut self) -> &[Place] {
        let before = std::mem::replace(&mut self.shown, self.all.len());
        &self.all[before..]
    }

    /// All, in the order of their numbers.
    pub(crate) fn all(&self) -> &[Place] {
        &self.all
    }
}

fn fingerprint(tid: Tid, frames: &[u64]) -> u64 {
    let mut hasher = Multiply::default();
    tid.hash(&mut hasher);
    for frame in frames {
        frame.hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
#[path = "../../tests/unit/stacks.rs"]
mod tests;
