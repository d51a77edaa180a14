//! How far a search has come: its bounds, and the strides away from them.

use super::super::Amount;
use super::{Ended, Found, Limit, Phase, Step};

/// The search while it runs.
pub(super) struct Course<A> {
    /// Largest amount that passed.
    pub(super) low: A,
    /// Smallest that did not.
    pub(super) high: A,
    pub(super) limit: Limit,
    pub(super) steps: Vec<Step<A>>,
    pub(super) phase: Phase,
    /// Distance of the next trial from a bound, once a hint was followed or a confirmation failed;
    /// 0: halve.
    pub(super) stride: f64,
    /// Hints followed.
    pub(super) hints: u32,
}

impl<A: Amount> Course<A> {
    pub(super) fn new(high: A) -> Self {
        Self {
            low: A::zero(),
            high,
            limit: Limit::Range,
            steps: Vec::new(),
            phase: Phase::Search,
            stride: 0.0,
            hints: 0,
        }
    }

    pub(super) fn width(&self) -> f64 {
        self.high.value() - self.low.value()
    }

    pub(super) fn inside(&self, amount: A) -> bool {
        amount > self.low && amount < self.high
    }

    pub(super) fn middle(&self) -> Option<A> {
        A::middle(self.low, self.high)
    }

    /// One stride above the lower bound; `None` once strides lead out of the bounds, and from then
    /// on.
    pub(super) fn stride_up(&mut self) -> Option<A> {
        let target = self.low.value() + self.stride;
        self.stride_to(target)
    }

    /// One stride below the upper bound; `None` as above.
    pub(super) fn stride_down(&mut self) -> Option<A> {
        let target = self.high.value() - self.stride;
        self.stride_to(target)
    }

    fn stride_to(&mut self, target: f64) -> Option<A> {
        self.stride *= 2.0;
        let amount = Some(target)
            .filter(|&target| target > 0.0)
            .map(A::from_value)
            .filter(|&amount| self.inside(amount));
        if amount.is_none() {
            self.stride = 0.0;
        }
        amount
    }

    pub(super) fn finish(self, ended: Ended) -> Found<A> {
        let confirmed = ended != Ended::Unconfirmed && self.low > A::zero();
        Found {
            lower: confirmed.then_some(self.low),
            upper: (self.limit != Limit::Range).then_some(self.high),
            limit: self.limit,
            ended,
            steps: self.steps,
        }
    }
}
