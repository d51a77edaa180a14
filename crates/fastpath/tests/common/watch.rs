//! Which cache lines change: all that a process can write, and all that its programs in the kernel can.
//!
//! A snapshot of everything, and a second one after something was done, say which lines that was. What
//! one CPU does is told from what another does by doing one after the other. A store of what is there
//! already is not seen.
//!
//! Of maps it asks the kernel, by the process's descriptors: those that it holds, and those that the
//! programs it holds use. Arrays that the kernel keeps for each CPU are no memory that two CPUs
//! write, and are left out.

#![allow(unreachable_pub, dead_code)] // each test includes it and uses its part

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

/// Bytes.
const LINE: usize = 64;
const PAGE: usize = 4096;

/// `enum bpf_cmd`.
const LOOKUP: i64 = 1;
const PROGRAM_BY_ID: i64 = 13;
const MAP_BY_ID: i64 = 14;
const ASK: i64 = 15;
/// `enum bpf_map_type`.
const ARRAY: u32 = 2;
/// `BPF_F_MMAPABLE`.
const MAPPABLE: u32 = 1 << 10;

/// A line: the map or mapping that it lies in, and how many are before it.
pub type Line = (String, usize);

/// `struct bpf_map_info`, its beginning.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct MapFacts {
    kind: u32,
    id: u32,
    key_size: u32,
    value_size: u32,
    entries: u32,
    flags: u32,
    name: [u8; 16],
}

/// `struct bpf_prog_info`, its beginning.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct ProgramFacts {
    before: [u64; 6],
    user: u32,
    maps: u32,
    at: u64,
}

fn bpf(command: i64, attributes: &[u64]) -> io::Result<i32> {
    let size = size_of_val(attributes);
    // SAFETY: the record lives during the call; where it names memory, the caller holds that.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, attributes.as_ptr(), size) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result as i32)
}

/// A map or program by its number; none when it has gone.
fn by_id(command: i64, id: u32) -> Option<OwnedFd> {
    let descriptor = bpf(command, &[id.into(), 0]).ok()?;
    // SAFETY: just opened, ours alone.
    Some(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn ask<T: Copy + Default>(of: &OwnedFd, mut facts: T) -> T {
    let descriptor = of.as_raw_fd() as u64;
    let attributes = [
        descriptor | (size_of::<T>() as u64) << 32,
        (&raw mut facts) as u64,
    ];
    bpf(ASK, &attributes).expect("what the kernel knows of a map or program");
    facts
}

/// Numbers in the process's descriptors under this name.
fn numbers(process: u32, name: &str) -> BTreeSet<u32> {
    let files = fs::read_dir(format!("/proc/{process}/fdinfo")).expect("descriptors");
    let texts = files.filter_map(|file| fs::read_to_string(file.ok()?.path()).ok());
    let number = |text: String| {
        let mut lines = text.lines();
        let rest = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        rest.trim().parse().ok()
    };
    texts.filter_map(number).collect()
}

/// The maps that a program uses.
fn used_by(program: u32) -> Vec<u32> {
    let Some(program) = by_id(PROGRAM_BY_ID, program) else {
        return Vec::new();
    };
    let count = ask(&program, ProgramFacts::default()).maps;
    let mut ids = vec![0_u32; count as usize];
    let facts = ProgramFacts {
        maps: count,
        at: ids.as_mut_ptr() as u64,
        ..ProgramFacts::default()
    };
    ask(&program, facts);
    ids
}

/// A map's values as bytes.
struct Values {
    name: String,
    descriptor: OwnedFd,
    facts: MapFacts,
    /// Where they are mapped, and how many bytes.
    mapped: Option<(*const u8, usize)>,
}

impl Values {
    /// None for what is no array: of those only the process itself writes elements.
    fn open(id: u32) -> Option<Self> {
        let descriptor = by_id(MAP_BY_ID, id)?;
        let facts = ask(&descriptor, MapFacts::default());
        if facts.kind != ARRAY {
            return None;
        }
        let text = String::from_utf8_lossy(&facts.name);
        let name = format!("map {} ({id})", text.trim_end_matches('\0'));
        let bytes = (facts.value_size as usize).next_multiple_of(8) * facts.entries as usize;
        let mapped = (facts.flags & MAPPABLE != 0).then(|| {
            let length = bytes.next_multiple_of(PAGE);
            // SAFETY: a new mapping, only read, and kept as long as the test runs.
            let at = unsafe {
                libc::mmap(
                    std::ptr::null_mut(),
                    length,
                    libc::PROT_READ,
                    libc::MAP_SHARED,
                    descriptor.as_raw_fd(),
                    0,
                )
            };
            assert_ne!(
                at,
                libc::MAP_FAILED,
                "{name}: {}",
                io::Error::last_os_error()
            );
            (at.cast_const().cast::<u8>(), bytes)
        });
        Some(Self {
            name,
            descriptor,
            facts,
            mapped,
        })
    }

    fn read(&self) -> Vec<u8> {
        if let Some((at, bytes)) = self.mapped {
            let mut copy = vec![0; bytes];
            // SAFETY: `bytes` are mapped at `at`; who writes there meanwhile does so in the kernel or
            // in another process, and a torn copy is as good.
            unsafe { std::ptr::copy_nonoverlapping(at, copy.as_mut_ptr(), bytes) };
            return copy;
        }
        let stride = (self.facts.value_size as usize).next_multiple_of(8);
        let mut copy = vec![0; stride * self.facts.entries as usize];
        for (key, value) in (0_u32..).zip(copy.chunks_exact_mut(stride)) {
            let attributes = [
                self.descriptor.as_raw_fd() as u64,
                (&raw const key) as u64,
                value.as_mut_ptr() as u64,
                0,
            ];
            bpf(LOOKUP, &attributes).expect("a value");
        }
        copy
    }
}

/// What is watched, and how it was at the last look.
pub struct Watch {
    process: u32,
    memory: Option<File>,
    maps: BTreeMap<u32, Values>,
    before: BTreeMap<String, Vec<u8>>,
}

impl Watch {
    /// Watches the maps of a process and of its programs.
    pub fn maps(process: u32) -> Self {
        let mut ids = numbers(process, "map_id");
        for program in numbers(process, "prog_id") {
            ids.extend(used_by(program));
        }
        let maps = ids.into_iter();
        Self {
            process,
            memory: None,
            maps: maps
                .filter_map(|id| Some((id, Values::open(id)?)))
                .collect(),
            before: BTreeMap::new(),
        }
    }

    /// The same, and all memory of another process.
    pub fn all(process: u32) -> Self {
        let memory = File::open(format!("/proc/{process}/mem")).expect("its memory");
        Self {
            memory: Some(memory),
            ..Self::maps(process)
        }
    }

    /// The names of the watched maps.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.maps.values().map(|values| values.name.as_str())
    }

    fn look(&self) -> BTreeMap<String, Vec<u8>> {
        let maps = self.maps.values();
        let mut all: BTreeMap<_, _> = maps
            .map(|values| (values.name.clone(), values.read()))
            .collect();
        let Some(memory) = &self.memory else {
            return all;
        };
        let text = fs::read_to_string(format!("/proc/{}/maps", self.process)).expect("mappings");
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(range), Some(rights)) = (words.next(), words.next()) else {
                continue;
            };
            let path = words.nth(3).unwrap_or("anonymous");
            // The maps are watched under their names.
            if !rights.contains('w') || path.contains("bpf-map") {
                continue;
            }
            let ends: Vec<usize> = range
                .split('-')
                .filter_map(|end| usize::from_str_radix(end, 16).ok())
                .collect();
            let mut copy = vec![0; ends[1] - ends[0]];
            // A mapping that has gone meanwhile, or that the kernel shows nobody.
            if memory.read_exact_at(&mut copy, ends[0] as u64).is_ok() {
                all.insert(format!("{path} {:x}", ends[0]), copy);
            }
        }
        all
    }

    /// The lines that have changed since the last look; none at the first.
    pub fn changed(&mut self) -> BTreeSet<Line> {
        let now = self.look();
        let mut changed = BTreeSet::new();
        for (name, after) in &now {
            let Some(before) = self.before.get(name) else {
                continue;
            };
            let lines = before.chunks(LINE).zip(after.chunks(LINE)).enumerate();
            let differ = lines.filter(|(_, (before, after))| before != after);
            changed.extend(differ.map(|(number, _)| (name.clone(), number)));
        }
        self.before = now;
        changed
    }
}
