//! Of `scaling/src/calibration/mod.rs`.

use figures::Random;

use super::*;
use crate::laws::Point;
use crate::laws::fit::fit;
use crate::laws::form::{Form, Weighting};
use crate::laws::usl::Usl;

#[test]
fn the_closed_queue_has_its_known_values() {
    assert!(
        (closed_queue(0.2, 2) - 0.04).abs() < 1e-12,
        "two customers: the square of the share"
    );
    assert!(closed_queue(0.2, 1).abs() < 1e-12);
    let limit = 64.0 / (1.0 + 63.0 * closed_queue(0.2, 64));
    assert!(
        (limit - 5.0).abs() < 0.01,
        "many customers are served one by one"
    );
}

#[test]
fn known_coefficients_are_recovered_through_noise() {
    let mut random = Random::new(9);
    for (sigma, kappa) in [(0.05, 0.0), (0.02, 0.003), (0.2, 0.0005)] {
        let truth = Usl {
            gamma: 50.0,
            sigma,
            kappa,
        };
        let points: Vec<Point> = [1, 2, 3, 4, 6, 8, 12, 16, 24]
            .into_iter()
            .flat_map(|cores| std::iter::repeat_n(cores, 9))
            .map(|cores| {
                let noise = random.unit() - 0.5;
                Point {
                    cores,
                    rate: truth.rate(f64::from(cores)) * (1.0 + 0.02 * noise),
                }
            })
            .collect();
        let found = fit(&points, Form::Usl, Weighting::Relative).unwrap().law;
        assert!((found.sigma - sigma).abs() < 0.005, "{truth:?} {found:?}");
        assert!((found.kappa - kappa).abs() < 0.0003, "{truth:?} {found:?}");
    }
}

#[test]
fn loads_end_with_every_number_of_threads() {
    for threads in [1, 2] {
        counters(threads, Layout::OneLine);
        counters(threads, Layout::OwnLines);
    }
    assert!(stream(1) > 0.0);
    assert!(find("spin").is_some() && find("none").is_none());
}
