use super::*;

#[test]
fn units_are_known_and_nonsense_is_not() {
    for (text, value) in [
        ("1.5 Mpps", 1.5e6),
        ("20us", 2e4),
        (" 0.1%", 1e-3),
        ("7", 7.0),
    ] {
        assert!(
            (quantity(text).unwrap() - value).abs() <= 1e-9 * value,
            "{text}"
        );
    }
    for text in ["", "x", "-1us", "1 furlong", "inf", "us"] {
        assert_eq!(quantity(text), None, "{text}");
    }
}
