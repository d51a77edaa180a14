//! Coefficients of the universal scalability law by weighted least squares.
//!
//! Levenberg and Marquardt's method on three parameters, started from the straight line that Karp and Flatt's fraction
//! makes over the core count, which has a closed form. Bounds (`0 <= sigma <= 1`, `kappa >= 0`) are kept by trying the
//! free solution first and, where it leaves the bounds, the best solution on their faces; nothing is clamped after
//! the fact. The free solution stays in the result, because a clearly negative coefficient is a finding (superlinear
//! scaling), not an error.

use super::{Point, usl::Usl};
use crate::laws::speedup::karp_flatt;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Which members of the family may be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// `sigma = kappa = 0`.
    Linear,
    /// `kappa = 0`.
    Amdahl,
    /// All three coefficients.
    Usl,
}

impl Form {
    /// Number of coefficients.
    pub const fn parameters(self) -> usize {
        match self {
            Self::Linear => 1,
            Self::Amdahl => 2,
            Self::Usl => 3,
        }
    }

    /// The name in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Amdahl => "Amdahl",
            Self::Usl => "universal scalability law",
        }
    }
}

/// What one unit of misfit costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weighting {
    /// Misfit as a share of the rate (weight `1/X^2`): right for timings, whose scatter is a percentage.
    Relative,
    /// Misfit in units of the rate: what published examples use.
    Absolute,
}

/// A fitted law.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// Its form.
    pub form: Form,
    /// The coefficients within the bounds.
    pub law: Usl,
    /// The coefficients without the bounds.
    pub free: Usl,
    /// Weighted sum of squared residuals of `law`.
    pub residual: f64,
    /// Number of points.
    pub points: usize,
}

impl Fit {
    /// Whether the data rise faster than the core count: the free fit leaves the bounds on the fast side and predicts
    /// more than linear scaling at the largest core count `cores`.
    pub fn superlinear(&self, cores: u32) -> bool {
        cores > 1 && self.free.serial_fraction(f64::from(cores)) < -0.01
    }
}

/// Why there is no fit.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum FitError {
    /// Too few different core counts.
    #[error("{form} needs {needed} different core counts, there are {given}; try more core counts")]
    TooFewPoints {
        /// The form asked for.
        form: &'static str,
        /// Counts needed.
        needed: usize,
        /// Counts given.
        given: usize,
    },
    /// A rate that is no rate.
    #[error("the rate at {cores} cores is {rate}; a rate is a finite number above 0")]
    BadRate {
        /// Core count of the point.
        cores: u32,
        /// Its rate.
        rate: f64,
    },
}

/// Fits `form` to `points`.
///
/// # Errors
/// When there are fewer different core counts than coefficients, or a rate is not a finite number above 0.
pub fn fit(points: &[Point], form: Form, weighting: Weighting) -> Result<Fit, FitError> {
    if let Some(bad) = points
        .iter()
        .find(|p| !(p.rate.is_finite() && p.rate > 0.0) || p.cores == 0)
    {
        return Err(FitError::BadRate {
            cores: bad.cores,
            rate: bad.rate,
        });
    }
    let given = distinct(points);
    if given < form.parameters() {
        return Err(FitError::TooFewPoints {
            form: form.name(),
            needed: form.parameters(),
            given,
        });
    }
    let problem = Problem::new(points, weighting);
    let (free, free_residual) = problem.best(form, [None, None]);
    let (law, residual) = if within_bounds(&free) {
        (free, free_residual)
    } else {
        problem.on_the_faces(form)
    };
    Ok(Fit {
        form,
        law: problem.unscale(law),
        free: problem.unscale(free),
        residual,
        points: points.len(),
    })
}

/// The number of different core counts among `points`.
pub fn distinct(points: &[Point]) -> usize {
    let mut counts: Vec<u32> = points.iter().map(|p| p.cores).collect();
    counts.sort_unstable();
    counts.dedup();
    counts.len()
}

fn within_bounds(law: &Usl) -> bool {
    (0.0..=1.0).contains(&law.sigma) && law.kappa >= 0.0
}

/// The points with rates divided by `scale`, so that all three coefficients are of order one or below.
struct Problem {
    points: Vec<(f64, f64, f64)>, // cores, rate, weight
    scale: f64,
}

impl Problem {
    fn new(points: &[Point], weighting: Weighting) -> Self {
        let scale = points.iter().map(|p| p.rate).fold(0.0, f64::max);
        let points = points
            .iter()
            .map(|p| {
                let rate = p.rate / scale;
                let weight = match weighting {
                    Weighting::Relative => 1.0 / (rate * rate),
                    Weighting::Absolute => 1.0,
                };
                (p.n(), rate, weight)
            })
            .collect();
        Self { points, scale }
    }

    fn unscale(&self, law: Usl) -> Usl {
        Usl {
            gamma: law.gamma * self.scale,
            ..law
        }
    }

    /// The best of several starts, with `sigma` and `kappa` held at the values given for them.
    fn best(&self, form: Form, held: [Option<f64>; 2]) -> (Usl, f64) {
        let sigma_held = if form >= Form::Amdahl {
            held[0]
        } else {
            Some(0.0)
        };
        let kappa_held = if form == Form::Usl {
            held[1]
        } else {
            Some(0.0)
        };
        let free = [true, sigma_held.is_none(), kappa_held.is_none()];
        let mut best = (
            Usl {
                gamma: 1.0,
                sigma: 0.0,
                kappa: 0.0,
            },
            f64::INFINITY,
        );
        for (sigma, kappa) in [
            self.straight_line(),
            (0.0, 0.0),
            (0.05, 1e-4),
            (0.3, 0.0),
            (0.0, 0.01),
            (0.9, 0.1),
        ] {
            let (sigma, kappa) = (sigma_held.unwrap_or(sigma), kappa_held.unwrap_or(kappa));
            let found = self.descend(
                self.with_best_gamma(Usl {
                    gamma: 1.0,
                    sigma,
                    kappa,
                }),
                free,
            );
            if found.1 < best.1 {
                best = found;
            }
        }
        best
    }

    /// The best solution with at least one coefficient on its bound.
    fn on_the_faces(&self, form: Form) -> (Usl, f64) {
        let faces: [[Option<f64>; 2]; 5] = [
            [None, Some(0.0)],
            [Some(0.0), None],
            [Some(0.0), Some(0.0)],
            [Some(1.0), None],
            [Some(1.0), Some(0.0)],
        ];
        let mut best = (
            Usl {
                gamma: 1.0,
                sigma: 0.0,
                kappa: 0.0,
            },
            f64::INFINITY,
        );
        for held in faces {
            let found = self.best(form, held);
            if within_bounds(&found.0) && found.1 < best.1 {
                best = found;
            }
        }
        best
    }

    /// Start values: the weighted regression line of Karp and Flatt's fraction over the core count, each point with the weight
    /// that a constant relative scatter of the rates gives it.
    fn straight_line(&self) -> (f64, f64) {
        let Some(first) = self
            .points
            .iter()
            .copied()
            .reduce(|a, b| if b.0 < a.0 { b } else { a })
        else {
            return (0.0, 0.0);
        };
        let one = first.1 / first.0;
        let (mut w, mut x, mut y, mut xx, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for &(n, rate, _) in &self.points {
            let speedup = rate / one;
            let Some(e) = karp_flatt(speedup, n as u32) else {
                continue;
            };
            let weight = ((n - 1.0) * speedup / n).powi(2);
            w += weight;
            x += weight * n;
            y += weight * e;
            xx += weight * n * n;
            xy += weight * n * e;
        }
        let spread = w * xx - x * x;
        if spread.abs() < 1e-12 * w * xx {
            return (if w > 0.0 { y / w } else { 0.0 }, 0.0);
        }
        let kappa = (w * xy - x * y) / spread;
        ((y - kappa * x) / w, kappa)
    }

    /// For fixed `sigma` and `kappa` the best `gamma` has a closed form.
    fn with_best_gamma(&self, law: Usl) -> Usl {
        let unit = Usl { gamma: 1.0, ..law };
        let (mut up, mut down) = (0.0, 0.0);
        for &(n, rate, weight) in &self.points {
            let g = unit.rate(n);
            up += weight * rate * g;
            down += weight * g * g;
        }
        Usl {
            gamma: if down > 0.0 { up / down } else { 1.0 },
            ..law
        }
    }

    fn residual(&self, law: &Usl) -> f64 {
        let mut sum = 0.0;
        for &(n, rate, weight) in &self.points {
            if law.divisor(n) <= 1e-9 {
                return f64::INFINITY;
            }
            sum += weight * (rate - law.rate(n)).powi(2);
        }
        sum
    }

    /// Levenberg and Marquardt: normal equations with their diagonal raised until a step goes down.
    fn descend(&self, start: Usl, free: [bool; 3]) -> (Usl, f64) {
        let (mut law, mut residual) = (start, self.residual(&start));
        let mut damping = 1e-3;
        for _ in 0..400 {
            let (normal, gradient) = self.normal_equations(&law, free);
            let mut improved = false;
            while damping < 1e12 {
                let mut raised = normal;
                for (i, row) in raised.iter_mut().enumerate() {
                    row[i] += damping * normal[i][i].max(1e-300);
                }
                let step = solve(raised, gradient);
                let next = Usl {
                    gamma: law.gamma + step[0],
                    sigma: law.sigma + step[1],
                    kappa: law.kappa + step[2],
                };
                let there = self.residual(&next);
                if there < residual {
                    let gain = residual - there;
                    (law, residual) = (next, there);
                    damping = (damping * 0.3).max(1e-12);
                    improved = gain > 1e-15 * residual;
                    break;
                }
                damping *= 4.0;
            }
            if !improved {
                break;
            }
        }
        (law, residual)
    }

    fn normal_equations(&self, law: &Usl, free: [bool; 3]) -> ([[f64; 3]; 3], [f64; 3]) {
        let mut normal = [[0.0; 3]; 3];
        let mut gradient = [0.0; 3];
        for &(n, rate, weight) in &self.points {
            let d = law.divisor(n);
            let by_sigma = -law.gamma * n * (n - 1.0) / (d * d);
            let slope = [n / d, by_sigma, by_sigma * n];
            let miss = rate - law.rate(n);
            for i in 0..3 {
                for j in 0..3 {
                    if free[i] && free[j] {
                        normal[i][j] += weight * slope[i] * slope[j];
                    }
                }
                if free[i] {
                    gradient[i] += weight * slope[i] * miss;
                }
            }
        }
        for i in 0..3 {
            if !free[i] {
                normal[i][i] = 1.0; // its gradient is 0, so its step is 0
            }
        }
        (normal, gradient)
    }
}

/// Solves a 3 x 3 system by elimination with row exchange; a singular direction gets no step.
fn solve(mut a: [[f64; 3]; 3], mut b: [f64; 3]) -> [f64; 3] {
    for column in 0..3 {
        let pivot = (column..3).fold(column, |best, row| {
            if a[row][column].abs() > a[best][column].abs() {
                row
            } else {
                best
            }
        });
        a.swap(column, pivot);
        b.swap(column, pivot);
        if a[column][column].abs() < 1e-300 {
            continue;
        }
        for row in column + 1..3 {
            let factor = a[row][column] / a[column][column];
            let above = a[column];
            for (value, above) in a[row].iter_mut().zip(above) {
                *value -= factor * above;
            }
            b[row] -= factor * b[column];
        }
    }
    let mut x = [0.0; 3];
    for row in (0..3).rev() {
        let known: f64 = (row + 1..3).map(|k| a[row][k] * x[k]).sum();
        x[row] = if a[row][row].abs() < 1e-300 {
            0.0
        } else {
            (b[row] - known) / a[row][row]
        };
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(law: Usl, counts: &[u32]) -> Vec<Point> {
        counts
            .iter()
            .map(|&cores| Point {
                cores,
                rate: law.rate(f64::from(cores)),
            })
            .collect()
    }

    #[test]
    fn exact_curves_are_recovered_whatever_the_weighting() {
        for (sigma, kappa) in [
            (0.0, 0.0),
            (0.2, 0.0),
            (0.0, 0.01),
            (0.03, 0.001),
            (0.9, 0.3),
            (1.0, 0.0),
        ] {
            let truth = Usl {
                gamma: 1234.5,
                sigma,
                kappa,
            };
            let points = curve(truth, &[1, 2, 3, 4, 8, 16, 32]);
            for weighting in [Weighting::Relative, Weighting::Absolute] {
                let found = fit(&points, Form::Usl, weighting).unwrap().law;
                assert!((found.sigma - sigma).abs() < 1e-6, "{truth:?} {found:?}");
                assert!((found.kappa - kappa).abs() < 1e-7, "{truth:?} {found:?}");
                assert!((found.gamma / truth.gamma - 1.0).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn superlinear_data_are_named_and_not_clamped_in_silence() {
        let points = curve(
            Usl {
                gamma: 1.0,
                sigma: -0.1,
                kappa: 0.0,
            },
            &[1, 2, 3, 4, 5, 6],
        );
        let found = fit(&points, Form::Usl, Weighting::Relative).unwrap();
        assert!(found.superlinear(6), "{found:?}");
        assert!((found.free.sigma + 0.1).abs() < 1e-6);
        assert!(found.law.sigma == 0.0 && found.law.kappa == 0.0);
    }

    #[test]
    fn too_few_points_and_bad_rates_are_refused_by_name() {
        let two = curve(
            Usl {
                gamma: 1.0,
                sigma: 0.1,
                kappa: 0.0,
            },
            &[1, 2],
        );
        let error = fit(&two, Form::Usl, Weighting::Relative).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("needs 3 different core counts, there are 2")
        );
        let bad = [Point {
            cores: 1,
            rate: f64::NAN,
        }];
        assert!(matches!(
            fit(&bad, Form::Linear, Weighting::Relative),
            Err(FitError::BadRate { cores: 1, .. })
        ));
    }
}
