use super::*;
use crate::laws::usl::Usl;

/// Section "how much can be known": the true peak is 31, the scatter 0.5, 2 and 5 %.
fn peak_range(counts: &[u32], scatter: f64) -> Interval {
    let law = Usl {
        gamma: 1.0,
        sigma: 0.03,
        kappa: 0.001,
    };
    let mut random = Random::new(42);
    let mut normal = || {
        let units: f64 = (0..12).map(|_| random.unit()).sum();
        units - 6.0
    };
    let rates = (0..9)
        .map(|_| {
            counts
                .iter()
                .map(|&n| law.rate(f64::from(n)) * (1.0 + scatter * normal()))
                .collect()
        })
        .collect();
    let rounds = Rates {
        cores: counts.to_vec(),
        rates,
    };
    over_rounds(&rounds, Form::Usl, Weighting::Relative, 300, 1)
        .coefficients()
        .peak
}

#[test]
fn four_cores_bound_no_peak_and_thirty_two_do() {
    assert!(peak_range(&[1, 2, 3, 4], 0.02).high > 100.0);
    let wide = peak_range(&[1, 2, 4, 8, 16, 24, 32], 0.005);
    assert!(wide.low > 28.0 && wide.high < 34.0, "{wide:?}");
    assert!(wide.contains(31.1), "{wide:?}");
}
