//! Puts pieces of code behind a program, in the place of calls that stand for them.

use crate::sys::Instruction;
use crate::{Error, Result};

/// `BPF_JMP | BPF_CALL`.
pub(crate) const CALL: u8 = 0x85;
/// `BPF_PSEUDO_CALL`: the immediate is how far away the function is that is called.
const PSEUDO_CALL: u8 = 1;
/// `BPF_JMP | BPF_JA`.
const JUMP: u8 = 0x05;
/// `BPF_JMP | BPF_EXIT`.
const EXIT: u8 = 0x95;

/// The program, with a function behind it that it calls where it calls `stand_in`.
pub(crate) fn calls(
    mut program: Vec<Instruction>,
    stand_in: i32,
    function: &[Instruction],
) -> Vec<Instruction> {
    // The kernel takes a million instructions.
    let mut away = program.len() as u32;
    for call in &mut program {
        away -= 1;
        if is_call(*call, stand_in) {
            call.registers = PSEUDO_CALL << 4;
            call.immediate = away.cast_signed();
        }
    }
    program.extend_from_slice(function);
    program
}

/// The program, which goes on as another where it would call `stand_in` and end. The other finds the
/// registers of a call, and the stack as the program left it.
///
/// # Errors
/// [`Error::Object`] where it would not end there, or the way is longer than a jump.
pub(crate) fn goes_on(
    mut program: Vec<Instruction>,
    stand_in: i32,
    other: &[Instruction],
) -> Result<Vec<Instruction>> {
    let end = program.len();
    let mut goes = false;
    for at in 0..end {
        if !is_call(program[at], stand_in) {
            continue;
        }
        if program.get(at + 1).is_none_or(|next| next.code != EXIT) {
            let what = format!("the program does not end at its call {at}");
            return Err(Error::Object(what));
        }
        goes = true;
        // Two jumps for two instructions, or one would never be reached. The kernel takes out the first.
        program[at] = jump(0);
        let way = end - at - 2;
        let offset = i16::try_from(way);
        let offset =
            offset.map_err(|_| Error::Object(format!("no jump over {way} instructions")))?;
        program[at + 1] = jump(offset);
    }
    // The kernel takes no instruction that is never reached.
    if goes {
        program.extend_from_slice(other);
    }
    Ok(program)
}

const fn jump(offset: i16) -> Instruction {
    Instruction {
        code: JUMP,
        registers: 0,
        offset,
        immediate: 0,
    }
}

fn is_call(instruction: Instruction, stand_in: i32) -> bool {
    instruction.code == CALL && instruction.registers == 0 && instruction.immediate == stand_in
}

#[cfg(test)]
#[path = "../tests/unit/joined.rs"]
mod tests;
