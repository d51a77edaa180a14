//! What a search can search over.

/// A quantity with an order and a middle: a rate, a burst length, an interval.
pub trait Amount: Copy + PartialOrd + std::fmt::Debug {
    /// A value between the two, or `None` when nothing lies strictly between them.
    fn middle(low: Self, high: Self) -> Option<Self>;
    /// The quantity as a plain number, for widths and plots.
    fn value(self) -> f64;
    /// The quantity nearest to a plain number that is not negative.
    fn from_value(value: f64) -> Self;
    /// The smallest amount, which is never tried: a trial that sends nothing proves nothing.
    fn zero() -> Self;
}

impl Amount for f64 {
    fn middle(low: Self, high: Self) -> Option<Self> {
        let middle = low.midpoint(high);
        (low < middle && middle < high).then_some(middle)
    }
    fn value(self) -> f64 {
        self
    }
    fn from_value(value: f64) -> Self {
        value
    }
    fn zero() -> Self {
        0.0
    }
}

impl Amount for u64 {
    fn middle(low: Self, high: Self) -> Option<Self> {
        let middle = low.midpoint(high);
        (low < middle && middle < high).then_some(middle)
    }
    fn value(self) -> f64 {
        self as f64
    }
    fn from_value(value: f64) -> Self {
        value.round() as u64
    }
    fn zero() -> Self {
        0
    }
}
