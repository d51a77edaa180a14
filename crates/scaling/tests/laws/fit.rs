//! The coefficients of exact, superlinear and insufficient data.

use scaling::laws::Point;
use scaling::laws::fit::{FitError, fit};
use scaling::laws::form::{Form, Weighting};
use scaling::laws::usl::Usl;

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
    assert!(found.free.serial_fraction(6.0) < -0.01, "{found:?}");
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
