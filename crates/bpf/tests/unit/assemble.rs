use super::*;

#[test]
fn jumps_reach_their_labels() {
    let mut a = Assembler::default();
    a.leave_if_null(0);
    a.if_not_less(2, 8, "far");
    a.leave();
    a.label("far");
    a.leave();
    let program = a.finish();
    assert_eq!(program[0].offset, 5, "the end that `finish` adds");
    assert_eq!(program[1].offset, 2);
    assert_eq!(program.len(), 8);
}
