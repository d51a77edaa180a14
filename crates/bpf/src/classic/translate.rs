//! A classic filter as a function of the kernel's eBPF machine.
//!
//! It is given the frame's first bytes (r1), how many or where they end (r2, [`Bytes`]) and the frame's
//! length (r3), and says whether the frame passes (r0). The accumulator is r0, the index r5; r4 and r6 are
//! for addresses, the stack is the filter's memory. Nothing loops, so its cost is bounded by its length.

use super::{Does, Filter, From, Instruction as Classic};
use crate::sys::Instruction;

const A: u8 = 0;
const BYTES: u8 = 1;
const KEPT: u8 = 2;
const LENGTH: u8 = 3;
const AT: u8 = 4;
const X: u8 = 5;
const END: u8 = 6;
const FRAME: u8 = 10;

const LOAD: u8 = 0x61;
const STORE: u8 = 0x63;
const STORE_NUMBER: u8 = 0x62;
const ALU: u8 = 0x04;
const ALU64: u8 = 0x07;
const JUMP: u8 = 0x05;
const JUMP32: u8 = 0x06;
const REGISTER: u8 = 0x08;
const MOVE: u8 = 0xb0;
const ADD: u8 = 0x00;
const AND: u8 = 0x50;
const SHIFT_LEFT: u8 = 0x60;
const TO_BIG_ENDIAN: u8 = 0xdc;
const IF_GREATER: u8 = 0x20;
const IF_LESS: u8 = 0xa0;
const IF_LESS_OR_EQUAL: u8 = 0xb0;
const IF_EQUAL: u8 = 0x10;
const IF_NOT_EQUAL: u8 = 0x50;
const IF_GREATER_OR_EQUAL: u8 = 0x30;
const EXIT: u8 = 0x95;

/// What the filter reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bytes {
    /// A copy of the frame's beginning; r2 is how many bytes it has.
    Copied,
    /// The frame itself; r2 is its end.
    Frame,
}

/// Where a jump leads that is filled in at the end.
#[derive(Clone, Copy)]
enum To {
    /// A classic instruction.
    Classic(usize),
    Refusal,
}

struct Writer {
    bytes: Bytes,
    code: Vec<Instruction>,
    jumps: Vec<(usize, To)>,
}

impl Writer {
    fn put(&mut self, code: u8, to: u8, from: u8, offset: i16, immediate: i32) {
        self.code.push(Instruction {
            code,
            registers: to | from << 4,
            offset,
            immediate,
        });
    }

    fn number(&mut self, code: u8, to: u8, immediate: u32) {
        self.put(code, to, 0, 0, immediate.cast_signed());
    }

    fn register(&mut self, code: u8, to: u8, from: u8) {
        self.put(code | REGISTER, to, from, 0, 0);
    }

    fn jump(&mut self, code: u8, to: u8, from: u8, immediate: u32, target: To) {
        self.jumps.push((self.code.len(), target));
        self.put(code, to, from, 0, immediate.cast_signed());
    }

    /// `size` bytes at `register` + `offset`, as they are in a frame.
    fn load(&mut self, into: u8, register: u8, offset: i16, size: u32) {
        let bits = match size {
            4 => 0x00,
            2 => 0x08,
            _ => 0x10,
        };
        self.put(LOAD | bits, into, register, offset, 0);
        if size > 1 {
            self.number(TO_BIG_ENDIAN, into, size * 8);
        }
    }
}

/// The filter for frames of which at most `snap` bytes are there. `None` where it is too long.
pub fn translate(filter: &Filter, snap: u16, bytes: Bytes) -> Option<Vec<Instruction>> {
    let classic = filter.instructions();
    let reached = reached(filter);
    let mut writer = Writer {
        bytes,
        code: Vec::new(),
        jumps: Vec::new(),
    };
    let slot = |word: u32| -(4 * (word as i16 + 1));
    // What was never stored is zero, which the verifier has to see.
    writer.number(ALU | MOVE, A, 0);
    writer.number(ALU | MOVE, X, 0);
    let mut remembered: Vec<u32> = (classic.iter())
        .filter(|one| {
            matches!(
                one.does(),
                Some(Does::Load {
                    from: From::Memory,
                    ..
                })
            )
        })
        .map(|one| one.k)
        .collect();
    remembered.sort_unstable();
    remembered.dedup();
    for word in remembered {
        writer.put(STORE_NUMBER, FRAME, 0, slot(word), 0);
    }
    let mut places = vec![0; classic.len()];
    // How many bytes are there for certain, whatever way led to an instruction.
    let mut known = vec![u32::MAX; classic.len()];
    known[0] = 0;
    for (at, one) in classic.iter().enumerate() {
        places[at] = writer.code.len();
        if !reached[at] {
            continue;
        }
        let mut there = known[at];
        match one.does()? {
            Does::Load { index, from } => {
                let to = if index { X } else { A };
                match from {
                    From::Number => writer.number(ALU | MOVE, to, one.k),
                    From::Memory => writer.put(LOAD, to, FRAME, slot(one.k), 0),
                    From::Length => writer.register(ALU | MOVE, to, LENGTH),
                    From::Frame(size) => {
                        from_frame(&mut writer, to, one.k, size, snap, &mut there);
                    }
                    From::FrameIndexed(size) => indexed(&mut writer, to, one.k, size, snap),
                }
            }
            Does::LoadHeader => {
                from_frame(&mut writer, X, one.k, 1, snap, &mut there);
                writer.number(ALU | AND, X, 15);
                writer.number(ALU | SHIFT_LEFT, X, 2);
            }
            Does::Store { index } => {
                let from = if index { X } else { A };
                writer.put(STORE, FRAME, from, slot(one.k), 0);
            }
            Does::Calculate { operation, by_x } => calculate(&mut writer, operation, by_x, one.k),
            Does::Jump => writer.jump(JUMP, 0, 0, 0, To::Classic(at + 1 + one.k as usize)),
            Does::Compare { comparison, by_x } => {
                let comparison = comparison as u8;
                let (register, from, number) = if by_x {
                    (REGISTER, X, 0)
                } else {
                    (0, 0, one.k)
                };
                let then = at + 1 + usize::from(one.then);
                let otherwise = at + 1 + usize::from(one.otherwise);
                // One jump is enough where one of both is the next instruction.
                if let Some(opposite) = opposite(comparison).filter(|_| one.then == 0) {
                    let code = opposite | JUMP32 | register;
                    writer.jump(code, A, from, number, To::Classic(otherwise));
                } else {
                    let code = comparison | JUMP32 | register;
                    writer.jump(code, A, from, number, To::Classic(then));
                    if one.otherwise > 0 {
                        writer.jump(JUMP, 0, 0, 0, To::Classic(otherwise));
                    }
                }
            }
            Does::Return { accumulator } => {
                if !accumulator {
                    writer.number(ALU | MOVE, A, one.k);
                }
                writer.put(EXIT, 0, 0, 0, 0);
            }
            Does::ToIndex => writer.register(ALU | MOVE, X, A),
            Does::ToAccumulator => writer.register(ALU | MOVE, A, X),
        }
        for next in leads(at, *one) {
            known[next] = known[next].min(there);
        }
    }
    finish(writer, &places)
}

/// Fills the jumps in.
fn finish(mut writer: Writer, places: &[usize]) -> Option<Vec<Instruction>> {
    let refusal = writer.code.len();
    for (at, to) in std::mem::take(&mut writer.jumps) {
        let target = match to {
            To::Classic(at) => places[at],
            To::Refusal => refusal,
        };
        writer.code[at].offset = i16::try_from(target - at - 1).ok()?;
        if matches!(to, To::Refusal) && writer.code.len() == refusal {
            writer.number(ALU | MOVE, A, 0);
            writer.put(EXIT, 0, 0, 0, 0);
        }
    }
    Some(writer.code)
}

/// Which instructions a frame can come to: the verifier takes no others.
fn reached(filter: &Filter) -> Vec<bool> {
    let classic = filter.instructions();
    let mut reached = vec![false; classic.len()];
    reached[0] = true;
    for (at, one) in classic.iter().enumerate() {
        if !reached[at] {
            continue;
        }
        for next in leads(at, *one) {
            reached[next] = true;
        }
    }
    reached
}

/// The instructions that may follow one. Every jump leads on, and none behind the end (`Filter::new`).
fn leads(at: usize, one: Classic) -> impl Iterator<Item = usize> {
    let (first, second) = match one.does() {
        Some(Does::Return { .. }) | None => (None, None),
        Some(Does::Jump) => (Some(one.k as usize), None),
        Some(Does::Compare { .. }) => (Some(one.then.into()), Some(one.otherwise.into())),
        Some(_) => (Some(0), None),
    };
    let after = move |skipped| at + 1 + skipped;
    first.into_iter().chain(second).map(after)
}

/// The comparison that holds where another does not, if the machine has one.
fn opposite(comparison: u8) -> Option<u8> {
    Some(match comparison {
        IF_EQUAL => IF_NOT_EQUAL,
        IF_GREATER => IF_LESS_OR_EQUAL,
        IF_GREATER_OR_EQUAL => IF_LESS,
        _ => return None,
    })
}

/// `there`: so many bytes are there for certain.
fn from_frame(writer: &mut Writer, to: u8, k: u32, size: u32, snap: u16, there: &mut u32) {
    let end = u64::from(k) + u64::from(size);
    // Within what is there by the second condition, so it fits.
    match u16::try_from(end).ok().filter(|end| *end <= snap) {
        Some(end) => {
            if *there >= end.into() {
                // They have been looked for.
            } else if writer.bytes == Bytes::Copied {
                writer.jump(JUMP | IF_LESS, KEPT, 0, end.into(), To::Refusal);
            } else {
                writer.register(ALU64 | MOVE, AT, BYTES);
                writer.number(ALU64 | ADD, AT, end.into());
                writer.jump(JUMP | IF_GREATER | REGISTER, AT, KEPT, 0, To::Refusal);
            }
            *there = u32::from(end).max(*there);
            writer.load(to, BYTES, k as i16, size);
        }
        None => never(writer, to),
    }
}

/// A frame has no such bytes. What follows may be reached in no other way, and needs a value then.
fn never(writer: &mut Writer, to: u8) {
    writer.number(ALU | MOVE, AT, 0);
    writer.jump(JUMP | IF_EQUAL, AT, 0, 0, To::Refusal);
    writer.number(ALU | MOVE, to, 0);
}

fn indexed(writer: &mut Writer, to: u8, k: u32, size: u32, snap: u16) {
    let Some(end) = k.checked_add(size).filter(|end| *end <= snap.into()) else {
        return never(writer, to);
    };
    writer.register(ALU | MOVE, AT, X);
    writer.jump(JUMP | IF_GREATER, AT, 0, u32::from(snap) - end, To::Refusal);
    if writer.bytes == Bytes::Frame {
        writer.register(ALU64 | ADD, AT, BYTES);
    }
    writer.register(ALU64 | MOVE, END, AT);
    writer.number(ALU64 | ADD, END, end);
    writer.jump(JUMP | IF_GREATER | REGISTER, END, KEPT, 0, To::Refusal);
    if writer.bytes == Bytes::Copied {
        writer.register(ALU64 | ADD, AT, BYTES);
    }
    // Less than `snap`, which has 16 bits.
    writer.load(to, AT, k as i16, size);
}

fn calculate(writer: &mut Writer, operation: u16, by_x: bool, k: u32) {
    const SHIFTS: [u16; 2] = [0x60, 0x70];
    const DIVISIONS: [u16; 2] = [0x30, 0x90];
    let code = ALU | operation as u8;
    if operation == 0x80 {
        writer.number(code, A, 0);
    } else if !by_x {
        writer.number(code, A, k);
    } else if SHIFTS.contains(&operation) {
        // The machine shifts by the low five bits alone.
        writer.put(JUMP32 | IF_LESS_OR_EQUAL, X, 0, 2, 31);
        writer.number(ALU | MOVE, A, 0);
        writer.put(JUMP, 0, 0, 1, 0);
        writer.register(code, A, X);
    } else {
        if DIVISIONS.contains(&operation) {
            writer.jump(JUMP32 | IF_EQUAL, X, 0, 0, To::Refusal);
        }
        writer.register(code, A, X);
    }
}
