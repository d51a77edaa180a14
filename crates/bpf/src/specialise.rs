//! Makes a program for its constants before the kernel sees it.
//!
//! The verifier knows what the constants are, and drops the branches that they rule out. It leaves
//! every load of a constant, and all that is computed from one. Both cost each frame time. Here they
//! become immediate operands, and what nobody needs any more is left out: constant propagation along
//! the ways that a program can go (Wegman and Zadeck, "Constant Propagation with Conditional
//! Branches", 1991), then liveness.
//!
//! - [`values`]: what registers and the [stack](frame) hold before each instruction.
//! - [`live`]: which instructions anybody needs.
//! - [`operation`]: what an instruction is, reads and writes.
//!
//! What it cannot do: it learns nothing from comparisons. A part of the stack whose address is given
//! away is nothing to it.

mod frame;
mod live;
mod operation;
mod values;

use std::collections::BTreeMap;

use crate::sys::Instruction;
use operation::Operation;
use values::{Known, Value};

/// What a "load 64-bit immediate" of a program refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Referent {
    /// The constants, so many bytes from their beginning.
    Constant(u32),
    /// The value of an array.
    Value,
    /// A map.
    Map,
}

/// The same program for these constants. `referents` are by the places of the instructions.
pub(crate) fn specialise(
    program: &[Instruction],
    referents: &BTreeMap<usize, Referent>,
    constants: &[u8],
) -> Vec<Instruction> {
    let known = values::find(program, referents, constants);
    let strange = |(one, known): (&Instruction, &Option<Known>)| {
        known.is_some() && !operation::is_known(*one)
    };
    if program.iter().zip(&known).any(strange) {
        return program.to_vec();
    }
    let rewritten = |(one, known): (&Instruction, &Option<Known>)| rewritten(*one, known.as_ref()?);
    let mut left: Vec<_> = program.iter().zip(&known).map(rewritten).collect();
    live::drop_dead(&mut left, &known);
    compact(program, left)
}

/// The instruction, with what is known of its operands and its outcome; none for a branch that is
/// never taken.
fn rewritten(instruction: Instruction, known: &Known) -> Option<Instruction> {
    match known.decided {
        Some(true) => return Some(operation::jump_over(instruction.offset)),
        Some(false) => return None,
        None => {}
    }
    let simpler = match (Operation::of(instruction), known.outcome, known.operands) {
        (Operation::Load | Operation::Compute(..), Value::Number(number), _) => {
            operation::constant(instruction, number)
        }
        (Operation::Compute(width, operation), _, (_, Value::Number(number))) => {
            operation::with_immediate(instruction, width, operation, number)
        }
        (Operation::Branch(width, _), _, (_, Value::Number(number))) => {
            operation::compared_with_immediate(instruction, width, number)
        }
        (Operation::Branch(width, operation), _, (Value::Number(number), _)) => {
            operation::turned_round(instruction, operation)
                .and_then(|turned| operation::compared_with_immediate(turned, width, number))
        }
        _ => None,
    };
    Some(simpler.unwrap_or(instruction))
}

/// What is left, one behind the other.
fn compact(program: &[Instruction], mut kept: Vec<Option<Instruction>>) -> Vec<Instruction> {
    let mut places = places(program, &kept);
    // A jump to what follows is none. The kernel would take it out, each time moving all the rest.
    loop {
        let leads_on = |(at, one): (usize, &Option<Instruction>)| {
            let jump = (*one)?;
            let target = operation::target(jump, at)?;
            let is_jump = Operation::of(jump) == Operation::Jump;
            (is_jump && places[target] == places[at] + 1).then_some(at)
        };
        let useless: Vec<usize> = kept.iter().enumerate().filter_map(leads_on).collect();
        if useless.is_empty() {
            break;
        }
        for at in useless {
            kept[at] = None;
        }
        places = self::places(program, &kept);
    }
    let mut left = Vec::with_capacity(program.len());
    for (at, one) in kept.iter().enumerate() {
        let Some(mut instruction) = *one else {
            continue;
        };
        if let Some(target) = operation::target(instruction, at) {
            // No way becomes longer.
            let way = places[target].cast_signed() - places[at].cast_signed() - 1;
            instruction.offset = way as i16;
        }
        left.push(instruction);
        if is_wide(program[at]) {
            left.push(program[at + 1]);
        }
    }
    left
}

/// Where each instruction comes to stand, or what is left behind it.
fn places(program: &[Instruction], kept: &[Option<Instruction>]) -> Vec<usize> {
    let mut places = Vec::with_capacity(program.len());
    let mut next = 0;
    for (instruction, one) in program.iter().zip(kept) {
        places.push(next);
        next += match one {
            Some(_) if is_wide(*instruction) => 2,
            Some(_) => 1,
            None => 0,
        };
    }
    places
}

fn is_wide(instruction: Instruction) -> bool {
    Operation::of(instruction) == Operation::LoadImmediate
}

#[cfg(test)]
#[path = "../tests/unit/specialise.rs"]
mod tests;
