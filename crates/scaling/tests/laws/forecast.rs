//! Bands for core counts that were not tried.

use figures::Interval;
use scaling::laws::forecast::{NoForecast, OneCore, from_serial_fraction};

#[test]
fn a_forecast_from_two_cores_ends_at_four_and_is_a_band() {
    let bands = from_serial_fraction(Interval::new(0.1, 0.2), 2);
    assert_eq!(bands.iter().map(|b| b.cores).collect::<Vec<_>>(), [3, 4]);
    let at_four = bands[1].speedup;
    assert!(
        (at_four.high - 4.0 / 1.3).abs() < 1e-12,
        "contention only, e = 0.1"
    );
    assert!(
        (at_four.low - 4.0 / (1.0 + 0.1 * 4.0 * 3.0)).abs() < 1e-12,
        "coherency only, e(2) = 0.2"
    );
}

#[test]
fn a_superlinear_start_keeps_its_efficiency_and_no_more() {
    let bands = from_serial_fraction(Interval::new(-0.6, -0.2), 2);
    assert!(
        (bands[1].speedup.high - 4.0 / 0.4).abs() < 1e-12
            && (bands[1].speedup.low - 4.0 / 0.8).abs() < 1e-12
    );
}

#[test]
fn the_structure_of_a_half_serial_job_is_amdahls_law() {
    let job = OneCore {
        wanting: vec![0.0, 5.0, 0.0, 0.0, 5.0],
        under_pressure: None,
        clock: None,
    };
    // Four tasks fill no more than four cores.
    for (cores, gain) in [(2, 10.0 / 7.5), (4, 1.6), (64, 1.6), (1, 1.0)] {
        let found = job.band(cores).unwrap().speedup.high;
        assert!((found - gain).abs() < 1e-12, "{cores}: {found}");
    }
}

#[test]
fn pressure_and_clock_widen_and_lower_the_band() {
    let job = OneCore {
        wanting: vec![0.0, 0.0, 4.0],
        under_pressure: Some(1.25),
        clock: Some(0.9),
    };
    let band = job.band(2).unwrap();
    assert!((band.speedup.high - 1.8).abs() < 1e-12 && (band.speedup.low - 1.44).abs() < 1e-12);
    assert!(band.score(1.6, 0.0).held && !band.score(1.2, 0.0).held);
    assert!((band.score(1.62, 0.0).against_bound + 0.1).abs() < 1e-12);
}

#[test]
fn an_upper_edge_is_never_below_one() {
    let serial = OneCore {
        wanting: vec![0.2, 3.0],
        under_pressure: Some(1.4),
        clock: Some(0.8),
    };
    let band = serial.band(4).unwrap();
    assert!(
        (band.speedup.high - 1.0).abs() < 1e-12,
        "a task alone has the clock of a core alone"
    );
    assert!((band.speedup.low - 1.0 / 1.4).abs() < 1e-12);
    let disturbed = OneCore {
        wanting: vec![0.0, 0.0, 3.0],
        under_pressure: None,
        clock: Some(0.4),
    };
    let refused = disturbed.band(2).unwrap_err();
    assert!(refused.to_string().contains("0.40") && refused.to_string().contains("quieter"));
    let short = OneCore {
        wanting: vec![0.001],
        ..disturbed
    };
    assert_eq!(short.band(2), Err(NoForecast::NothingSeen));
}

#[test]
fn time_spent_waiting_does_not_shrink() {
    let job = OneCore {
        wanting: vec![3.0, 1.0],
        under_pressure: None,
        clock: None,
    };
    assert!((job.band(8).unwrap().speedup.high - 1.0).abs() < 1e-12);
}
