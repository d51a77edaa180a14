//! Rates by round and core count. What is compared is compared within a round.
//!
//! A machine that is slow for a whole round slows every run of it, which says nothing about a
//! scaling law. [`Rates::levelled`] takes that out before a law sees the rates.

use figures::{Estimate, geometric_mean, median};
use serde::{Deserialize, Serialize};

use super::Point;

/// The rates of all rounds over the same core counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rates {
    /// Core counts tried, rising, the first of them 1.
    pub cores: Vec<u32>,
    /// For each round the rate at each of `cores`.
    pub rates: Vec<Vec<f64>>,
}

impl Rates {
    /// The same rates as if all rounds had been equally fast: each round divided by its geometric
    /// mean, and multiplied by the median of those means. Ratios within a round stay what they
    /// were.
    #[must_use]
    pub fn levelled(&self) -> Self {
        let levels: Vec<f64> = self
            .rates
            .iter()
            .map(|round| geometric_mean(round))
            .collect();
        let usual = median(&levels);
        let level = |(round, level): (&Vec<f64>, &f64)| {
            round.iter().map(|rate| rate / level * usual).collect()
        };
        Self {
            cores: self.cores.clone(),
            rates: self.rates.iter().zip(&levels).map(level).collect(),
        }
    }

    /// Every run by itself, round by round.
    pub fn every_run(&self) -> Vec<Point> {
        let points = |round: &Vec<f64>| -> Vec<Point> {
            let pairs = self.cores.iter().zip(round);
            pairs.map(|(&cores, &rate)| Point { cores, rate }).collect()
        };
        self.rates.iter().flat_map(points).collect()
    }

    /// The median rate at each core count.
    pub fn medians(&self) -> Vec<Point> {
        self.draw(&(0..self.rates.len()).collect::<Vec<_>>())
    }

    /// The median rate at each core count over the rounds named in `chosen` (a name may come
    /// twice).
    pub fn draw(&self, chosen: &[usize]) -> Vec<Point> {
        self.cores
            .iter()
            .enumerate()
            .map(|(place, &cores)| {
                let rate = median(chosen.iter().map(|&round| self.rates[round][place]));
                Point { cores, rate }
            })
            .collect()
    }

    /// The ratio of the rate at place `place` to the rate at place `against`, in each round.
    pub fn ratios(&self, place: usize, against: usize) -> Vec<f64> {
        let ratio = |round: &Vec<f64>| round[place] / round[against];
        self.rates.iter().map(ratio).collect()
    }

    /// The speed-up at place `place`: the median of the ratios within the rounds, so that what
    /// slowed a whole round down cancels out.
    pub fn speedup(&self, place: usize, seed: u64) -> Estimate {
        Estimate::of(&self.ratios(place, 0), seed)
    }
}

#[cfg(test)]
#[path = "../../tests/unit/rates.rs"]
mod tests;
