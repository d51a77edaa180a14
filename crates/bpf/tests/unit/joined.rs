use super::*;
use crate::assemble::Assembler;

const STAND_IN: i32 = 0x7061_7374;

fn returns(number: i32) -> Vec<Instruction> {
    let mut assembler = Assembler::default();
    assembler.constant(0, number);
    assembler.leave();
    let mut program = assembler.finish();
    program.remove(1);
    program
}

fn call() -> Instruction {
    Instruction {
        code: CALL,
        registers: 0,
        offset: 0,
        immediate: STAND_IN,
    }
}

#[test]
fn a_program_goes_on_as_another_from_each_place_where_it_would_end() {
    let end = returns(0)[1];
    let program = vec![call(), end, call(), end];
    let joined = goes_on(program, STAND_IN, &returns(7)).unwrap();
    let jumps: Vec<_> = joined[..4]
        .iter()
        .map(|one| (one.code, one.offset))
        .collect();
    assert_eq!(jumps, [(JUMP, 0), (JUMP, 2), (JUMP, 0), (JUMP, 0)]);
    assert_eq!(joined[4..], returns(7));
}

#[test]
fn a_program_that_always_ends_itself_stays_alone() {
    let program = returns(5);
    assert_eq!(
        goes_on(program.clone(), STAND_IN, &returns(7)).unwrap(),
        program
    );
}

#[test]
fn a_program_that_does_not_end_at_the_call_is_refused() {
    let error = goes_on(vec![call(), call()], STAND_IN, &returns(7)).unwrap_err();
    assert!(error.to_string().contains("does not end"), "{error}");
    let error = goes_on(vec![call()], STAND_IN, &returns(7)).unwrap_err();
    assert!(error.to_string().contains("does not end"), "{error}");
}

#[test]
fn no_jump_is_longer_than_the_machine_has() {
    let end = returns(0)[1];
    let mut program = vec![call()];
    program.resize(0x8001, end);
    assert!(goes_on(program.clone(), STAND_IN, &returns(7)).is_ok());
    program.push(end);
    assert!(goes_on(program, STAND_IN, &returns(7)).is_err());
}

#[test]
fn each_call_finds_the_function_behind_the_program() {
    let end = returns(0)[1];
    let joined = calls(vec![call(), call(), end], STAND_IN, &returns(7));
    let calls = [0, 1].map(|at| (joined[at].registers, joined[at].immediate));
    assert_eq!(calls, [(PSEUDO_CALL << 4, 2), (PSEUDO_CALL << 4, 1)]);
    assert_eq!(joined[3..], returns(7));
}
