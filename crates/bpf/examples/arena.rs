//! What a dependent load costs in a program: from an array, whose bounds the verifier wants checked,
//! and from an arena (Linux 6.9), which needs no check. Both walk one cycle through 32 KiB, as a search
//! walks from node to node. Prints ns a step, the array's and the arena's by turns, and their ratio.
//! Needs root.
//!
//!     cargo run --release -p bpf --example arena -- [ROUNDS]

use std::error::Error;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use bpf::sys::{self, Hook, Instruction, MAP_MMAPABLE, MapDefinition, TYPE_ARRAY};
use memmap2::{MmapOptions, MmapRaw};

/// `BPF_MAP_TYPE_ARENA`.
const TYPE_ARENA: u32 = 33;
const ELEMENTS: u32 = 4096;
const BYTES: u32 = 8 * ELEMENTS;
const STEPS: i16 = 500;
const RUNS: u32 = 20_000;
/// `BPF_PSEUDO_MAP_FD` and `BPF_PSEUDO_MAP_VALUE`.
const MAP: u8 = 1;
const VALUE: u8 = 2;

fn one(code: u8, to: u8, from: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction {
        code,
        registers: to | from << 4,
        offset,
        immediate,
    }
}

/// `to = number`, or what `kind` makes of it.
fn wide(to: u8, kind: u8, number: u64) -> [Instruction; 2] {
    let halves = [number as u32, (number >> 32) as u32].map(u32::cast_signed);
    [
        one(0x18, to, kind, 0, halves[0]),
        one(0, 0, 0, 0, halves[1]),
    ]
}

/// Returns 2.
fn end() -> [Instruction; 2] {
    [one(0xb7, 0, 0, 0, 2), one(0x95, 0, 0, 0, 0)]
}

/// An element holds the offset in bytes of the next one.
fn from_array(map: &OwnedFd) -> Vec<Instruction> {
    let mut program = wide(6, VALUE, map.as_raw_fd() as u64).to_vec();
    program.push(one(0xb7, 0, 0, 0, 0));
    for step in (0..STEPS).rev() {
        // Beyond the array: to the end, over four instructions of each further step.
        program.push(one(0x25, 0, 0, 3 + 4 * step, (BYTES - 8).cast_signed()));
        program.push(one(0xbf, 2, 6, 0, 0));
        program.push(one(0x0f, 2, 0, 0, 0));
        program.push(one(0x61, 0, 2, 0, 0));
    }
    program.extend(end());
    program
}

/// An element holds the lower half of the address of the next one.
fn from_arena(map: &OwnedFd, first: u64) -> Vec<Instruction> {
    // From the process's address to the program's (`BPF_ADDR_SPACE_CAST`).
    let cast = one(0xbf, 0, 0, 1, 1);
    let mut program = wide(1, MAP, map.as_raw_fd() as u64).to_vec();
    program.extend(wide(0, 0, first));
    for _ in 0..STEPS {
        program.push(cast);
        program.push(one(0x61, 0, 0, 0, 0));
    }
    program.extend(end());
    program
}

fn load(instructions: &[Instruction]) -> Result<OwnedFd, String> {
    let mut log = vec![0; 1 << 20];
    let (license, flags, bound) = ("GPL", 0, 0);
    let load = |log: &mut [u8]| {
        sys::program_load(Hook::Xdp, "steps", instructions, license, flags, bound, log)
    };
    load(&mut []).map_err(|error| {
        let _refused = load(&mut log);
        let text = String::from_utf8_lossy(&log)
            .trim_end_matches('\0')
            .to_owned();
        format!("the kernel refuses the program: {error}\n{text}")
    })
}

/// A map and its memory.
fn map(kind: u32, definition: &MapDefinition) -> io::Result<(OwnedFd, MmapRaw)> {
    let definition = MapDefinition {
        name: "elements".to_owned(),
        kind,
        flags: MAP_MMAPABLE,
        ..definition.clone()
    };
    let map = sys::map_create(&definition, None, None)?;
    let memory = MmapOptions::new().len(BYTES as usize).map_raw(&map)?;
    Ok((map, memory))
}

/// Writes one cycle through all elements, in no order that a processor could guess.
fn fill(memory: &MmapRaw, next: impl Fn(u32) -> u32) {
    for element in 0..ELEMENTS {
        // An odd multiple and an odd number added: one cycle through all of a power of two.
        let number = (element * 1229 + 2531) % ELEMENTS;
        let bytes = u64::from(next(8 * number)).to_le_bytes();
        // SAFETY: in the mapping; nothing else uses it yet.
        let place = unsafe { memory.as_mut_ptr().add(8 * element as usize) };
        // SAFETY: the same.
        unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }
}

fn ns_a_step(program: &OwnedFd) -> io::Result<f64> {
    let result = sys::run_dry(program.as_fd(), &[0; 64], 0, RUNS)?;
    Ok(f64::from(result.duration_ns) / f64::from(STEPS))
}

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = std::env::args()
        .nth(1)
        .map_or(Ok(11), |text| text.parse())?;
    let (array, array_memory) = map(
        TYPE_ARRAY,
        &MapDefinition {
            key_size: 4,
            value_size: BYTES,
            entries: 1,
            ..MapDefinition::default()
        },
    )?;
    fill(&array_memory, |offset| offset);
    let (arena, arena_memory) = map(
        TYPE_ARENA,
        &MapDefinition {
            entries: BYTES / 4096,
            ..MapDefinition::default()
        },
    )?;
    let first = arena_memory.as_ptr() as u64;
    fill(&arena_memory, |offset| first as u32 + offset);
    let (array, arena) = (
        load(&from_array(&array))?,
        load(&from_arena(&arena, first))?,
    );
    let mut ratios = Vec::new();
    println!("array, ns a step   arena, ns a step");
    for _ in 0..rounds {
        let (checked, free) = (ns_a_step(&array)?, ns_a_step(&arena)?);
        println!("{checked:16.3}   {free:16.3}");
        ratios.push(checked / free);
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "array to arena: {:.3} ({:.3} to {:.3})",
        ratios[rounds / 2],
        ratios[0],
        ratios[rounds - 1]
    );
    Ok(())
}
