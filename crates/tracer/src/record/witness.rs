//! What is read from the traced processes while they live: names of waited-for words, the words
//! themselves, marks, maps.
//!
//! It is looked at between two turns of the drain, ten times a second at most, and only what is
//! new: the part of a process that a word lies in is remembered when somebody first waits there,
//! and the word is probed a few times while threads wait. The names themselves ([`super::naming`])
//! can be read when the window has closed, and are.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::os::unix::fs::FileExt;

use marker::{Kind as MarkKind, Mark, Reader};

use super::looks::Lookout;
use super::maps::{Maps, What};
use super::naming::{KERNEL, Names};
use super::symbols::{Kernel, Mapping};
use super::unwind::{Copied, Unwinder};
use crate::event::{TaskChange, Tid};
use crate::trace::{AddressName, HoldCount, NameSource, Probe, Trailer};

/// How often a word is probed.
const PROBES: u32 = 6;
/// Words that are remembered; a program with more distinct waited-for words keeps the first.
const WORDS: usize = 8192;

/// See the file's beginning.
#[derive(Default)]
pub(crate) struct Witness {
    processes: HashMap<Tid, Tid>,
    words: HashMap<(Tid, u64), u32>,
    fresh: Vec<(Tid, u64)>,
    names: Vec<AddressName>,
    probes: Vec<Probe>,
    maps: Maps,
    unwinder: Unwinder,
    /// Waited-for words and what they lie in.
    places: Vec<(Tid, u64, Mapping)>,
    readers: HashMap<u32, Reader>,
    /// What marks had counted at first sight, by process, address and the time of the mark.
    first_holds: HashMap<(u32, u64, u64), (u64, u64)>,
    /// Where in `names` a mark is, by the same.
    marked: HashMap<(u32, u64, u64), usize>,
    points: Vec<(u32, String)>,
    kernel_locks: Vec<u64>,
    pub(crate) lookout: Lookout,
}

impl Witness {
    /// Learns which process a thread belongs to.
    pub(crate) fn learn(&mut self, changes: &[TaskChange]) {
        self.processes
            .extend(changes.iter().map(|change| (change.tid, change.process)));
    }

    fn process(&self, tid: Tid) -> Tid {
        self.processes.get(&tid).copied().unwrap_or(tid)
    }

    /// A thread begins to wait at a word.
    pub(crate) fn waits(&mut self, tid: Tid, address: u64) {
        let key = (self.process(tid), address);
        self.lookout.waits(key.0, address);
        let known = self.words.len();
        if let Some(seen) = self.words.get_mut(&key) {
            if *seen >= PROBES {
                return;
            }
        } else if known >= WORDS {
            return;
        } else {
            self.words.insert(key, 0);
        }
        if !self.fresh.contains(&key) {
            self.fresh.push(key);
        }
    }

    /// A kernel lock was waited for.
    pub(crate) fn kernel_lock(&mut self, address: u64) {
        if self.kernel_locks.len() < WORDS && !self.kernel_locks.contains(&address) {
            self.kernel_locks.push(address);
        }
    }

    /// Looks at what became new since the last turn.
    pub(crate) fn look(&mut self) {
        self.maps.turn();
        self.lookout.choose();
        for (process, address) in std::mem::take(&mut self.fresh) {
            let seen = self.words.entry((process, address)).or_default();
            *seen += 1;
            if *seen == 1 {
                let mapping = self.maps.around(process, address, What::Word).cloned();
                self.places
                    .extend(mapping.map(|mapping| (process, address, mapping)));
            }
            self.probes.extend(probe(process, address));
        }
        for process in marker::processes() {
            if let Entry::Vacant(place) = self.readers.entry(process)
                && let Some(reader) = Reader::open(process)
            {
                for mark in reader.marks() {
                    let key = (process, mark.address, mark.from);
                    self.first_holds.insert(key, (mark.count, mark.held));
                }
                place.insert(reader);
            }
        }
        self.remember_names();
    }

    /// A lock's name is kept even when the program drops the lock before it ends; another lock that
    /// comes to lie at its address has a name and a time of its own.
    fn remember_names(&mut self) {
        for (process, mark) in marks(&self.readers, MarkKind::Lock) {
            let key = (process, mark.address, mark.from);
            let at = *self.marked.entry(key).or_insert(self.names.len());
            if at == self.names.len() {
                self.names.push(AddressName {
                    process,
                    address: mark.address,
                    length: mark.length,
                    name: mark.name,
                    source: NameSource::Marker,
                    until: None,
                });
            }
            self.names[at].until = mark.until;
        }
    }

    /// The progress points' readings: (index, total).
    pub(crate) fn progress(&mut self) -> Vec<(u16, u64)> {
        let mut totals: HashMap<(u32, String), u64> = HashMap::new();
        for (process, mark) in marks(&self.readers, MarkKind::Progress) {
            *totals.entry((process, mark.name)).or_default() += mark.count;
        }
        let mut readings = Vec::new();
        for (key, total) in totals {
            let known = self.points.iter().position(|known| *known == key);
            let index = known.unwrap_or_else(|| {
                self.points.push(key);
                self.points.len() - 1
            });
            readings.push((index as u16, total));
        }
        readings.sort_unstable();
        readings
    }

    /// The code places of what was copied of a thread, innermost first.
    pub(crate) fn unwind(&mut self, tid: Tid, copied: &Copied<'_>, each: impl FnMut(u64)) {
        let process = self.process(tid);
        self.unwinder.unwind(process, copied, &mut self.maps, each);
    }

    /// Keeps the maps of the processes whose code places are to be named later.
    pub(crate) fn keep_maps(&mut self, places: &[(Tid, Vec<u64>)]) {
        for (tid, frames) in places {
            // What lies further out may be anything in a program without frame pointers.
            let Some(innermost) = frames.iter().find(|frame| **frame < KERNEL) else {
                continue;
            };
            self.maps.around(self.process(*tid), *innermost, What::Code);
        }
    }

    /// Puts everything learnt into the trailer; `stacks` are the code places in their order.
    pub(crate) fn finish(mut self, stacks: &[(Tid, Vec<u64>)], trailer: &mut Trailer) {
        let mut names = Names::default();
        for (process, address, mapping) in &self.places {
            self.names.push(names.variable(*process, *address, mapping));
        }
        let needed = !self.kernel_locks.is_empty() || !stacks.is_empty();
        let kernel = needed.then(Kernel::read).unwrap_or_default();
        for address in &self.kernel_locks {
            if let Some(name) = kernel.variable(*address) {
                self.names.push(AddressName {
                    process: 0,
                    address: *address,
                    length: 1,
                    name,
                    source: NameSource::Symbol,
                    until: None,
                });
            }
        }
        trailer.stacks = stacks
            .iter()
            .map(|(tid, frames)| {
                let maps = self.maps.of(self.process(*tid));
                names.frames(maps, frames, &kernel)
            })
            .collect();
        for (process, mark) in marks(&self.readers, MarkKind::Lock) {
            let key = (process, mark.address, mark.from);
            let before = self.first_holds.get(&key);
            let (count, held) = before.copied().unwrap_or_default();
            if mark.count > count {
                trailer.holds.push(HoldCount {
                    process,
                    address: mark.address,
                    name: mark.name,
                    holds: mark.count - count,
                    held: mark.held - held,
                });
            }
        }
        trailer.progress = self.points.into_iter().map(|(_, name)| name).collect();
        trailer.names = self.names;
        trailer.probes = self.probes;
        trailer.looks = self.lookout.finish();
    }
}

/// The marks of one kind in all marked processes.
fn marks(
    readers: &HashMap<u32, Reader>,
    kind: MarkKind,
) -> impl Iterator<Item = (u32, Mark)> + use<'_> {
    readers
        .iter()
        .flat_map(|(process, reader)| reader.marks().into_iter().map(|mark| (*process, mark)))
        .filter(move |(_, mark)| mark.kind == kind)
}

/// The eight words from 16 bytes before `address`, if the process still has them.
fn probe(process: Tid, address: u64) -> Option<Probe> {
    const BEFORE: u64 = 16;
    let mut bytes = [0; 32];
    let memory = File::open(format!("/proc/{process}/mem")).ok()?;
    memory
        .read_exact_at(&mut bytes, address.checked_sub(BEFORE)?)
        .ok()?;
    let (words, _) = bytes.as_chunks::<4>();
    Some(Probe {
        process,
        address,
        words: std::array::from_fn(|at| u32::from_ne_bytes(words[at])),
    })
}

#[cfg(test)]
#[path = "../../tests/unit/record_witness.rs"]
mod tests;
