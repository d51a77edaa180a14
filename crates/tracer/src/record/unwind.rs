//! Callers of code places in programs that keep no frame pointers. The kernel copies the top of the
//! stack with an event; it is unwound by the tables (`.eh_frame`) of the files that the process has
//! mapped.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use framehop::{
    CacheNative, FrameAddress, MayAllocateDuringUnwind, Module, ModuleSectionInfo,
    UnwindRegsNative, Unwinder as _, UnwinderNative,
};
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{LittleEndian, Object, ObjectSection, ReadCache, ReadRef, elf};

use super::maps::{Maps, What};
use super::symbols::{FileKey, Mapping};
use crate::event::Tid;

/// Bytes of a stack that are copied with an event: perf's own choice, a multiple of 8.
pub(crate) const COPIED: u32 = 8 << 10;
/// The kind of registers of a program of 64 bits (`PERF_SAMPLE_REGS_ABI_64`).
const WIDE: u64 = 2;
/// Frames of one place.
const FRAMES: usize = 64;
/// Processes whose mapped files are known at a time.
const PROCESSES: usize = 64;
/// The kernel's own code in every process: what it maps is in no file.
const VDSO: &str = "[vdso]";

/// The registers that are copied, by the kernel's numbers (`asm/perf_regs.h`), and their order in a
/// record: frame pointer, stack pointer, place.
#[cfg(target_arch = "x86_64")]
mod registers {
    pub(crate) const WANTED: u64 = 1 << 6 | 1 << 7 | 1 << 8;
    pub(super) const STACK: usize = 1;
    pub(super) const PLACE: usize = 2;

    pub(super) fn of([frame, stack, place]: [u64; 3]) -> framehop::UnwindRegsNative {
        framehop::UnwindRegsNative::new(place, stack, frame)
    }
}

/// As above; the link register stands after the frame pointer.
#[cfg(target_arch = "aarch64")]
mod registers {
    pub(crate) const WANTED: u64 = 1 << 29 | 1 << 30 | 1 << 31 | 1 << 32;
    pub(super) const STACK: usize = 2;
    pub(super) const PLACE: usize = 3;

    pub(super) fn of([frame, link, stack, _]: [u64; 4]) -> framehop::UnwindRegsNative {
        framehop::UnwindRegsNative::new(link, stack, frame)
    }
}

pub(crate) use registers::WANTED;

const COUNT: usize = WANTED.count_ones() as usize;

/// What the kernel copied of a thread.
#[derive(Clone, Copy)]
pub(crate) struct Copied<'record> {
    registers: [u64; COUNT],
    stack: &'record [u8],
}

impl<'record> Copied<'record> {
    /// From the end of a record: kind of registers, registers, room of the stack, stack, bytes of it
    /// that were copied. `None` for a thread without a user's part, and for one of 32 bits.
    pub(crate) fn parse(end: &'record [u8]) -> Option<Self> {
        let (words, _) = end.as_chunks::<8>();
        let (kind, words) = words.split_first()?;
        if u64::from_le_bytes(*kind) != WIDE {
            return None;
        }
        let (registers, words) = words.split_first_chunk::<COUNT>()?;
        let room = usize::try_from(u64::from_le_bytes(*words.first()?)).ok()?;
        let stack = end.get((COUNT + 2) * 8..)?;
        let (stack, rest) = stack.split_at_checked(room)?;
        let copied = u64::from_le_bytes(*rest.first_chunk()?);
        Some(Self {
            registers: registers.map(u64::from_le_bytes),
            stack: stack.get(..usize::try_from(copied).ok()?)?,
        })
    }

    /// The word at an address of the thread's stack.
    fn word(&self, address: u64) -> Result<u64, ()> {
        let at = address.checked_sub(self.registers[registers::STACK]);
        let at = at.and_then(|at| usize::try_from(at).ok()).ok_or(())?;
        let word = self.stack.get(at..).and_then(|rest| rest.first_chunk());
        word.map(|word| u64::from_le_bytes(*word)).ok_or(())
    }
}

/// What a file says of its functions' frames.
struct Tables {
    /// The first loaded address, a multiple of the page size.
    base: u64,
    sections: Vec<Section>,
}

/// A section of a file.
struct Section {
    name: Vec<u8>,
    /// Where it is loaded, by addresses of the file.
    range: Range<u64>,
    /// What is in it, of those that are tables.
    content: Option<Arc<[u8]>>,
}

impl Tables {
    fn of(process: Tid, mapping: &Mapping) -> Option<Self> {
        if mapping.path == VDSO {
            let length = mapping.end.checked_sub(mapping.start)?;
            let mut bytes = vec![0; usize::try_from(length).ok()?];
            let memory = File::open(format!("/proc/{process}/mem")).ok()?;
            memory.read_exact_at(&mut bytes, mapping.start).ok()?;
            return Self::parse(&*bytes).ok();
        }
        Self::parse(&ReadCache::new(mapping.open()?)).ok()
    }

    fn parse<'data>(data: impl ReadRef<'data>) -> object::read::Result<Self> {
        const PAGE: u64 = 4096;
        let file = ElfFile64::<LittleEndian, _>::parse(data)?;
        let endian = LittleEndian;
        let loaded = file
            .elf_program_headers()
            .iter()
            .filter(|program| program.p_type(endian) == elf::PT_LOAD)
            .map(|program| program.p_vaddr(endian) / PAGE * PAGE);
        let mut tables = Self {
            base: loaded.min().unwrap_or(0),
            sections: Vec::new(),
        };
        for section in file.sections() {
            let name = section.name_bytes()?;
            let range = section.address()..section.address().saturating_add(section.size());
            let content = match name {
                b".eh_frame" | b".eh_frame_hdr" => Some(section.data()?.into()),
                b".text" | b".got" => None,
                _ => continue,
            };
            tables.sections.push(Section {
                name: name.to_owned(),
                range,
                content,
            });
        }
        Ok(tables)
    }

    fn section(&self, name: &[u8]) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }
}

impl ModuleSectionInfo<Arc<[u8]>> for &Tables {
    fn base_svma(&self) -> u64 {
        self.base
    }

    fn section_svma_range(&mut self, name: &[u8]) -> Option<Range<u64>> {
        self.section(name).map(|section| section.range.clone())
    }

    fn section_data(&mut self, name: &[u8]) -> Option<Arc<[u8]>> {
        self.section(name)?.content.clone()
    }
}

/// A process and its mapped files, as they were read at a time.
struct Process {
    turn: u32,
    /// Where those mappings begin that the unwinder has been told of.
    known: HashSet<u64>,
    unwinder: UnwinderNative<Arc<[u8]>, MayAllocateDuringUnwind>,
}

/// See the file's beginning.
#[derive(Default)]
pub(crate) struct Unwinder {
    tables: HashMap<FileKey, Tables>,
    processes: HashMap<Tid, Process>,
    cache: CacheNative<MayAllocateDuringUnwind>,
}

impl Unwinder {
    /// Hands the thread's place and those of its callers to `each`, innermost first. Of a caller it is
    /// an address inside its call.
    pub(crate) fn unwind(
        &mut self,
        process: Tid,
        copied: &Copied<'_>,
        maps: &mut Maps,
        mut each: impl FnMut(u64),
    ) {
        let mut registers: UnwindRegsNative = registers::of(copied.registers);
        let mut read = |address| copied.word(address);
        let place = copied.registers[registers::PLACE];
        let mut frame = FrameAddress::from_instruction_pointer(place);
        for _ in 0..FRAMES {
            let address = frame.address_for_lookup();
            each(address);
            let Some((mapping, turn)) = maps.around_since(process, address, What::Code) else {
                return;
            };
            self.learn(process, mapping, turn);
            let unwinder = &self.processes[&process].unwinder;
            let next = unwinder.unwind_frame(frame, &mut registers, &mut self.cache, &mut read);
            let next = next.ok().flatten();
            let Some(next) = next.and_then(FrameAddress::from_return_address) else {
                return;
            };
            frame = next;
        }
    }

    /// Gives the unwinder of `process`, whose maps were read in `turn`, what the mapping's file says.
    fn learn(&mut self, process: Tid, mapping: &Mapping, turn: u32) {
        let stale = |known: &Process| known.turn != turn;
        if self.processes.get(&process).is_none_or(stale) {
            if self.processes.len() >= PROCESSES {
                self.processes.clear();
            }
            let fresh = Process {
                turn,
                known: HashSet::new(),
                unwinder: UnwinderNative::new(),
            };
            self.processes.insert(process, fresh);
        }
        let Some(known) = self.processes.get_mut(&process) else {
            return;
        };
        if !known.known.insert(mapping.start) {
            return;
        }
        let Some(file) = mapping.file() else {
            return;
        };
        let tables = match self.tables.entry(file) {
            Entry::Occupied(found) => found.into_mut(),
            // Of a process that is gone nothing can be read; the next one may still be there.
            Entry::Vacant(free) => match Tables::of(process, mapping) {
                Some(tables) => free.insert(tables),
                None => return,
            },
        };
        let range = mapping.start..mapping.end;
        let module = Module::new(mapping.path.clone(), range, mapping.first, &*tables);
        known.unwinder.add_module(module);
    }
}

#[cfg(test)]
#[path = "../../tests/unit/record_unwind.rs"]
mod tests;
