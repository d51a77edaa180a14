use super::*;
use crate::laws::speedup::karp_flatt;

#[test]
fn karp_flatt_is_a_straight_line() {
    let law = Usl {
        gamma: 3.0,
        sigma: 0.04,
        kappa: 0.002,
    };
    for cores in 2..40 {
        let measured = karp_flatt(law.speedup(f64::from(cores)), cores).unwrap();
        assert!((measured - law.serial_fraction(f64::from(cores))).abs() < 1e-12);
    }
}

#[test]
fn the_curve_is_highest_at_its_peak() {
    let law = Usl {
        gamma: 1.0,
        sigma: 0.03,
        kappa: 0.001,
    };
    let top = law.peak().unwrap();
    assert!((top - 31.14).abs() < 0.01);
    assert!(law.rate(top) > law.rate(top - 0.5) && law.rate(top) > law.rate(top + 0.5));
    assert_eq!(Usl { kappa: 0.0, ..law }.peak(), None);
}
