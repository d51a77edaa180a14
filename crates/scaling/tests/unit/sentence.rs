use super::*;
use crate::cause::blame::USER;
use crate::cause::blame::tests::part;

#[test]
fn a_sentence_begins_and_ends_as_one() {
    assert_eq!(report::capital("with 2 cores"), "With 2 cores");
    assert_eq!(report::capital(""), "");
    assert_eq!(finished("so"), "so.");
    assert_eq!(finished("so."), "so.");
}

#[test]
fn the_largest_part_comes_first_and_small_ones_are_left_out() {
    let cause = [part(USER, 0.3), part(IDLE, 0.68), part(SYSTEM, 0.02)];
    assert_eq!(
        parts(&cause),
        ", 68 % is idle cores and 30 % is dearer user work"
    );
    assert_eq!(parts(&[part(IDLE, 0.05)]), ", the parts cannot be told");
}

#[test]
fn shares_above_the_whole_are_told_what_was_won_back() {
    let cause = [part(IDLE, 1.73), part(USER, -1.06), part(SYSTEM, 0.33)];
    assert_eq!(
        parts(&cause),
        ", 173 % is idle cores and 33 % is dearer system work; 106 % is won back by cheaper \
         user work"
    );
}
