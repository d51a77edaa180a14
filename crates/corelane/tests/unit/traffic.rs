use super::*;

#[test]
fn proportions() {
    assert_eq!(blend("90:10").unwrap(), Blend { v4: 90, v6: 10 });
    for text in ["90", "0:0", "a:b", "-1:2", "5000:1"] {
        assert!(blend(text).unwrap_err().to_string().contains(text));
    }
}
