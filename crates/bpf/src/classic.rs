//! Filters in classic BPF, as `tcpdump -ddd` prints them for an expression in pcap syntax.
//!
//! A filter is checked here, run here, or [translated](translate()) for the kernel. What a load beyond
//! the bytes that are there, or a division by zero, does is the same everywhere: the frame does not
//! pass.
//!
//! # What it cannot do
//! Filters that ask the kernel for more than bytes (`ifname`, `inbound`) are refused: a frame that is
//! captured has nothing beside it.

mod translate;

use std::str::FromStr;

pub use translate::{Bytes, translate};

/// Longest filter that is taken, in instructions: a long list of addresses.
pub const LONGEST: usize = 1024;
/// Words of memory (`BPF_MEMWORDS`).
const MEMORY: usize = 16;

const CLASS: u16 = 0x07;
const SIZE: u16 = 0x18;
const MODE: u16 = 0xe0;
const OPERATION: u16 = 0xf0;
const BY_X: u16 = 0x08;

/// One instruction (`struct sock_filter`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// What it does.
    pub code: u16,
    /// How many are skipped when a comparison holds.
    pub then: u8,
    /// How many else.
    pub otherwise: u8,
    /// Its number.
    pub k: u32,
}

/// A filter that ends, and reads nothing but the frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter(Vec<Instruction>);

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    /// Accumulator or index, from where, in bytes of this size.
    Load {
        index: bool,
        from: From,
    },
    /// Index: four times the low half of a byte, the length of an IPv4 header.
    LoadHeader,
    Store {
        index: bool,
    },
    Calculate {
        operation: u16,
        by_x: bool,
    },
    Jump,
    Compare {
        comparison: u16,
        by_x: bool,
    },
    Return {
        accumulator: bool,
    },
    ToIndex,
    ToAccumulator,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    Number,
    Memory,
    Length,
    /// At k.
    Frame(u32),
    /// At X + k.
    FrameIndexed(u32),
}

impl Instruction {
    pub(crate) fn does(self) -> Option<Does> {
        let by_x = self.code & BY_X != 0;
        let bytes = match self.code & SIZE {
            0x00 => 4,
            0x08 => 2,
            0x10 => 1,
            // What reads nothing has another meaning here.
            _ if self.code & CLASS < 2 => return None,
            _ => 0,
        };
        let whole = bytes == 4;
        Some(match self.code & CLASS {
            0 => Does::Load {
                index: false,
                from: match self.code & MODE {
                    0x00 if whole => From::Number,
                    0x20 => From::Frame(bytes),
                    0x40 => From::FrameIndexed(bytes),
                    0x60 if whole => From::Memory,
                    0x80 if whole => From::Length,
                    _ => return None,
                },
            },
            1 => match (self.code & MODE, bytes) {
                (0x00, 4) => Does::Load {
                    index: true,
                    from: From::Number,
                },
                (0x60, 4) => Does::Load {
                    index: true,
                    from: From::Memory,
                },
                (0x80, 4) => Does::Load {
                    index: true,
                    from: From::Length,
                },
                (0xa0, 1) => Does::LoadHeader,
                _ => return None,
            },
            2 => Does::Store { index: false },
            3 => Does::Store { index: true },
            4 => match self.code & OPERATION {
                operation @ 0x00..=0xa0 => Does::Calculate { operation, by_x },
                _ => return None,
            },
            5 => match self.code & OPERATION {
                0x00 => Does::Jump,
                comparison @ 0x10..=0x40 => Does::Compare { comparison, by_x },
                _ => return None,
            },
            6 => match self.code & SIZE {
                0x00 => Does::Return { accumulator: false },
                0x10 => Does::Return { accumulator: true },
                _ => return None,
            },
            _ if self.code & 0xf8 == 0x80 => Does::ToAccumulator,
            _ if self.code & 0xf8 == 0 => Does::ToIndex,
            _ => return None,
        })
    }

    /// Is its number one that the instruction can have?
    fn fits(self, does: Does) -> bool {
        match does {
            Does::Load {
                from: From::Frame(_) | From::FrameIndexed(_),
                ..
            }
            | Does::LoadHeader => i32::try_from(self.k).is_ok(),
            Does::Load {
                from: From::Memory, ..
            }
            | Does::Store { .. } => (self.k as usize) < MEMORY,
            Does::Calculate {
                operation: 0x30 | 0x90,
                by_x: false,
            } => self.k != 0,
            Does::Calculate {
                operation: 0x60 | 0x70,
                by_x: false,
            } => self.k < 32,
            _ => true,
        }
    }
}

impl Filter {
    /// Checks that these instructions are a filter.
    ///
    /// # Errors
    /// Which instruction is wrong, and why.
    pub fn new(instructions: Vec<Instruction>) -> Result<Self, String> {
        let count = instructions.len();
        if count == 0 || count > LONGEST {
            return Err(format!(
                "a filter has 1 to {LONGEST} instructions, not {count}"
            ));
        }
        for (at, instruction) in instructions.iter().enumerate() {
            let does = instruction.does();
            let does = does.filter(|does| instruction.fits(*does)).ok_or_else(|| {
                format!(
                    "instruction {at} ({:#x}, {}) is none that a captured frame can answer",
                    instruction.code, instruction.k
                )
            })?;
            let farthest = match does {
                Does::Return { .. } => continue,
                Does::Jump => instruction.k as usize,
                Does::Compare { .. } => usize::from(instruction.then.max(instruction.otherwise)),
                _ => 0,
            };
            if at.saturating_add(farthest) + 1 >= count {
                return Err(format!("instruction {at} leads behind the end"));
            }
        }
        Ok(Self(instructions))
    }

    /// Its instructions.
    pub fn instructions(&self) -> &[Instruction] {
        &self.0
    }

    /// Does its answer depend on how long the frame is?
    pub fn measures(&self) -> bool {
        let length = |does| {
            matches!(
                does,
                Some(Does::Load {
                    from: From::Length,
                    ..
                })
            )
        };
        self.0.iter().any(|one| length(one.does()))
    }

    /// Does a frame of `length` bytes pass, of which these are there?
    pub fn passes(&self, bytes: &[u8], length: u32) -> bool {
        self.run(bytes, length).unwrap_or(0) != 0
    }

    fn run(&self, bytes: &[u8], length: u32) -> Option<u32> {
        let (mut a, mut x, mut memory, mut at) = (0_u32, 0_u32, [0_u32; MEMORY], 0);
        let load = |from: u64, size: u32| {
            let from = usize::try_from(from).ok()?;
            let bytes = bytes.get(from..from.checked_add(size as usize)?)?;
            Some(
                bytes
                    .iter()
                    .fold(0, |all, &byte| all << 8 | u32::from(byte)),
            )
        };
        // Every jump leads on, and the last instruction returns (`new`).
        loop {
            let one = *self.0.get(at)?;
            at += 1;
            match one.does()? {
                Does::Load { index, from } => {
                    let value = match from {
                        From::Number => one.k,
                        From::Memory => memory[one.k as usize],
                        From::Length => length,
                        From::Frame(size) => load(one.k.into(), size)?,
                        From::FrameIndexed(size) => load(u64::from(one.k) + u64::from(x), size)?,
                    };
                    *(if index { &mut x } else { &mut a }) = value;
                }
                Does::LoadHeader => x = (load(one.k.into(), 1)? & 15) * 4,
                Does::Store { index } => memory[one.k as usize] = if index { x } else { a },
                Does::Calculate { operation, by_x } => {
                    let by = if by_x { x } else { one.k };
                    a = calculate(operation, a, by)?;
                }
                Does::Jump => at += one.k as usize,
                Does::Compare { comparison, by_x } => {
                    let by = if by_x { x } else { one.k };
                    let holds = match comparison {
                        0x10 => a == by,
                        0x20 => a > by,
                        0x30 => a >= by,
                        _ => a & by != 0,
                    };
                    at += usize::from(if holds { one.then } else { one.otherwise });
                }
                Does::Return { accumulator } => return Some(if accumulator { a } else { one.k }),
                Does::ToIndex => x = a,
                Does::ToAccumulator => a = x,
            }
        }
    }
}

fn calculate(operation: u16, a: u32, by: u32) -> Option<u32> {
    Some(match operation {
        0x00 => a.wrapping_add(by),
        0x10 => a.wrapping_sub(by),
        0x20 => a.wrapping_mul(by),
        0x30 => a.checked_div(by)?,
        0x40 => a | by,
        0x50 => a & by,
        0x60 => a.checked_shl(by).unwrap_or(0),
        0x70 => a.checked_shr(by).unwrap_or(0),
        0x80 => a.wrapping_neg(),
        0x90 => a.checked_rem(by)?,
        _ => a ^ by,
    })
}

impl FromStr for Filter {
    type Err = String;

    /// What `tcpdump -ddd` prints: how many instructions, then one in a line.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let said: usize = lines
            .next()
            .and_then(|line| line.parse().ok())
            .ok_or("not what `tcpdump -ddd` prints: it begins with the number of instructions")?;
        let mut instructions = Vec::new();
        for line in lines {
            let mut fields = line.split_whitespace();
            let mut field = || fields.next()?.parse::<u32>().ok();
            let read = (|| {
                Some(Instruction {
                    code: field()?.try_into().ok()?,
                    then: field()?.try_into().ok()?,
                    otherwise: field()?.try_into().ok()?,
                    k: field()?,
                })
            })();
            instructions.push(read.ok_or_else(|| {
                format!("{line:?} is no instruction: `tcpdump -ddd` prints four numbers for each")
            })?);
        }
        if instructions.len() != said {
            return Err(format!(
                "{said} instructions are announced, and {} are there",
                instructions.len()
            ));
        }
        Self::new(instructions)
    }
}
