//! The simplest law that the data do not beat, by Akaike's criterion corrected for few points
//! (`AICc`; Hurvich and Tsai, Biometrika 76(2), 1989).

use serde::{Deserialize, Serialize};

use super::Point;
use super::fit::{Fit, distinct, fit};
use super::form::{Form, Weighting};

/// A simpler law is kept unless a richer one is better by more than this: below 2 the evidence is
/// called weak (Burnham and Anderson, "Model Selection", 2002, section 2.6).
pub const NOT_BEATEN: f64 = 2.0;

/// A misfit below this share of the rate says nothing: no wall clock reading of a program is
/// better.
const RESOLUTION: f64 = 1e-6;

/// A law with its score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Candidate {
    /// The fitted law.
    pub fit: Fit,
    /// Corrected Akaike criterion; lower is better, only differences mean anything.
    pub aicc: f64,
}

/// Which law holds, and what was compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Choice {
    /// The laws that could be tried with these points, simplest first.
    pub candidates: Vec<Candidate>,
    /// Place in `candidates` of the simplest that is not beaten; `None` when the points allow no
    /// comparison.
    pub chosen: Option<usize>,
}

impl Choice {
    /// The chosen law.
    pub fn fit(&self) -> Option<&Fit> {
        self.chosen
            .and_then(|place| self.candidates.get(place))
            .map(|c| &c.fit)
    }
}

/// Fits every form that has at least one point more than coefficients and takes the simplest not
/// beaten.
///
/// `points` may hold one point a core count (medians) or one a run: with single runs the scatter at
/// one core count weighs in, so a misfit is judged against the noise it is seen through. Core
/// counts are counted once either way: a form with as many coefficients as core counts passes
/// through every point and proves nothing, so it is not tried.
pub fn choose(points: &[Point], weighting: Weighting) -> Choice {
    choose_levelled(points, 1, weighting)
}

/// The same for the runs of so many `rounds` made equally fast ([`super::rates::Rates::levelled`]):
/// every level but one was taken from the data too, and counts as a point less.
pub fn choose_levelled(points: &[Point], rounds: usize, weighting: Weighting) -> Choice {
    let spent = rounds.saturating_sub(1);
    let counts = distinct(points);
    let candidates: Vec<Candidate> = [Form::Linear, Form::Amdahl, Form::Usl]
        .into_iter()
        .filter(|form| counts > form.parameters())
        .filter_map(|form| fit(points, form, weighting).ok())
        .filter_map(|fit| aicc(&fit, spent).map(|aicc| Candidate { fit, aicc }))
        .collect();
    let best = candidates
        .iter()
        .map(|c| c.aicc)
        .fold(f64::INFINITY, f64::min);
    let chosen = candidates.iter().position(|c| c.aicc <= best + NOT_BEATEN);
    Choice { candidates, chosen }
}

/// `n ln(RSS / n) + 2 k + 2 k (k + 1) / (n - k - 1)` with `k` counting the variance too, and `n`
/// the points less those `spent`. `None` without degrees of freedom.
fn aicc(fit: &Fit, spent: usize) -> Option<f64> {
    let n = fit.points.saturating_sub(spent) as f64;
    let k = fit.form.parameters() as f64 + 1.0;
    let freedom = n - k - 1.0;
    (freedom > 0.0).then(|| {
        let variance = (fit.residual / n).max(RESOLUTION * RESOLUTION);
        n * variance.ln() + 2.0 * k + 2.0 * k * (k + 1.0) / freedom
    })
}
