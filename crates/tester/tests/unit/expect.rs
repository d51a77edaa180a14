use super::*;

#[test]
fn units_and_operators() {
    let of = |text: &str| text.parse::<Expectation>().unwrap();
    let expectation = of("throughput[64] >= 1.0Mpps");
    assert_eq!(
        (expectation.test, expectation.frame_bytes),
        (Test::Throughput, Some(64))
    );
    assert!((expectation.value - 1e6).abs() < 1e-6);
    assert!((of("latency.worst[512] <= 100 us").value - 100_000.0).abs() < 1e-6);
    assert!((of("reset<500ms").value - 5e8).abs() < 1.0);
    assert!((of("loss <= 0.1%").value - 0.001).abs() < 1e-12);
    assert_eq!(of("back-to-back > 100").test, Test::BackToBack);
}

#[test]
fn nonsense_is_refused_by_name() {
    for text in [
        "throughput[64] = 1",
        "speed > 1",
        "throughput[64 > 1",
        "throughput > x",
        "throughput.max > 1",
        "loss < 1 furlong",
    ] {
        let error = text.parse::<Expectation>().unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
}
