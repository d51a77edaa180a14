use super::*;

#[test]
fn sizes_have_units() {
    assert_eq!(size("36M"), Some(36 << 20));
    assert_eq!(size("512"), Some(512));
    assert_eq!(size("x"), None);
}
