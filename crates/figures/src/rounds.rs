//! Interleaved rounds: each measures every setting once, in an order of its own. Heat, clock and
//! neighbours then fall on all settings alike, and what is compared is compared within a round.

use crate::evidence::{Judged, judge};
use crate::interval::Estimate;
use crate::random::Random;

/// Samples by round and setting, with the orders in which they are taken.
#[derive(Debug, Clone)]
pub struct Rounds<T> {
    settings: usize,
    seed: u64,
    random: Random,
    /// For each round the sample of each setting that was measured in it.
    rows: Vec<Vec<Option<T>>>,
}

impl<T> Rounds<T> {
    /// No round yet of so many `settings`, named by their numbers from 0. `seed` fixes the orders
    /// and the draws behind intervals.
    pub fn new(settings: usize, seed: u64) -> Self {
        Self {
            settings,
            seed,
            random: Random::new(seed),
            rows: Vec::new(),
        }
    }

    /// Measures every setting in each of `count` more rounds, in random order.
    ///
    /// # Errors
    /// The first of `measure`; what the round had until then is kept.
    pub fn run<E>(
        &mut self,
        count: usize,
        mut measure: impl FnMut(usize) -> Result<T, E>,
    ) -> Result<(), E> {
        for _ in 0..count {
            let order = self.random.order(self.settings);
            self.round_in(order, &mut measure)?;
        }
        Ok(())
    }

    /// Measures one more round in an `order` of the caller's, which may leave settings out.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn round_in<E>(
        &mut self,
        order: impl IntoIterator<Item = usize>,
        mut measure: impl FnMut(usize) -> Result<T, E>,
    ) -> Result<(), E> {
        let place = self.rows.len();
        self.rows.push((0..self.settings).map(|_| None).collect());
        for setting in order {
            self.rows[place][setting] = Some(measure(setting)?);
        }
        Ok(())
    }

    /// Rounds begun.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// The samples of a setting, in the order of the rounds that have one.
    pub fn of(&self, setting: usize) -> impl Iterator<Item = &T> {
        self.rows
            .iter()
            .filter_map(move |row| row[setting].as_ref())
    }

    /// A figure of every sample of a setting.
    pub fn values(&self, setting: usize, figure: impl Fn(&T) -> f64) -> Vec<f64> {
        self.of(setting).map(figure).collect()
    }

    /// The samples of two settings, in the rounds that have both.
    pub fn pairs(&self, setting: usize, against: usize) -> impl Iterator<Item = (&T, &T)> {
        self.rows
            .iter()
            .filter_map(move |row| Some((row[setting].as_ref()?, row[against].as_ref()?)))
    }

    /// For each round the mean of a figure of those of `settings` that were measured in it; `None`
    /// where none was, or the figure of one is not above 0.
    pub fn means(&self, settings: &[usize], figure: impl Fn(&T) -> f64) -> Vec<Option<f64>> {
        let mean = |row: &Vec<Option<T>>| {
            let measured = settings.iter().filter_map(|&setting| row[setting].as_ref());
            let values: Vec<f64> = measured.map(&figure).collect();
            let above = !values.is_empty() && values.iter().all(|&value| value > 0.0);
            above.then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        self.rows.iter().map(mean).collect()
    }

    /// A figure of a setting over that of another, round by round; rounds in which the other's is
    /// not above 0 have no ratio.
    pub fn ratios(&self, setting: usize, against: usize, figure: impl Fn(&T) -> f64) -> Vec<f64> {
        self.pairs(setting, against)
            .map(|(sample, other)| (figure(sample), figure(other)))
            .filter(|&(_, other)| other > 0.0)
            .map(|(value, other)| value / other)
            .collect()
    }

    /// The median of the ratios within the rounds, with its interval; `NaN` without a ratio.
    pub fn ratio(&self, setting: usize, against: usize, figure: impl Fn(&T) -> f64) -> Estimate {
        Estimate::of(&self.ratios(setting, against, figure), self.seed)
    }

    /// For each round in which every setting was measured a sample of each.
    pub fn rows(&self) -> impl Iterator<Item = Vec<T>>
    where
        T: Clone,
    {
        self.rows
            .iter()
            .filter_map(|row| row.iter().cloned().collect())
    }
}

/// Values, each with whether it was disturbed.
impl Rounds<(f64, bool)> {
    /// The values of a setting, judged.
    pub fn judged(&self, setting: usize) -> Judged {
        let values: Vec<(f64, bool)> = self.of(setting).copied().collect();
        judge(&values, values.len(), self.seed)
    }

    /// The ratios of a setting to another within the rounds, judged: one is disturbed where either
    /// value was.
    pub fn judged_ratios(&self, setting: usize, against: usize) -> Judged {
        let pairs = self.pairs(setting, against);
        let ratios = pairs.map(|(one, other)| (one.0 / other.0, one.1 || other.1));
        let ratios: Vec<(f64, bool)> = ratios.collect();
        judge(&ratios, ratios.len(), self.seed)
    }
}

/// Each of `values` over that of the same round in `others`.
pub fn ratios(values: &[f64], others: &[f64]) -> Vec<f64> {
    values.iter().zip(others).map(|(a, b)| a / b).collect()
}

/// Each of `values` less that of the same round in `others`.
pub fn differences(values: &[f64], others: &[f64]) -> Vec<f64> {
    values.iter().zip(others).map(|(a, b)| a - b).collect()
}

#[cfg(test)]
#[path = "../tests/unit/rounds.rs"]
mod tests;
