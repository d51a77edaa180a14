use super::*;

#[test]
fn both_directions_read_the_same() {
    let words: Vec<u64> = (0..1000).collect();
    let first_of_lines: u64 = words.iter().step_by(LINE_WORDS).sum();
    assert_eq!(touch(&words, false), first_of_lines);
    assert_eq!(touch(&words, true), first_of_lines);
    assert_eq!(touch(&[], true), 0);
}

#[test]
fn clearing_backward_clears_everything() {
    let mut words = vec![1_u64; 1300];
    fill_backward(&mut words);
    assert!(words.iter().all(|&word| word == 0));
}
