use std::os::fd::{AsFd, AsRawFd};

use super::*;
use crate::map::Map;
use crate::sys::{self, Hook, MapDefinition, run_dry};

fn one(code: u8, to: u8, from: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction {
        code,
        registers: to | from << 4,
        offset,
        immediate,
    }
}

/// `to = address of the constant at offset`, and where it stands.
fn address(to: u8, offset: u32) -> [Instruction; 2] {
    [
        one(0x18, to, 2, 0, 0),
        one(0, 0, 0, 0, offset.cast_signed()),
    ]
}

fn referents(at: &[(usize, u32)]) -> BTreeMap<usize, Referent> {
    let referents = at.iter();
    referents
        .map(|&(at, offset)| (at, Referent::Constant(offset)))
        .collect()
}

#[test]
fn a_constant_decides_and_nothing_of_it_is_left() {
    let [first, second] = address(1, 8);
    let program = [
        first,
        second,
        one(0x79, 2, 1, 0, 0), // r2 = *(u64 *)r1
        one(0xb7, 0, 0, 0, 5), // r0 = 5
        one(0x15, 2, 0, 1, 7), // if r2 == 7 goto the end
        one(0x07, 0, 0, 0, 1), // r0 += 1
        one(0x95, 0, 0, 0, 0),
    ];
    let constants = |value: u64| [[0; 8], value.to_le_bytes()].concat();
    let made = |value| specialise(&program, &referents(&[(0, 8)]), &constants(value));
    let answer = |number| vec![one(0xb7, 0, 0, 0, number), one(0x95, 0, 0, 0, 0)];
    assert_eq!(made(7), answer(5));
    assert_eq!(made(8), answer(6));
}

#[test]
fn a_number_on_the_stack_is_known_until_its_address_is_given_away() {
    let mut program = vec![
        one(0xb7, 6, 0, 0, 3),    // r6 = 3
        one(0x7b, 10, 6, -16, 0), // *(u64 *)(r10 - 16) = r6
        one(0x7b, 10, 6, -8, 0),  // *(u64 *)(r10 - 8) = r6
        one(0xbf, 2, 10, 0, 0),   // r2 = r10
        one(0x07, 2, 0, 0, -8),   // r2 += -8
        one(0x85, 0, 0, 0, 1),    // a call
        one(0x79, 0, 10, -16, 0), // r0 = *(u64 *)(r10 - 16)
        one(0x79, 7, 10, -8, 0),  // r7 = *(u64 *)(r10 - 8)
        one(0x0f, 0, 7, 0, 0),    // r0 += r7
        one(0x95, 0, 0, 0, 0),
    ];
    let made = specialise(&program, &BTreeMap::new(), &[]);
    assert!(!made.contains(&program[1]), "nobody reads the lower word");
    assert!(made.contains(&one(0xb7, 0, 0, 0, 3)), "it is known");
    assert!(made.contains(&program[2]) && made.contains(&program[7]));
    // Now the lower word is what somebody else may know.
    program[4].immediate = -16;
    assert_eq!(specialise(&program, &BTreeMap::new(), &[]), program);
}

#[test]
fn what_it_does_not_know_it_leaves_alone() {
    // A jump by 32 bits.
    let program = [
        one(0xb7, 1, 0, 0, 1),
        one(0x06, 0, 0, 0, 0),
        one(0xb7, 0, 0, 0, 1),
        one(0x95, 0, 0, 0, 0),
    ];
    assert_eq!(specialise(&program, &BTreeMap::new(), &[]), program);
}

/// Numbers that look random (`xorshift64`, Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    /// Mostly a small one, so that many are alike, or one at the edge of 32 bits.
    fn number(&mut self) -> i32 {
        match self.below(4) {
            0 => self.below(1 << 32) as i32,
            1 => [i32::MIN, i32::MAX, -1, 0][self.below(4) as usize],
            _ => self.below(4) as i32,
        }
    }
}

/// Words of the stack that random programs use.
const STACK: u64 = 8;

/// A program that computes with constants, bytes of the frame and the stack, and jumps forward.
fn random_program(random: &mut Random, map: i32) -> (Vec<Instruction>, Vec<(usize, u32)>) {
    let mut program = vec![
        one(0x61, 2, 1, 0, 0), // r2 = where the frame begins
        one(0x61, 3, 1, 4, 0), // r3 = where it ends
        one(0xb7, 0, 0, 0, 1),
        one(0xbf, 4, 2, 0, 0),
        one(0x07, 4, 0, 0, 32),
        one(0xbd, 4, 3, 1, 0), // if it has 32 bytes, over the end
        one(0x95, 0, 0, 0, 0),
    ];
    for register in 6..10 {
        program.push(one(0x79, register, 2, 8 * (i16::from(register) - 6), 0));
    }
    for register in 1..6 {
        program.push(one(0xb7, register, 0, 0, random.number()));
    }
    for word in 1..=STACK as i16 {
        program.push(one(0x7b, 10, 1 + (word % 9) as u8, -8 * word, 0));
    }
    let mut at = Vec::new();
    let end = program.len() + 120;
    while program.len() < end {
        let to = random.below(10) as u8;
        let from = random.below(10) as u8;
        let slot = -8 * (1 + random.below(STACK)) as i16;
        // By size: a word, half of one, two bytes, one.
        let within = |size: u64, random: &mut Random| slot + (size * random.below(8 / size)) as i16;
        let class = [0x04, 0x07][random.below(2) as usize];
        match random.below(9) {
            0 => {
                at.push((program.len(), 8 * random.below(8) as u32));
                let offset = at[at.len() - 1].1.cast_signed();
                program.extend([one(0x18, to, 2, 0, map), one(0, 0, 0, 0, offset)]);
                let size = [0x61, 0x69, 0x71, 0x79][random.below(4) as usize];
                program.push(one(size, to, to, 0, 0));
            }
            1 => program.push(one(class | 0xb0, to, 0, 0, random.number())),
            2 => program.push(one(class | 0xb8, to, from, 0, 0)),
            3 | 4 => {
                let kind = [0x00, 0x10, 0x20, 0x40, 0x50, 0xa0][random.below(6) as usize];
                let operand = [(kind, 0, random.number()), (kind | 0x08, from, 0)];
                let (code, from, immediate) = operand[random.below(2) as usize];
                program.push(one(class | code, to, from, 0, immediate));
            }
            5 => {
                let kind = [0x60, 0x70, 0xc0][random.below(3) as usize];
                program.push(one(class | kind, to, 0, 0, random.below(32) as i32));
            }
            6 => {
                let (code, size) =
                    [(0x62, 4), (0x6a, 2), (0x72, 1), (0x7a, 8)][random.below(4) as usize];
                let stores_register = random.below(2) as u8;
                let immediate = [random.number(), 0][usize::from(stores_register)];
                let from = from * stores_register;
                let place = within(size, random);
                program.push(one(code | stores_register, 10, from, place, immediate));
            }
            7 => {
                let (code, size) =
                    [(0x61, 4), (0x69, 2), (0x71, 1), (0x79, 8)][random.below(4) as usize];
                program.push(one(code, to, 10, within(size, random), 0));
            }
            _ => {
                let kind = 0x10 * [1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13][random.below(11) as usize];
                let class = [0x05, 0x06][random.below(2) as usize];
                let operand = [(kind, 0, random.number()), (kind | 0x08, from, 0)];
                let (code, from, immediate) = operand[random.below(2) as usize];
                // Over one of the next: no 64-bit load is one.
                program.push(one(class | code, to, from, 1, immediate));
                program.push(one(0x07, to, 0, 0, random.number()));
            }
        }
    }
    // Everything counts in the answer.
    for register in 1..10 {
        program.push(one(0xaf, 0, register, 0, 0));
    }
    for word in 1..=STACK as i16 {
        program.push(one(0x79, 1, 10, -8 * word, 0));
        program.push(one(0xaf, 0, 1, 0, 0));
    }
    program.push(one(0xbf, 1, 0, 0, 0));
    program.push(one(0x77, 1, 0, 0, 32));
    program.push(one(0xaf, 0, 1, 0, 0));
    program.push(one(0x95, 0, 0, 0, 0));
    (program, at)
}

#[test]
fn random_programs_answer_as_before() {
    if !needs::root("to load programs") {
        return;
    }
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let constants: Vec<u8> = (0..64).map(|_| random.below(256) as u8).collect();
    let definition = MapDefinition {
        name: "constants".to_owned(),
        kind: sys::TYPE_ARRAY,
        key_size: 4,
        value_size: constants.len() as u32,
        entries: 1,
        flags: sys::MAP_READ_ONLY,
        key_type: 0,
        value_type: 0,
    };
    let map = Map::create(definition, None).unwrap();
    map.freeze(&constants).unwrap();
    let (mut before, mut after) = (0, 0);
    for number in 0..300 {
        let (program, at) = random_program(&mut random, map.as_fd().as_raw_fd());
        let made = specialise(&program, &referents(&at), &constants);
        (before, after) = (before + program.len(), after + made.len());
        let load = |code: &[Instruction]| {
            let mut log = vec![0; 1 << 16];
            sys::program_load(Hook::Xdp, "random", code, "GPL", 0, 0, &mut log).unwrap_or_else(
                |error| panic!("{number}: {error}: {}", String::from_utf8_lossy(&log)),
            )
        };
        let programs = [load(&program), load(&made)];
        for _ in 0..4 {
            let word = |_| u64::from(random.number().cast_unsigned()).to_le_bytes();
            let frame: Vec<u8> = (0..8).flat_map(word).collect();
            let run = |at: usize| run_dry(programs[at].as_fd(), &frame, 0, 1).unwrap().verdict;
            assert_eq!(run(0), run(1), "program {number}");
        }
    }
    assert!(
        after * 10 < before * 9,
        "{before} instructions became {after}"
    );
}
