use super::quoted;

#[test]
fn values_that_would_be_misread_are_quoted() {
    assert_eq!(quoted("r0"), "r0");
    assert_eq!(quoted(""), "\"\"");
    assert_eq!(quoted("a b"), "\"a b\"");
    assert_eq!(quoted("a=\"b\"\n"), "\"a=\\\"b\\\"\\n\"");
}
