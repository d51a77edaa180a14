use super::*;

#[test]
fn nothing_is_not_printed_as_a_gain() {
    for (share, printed) in [
        (-0.0, "0.0"),
        (-0.0004, "0.0"),
        (-0.012, "-1.2"),
        (0.5, "50.0"),
    ] {
        assert_eq!(format!("{:.1}", percent(share)), printed, "{share}");
    }
}
