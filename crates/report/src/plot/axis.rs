//! Axes: from values to positions between 0 and 1, and the round numbers printed beside them.

use crate::units::compact;

/// How distance on the axis follows from value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal distances are equal differences.
    Linear,
    /// Equal distances are equal ratios; ticks at powers of ten. Values of zero and below are not
    /// drawn.
    Logarithmic,
}

/// An axis as the caller describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Name and unit: `frame size, bytes`.
    pub label: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// Whether zero is always inside (linear axes only).
    pub zero: bool,
    /// Tick positions and words, in place of round numbers.
    pub ticks: Vec<(f64, String)>,
    /// Fixed ends, in place of the ends of the data.
    pub range: Option<(f64, f64)>,
}

impl Axis {
    /// A linear axis that fits the data.
    pub fn new(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            scale: Scale::Linear,
            zero: false,
            ticks: Vec::new(),
            range: None,
        }
    }

    /// The same axis with equal distances for equal ratios.
    #[must_use]
    pub fn logarithmic(mut self) -> Self {
        self.scale = Scale::Logarithmic;
        self
    }

    /// The same axis with zero always inside, so that lengths compare.
    #[must_use]
    pub fn from_zero(mut self) -> Self {
        self.zero = true;
        self
    }

    /// The same axis from `low` to `high`, whatever the data.
    #[must_use]
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }

    /// The same axis with ticks at these values, in these words.
    #[must_use]
    pub fn ticks<S: Into<String>>(mut self, ticks: impl IntoIterator<Item = (f64, S)>) -> Self {
        self.ticks = ticks
            .into_iter()
            .map(|(value, word)| (value, word.into()))
            .collect();
        self
    }

    /// The same axis with ticks exactly at these values.
    #[must_use]
    pub fn ticks_at(self, values: impl IntoIterator<Item = f64>) -> Self {
        self.ticks(numbered(values))
    }

    /// The same axis with words in place of numbers: the n-th word stands at x = n, from 0.
    #[must_use]
    pub fn categories<S: Into<String>>(self, words: impl IntoIterator<Item = S>) -> Self {
        let places = (0..).map(f64::from);
        let axis = self.ticks(places.zip(words));
        let end = axis.ticks.len() as f64 - 0.5;
        axis.range(-0.5, end)
    }

    /// Fits the axis to data; `wanted` is about how many ticks there is room for.
    pub(super) fn fit(&self, values: &[f64], wanted: usize) -> Fitted {
        let (low, high, round) = match self.scale {
            Scale::Linear => self.fit_linear(values, wanted),
            Scale::Logarithmic => self.fit_logarithmic(values),
        };
        let ticks = if self.ticks.is_empty() {
            numbered(round).collect()
        } else {
            self.ticks.clone()
        };
        Fitted {
            low,
            high,
            scale: self.scale,
            ticks,
        }
    }

    /// True when the ends may move to round numbers.
    fn is_free(&self) -> bool {
        self.range.is_none() && self.ticks.is_empty()
    }

    /// The ends, and the round numbers between them.
    fn fit_linear(&self, values: &[f64], wanted: usize) -> (f64, f64, Vec<f64>) {
        let (mut low, mut high) = self.range.unwrap_or_else(|| extent(values));
        if self.zero {
            low = low.min(0.0);
            high = high.max(0.0);
        }
        if high <= low {
            (low, high) = (low - 0.5, low + 0.5);
            if self.zero && low < 0.0 {
                (low, high) = (0.0, 1.0);
            }
        }
        let step = round_step((high - low) / wanted.max(1) as f64);
        if self.is_free() {
            high = (high / step - 1e-9).ceil() * step;
            low = (low / step + 1e-9).floor() * step;
        }
        let first = (low / step - 1e-9).ceil() as i64;
        let last = (high / step + 1e-9).floor() as i64;
        let round = (first..=last).map(|n| n as f64 * step);
        (low, high, round.collect())
    }

    /// The ends, and the powers of ten between them.
    fn fit_logarithmic(&self, values: &[f64]) -> (f64, f64, Vec<f64>) {
        let positive: Vec<f64> = values.iter().copied().filter(|&v| v > 0.0).collect();
        let (mut low, mut high) = self.range.unwrap_or_else(|| extent(&positive));
        if low <= 0.0 || high <= 0.0 {
            (low, high) = (1.0, 10.0);
        }
        if self.is_free() {
            low = 10f64.powf((low.log10() + 1e-9).floor());
            high = 10f64.powf((high.log10() - 1e-9).ceil());
        }
        if high <= low {
            high = low * 10.0;
        }
        let decades = (low.log10().round() as i32)..=(high.log10().round() as i32);
        let round = decades.map(|decade| 10f64.powi(decade));
        (low, high, round.collect())
    }
}

/// Values with their words.
fn numbered(values: impl IntoIterator<Item = f64>) -> impl Iterator<Item = (f64, String)> {
    values.into_iter().map(|value| (value, compact(value)))
}

/// An axis with known ends and ticks.
pub(super) struct Fitted {
    low: f64,
    high: f64,
    scale: Scale,
    ticks: Vec<(f64, String)>,
}

impl Fitted {
    /// Where `value` lies between the ends, 0 to 1, held at the ends; `None` when it has no place
    /// on this axis.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic if value <= 0.0 => return None,
            Scale::Logarithmic => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        share.is_finite().then(|| share.clamp(0.0, 1.0))
    }

    /// The ticks that have a place: it, and the word.
    pub(super) fn marks(&self) -> impl Iterator<Item = (f64, &str)> {
        let ticks = self.ticks.iter();
        ticks.filter_map(|(value, word)| Some((self.place(*value)?, word.as_str())))
    }

    /// Where bars start: at zero when it is inside, else at the lower end.
    pub(super) fn base(&self) -> f64 {
        self.place(0.0).unwrap_or(0.0)
    }
}

fn extent(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if low <= high { (low, high) } else { (0.0, 1.0) }
}

/// The smallest of 1, 2, 2.5, 5 times a power of ten that is not below `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let lead = step / power;
    let round = [1.0, 2.0, 2.5, 5.0]
        .into_iter()
        .find(|&candidate| lead <= candidate * (1.0 + 1e-9));
    round.unwrap_or(10.0) * power
}

#[cfg(test)]
#[path = "../../tests/unit/axis.rs"]
mod tests;
