//! Writes eBPF instructions (`Documentation/bpf/standardization/instruction-set.rst`) for the few
//! things our programs do.
//!
//! Registers are numbered as there: 0 is a call's answer, 1 to 5 its arguments (lost by it), 6 to 9
//! survive calls, 10 is the stack.

use crate::sys::Instruction;

const STACK: u8 = 10;

/// A program on the way.
#[derive(Default)]
pub struct Assembler {
    instructions: Vec<Instruction>,
    /// Jumps that wait for their label: place, label.
    jumps: Vec<(usize, &'static str)>,
    labels: Vec<(&'static str, usize)>,
}

/// Where a failed lookup goes.
const OUT: &str = "out";

impl Assembler {
    fn push(&mut self, code: u8, to: u8, from: u8, offset: i16, immediate: i32) {
        self.instructions.push(Instruction {
            code,
            registers: to | from << 4,
            offset,
            immediate,
        });
    }

    /// `to = *(u64 *)(from + offset)`
    pub fn load64(&mut self, to: u8, from: u8, offset: i16) {
        self.push(0x79, to, from, offset, 0);
    }

    /// `to = *(u32 *)(from + offset)`
    pub fn load32(&mut self, to: u8, from: u8, offset: i16) {
        self.push(0x61, to, from, offset, 0);
    }

    /// `*(u64 *)(to + offset) = from`
    pub fn store64(&mut self, to: u8, offset: i16, from: u8) {
        self.push(0x7b, to, from, offset, 0);
    }

    /// Stores the low half of `from` on the stack.
    pub fn store32_on_stack(&mut self, offset: i16, from: u8) {
        self.push(0x63, STACK, from, offset, 0);
    }

    /// Adds `from` to the 64 bits at `to + offset` in one step, after everything stored before
    /// (`BPF_ADD | BPF_FETCH`). `from` gets the old value.
    pub fn add_in_order(&mut self, to: u8, offset: i16, from: u8) {
        self.push(0xdb, to, from, offset, 0x01);
    }

    /// `*(u64 *)(to + offset) = from`, after everything stored before. Where the machine keeps
    /// stores in order anyway (Intel's manual, volume 3, 9.2.2) this is a plain store,
    /// elsewhere an exchange (`BPF_XCHG`), after which `from` has the old value.
    pub fn store64_in_order(&mut self, to: u8, offset: i16, from: u8) {
        if cfg!(target_arch = "x86_64") {
            self.store64(to, offset, from);
        } else {
            self.push(0xdb, to, from, offset, 0xe1);
        }
    }

    /// `to = value`
    pub fn constant(&mut self, to: u8, value: i32) {
        self.push(0xb7, to, 0, 0, value);
    }

    /// `to = from`
    pub fn copy(&mut self, to: u8, from: u8) {
        self.push(0xbf, to, from, 0, 0);
    }

    /// Clears the upper 32 bits.
    pub fn low_half(&mut self, register: u8) {
        self.push(0xbc, register, register, 0, 0);
    }

    /// `to += from`
    pub fn add(&mut self, to: u8, from: u8) {
        self.push(0x0f, to, from, 0, 0);
    }

    /// `to += 1`
    pub fn increase(&mut self, to: u8) {
        self.push(0x07, to, 0, 0, 1);
    }

    /// `to -= from`
    pub fn subtract(&mut self, to: u8, from: u8) {
        self.push(0x1f, to, from, 0, 0);
    }

    /// `to *= value`
    pub fn multiply(&mut self, to: u8, value: i32) {
        self.push(0x27, to, 0, 0, value);
    }

    /// `to &= mask`
    pub fn and(&mut self, to: u8, mask: i32) {
        self.push(0x57, to, 0, 0, mask);
    }

    /// `to |= from`
    pub fn or(&mut self, to: u8, from: u8) {
        self.push(0x4f, to, from, 0, 0);
    }

    /// `to <<= bits`
    pub fn shift_left(&mut self, to: u8, bits: u32) {
        self.push(0x67, to, 0, 0, bits.cast_signed());
    }

    /// Calls a helper by its number in `include/uapi/linux/bpf.h`.
    pub fn call(&mut self, helper: i32) {
        self.push(0x85, 0, 0, 0, helper);
    }

    /// Register 0 becomes the address of the array's element whose index stands on the stack, or
    /// null.
    pub fn element(&mut self, lookup: i32, map: i32, key: i16) {
        const MAP_DESCRIPTOR: u8 = 1;
        self.push(0x18, 1, MAP_DESCRIPTOR, 0, map);
        self.push(0, 0, 0, 0, 0);
        self.copy(2, STACK);
        self.push(0x07, 2, 0, 0, i32::from(key));
        self.call(lookup);
    }

    /// Ends the program when `register` is null.
    pub fn leave_if_null(&mut self, register: u8) {
        self.jumps.push((self.instructions.len(), OUT));
        self.push(0x15, register, 0, 0, 0);
    }

    /// Goes to `label` unless `register < value`.
    pub fn if_not_less(&mut self, register: u8, value: i32, label: &'static str) {
        self.jumps.push((self.instructions.len(), label));
        self.push(0x35, register, 0, 0, value);
    }

    /// Names the next instruction.
    pub fn label(&mut self, label: &'static str) {
        self.labels.push((label, self.instructions.len()));
    }

    /// Ends the program.
    pub fn leave(&mut self) {
        self.constant(0, 0);
        self.push(0x95, 0, 0, 0, 0);
    }

    /// The program, its jumps resolved.
    pub fn finish(mut self) -> Vec<Instruction> {
        self.label(OUT);
        self.leave();
        for (at, label) in &self.jumps {
            let target = self.labels.iter().find(|(known, _)| known == label);
            // Every label used above is set before `finish`: the programs are fixed, and a test
            // loads them.
            if let Some((_, target)) = target {
                self.instructions[*at].offset = ((target - at - 1) as u16).cast_signed();
            }
        }
        self.instructions
    }
}

#[cfg(test)]
#[path = "../tests/unit/assemble.rs"]
mod tests;
