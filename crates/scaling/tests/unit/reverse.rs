use super::*;

#[test]
fn both_directions_read_the_same() {
    let words: Vec<u64> = (0..1000).collect();
    let first_of_lines: u64 = words.iter().step_by(LINE_WORDS).sum();
    assert_eq!(touch(&words, false), first_of_lines);
    assert_eq!(touch(&words, true), first_of_lines);
    assert_eq!(touch(&[], true), 0);
}
