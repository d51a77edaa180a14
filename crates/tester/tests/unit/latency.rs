//! Of `tester/src/latency.rs`.

use super::*;

fn of(delays: impl IntoIterator<Item = u64>) -> Latency {
    of_numbered((1..).zip(delays))
}

/// Of frames of one stream, by number.
fn of_numbered(frames: impl IntoIterator<Item = (u32, u64)>) -> Latency {
    let (mut record, mut stream) = (Delays::new(), Neighbours::default());
    for (sequence, delay) in frames {
        record.take_of(&mut stream, sequence, delay);
    }
    record.summary().unwrap()
}

fn near(value: u64, expected: u64) -> bool {
    value.abs_diff(expected) * 1000 <= expected
}

#[test]
fn percentiles_of_a_ramp() {
    let latency = of((1..=100_000).map(|n| n * 10));
    assert_eq!(
        (latency.samples, latency.min_ns, latency.max_ns),
        (100_000, 10, 1_000_000)
    );
    assert!(near(latency.percentile(50.0).unwrap(), 500_000));
    assert!(near(latency.percentile(99.9).unwrap(), 999_000));
    assert!((latency.mean_ns - 500_005.0).abs() < 1.0);
    assert!(near(latency.pdv_ns.unwrap(), 998_990));
}

#[test]
fn a_percentile_needs_ten_samples_beyond_it() {
    let latency = of((0..9_999).map(|n| n + 100));
    assert!(latency.percentile(99.0).is_some());
    assert!(latency.percentile(99.9).is_none() && latency.pdv_ns.is_none());
    assert!(of((0..10_000).map(|n| n + 100)).percentile(99.9).is_some());
}

#[test]
fn variation_keeps_its_sign() {
    let latency = of([100, 150, 120, 120, 60, 61]);
    // Differences: 50, -30, 0, -60, 1.
    let ipdv = latency.ipdv.unwrap();
    assert_eq!((ipdv.min_ns, ipdv.max_ns), (-60, 50));
    assert!(ipdv.median_ns.abs() <= 1, "{}", ipdv.median_ns);
    assert!((latency.mean_variation_ns.unwrap() - 141.0 / 5.0).abs() < 1e-9);
}

#[test]
fn variation_is_between_consecutive_frames_of_one_stream() {
    // Number 3 is lost, 6 overtook 5: of pairs there are 1-2, 4-5 and 5-6.
    let latency = of_numbered([(1, 100), (2, 130), (4, 900), (6, 850), (5, 1000)]);
    let ipdv = latency.ipdv.unwrap();
    assert_eq!((ipdv.min_ns, ipdv.max_ns), (-150, 100));
    assert!((latency.mean_variation_ns.unwrap() - (30.0 + 100.0 + 150.0) / 3.0).abs() < 1e-9);
    // Two streams of different delays, frame by frame by turns: neither varies.
    let mut record = Delays::new();
    let mut streams = [Neighbours::default(), Neighbours::default()];
    for sequence in 1..100 {
        for (stream, delay) in streams.iter_mut().zip([100, 5_000]) {
            record.take_of(stream, sequence, delay);
        }
    }
    let ipdv = record.summary().unwrap().ipdv.unwrap();
    assert_eq!((ipdv.min_ns, ipdv.max_ns), (0, 0));
}

#[test]
fn jitter_is_that_of_rfc_3550() {
    let mut expected = 0.0_f64;
    for difference in [50.0, 30.0, 0.0, 60.0] {
        expected += (difference - expected) / 16.0;
    }
    let latency = of([100, 150, 120, 120, 60]);
    assert!((latency.rfc3550_jitter_ns.unwrap() - expected).abs() < 1e-9);
}

#[test]
fn a_histogram_from_the_kernel_keeps_exact_ends() {
    let mut record = Delays::new();
    record.take_histogram(
        &[(96, 99, 4), (1024, 1055, 16)],
        4 * 97 + 16 * 1030,
        97,
        1031,
    );
    record.take_variations(&[(10, 10, 19)]);
    let latency = record.summary().unwrap();
    assert_eq!(
        (latency.min_ns, latency.max_ns, latency.samples),
        (97, 1031, 20)
    );
    assert!((latency.mean_ns - (4.0 * 97.0 + 16.0 * 1030.0) / 20.0).abs() < 1e-9);
    assert_eq!((latency.ipdv, latency.rfc3550_jitter_ns), (None, None));
    assert_eq!(latency.mean_variation_ns, Some(10.0));
}

#[test]
fn nothing_has_no_latency() {
    assert!(Delays::new().summary().is_none());
}
