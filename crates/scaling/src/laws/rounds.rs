//! Rounds: in each one every setting ran once, in an order of its own. What is compared is compared
//! within a round.

use serde::{Deserialize, Serialize};

use super::Point;
use crate::statistics::{Interval, median, median_interval};

/// The rates of `rounds` rounds over the same core counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Rounds {
    /// Core counts tried, rising, the first of them 1.
    pub cores: Vec<u32>,
    /// For each round the rate at each of `cores`.
    pub rates: Vec<Vec<f64>>,
}

/// A speed-up with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Median over the rounds.
    pub value: f64,
    /// Its interval, see [`median_interval`].
    pub interval: Interval,
}

impl Rounds {
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
                let rates: Vec<f64> = chosen
                    .iter()
                    .map(|&round| self.rates[round][place])
                    .collect();
                Point {
                    cores,
                    rate: median(&rates),
                }
            })
            .collect()
    }

    /// The ratio of the rate at place `place` to the rate at place `against`, in each round.
    pub fn ratios(&self, place: usize, against: usize) -> Vec<f64> {
        self.rates
            .iter()
            .map(|round| round[place] / round[against])
            .collect()
    }

    /// The speed-up at place `place`: the median of the ratios within the rounds, so that what
    /// slowed a whole round down cancels out.
    pub fn speedup(&self, place: usize, resamples: usize, seed: u64) -> Estimate {
        let ratios = self.ratios(place, 0);
        Estimate {
            value: median(&ratios),
            interval: median_interval(&ratios, resamples, seed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_round_cancels_out_of_the_speedup() {
        let rounds = Rounds {
            cores: vec![1, 2],
            rates: vec![
                vec![1.0, 1.9],
                vec![0.5, 0.95],
                vec![1.1, 2.09],
                vec![0.25, 0.475],
            ],
        };
        let speedup = rounds.speedup(1, 100, 1);
        assert!((speedup.value - 1.9).abs() < 1e-12);
        assert!(speedup.interval.high - speedup.interval.low < 1e-9);
    }
}
