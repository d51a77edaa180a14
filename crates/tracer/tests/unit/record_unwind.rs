//! Of `tracer/src/record/unwind.rs`.

use super::*;
use crate::record::symbols::mappings;

/// The end of a record: registers of the stack at `stack` and the place, room and bytes of a stack.
fn record(stack: u64, place: u64, bytes: &[u8], copied: u64) -> Vec<u8> {
    let mut registers = [0; COUNT];
    registers[registers::STACK] = stack;
    registers[registers::PLACE] = place;
    let mut record = 2_u64.to_le_bytes().to_vec();
    record.extend(registers.into_iter().flat_map(u64::to_le_bytes));
    record.extend((bytes.len() as u64).to_le_bytes());
    record.extend(bytes);
    record.extend(copied.to_le_bytes());
    record
}

#[test]
fn a_stack_is_read_where_the_stack_pointer_says_and_no_further_than_it_was_copied() {
    let bytes: Vec<u8> = (0..32).collect();
    let record = record(0x1000, 7, &bytes, 24);
    let copied = Copied::parse(&record).expect("a record");
    let word = |first: u8| u64::from_le_bytes(std::array::from_fn(|at| first + at as u8));
    assert_eq!(copied.word(0x1000), Ok(word(0)));
    assert_eq!(copied.word(0x1010), Ok(word(16)));
    for outside in [0xff8, 0x1011, 0x1018, 0, u64::MAX] {
        assert_eq!(copied.word(outside), Err(()), "{outside:#x}");
    }
}

#[test]
fn records_that_end_early_or_have_no_users_part_copy_nothing() {
    let record = record(0x1000, 7, &[1; 16], 16);
    for length in 0..record.len() {
        assert!(Copied::parse(&record[..length]).is_none(), "{length}");
    }
    assert!(Copied::parse(&record).is_some());
    let too_much = self::record(0x1000, 7, &[1; 16], 17);
    assert!(Copied::parse(&too_much).is_none());
    // A kernel thread, and a program of 32 bits.
    for kind in [0, 1] {
        let mut other = record.clone();
        other[0] = kind;
        assert!(Copied::parse(&other).is_none(), "{kind}");
    }
}

/// What this file's own functions are in: every stack ends, whatever is on it.
#[test]
fn any_stack_ends() {
    let own = std::process::id();
    let here = record as *const () as u64;
    let maps = mappings(own);
    let code: Vec<u64> = maps.iter().map(|mapping| mapping.start + 0x1234).collect();
    let mut state = 88_172_645_463_325_252_u64;
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let (mut unwinder, mut maps) = (Unwinder::default(), Maps::default());
    let mut most = 0;
    for _ in 0..2_000 {
        let words = (0..64).map(|_| match draw() % 4 {
            0 => code[draw() as usize % code.len()],
            1 => 0x1000 + draw() % 512,
            2 => here + draw() % 4096,
            _ => draw(),
        });
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        let record = record(0x1000, here + draw() % 4096, &bytes, bytes.len() as u64);
        let copied = Copied::parse(&record).expect("a record");
        let mut frames = 0;
        unwinder.unwind(own, &copied, &mut maps, |_| frames += 1);
        assert!((1..=FRAMES).contains(&frames), "{frames}");
        most = most.max(frames);
    }
    assert!(most > 2, "no table was used: {most}");
}
