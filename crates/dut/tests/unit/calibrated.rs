use super::*;

#[test]
fn settings_have_units() {
    let words = ["rate=500kpps", "delay=20us", "loss=0.5%", "buffer=64"].map(str::to_owned);
    let read = settings(&words).unwrap();
    assert!((read.rate - 5e5).abs() < 1e-6 && (read.loss - 0.005).abs() < 1e-12);
    assert_eq!((read.delay_ns, read.buffer), (20_000, 64));
}

#[test]
fn nonsense_is_refused_by_name() {
    for word in [
        "rate",
        "rate=fast",
        "rate=0",
        "colour=1",
        "delay=-1us",
        "loss=1furlong",
    ] {
        let error = settings(&[word.to_owned()]).unwrap_err().to_string();
        assert!(error.contains(word.split('=').next().unwrap()), "{error}");
    }
}
