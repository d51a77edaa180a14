use super::*;

#[test]
fn long_sentences_wrap_at_words() {
    let mut out = String::new();
    wrap(&mut out, &"word ".repeat(50));
    assert!(out.lines().count() > 2);
    assert!(
        out.lines()
            .all(|line| line.chars().count() <= WIDTH && !line.ends_with(' '))
    );
    assert_eq!(out.split_whitespace().count(), 50);
}
