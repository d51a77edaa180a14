//! Leaves out what writes a register, or a word of the stack, that nobody reads afterwards.

use super::operation::{self, Operation};
use super::values::Known;
use crate::sys::Instruction;

/// Masks of registers and of words of the stack.
type Needs = (u16, u64);

/// Drops computations whose outcome is not needed, loads of constants and stores to the program's
/// own part of the stack. All other loads and stores stay: who wrote one wants it done.
pub(super) fn drop_dead(program: &mut [Option<Instruction>], known: &[Option<Known>]) {
    // What somebody needs from each place on.
    let mut needed: Vec<Needs> = vec![(0, 0); program.len() + 2];
    loop {
        let mut changed = false;
        for at in (0..program.len()).rev() {
            let before = match (program[at], &known[at]) {
                (Some(instruction), Some(known)) => {
                    let after = after(&needed, at, instruction);
                    if is_dead(instruction, known, after) {
                        after
                    } else {
                        let registers = after.0 & !operation::writes(instruction);
                        // A load that has become a move reads nothing of the stack.
                        let reads = match Operation::of(instruction) {
                            Operation::Load => known.reads,
                            _ => 0,
                        };
                        (
                            registers | operation::reads(instruction),
                            after.1 & !known.fills | reads,
                        )
                    }
                }
                // The program comes through here to what follows, or not at all.
                _ => needed[at + 1],
            };
            changed |= before != needed[at];
            needed[at] = before;
        }
        if !changed {
            break;
        }
    }
    for at in 0..program.len() {
        if let (Some(instruction), Some(known)) = (program[at], &known[at])
            && is_dead(instruction, known, after(&needed, at, instruction))
        {
            program[at] = None;
        }
    }
}

fn after(needed: &[Needs], at: usize, instruction: Instruction) -> Needs {
    let target = operation::target(instruction, at).map_or((0, 0), |target| needed[target]);
    let next = match Operation::of(instruction) {
        Operation::Exit | Operation::Jump => (0, 0),
        Operation::LoadImmediate => needed[at + 2],
        _ => needed[at + 1],
    };
    (target.0 | next.0, target.1 | next.1)
}

fn is_dead(instruction: Instruction, known: &Known, (registers, words): Needs) -> bool {
    let unread = registers & operation::writes(instruction) == 0;
    match Operation::of(instruction) {
        Operation::LoadImmediate | Operation::Compute(..) => unread,
        Operation::Load => known.is_plain_load && unread,
        Operation::Store => known.touches != 0 && words & known.touches == 0,
        _ => false,
    }
}
