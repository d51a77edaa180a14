//! Least squares on the three coefficients of the universal scalability law.
//!
//! One over the rate of a core is linear in `1/gamma`, `sigma/gamma` and `kappa/gamma`: in these
//! the law is `X(N) = N / (p0 + p1 (N - 1) + p2 N (N - 1))`. The start is the straight fit of
//! `N/X`, each point with the weight that its misfit has there; Levenberg and Marquardt's method
//! goes on from it. Bounds (`0 <= sigma <= 1`, `kappa >= 0`) are kept by searching on their faces
//! where the free solution leaves them.

use super::Point;
use super::form::{Form, Weighting};
use super::usl::Usl;

/// A way in which the three numbers may change together.
type Direction = [f64; 3];

const GAMMA: Direction = [1.0, 0.0, 0.0];
const SIGMA: Direction = [0.0, 1.0, 0.0];
const KAPPA: Direction = [0.0, 0.0, 1.0];
/// `gamma` where `sigma` is held at 1.
const SATURATED: Direction = [1.0, 1.0, 0.0];
/// Where at least one coefficient is on its bound.
const FACES: [&[Direction]; 5] = [
    &[GAMMA, SIGMA],
    &[GAMMA, KAPPA],
    &[GAMMA],
    &[SATURATED, KAPPA],
    &[SATURATED],
];
/// Descents end at the latest after so many steps.
const STEPS: usize = 400;

/// The coefficients of `form` that miss the points least: within the bounds, wherever they lie, and
/// the weighted sum of squared residuals of the first, rates over the largest rate. There are as
/// many different core counts as coefficients, and all rates are above 0.
pub(super) fn least_squares(points: &[Point], form: Form, weighting: Weighting) -> (Usl, Usl, f64) {
    let problem = Problem::new(points, weighting);
    let all = [GAMMA, SIGMA, KAPPA];
    let free = problem.descend(&all[..form.parameters()]);
    let within = |law: &Usl| (0.0..=1.0).contains(&law.sigma) && law.kappa >= 0.0;
    let mut best = free;
    if !within(&free.0) {
        best = FACES
            .into_iter()
            .filter(|face| form == Form::Usl || !face.contains(&KAPPA))
            .map(|face| problem.descend(face))
            .filter(|(law, _)| within(law))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .unwrap_or(free);
    }
    (best.0, free.0, best.1)
}

/// The points with rates divided by `scale`, so that the numbers are of order one or below.
struct Problem {
    points: Vec<(f64, f64, f64)>, // cores, rate, weight
    scale: f64,
}

/// The numbers behind the divisor of the law at `cores` cores.
fn terms(cores: f64) -> [f64; 3] {
    [1.0, cores - 1.0, cores * (cores - 1.0)]
}

fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl Problem {
    fn new(points: &[Point], weighting: Weighting) -> Self {
        let scale = points.iter().map(|p| p.rate).fold(0.0, f64::max);
        let scaled = points.iter().map(|p| {
            let rate = p.rate / scale;
            let weight = match weighting {
                Weighting::Relative => 1.0 / (rate * rate),
                Weighting::Absolute => 1.0,
            };
            (p.n(), rate, weight)
        });
        Self {
            points: scaled.collect(),
            scale,
        }
    }

    /// The best law with its residual when the numbers may change in these directions only: normal
    /// equations with their diagonal raised until a step goes down.
    fn descend(&self, directions: &[Direction]) -> (Usl, f64) {
        let mut numbers = self.moved(directions, [0.0; 3], 0.0, |rate, _| (rate, -rate));
        let mut residual = self.residual(&numbers);
        if residual.is_infinite() {
            numbers = directions[0]; // no straight fit: linear scaling, or none
            residual = self.residual(&numbers);
        }
        let mut damping = 1e-3;
        for _ in 0..STEPS {
            let next = self.moved(directions, numbers, damping, |rate, law| (law, rate - law));
            let there = self.residual(&next);
            if there < residual {
                let gain = residual - there;
                (numbers, residual) = (next, there);
                damping = (damping * 0.3).max(1e-12);
                if gain <= 1e-15 * residual {
                    break;
                }
            } else {
                damping *= 4.0;
                if damping > 1e12 {
                    break;
                }
            }
        }
        let law = Usl {
            gamma: self.scale / numbers[0],
            sigma: numbers[1] / numbers[0],
            kappa: numbers[2] / numbers[0],
        };
        (law, residual)
    }

    fn residual(&self, numbers: &[f64; 3]) -> f64 {
        let mut sum = 0.0;
        for &(n, rate, weight) in &self.points {
            let divisor = dot(numbers, &terms(n));
            if numbers[0] <= 1e-12 || divisor <= 1e-9 * numbers[0] {
                return f64::INFINITY;
            }
            sum += weight * (rate - n / divisor).powi(2);
        }
        sum
    }

    /// `numbers` after a step. `at` says for a measured rate and that of the law at which rate the
    /// slope is taken, and what is missed.
    fn moved(
        &self,
        directions: &[Direction],
        mut numbers: [f64; 3],
        damping: f64,
        at: impl Fn(f64, f64) -> (f64, f64),
    ) -> [f64; 3] {
        let mut normal = [[0.0; 3]; 3];
        let mut gradient = [0.0; 3];
        for &(n, rate, weight) in &self.points {
            let (place, miss) = at(rate, n / dot(&numbers, &terms(n)));
            let slopes = directions
                .iter()
                .map(|direction| -place * place / n * dot(direction, &terms(n)));
            for (i, slope) in slopes.clone().enumerate() {
                for (j, other) in slopes.clone().enumerate() {
                    normal[i][j] += weight * slope * other;
                }
                gradient[i] += weight * slope * miss;
            }
        }
        for (i, row) in normal.iter_mut().enumerate() {
            row[i] *= 1.0 + damping;
        }
        let steps = solve(normal, gradient);
        for (step, direction) in steps.into_iter().zip(directions) {
            for (number, part) in numbers.iter_mut().zip(direction) {
                *number += step * part;
            }
        }
        numbers
    }
}

/// Solves a 3 x 3 system by elimination with row exchange; a singular direction gets no step.
fn solve(mut a: [[f64; 3]; 3], mut b: [f64; 3]) -> [f64; 3] {
    for column in 0..3 {
        let size = |row: &usize| a[*row][column].abs();
        let pivot = (column..3).max_by(|i, j| size(i).total_cmp(&size(j)));
        let pivot = pivot.unwrap_or(column);
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
        if a[row][row].abs() >= 1e-300 {
            let known: f64 = (row + 1..3).map(|k| a[row][k] * x[k]).sum();
            x[row] = (b[row] - known) / a[row][row];
        }
    }
    x
}
