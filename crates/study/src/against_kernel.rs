//! Engines between interfaces against the kernel: each round's rate over the kernel's in the same
//! round, in the closed loop and without loss. What engines are ranked by.

use dut::case::{Case, SMALLEST};
use dut::kind::Kind;
use figures::{Estimate, Judged, Rounds, Weak, judge};
use report::units::FramesPerSecond;
use serde::{Deserialize, Serialize};

use crate::evidence::{Measured, rates};
use crate::no_loss::{self, Attempt};

/// Fewer rounds than these tell no two engines apart: the range of five holds the median in 94 of
/// 100 cases.
const ENOUGH: usize = 5;

/// All cores of an engine with the smallest frames against the kernel's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct AgainstKernel {
    pub(crate) engine: String,
    /// Whether rates without loss are compared; else those of the closed loop.
    pub(crate) without_loss: bool,
    /// The engine's rate: the median of the rounds that count.
    pub(crate) frames_per_second: FramesPerSecond,
    /// Rounds in which both had a rate and that count.
    pub(crate) rounds: usize,
    /// Times the kernel's frames: the median of the rounds' own ratios.
    pub(crate) times: f64,
    /// Lower end of the interval of that median.
    pub(crate) low: f64,
    /// Its upper end.
    pub(crate) high: f64,
    /// Why the rounds are no evidence; absent where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) weak: Option<Weak>,
}

impl AgainstKernel {
    /// Of all engines, the kernel itself among them; `seed` fixes the draws behind intervals.
    pub(crate) fn all(
        cases: &[Case],
        closed_loop: &Rounds<Measured>,
        searches: &Rounds<Attempt>,
        seed: u64,
    ) -> Vec<Self> {
        let most = cases.iter().map(|case| case.workers).max().unwrap_or(1);
        let is_compared = |case: &Case| {
            (case.workers, case.frame_bytes, case.changes) == (most, SMALLEST, 0)
                && case.kind.needs_root()
        };
        let compared = || (0..cases.len()).filter(|&index| is_compared(&cases[index]));
        let Some(kernel) = compared().find(|&index| cases[index].kind == Kind::Kernel) else {
            return Vec::new();
        };
        let of = |without_loss: bool, index: usize| {
            let rates = |index: usize| {
                if without_loss {
                    no_loss::rates(searches, index)
                } else {
                    rates(closed_loop, &[index])
                }
            };
            let (own, kernels) = (rates(index), rates(kernel));
            let pairs = own.iter().zip(&kernels);
            let ratios = pairs.filter_map(|(own, kernel)| {
                let ((own, one), (kernel, other)) = ((*own)?, (*kernel)?);
                Some((own / kernel, one || other))
            });
            let Judged { values, weak, .. } = judge(&ratios.collect::<Vec<_>>(), 2, seed);
            let own = judge(&own.into_iter().flatten().collect::<Vec<_>>(), 1, seed);
            let times = Estimate::of(&values, seed);
            times.value.is_finite().then(|| Self {
                engine: cases[index].kind.engine().to_owned(),
                without_loss,
                frames_per_second: FramesPerSecond(figures::median(own.values)),
                rounds: values.len(),
                times: times.value,
                low: times.interval.low,
                high: times.interval.high,
                weak: weak.or(own.weak),
            })
        };
        let both = [true, false].into_iter();
        both.flat_map(|without_loss| compared().filter_map(move |index| of(without_loss, index)))
            .collect()
    }

    /// Whether it is evidence of how the engine compares.
    pub(crate) fn is_told(&self) -> bool {
        self.rounds >= ENOUGH && self.weak.is_none()
    }

    /// Whether the two differ.
    pub(crate) fn differs(&self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }
}

#[cfg(test)]
#[path = "../tests/unit/against_kernel.rs"]
mod tests;
