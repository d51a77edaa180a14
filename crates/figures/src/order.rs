//! Order statistics: what a value is by its place among the others.

use std::borrow::Borrow;

/// The value at `share` (0 to 1) of the `values` once they are sorted, interpolated between
/// neighbours; `NaN` for none.
pub fn quantile<V: Borrow<f64>>(values: impl IntoIterator<Item = V>, share: f64) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().map(|value| *value.borrow()).collect();
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    sorted.sort_unstable_by(f64::total_cmp);
    let place = share.clamp(0.0, 1.0) * last as f64;
    let below = sorted[place.floor() as usize];
    let above = sorted[place.ceil() as usize];
    if below.is_infinite() || above.is_infinite() {
        return if place.fract() > 0.0 { above } else { below }; // infinity has no fractions
    }
    below + (above - below) * place.fract()
}

/// The middle value; of an even number the mean of the two middle values; `NaN` for none.
pub fn median<V: Borrow<f64>>(values: impl IntoIterator<Item = V>) -> f64 {
    quantile(values, 0.5)
}

/// The smallest and the largest value; infinite the wrong way round for none.
pub fn range<V: Borrow<f64>>(values: impl IntoIterator<Item = V>) -> (f64, f64) {
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    values.into_iter().fold(none, |(low, high), value| {
        (low.min(*value.borrow()), high.max(*value.borrow()))
    })
}

/// The geometric mean, the fair average of ratios; `NaN` for none.
pub fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

#[cfg(test)]
#[expect(
    clippy::float_cmp,
    reason = "exact values are what the tests are about"
)]
mod tests {
    use super::*;

    #[test]
    fn median_of_even_odd_and_none() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median([0.0; 0]).is_nan());
        assert!(median([1.0, f64::INFINITY, f64::INFINITY]).is_infinite());
    }

    #[test]
    fn quantiles_are_interpolated_and_end_at_the_range() {
        let values = [40.0, 10.0, 30.0, 20.0];
        assert_eq!(quantile(values, 0.25), 17.5);
        assert_eq!(
            (quantile(values, 0.0), quantile(values, 1.0)),
            range(values)
        );
        assert_eq!(range(values), (10.0, 40.0));
    }

    #[test]
    fn geometric_mean_of_a_ratio_and_its_inverse_is_one() {
        assert!((geometric_mean(&[4.0, 0.25]) - 1.0).abs() < 1e-12);
    }
}
