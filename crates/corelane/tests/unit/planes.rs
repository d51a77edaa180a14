use super::*;

#[test]
fn quantities_are_read_with_their_units() {
    assert_eq!(rate("200M"), Ok(2e8));
    assert_eq!(rate("1.5Gbit/s"), Ok(1.5e9));
    assert_eq!(rate("64000"), Ok(64_000.0));
    assert_eq!(nanoseconds("50us"), Ok(5e4));
    assert_eq!(nanoseconds("50 µs"), Ok(5e4));
    assert_eq!(nanoseconds("30ms"), Ok(3e7));
    assert_eq!(nanoseconds("2s"), Ok(2e9));
    for wrong in ["", "fast", "-1M", "0"] {
        assert!(rate(wrong).is_err(), "{wrong}");
    }
    assert!(
        nanoseconds("50").is_err(),
        "a time without a unit is a guess"
    );
}
