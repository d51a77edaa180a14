//! Published data sets, fitted again: the coefficients must come out to the printed digits.

use figures::Random;
use scaling::laws::Point;
use scaling::laws::fit::fit;
use scaling::laws::form::{Form, Weighting};
use scaling::laws::interval::Refits;
use scaling::laws::speedup::karp_flatt;
use scaling::laws::usl::Usl;

fn points(data: &[(u32, f64)]) -> Vec<Point> {
    data.iter()
        .map(|&(cores, rate)| Point { cores, rate })
        .collect()
}

/// SPEC SDM91, as distributed with the R package `usl` (data set `specsdm91`): users against
/// scripts an hour.
fn specsdm91() -> Vec<Point> {
    points(&[
        (1, 64.9),
        (18, 995.9),
        (36, 1652.4),
        (72, 1853.2),
        (108, 1828.9),
        (144, 1775.0),
        (216, 1702.2),
    ])
}

/// A ray tracer on an SGI Origin (data set `raytracer` of the same package): processors against
/// rays a second.
fn raytracer() -> Vec<Point> {
    points(&[
        (1, 20.0),
        (4, 78.0),
        (8, 130.0),
        (12, 170.0),
        (16, 190.0),
        (20, 200.0),
        (24, 210.0),
        (28, 230.0),
        (32, 260.0),
        (48, 280.0),
        (64, 310.0),
    ])
}

fn near(value: f64, printed: f64, half_digit: f64, what: &str) {
    assert!(
        (value - printed).abs() <= half_digit,
        "{what}: {value} is not {printed}"
    );
}

#[test]
fn specsdm91_unweighted() {
    let law = fit(&specsdm91(), Form::Usl, Weighting::Absolute)
        .unwrap()
        .law;
    near(law.sigma, 0.027_73, 5e-6, "sigma");
    near(law.kappa, 1.044e-4, 5e-8, "kappa");
    near(law.gamma, 90.0, 0.05, "gamma");
    let peak = law.peak().unwrap();
    near(law.rate(peak), 1884.0, 0.5, "rate at the peak");
    near(peak, 96.52, 0.005, "peak");
    near(law.gamma / law.sigma, 3246.0, 1.0, "roof");
    near(1.0 / law.sigma, 36.06, 0.01, "knee");
}

#[test]
fn specsdm91_relative_moves_sigma_far_and_the_peak_little() {
    let law = fit(&specsdm91(), Form::Usl, Weighting::Relative)
        .unwrap()
        .law;
    near(law.sigma, 0.0135, 5e-5, "sigma");
    near(law.peak().unwrap(), 92.6, 0.05, "peak");
}

#[test]
fn raytracer_first_six() {
    let law = fit(&raytracer()[..6], Form::Usl, Weighting::Absolute)
        .unwrap()
        .law;
    near(law.sigma, 0.024_44, 5e-6, "sigma");
    near(law.kappa, 0.001_63, 5e-6, "kappa");
    near(law.gamma, 20.856, 5e-4, "gamma");
}

#[test]
fn raytracer_all_eleven() {
    let absolute = fit(&raytracer(), Form::Usl, Weighting::Absolute)
        .unwrap()
        .law;
    // A grid search over both coefficients finds the same minimum; 0.0584 has been printed for it
    // elsewhere.
    near(absolute.sigma, 0.057_77, 5e-6, "sigma");
    near(absolute.kappa, 0.0, 1e-12, "kappa");
    let relative = fit(&raytracer(), Form::Usl, Weighting::Relative)
        .unwrap()
        .law;
    near(relative.sigma, 0.0561, 5e-5, "sigma");
    near(relative.kappa, 1.7e-6, 5e-8, "kappa");
}

/// Refits the full law to the fitted curve with its own relative misfits dealt out anew: for tables
/// that have one value a core count and no rounds.
fn over_residuals(points: &[Point], resamples: usize) -> Refits {
    let mut random = Random::new(1);
    let refit = |points: &[Point]| fit(points, Form::Usl, Weighting::Relative);
    let law = refit(points).unwrap().law;
    let misfits: Vec<f64> = points.iter().map(|p| p.rate / law.rate(p.n())).collect();
    let mut drawn = |p: &Point| Point {
        cores: p.cores,
        rate: law.rate(p.n()) * misfits[random.below(misfits.len())],
    };
    let draws = (0..resamples).map(|_| points.iter().map(&mut drawn).collect::<Vec<_>>());
    Refits {
        fits: draws.filter_map(|draw| refit(&draw).ok()).collect(),
    }
}

#[test]
fn raytracer_has_no_peak_to_show() {
    let refits = over_residuals(&raytracer(), 500);
    let found = refits.coefficients();
    near(
        found.without_peak,
        0.56,
        0.05,
        "share of refits without coherency",
    );
    // Printed as 61; how the residuals were scaled there is not said, and the usual ways give 61 to
    // 70.
    near(found.peak.low, 65.0, 6.0, "lower end of the peak");
    assert!(found.peak.high.is_infinite());
}

#[test]
fn raytracer_karp_flatt() {
    let printed = [
        0.0085, 0.033, 0.037, 0.046, 0.053, 0.056, 0.053, 0.047, 0.052, 0.050,
    ];
    for (point, printed) in raytracer()[1..].iter().zip(printed) {
        let digits = if printed < 0.01 { 5e-5 } else { 5e-4 };
        near(
            karp_flatt(point.rate / 20.0, point.cores).unwrap(),
            printed,
            digits * 1.01,
            "Karp-Flatt",
        );
    }
}

/// The relative error of a law at a point that it was not fitted to.
fn extrapolation_error(law: &Usl, truth: &Point) -> f64 {
    law.rate(truth.n()) / truth.rate - 1.0
}

/// What forecasts far beyond the cores tried are worth: 28 to 63 % too low on these two sets.
#[test]
fn extrapolation_fails_as_published() {
    let ray = raytracer();
    for (upto, error) in [(4, -0.63), (6, -0.57), (8, -0.41)] {
        let law = fit(&ray[..upto], Form::Usl, Weighting::Relative)
            .unwrap()
            .law;
        near(
            extrapolation_error(&law, &ray[10]),
            error,
            0.05,
            "ray tracer",
        );
    }
    let spec = specsdm91();
    for (upto, error) in [(4, -0.36), (5, -0.28)] {
        let law = fit(&spec[..upto], Form::Usl, Weighting::Relative)
            .unwrap()
            .law;
        near(extrapolation_error(&law, &spec[6]), error, 0.05, "SDM91");
    }
}
