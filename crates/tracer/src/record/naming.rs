//! From addresses to names: waited-for words to variables, frames to functions.
//!
//! It reads whole ELF files, so it comes after the window has closed.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::symbols::{self, FileKey, Kernel, Mapping, Table};
use crate::event::Tid;
use crate::trace::{AddressName, NameSource};

/// From here on addresses are the kernel's.
pub(super) const KERNEL: u64 = 1 << 63;

/// The symbols of the files met so far.
#[derive(Default)]
pub(super) struct Names {
    tables: HashMap<FileKey, Table>,
}

impl Names {
    /// The symbols of a mapping's file.
    fn table(&mut self, mapping: &Mapping) -> &Table {
        static NONE: LazyLock<Table> = LazyLock::new(Table::default);
        let Some(file) = mapping.file() else {
            return &NONE;
        };
        self.tables
            .entry(file)
            .or_insert_with(|| Table::of(mapping))
    }

    /// The variable at `address` of `process`, else the kind of memory it lies in: `mapping`
    /// contains it.
    pub(super) fn variable(
        &mut self,
        process: Tid,
        address: u64,
        mapping: &Mapping,
    ) -> AddressName {
        let place = |name: String| AddressName {
            process,
            address,
            length: 1,
            name,
            source: NameSource::Place,
            until: None,
        };
        if !mapping.path.starts_with('/') {
            return place(
                match mapping.path.as_str() {
                    "[heap]" => "on the heap",
                    path if path.starts_with("[stack") => "on the main thread's stack",
                    _ => "on the heap or a stack",
                }
                .to_owned(),
            );
        }
        let Some(found) = self.table(mapping).variable(address - mapping.first) else {
            let file = mapping.path.rsplit('/').next().unwrap_or_default();
            return place(format!("in {file}"));
        };
        AddressName {
            process,
            address: address - found.into,
            length: found.size.max(found.into + 1),
            name: found.name,
            source: NameSource::Symbol,
            until: None,
        }
    }

    /// The functions of a call chain, innermost first, in a process with these `maps`. Of a sample
    /// only what was interrupted.
    pub(super) fn frames(
        &mut self,
        maps: &[Mapping],
        frames: &[u64],
        kernel: &Kernel,
    ) -> Vec<String> {
        /// The call chain's context marks are at the very top.
        const CONTEXT_MARKS: u64 = u64::MAX - 4095;
        /// Where the timer's interrupt begins (x86).
        const TIMER_ENTRY: &str = "asm_sysvec_apic_timer_interrupt";
        let mut named = Vec::new();
        for frame in frames.iter().filter(|frame| **frame < CONTEXT_MARKS) {
            let name = if *frame >= KERNEL {
                kernel.name(*frame, u64::MAX).map(str::to_owned)
            } else {
                symbols::containing(maps, *frame)
                    .and_then(|mapping| self.table(mapping).function(frame - mapping.first))
            };
            let name = name.unwrap_or_else(|| format!("{frame:#x}"));
            if name == TIMER_ENTRY {
                // A sample: what was interrupted is what counts.
                named.clear();
            } else {
                named.push(name);
            }
        }
        named
    }
}
