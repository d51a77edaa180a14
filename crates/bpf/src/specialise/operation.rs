//! What an instruction is, reads and writes
//! (`Documentation/bpf/standardization/instruction-set.rst`).

use crate::sys::Instruction;

/// `BPF_CLASS`, `BPF_OP`, `BPF_MODE`, `BPF_SIZE`, and `BPF_X`: the operand is a register.
const CLASS: u8 = 0x07;
const OPERATION: u8 = 0xf0;
const MODE: u8 = 0xe0;
const SIZE: u8 = 0x18;
const REGISTER: u8 = 0x08;

const LOAD_IMMEDIATE: u8 = 0x18;
const LDX: u8 = 0x01;
const ST: u8 = 0x02;
const STX: u8 = 0x03;
const ALU: u8 = 0x04;
const JMP: u8 = 0x05;
const JMP32: u8 = 0x06;
const ALU64: u8 = 0x07;
/// `BPF_MEM` and `BPF_ATOMIC`.
const MEMORY: u8 = 0x60;
const ATOMIC: u8 = 0xc0;

/// `BPF_OP` of arithmetic and of comparisons.
pub(super) const ADD: u8 = 0x00;
pub(super) const MOVE: u8 = 0xb0;
pub(super) const EQUAL: u8 = 0x10;
pub(super) const DIFFERENT: u8 = 0x50;

/// How much of a register an operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// The lower half; the upper one becomes zero.
    Half,
    /// All of it.
    Whole,
}

/// What an instruction is, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// Two places long.
    LoadImmediate,
    /// A plain load from memory.
    Load,
    /// A plain store.
    Store,
    /// Arithmetic, by its `BPF_OP`.
    Compute(Width, u8),
    /// A conditional jump, by its `BPF_OP`.
    Branch(Width, u8),
    /// An unconditional one, by 16 bits.
    Jump,
    /// Of a helper, or of a function.
    Call,
    /// The end.
    Exit,
    /// Something else: it stays.
    Other,
}

impl Operation {
    pub(super) fn of(instruction: Instruction) -> Self {
        let operation = instruction.code & OPERATION;
        match (instruction.code & CLASS, operation) {
            _ if instruction.code == LOAD_IMMEDIATE => Self::LoadImmediate,
            (LDX, _) if instruction.code & MODE == MEMORY => Self::Load,
            (ST | STX, _) if instruction.code & MODE == MEMORY => Self::Store,
            (ALU, _) => Self::Compute(Width::Half, operation),
            (ALU64, _) => Self::Compute(Width::Whole, operation),
            (JMP, 0x00) => Self::Jump,
            (JMP, 0x80) => Self::Call,
            (JMP, 0x90) => Self::Exit,
            (JMP, 0x10..=0xd0) => Self::Branch(Width::Whole, operation),
            (JMP32, 0x10..=0xd0) => Self::Branch(Width::Half, operation),
            _ => Self::Other,
        }
    }
}

/// Is it one that this knows to the end? A jump by 32 bits, or one that may be taken, is none.
pub(super) fn is_known(instruction: Instruction) -> bool {
    let class = instruction.code & CLASS;
    Operation::of(instruction) != Operation::Other || matches!(class, LDX | ST | STX)
}

/// Is its second operand a register?
pub(super) fn takes_register(instruction: Instruction) -> bool {
    match Operation::of(instruction) {
        Operation::Compute(..) | Operation::Branch(..) => instruction.code & REGISTER != 0,
        Operation::Store => instruction.code & CLASS == STX,
        operation => operation == Operation::Load,
    }
}

/// How many bytes a plain load or store is about.
pub(super) fn accessed(instruction: Instruction) -> Option<u8> {
    let plain = matches!(
        Operation::of(instruction),
        Operation::Load | Operation::Store
    );
    plain.then_some(match instruction.code & SIZE {
        0x00 => 4,
        0x08 => 2,
        0x10 => 1,
        _ => 8,
    })
}

/// A mask of registers that it reads.
pub(super) fn reads(instruction: Instruction) -> u16 {
    let to = 1 << (instruction.registers & 0x0f);
    let from = 1 << (instruction.registers >> 4);
    let operand = if takes_register(instruction) { from } else { 0 };
    match Operation::of(instruction) {
        Operation::LoadImmediate | Operation::Jump => 0,
        Operation::Load => from,
        Operation::Compute(_, MOVE) => operand,
        Operation::Compute(_, 0x80 | 0xd0) => to,
        Operation::Compute(..) | Operation::Branch(..) | Operation::Store => to | operand,
        Operation::Call => 0b11_1110,
        Operation::Exit => 1,
        // An atomic one compares with register 0.
        Operation::Other => to | from | 1,
    }
}

/// A mask of registers that hold something else afterwards.
pub(super) fn writes(instruction: Instruction) -> u16 {
    let to = 1 << (instruction.registers & 0x0f);
    let from = 1 << (instruction.registers >> 4);
    match Operation::of(instruction) {
        Operation::LoadImmediate | Operation::Load | Operation::Compute(..) => to,
        Operation::Branch(..) | Operation::Store | Operation::Jump | Operation::Exit => 0,
        Operation::Call => 0b11_1111,
        Operation::Other => match instruction.code & (CLASS | MODE) {
            code if code & CLASS == LDX => to,
            code if code == STX | ATOMIC => from | 1,
            _ => 0,
        },
    }
}

/// Where it may lead beside what follows: places in a program where it stands `at`.
pub(super) fn target(instruction: Instruction, at: usize) -> Option<usize> {
    match Operation::of(instruction) {
        Operation::Jump | Operation::Branch(..) => {
            (at + 1).checked_add_signed(isize::from(instruction.offset))
        }
        _ => None,
    }
}

/// A jump over so many instructions.
pub(super) const fn jump_over(offset: i16) -> Instruction {
    Instruction {
        code: JMP,
        registers: 0,
        offset,
        immediate: 0,
    }
}

/// The register that the instruction writes becomes a number, if one instruction can do that.
pub(super) fn constant(instruction: Instruction, number: u64) -> Option<Instruction> {
    let (code, immediate) = if let Some(immediate) = whole(number) {
        (ALU64 | MOVE, immediate)
    } else {
        (ALU | MOVE, u32::try_from(number).ok()?.cast_signed())
    };
    Some(Instruction {
        code,
        registers: instruction.registers & 0x0f,
        offset: 0,
        immediate,
    })
}

/// A number as an operand that the machine extends to 64 bits.
fn whole(number: u64) -> Option<i32> {
    i32::try_from(number.cast_signed()).ok()
}

/// The same arithmetic with this number in the place of the register, if there is such.
pub(super) fn with_immediate(
    instruction: Instruction,
    width: Width,
    operation: u8,
    number: u64,
) -> Option<Instruction> {
    let bits = match width {
        Width::Half => 32,
        Width::Whole => 64,
    };
    let exists = match operation {
        // The kernel refuses what makes no sense.
        0x60 | 0x70 | 0xc0 => number < bits,
        // Addition to multiplication, `or`, `and`, `xor`, a move that does not extend.
        0x00..=0x20 | 0x40 | 0x50 | 0xa0 | MOVE => instruction.offset == 0,
        _ => false,
    };
    let fits = exists && instruction.code & REGISTER != 0;
    fits.then(|| immediate(instruction, width, number))?
}

/// The same comparison with this number in the place of the register.
pub(super) fn compared_with_immediate(
    instruction: Instruction,
    width: Width,
    number: u64,
) -> Option<Instruction> {
    let fits = instruction.code & REGISTER != 0;
    fits.then(|| immediate(instruction, width, number))?
}

/// The same comparison with its operands exchanged.
pub(super) fn turned_round(instruction: Instruction, operation: u8) -> Option<Instruction> {
    let turned = match operation {
        EQUAL | DIFFERENT | 0x40 => operation,
        // Greater and less, greater or equal and less or equal; without a sign, then with one.
        0x20 => 0xa0,
        0x30 => 0xb0,
        0xa0 => 0x20,
        0xb0 => 0x30,
        0x60 => 0xc0,
        0x70 => 0xd0,
        0xc0 => 0x60,
        0xd0 => 0x70,
        _ => return None,
    };
    Some(Instruction {
        code: instruction.code & !OPERATION | turned,
        registers: instruction.registers.rotate_left(4),
        ..instruction
    })
}

fn immediate(instruction: Instruction, width: Width, number: u64) -> Option<Instruction> {
    Some(Instruction {
        code: instruction.code & !REGISTER,
        registers: instruction.registers & 0x0f,
        immediate: match width {
            Width::Half => (number as u32).cast_signed(),
            Width::Whole => whole(number)?,
        },
        ..instruction
    })
}

/// A number as an operation of this width sees it, without a sign and with one.
fn seen(width: Width, number: u64) -> (u64, i64) {
    match width {
        Width::Half => {
            let half = number as u32;
            (u64::from(half), i64::from(half.cast_signed()))
        }
        Width::Whole => (number, number.cast_signed()),
    }
}

/// What arithmetic gives for two numbers; none where this does not say.
pub(super) fn compute(
    instruction: Instruction,
    width: Width,
    operation: u8,
    to: u64,
    from: u64,
) -> Option<u64> {
    if instruction.offset != 0 {
        return None;
    }
    let ((to, signed), (from, _)) = (seen(width, to), seen(width, from));
    let amount = match width {
        Width::Half => from & 31,
        Width::Whole => from & 63,
    };
    let outcome = match operation {
        ADD => to.wrapping_add(from),
        0x10 => to.wrapping_sub(from),
        0x20 => to.wrapping_mul(from),
        0x40 => to | from,
        0x50 => to & from,
        0x60 => to << amount,
        0x70 => to >> amount,
        0x80 => to.wrapping_neg(),
        0xa0 => to ^ from,
        MOVE => from,
        0xc0 => (signed >> amount).cast_unsigned(),
        _ => return None,
    };
    Some(seen(width, outcome).0)
}

/// Whether a branch is taken for two numbers.
pub(super) fn is_taken(width: Width, operation: u8, to: u64, from: u64) -> Option<bool> {
    let ((to, signed_to), (from, signed_from)) = (seen(width, to), seen(width, from));
    Some(match operation {
        EQUAL => to == from,
        0x20 => to > from,
        0x30 => to >= from,
        0x40 => to & from != 0,
        DIFFERENT => to != from,
        0x60 => signed_to > signed_from,
        0x70 => signed_to >= signed_from,
        0xa0 => to < from,
        0xb0 => to <= from,
        0xc0 => signed_to < signed_from,
        0xd0 => signed_to <= signed_from,
        _ => return None,
    })
}
