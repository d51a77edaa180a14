//! The throughput alone and beside requests, by turns: ABBA, so that a machine that changes its pace
//! changes both, and a difference with an interval.

use std::time::Instant;

use figures::{Estimate, ratios};
use host::noise::Reading;

use super::stage::Stage;
use super::under_load::UnderLoad;
use crate::error::Error;
use crate::management::asked_while;
use crate::plan::Pass;
use crate::result::Change;

/// Fewer pairs tell nothing: the range of five holds the median in 94 of 100 cases.
const ENOUGH: usize = 5;
/// Pairs that are measured in place of those that do not count, at most and in the time planned.
const AGAIN: usize = 2;

/// Rates of the pairs that count, frames a second: alone, and beside requests.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    rates: [Vec<f64>; 2],
    /// Pairs that do not count: one of the two had no rate, or the hypervisor took the cores.
    pub(super) left_out: usize,
    seed: u64,
}

impl Pairs {
    /// Adds a pair; whether it counts.
    fn add(&mut self, rates: [Option<f64>; 2], stolen: bool) -> bool {
        let [Some(alone), Some(beside)] = rates else {
            self.left_out += 1;
            return false;
        };
        if stolen {
            self.left_out += 1;
            return false;
        }
        self.rates[0].push(alone);
        self.rates[1].push(beside);
        true
    }

    /// The rate alone or beside requests with its interval; `None` without a pair that counts.
    pub(super) fn rate(&self, beside: bool) -> Option<Estimate> {
        let rate = Estimate::of(&self.rates[usize::from(beside)], self.seed);
        rate.value.is_finite().then_some(rate)
    }

    /// What requests change, pair by pair.
    pub(super) fn change(&self) -> Option<Change> {
        let [alone, beside] = &self.rates;
        let share = Estimate::of(&ratios(beside, alone), self.seed);
        (alone.len() >= ENOUGH).then_some(Change {
            share: share.value - 1.0,
            low: share.interval.low - 1.0,
            high: share.interval.high - 1.0,
            pairs: alone.len(),
        })
    }
}

/// Whether each of the two of a pair is beside requests: AB, BA, AB, …
fn order(pair: usize) -> [bool; 2] {
    [pair % 2 == 1, pair.is_multiple_of(2)]
}

impl Stage<'_> {
    /// Measures the pairs of the plan.
    pub(super) fn pairs(&self, under_load: &mut UnderLoad<'_>) -> Result<Pairs, Error> {
        let mut pairs = Pairs {
            seed: self.plan.seed,
            ..Pairs::default()
        };
        let schedule = self.plan.schedule();
        let (begun, wanted) = (Instant::now(), schedule.pairs);
        let (mut near, mut counted) = (None, 0);
        for pair in 0..wanted + AGAIN {
            let has_time = begun.elapsed() + schedule.near * 2 <= schedule.searches();
            if counted == wanted || (pair >= wanted && !has_time) {
                break;
            }
            let before = Reading::now(&self.cores.all);
            let mut rates = [None; 2];
            for beside in order(pair) {
                let pass = near.map_or(Pass::First, Pass::Near);
                let asking = beside.then(|| self.asking_during(pass));
                let device = &self.site.device;
                let (rate, _) = asked_while(device, asking, || under_load.throughput(pass))?;
                let rate = rate?;
                rates[usize::from(beside)] = rate;
                near = near.or(rate);
            }
            let noise = before.until(&Reading::now(&self.cores.all));
            counted += usize::from(pairs.add(rates, noise.is_noisy()));
        }
        Ok(pairs)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/pairs.rs"]
mod tests;
