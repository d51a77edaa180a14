//! Least squares on the three coefficients of the universal scalability law.
//!
//! Levenberg and Marquardt's method, started from the straight line that Karp and Flatt's fraction
//! makes over the core count, which has a closed form, and from a few places besides. Bounds (`0 <=
//! sigma <= 1`, `kappa >= 0`) are kept by searching on their faces where the free solution leaves
//! them.

use super::Point;
use super::form::{Form, Weighting};
use super::speedup::karp_flatt;
use super::usl::Usl;

/// The coefficients that miss the points least.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Solution {
    /// Within the bounds.
    pub law: Usl,
    /// Wherever they lie.
    pub free: Usl,
    /// Weighted sum of squared residuals of `law`, rates over the largest rate.
    pub residual: f64,
}

/// Solves for the coefficients of `form`. There are as many different core counts as coefficients,
/// and all rates are above 0.
pub(super) fn least_squares(points: &[Point], form: Form, weighting: Weighting) -> Solution {
    let problem = Problem::new(points, weighting);
    let (free, free_residual) = problem.best(form, [None, None]);
    let (law, residual) = if within_bounds(&free) {
        (free, free_residual)
    } else {
        problem.on_the_faces(form)
    };
    Solution {
        law: problem.unscale(law),
        free: problem.unscale(free),
        residual,
    }
}

fn within_bounds(law: &Usl) -> bool {
    (0.0..=1.0).contains(&law.sigma) && law.kappa >= 0.0
}

/// The points with rates divided by `scale`, so that all three coefficients are of order one or
/// below.
struct Problem {
    points: Vec<(f64, f64, f64)>, // cores, rate, weight
    scale: f64,
}

/// What any solution is better than: no loss at all, and their sum of squares.
const NONE: (Usl, f64) = (
    Usl {
        gamma: 1.0,
        sigma: 0.0,
        kappa: 0.0,
    },
    f64::INFINITY,
);

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
        let mut best = NONE;
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
        let mut best = NONE;
        for held in faces {
            let found = self.best(form, held);
            if within_bounds(&found.0) && found.1 < best.1 {
                best = found;
            }
        }
        best
    }

    /// Start values: the weighted regression line of Karp and Flatt's fraction over the core count,
    /// each point with the weight that a constant relative scatter of the rates gives it.
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
