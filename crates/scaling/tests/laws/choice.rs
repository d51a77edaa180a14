//! The simplest law that holds.

use figures::Random;
use scaling::laws::Point;
use scaling::laws::choice::choose;
use scaling::laws::form::{Form, Weighting};
use scaling::laws::usl::Usl;

fn noisy(law: Usl, counts: &[u32], rounds: u64, noise: f64) -> Vec<Point> {
    let mut random = Random::new(5);
    let mut points = Vec::new();
    for _ in 0..rounds {
        for &cores in counts {
            let u = 2.0 * random.unit() - 1.0;
            points.push(Point {
                cores,
                rate: law.rate(f64::from(cores)) * (1.0 + noise * u),
            });
        }
    }
    points
}

fn chosen(law: Usl, noise: f64) -> Form {
    let points = noisy(law, &[1, 2, 4, 6, 8, 12], 7, noise);
    choose(&points, Weighting::Relative).fit().unwrap().form
}

#[test]
fn the_simplest_law_that_holds_is_chosen() {
    let law = Usl {
        gamma: 10.0,
        sigma: 0.0,
        kappa: 0.0,
    };
    assert_eq!(chosen(law, 0.02), Form::Linear);
    assert_eq!(chosen(Usl { sigma: 0.05, ..law }, 0.02), Form::Amdahl);
    assert_eq!(
        chosen(
            Usl {
                sigma: 0.02,
                kappa: 0.005,
                ..law
            },
            0.02
        ),
        Form::Usl
    );
    assert_eq!(
        chosen(law, 0.0),
        Form::Linear,
        "exact data must not buy needless coefficients"
    );
}

#[test]
fn two_core_counts_allow_no_amdahl_and_three_no_usl() {
    let law = Usl {
        gamma: 1.0,
        sigma: 0.3,
        kappa: 0.0,
    };
    let two = choose(&noisy(law, &[1, 2], 9, 0.01), Weighting::Relative);
    assert!(two.candidates.iter().all(|c| c.fit.form == Form::Linear));
    let three = choose(&noisy(law, &[1, 2, 3], 9, 0.01), Weighting::Relative);
    assert_eq!(three.fit().unwrap().form, Form::Amdahl);
    let medians_of_two = choose(&noisy(law, &[1, 2], 1, 0.0), Weighting::Relative);
    assert_eq!(medians_of_two.fit(), None);
}
