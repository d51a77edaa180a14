//! What each register and each word of the stack holds before each instruction that can be reached,
//! as far as the program and its constants say.

use std::collections::{BTreeMap, BTreeSet};

use super::Referent;
use super::frame::{Span, WORDS};
use super::operation::{self, Operation, Width};
use crate::sys::Instruction;

/// What a register holds, whatever way led there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Number(u64),
    /// The address of the constant that lies so many bytes from their beginning.
    Constant(u32),
    /// The address of the stack's byte so far from register 10.
    Frame(i32),
    /// Another address that is not null.
    Somewhere,
    Anything,
}

/// What is known of an instruction that can be reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    /// What the register that it writes holds then.
    pub(super) outcome: Value,
    /// What its first register held before, and its second operand.
    pub(super) operands: (Value, Value),
    /// Whether the branch is taken, where that is always the same.
    pub(super) decided: Option<bool>,
    /// A load of a constant, or from a word of the stack that nobody else can have changed.
    pub(super) is_plain_load: bool,
    /// Masks of words of the stack: those that it reads, touches by a store, and fills by it.
    pub(super) reads: u64,
    pub(super) touches: u64,
    pub(super) fills: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct State {
    registers: [Value; 11],
    words: [Value; WORDS],
}

/// Below the stack.
const NOWHERE: i32 = -i32::MAX;

/// All that is known of a program.
pub(super) fn find(
    program: &[Instruction],
    referents: &BTreeMap<usize, Referent>,
    constants: &[u8],
) -> Vec<Option<Known>> {
    let mut search = Search {
        program,
        referents,
        constants,
        begins: begins(program),
        states: BTreeMap::new(),
        escaped: 0,
        private: NOWHERE,
    };
    // First nothing of the stack is believed, to see where addresses of it go.
    search.run();
    while search.private != search.escaped {
        search.private = search.escaped;
        search.run();
    }
    search.all()
}

/// Where ways meet or part.
fn begins(program: &[Instruction]) -> Vec<bool> {
    let mut begins = vec![false; program.len()];
    for (at, &instruction) in program.iter().enumerate() {
        if let Some(target) = operation::target(instruction, at) {
            for place in [target, at + 1] {
                if let Some(begin) = begins.get_mut(place) {
                    *begin = true;
                }
            }
        }
    }
    begins
}

struct Search<'a> {
    program: &'a [Instruction],
    referents: &'a BTreeMap<usize, Referent>,
    constants: &'a [u8],
    begins: Vec<bool>,
    /// Where ways begin.
    states: BTreeMap<usize, State>,
    /// From here up, somebody else may read and write the stack.
    escaped: i32,
    /// Words below are believed.
    private: i32,
}

impl Search<'_> {
    fn run(&mut self) {
        let mut first = State {
            registers: [Value::Anything; 11],
            words: [Value::Anything; WORDS],
        };
        first.registers[10] = Value::Frame(0);
        self.states = BTreeMap::from([(0, first)]);
        // The first of all: what leads to the others is settled then.
        let mut waiting = BTreeSet::from([0]);
        while let Some(begin) = waiting.pop_first() {
            let (mut at, mut state) = (begin, self.states[&begin]);
            loop {
                let known = self.step(at, &mut state);
                let ways = self.ways(at, known.decided);
                match ways {
                    [Some(next), None] if !self.begins[next] => at = next,
                    _ => {
                        for next in ways.into_iter().flatten() {
                            if self.join(next, &state) {
                                waiting.insert(next);
                            }
                        }
                        break;
                    }
                }
            }
        }
    }

    /// What is known when all states are.
    fn all(&mut self) -> Vec<Option<Known>> {
        let mut all = vec![None; self.program.len()];
        for (begin, mut state) in self.states.clone() {
            let mut at = begin;
            loop {
                let known = self.step(at, &mut state);
                all[at] = Some(known);
                match self.ways(at, known.decided) {
                    [Some(next), None] if !self.begins[next] => at = next,
                    _ => break,
                }
            }
        }
        all
    }

    /// One instruction.
    fn step(&mut self, at: usize, state: &mut State) -> Known {
        let instruction = self.program[at];
        let operation = Operation::of(instruction);
        let to = usize::from(instruction.registers & 0x0f).min(10);
        let from = usize::from(instruction.registers >> 4).min(10);
        let takes_register = operation::takes_register(instruction);
        let operands = (
            state.registers[to],
            if takes_register {
                state.registers[from]
            } else {
                Value::Number(i64::from(instruction.immediate).cast_unsigned())
            },
        );
        let address = match operation {
            Operation::Load => operands.1,
            _ => operands.0,
        };
        let mut known = Known {
            outcome: Value::Anything,
            operands,
            decided: None,
            is_plain_load: false,
            reads: 0,
            touches: 0,
            fills: 0,
        };
        match operation {
            Operation::LoadImmediate => known.outcome = self.referent(at),
            Operation::Load => {
                let span = self.span(instruction, address);
                known.outcome = match span {
                    Some(span) => loaded(span, &state.words),
                    None => self.constant(instruction, address),
                };
                known.reads = span.map_or(0, Span::touched);
                known.is_plain_load = span.is_some() || matches!(address, Value::Constant(_));
            }
            Operation::Store => {
                if let Some(span) = self.span(instruction, address) {
                    (known.touches, known.fills) = (span.touched(), span.filled());
                    store(&mut state.words, span, operands.1);
                }
            }
            Operation::Compute(width, operation) => {
                known.outcome = computed(instruction, width, operation, operands);
            }
            Operation::Branch(width, operation) => {
                known.decided = decided(width, operation, operands);
            }
            Operation::Call | Operation::Jump | Operation::Exit | Operation::Other => {}
        }
        self.watch(instruction, &known, &state.registers);
        let writes = operation::writes(instruction);
        for (register, value) in state.registers.iter_mut().enumerate() {
            if writes & 1 << register != 0 {
                *value = known.outcome;
            }
        }
        known
    }

    /// The part of the stack that an instruction is about, if nobody else can know it.
    fn span(&self, instruction: Instruction, address: Value) -> Option<Span> {
        let Value::Frame(base) = address else {
            return None;
        };
        let bytes = operation::accessed(instruction)?;
        let span = Span::of(base + i32::from(instruction.offset), bytes)?;
        span.is_below(self.private).then_some(span)
    }

    /// Notes where addresses of the stack go.
    fn watch(&mut self, instruction: Instruction, known: &Known, registers: &[Value; 11]) {
        let is_frame = |value| matches!(value, Value::Frame(_));
        let goes = match Operation::of(instruction) {
            Operation::Call => {
                for value in &registers[1..=5] {
                    if let Value::Frame(place) = *value {
                        self.escaped = self.escaped.min(place);
                    }
                }
                false
            }
            Operation::Compute(_, operation::MOVE) => {
                is_frame(known.operands.1) && !is_frame(known.outcome)
            }
            Operation::Compute(..) => {
                (is_frame(known.operands.0) || is_frame(known.operands.1))
                    && !is_frame(known.outcome)
            }
            Operation::Store => is_frame(known.operands.1),
            Operation::Other => {
                registers.iter().take(10).copied().any(is_frame) || is_frame(known.operands.0)
            }
            _ => false,
        };
        if goes {
            self.escaped = NOWHERE;
        }
    }

    fn referent(&self, at: usize) -> Value {
        match self.referents.get(&at) {
            Some(&Referent::Constant(offset)) => Value::Constant(offset),
            Some(Referent::Value) => Value::Somewhere,
            None if self.program[at].registers >> 4 == 0 => {
                let half = |at: usize| {
                    let half = self.program.get(at).map_or(0, |one| one.immediate);
                    u64::from(half.cast_unsigned())
                };
                Value::Number(half(at) | half(at + 1) << 32)
            }
            Some(Referent::Map) | None => Value::Anything,
        }
    }

    fn constant(&self, instruction: Instruction, address: Value) -> Value {
        let Value::Constant(offset) = address else {
            return Value::Anything;
        };
        let bytes = usize::from(operation::accessed(instruction).unwrap_or(8));
        let start = (offset as usize).checked_add_signed(isize::from(instruction.offset));
        let word = start.and_then(|start| self.constants.get(start..start + bytes));
        word.map_or(Value::Anything, |word| {
            let mut whole = [0; 8];
            whole[..bytes].copy_from_slice(word);
            Value::Number(u64::from_le_bytes(whole))
        })
    }

    /// Where the program goes from there.
    fn ways(&self, at: usize, decided: Option<bool>) -> [Option<usize>; 2] {
        let instruction = self.program[at];
        let target = operation::target(instruction, at);
        let ways = match Operation::of(instruction) {
            Operation::Exit => [None, None],
            Operation::Jump => [target, None],
            Operation::LoadImmediate => [Some(at + 2), None],
            Operation::Branch(..) => match decided {
                Some(true) => [target, None],
                Some(false) => [Some(at + 1), None],
                None => [Some(at + 1), target],
            },
            _ => [Some(at + 1), None],
        };
        ways.map(|way| way.filter(|&way| way < self.program.len()))
    }

    /// Whether more can be there now than before.
    fn join(&mut self, at: usize, came: &State) -> bool {
        let Some(known) = self.states.get_mut(&at) else {
            self.states.insert(at, *came);
            return true;
        };
        let before = *known;
        for (one, other) in known.registers.iter_mut().zip(came.registers) {
            let loses = |value| matches!(value, Value::Frame(_));
            if *one != other && (loses(*one) || loses(other)) {
                self.escaped = NOWHERE;
            }
            *one = either(*one, other);
        }
        for (one, other) in known.words.iter_mut().zip(came.words) {
            *one = either(*one, other);
        }
        *known != before
    }
}

/// What is known when it is one or the other.
fn either(one: Value, other: Value) -> Value {
    let is_address = |value| matches!(value, Value::Constant(_) | Value::Somewhere);
    match (one, other) {
        _ if one == other => one,
        _ if is_address(one) && is_address(other) => Value::Somewhere,
        _ => Value::Anything,
    }
}

/// What is loaded of the stack.
fn loaded(span: Span, words: &[Value; WORDS]) -> Value {
    match span.word().map(|word| words[word]) {
        Some(Value::Number(number)) => Value::Number(span.part_of(number)),
        Some(whole) if span.filled() != 0 => whole,
        _ => Value::Anything,
    }
}

fn store(words: &mut [Value; WORDS], span: Span, value: Value) {
    for (place, word) in words.iter_mut().enumerate() {
        if span.touched() & 1 << place != 0 {
            *word = match span.filled() {
                0 => Value::Anything,
                _ => value,
            };
        }
    }
}

fn computed(
    instruction: Instruction,
    width: Width,
    operation: u8,
    operands: (Value, Value),
) -> Value {
    let number = |to, from| {
        let number = operation::compute(instruction, width, operation, to, from);
        number.map_or(Value::Anything, Value::Number)
    };
    let is_whole = width == Width::Whole && instruction.offset == 0;
    match (operands, operation) {
        ((Value::Number(to), Value::Number(from)), _) => number(to, from),
        ((_, Value::Number(from)), operation::MOVE) => number(0, from),
        ((_, from), operation::MOVE) if is_whole => from,
        ((Value::Frame(place), Value::Number(more)), operation::ADD) if is_whole => {
            let place = i32::try_from(more.cast_signed()).map(|more| place.checked_add(more));
            place.ok().flatten().map_or(Value::Anything, Value::Frame)
        }
        _ => Value::Anything,
    }
}

fn decided(width: Width, operation: u8, operands: (Value, Value)) -> Option<bool> {
    match operands {
        (Value::Number(to), Value::Number(from)) => operation::is_taken(width, operation, to, from),
        (Value::Constant(_) | Value::Frame(_) | Value::Somewhere, Value::Number(0))
            if width == Width::Whole =>
        {
            operation::is_taken(width, operation, 1, 0)
                .filter(|_| matches!(operation, operation::EQUAL | operation::DIFFERENT))
        }
        _ => None,
    }
}
