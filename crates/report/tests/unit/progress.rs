use super::*;

#[test]
fn line_counts_and_is_cut() {
    assert_eq!(line(3, 10, "memory"), "3/10  memory");
    assert_eq!(line(3, 0, "memory"), "3  memory");
    assert_eq!(line(3, 10, &"x".repeat(200)).chars().count(), WIDTH);
}
