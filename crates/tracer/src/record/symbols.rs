//! Names of addresses: symbols of ELF files (64 bits, little-endian) and of the kernel.

use std::collections::HashMap;
use std::path::Path;

/// A symbol's place and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub(crate) address: u64,
    pub(crate) size: u64,
    pub(crate) name: String,
}

/// The symbols of one file, by address as the file has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    functions: Vec<Symbol>,
    variables: Vec<Symbol>,
    /// The first loaded address, a multiple of the page size.
    base: u64,
}

impl Table {
    fn find(symbols: &[Symbol], address: u64) -> Option<&Symbol> {
        let at = symbols
            .partition_point(|symbol| symbol.address <= address)
            .checked_sub(1)?;
        let symbol = &symbols[at];
        (address < symbol.address + symbol.size.max(1)).then_some(symbol)
    }

    /// The function at `offset` bytes from where the file's first page is mapped.
    pub(crate) fn function(&self, offset: u64) -> Option<&Symbol> {
        Self::find(&self.functions, offset + self.base)
    }

    /// The variable at `offset` bytes from where the file's first page is mapped, and the bytes into it.
    pub(crate) fn variable(&self, offset: u64) -> Option<(&Symbol, u64)> {
        let symbol = Self::find(&self.variables, offset + self.base)?;
        Some((symbol, offset + self.base - symbol.address))
    }

    /// Reads a file's symbols; empty when it is not an ELF file we know or is stripped.
    pub(crate) fn read(path: &Path) -> Self {
        std::fs::read(path)
            .ok()
            .and_then(|bytes| Self::parse(&bytes))
            .unwrap_or_default()
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        const SYMBOLS: u32 = 2;
        const DYNAMIC_SYMBOLS: u32 = 11;
        const LOAD: u32 = 1;
        const PAGE: u64 = 4096;
        if bytes.get(..6)? != b"\x7fELF\x02\x01" {
            return None;
        }
        let mut table = Self {
            base: u64::MAX,
            ..Self::default()
        };
        let (programs, sections) = (long(bytes, 32)?, long(bytes, 40)?);
        for index in 0..u64::from(short(bytes, 56)?) {
            let at = usize::try_from(programs + index * 56).ok()?;
            if word(bytes, at)? == LOAD {
                table.base = table.base.min(long(bytes, at + 16)? / PAGE * PAGE);
            }
        }
        if table.base == u64::MAX {
            table.base = 0;
        }
        let section = |index: u64| usize::try_from(sections + index * 64).ok();
        for index in 0..u64::from(short(bytes, 60)?) {
            let at = section(index)?;
            if !matches!(word(bytes, at + 4)?, SYMBOLS | DYNAMIC_SYMBOLS) {
                continue;
            }
            let strings = usize::try_from(long(
                bytes,
                section(u64::from(word(bytes, at + 40)?))? + 24,
            )?)
            .ok()?;
            let (start, size) = (long(bytes, at + 24)?, long(bytes, at + 32)?);
            for entry in (start..start.checked_add(size)?).step_by(24) {
                table.symbol(bytes, usize::try_from(entry).ok()?, strings)?;
            }
        }
        table.functions.sort_by_key(|symbol| symbol.address);
        table.variables.sort_by_key(|symbol| symbol.address);
        Some(table)
    }

    fn symbol(&mut self, bytes: &[u8], at: usize, strings: usize) -> Option<()> {
        const VARIABLE: u8 = 1;
        const FUNCTION: u8 = 2;
        let kind = bytes.get(at + 4)? & 0xf;
        let (address, size) = (long(bytes, at + 8)?, long(bytes, at + 16)?);
        if address == 0 || !matches!(kind, VARIABLE | FUNCTION) {
            return Some(());
        }
        let from = strings + word(bytes, at)? as usize;
        let length = bytes.get(from..)?.iter().position(|byte| *byte == 0)?;
        let raw = String::from_utf8_lossy(&bytes[from..from + length]).into_owned();
        let list = if kind == FUNCTION {
            &mut self.functions
        } else {
            &mut self.variables
        };
        list.push(Symbol {
            address,
            size,
            name: raw,
        });
        Some(())
    }
}

/// A symbol's name for people.
pub(crate) fn readable(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// The kernel's symbols (`/proc/kallsyms`); empty where it hides them.
pub(crate) fn kernel() -> Vec<Symbol> {
    let text = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    let mut symbols: Vec<Symbol> = text
        .lines()
        .filter_map(|line| {
            let mut parts = line.split_whitespace();
            let address = u64::from_str_radix(parts.next()?, 16)
                .ok()
                .filter(|address| *address != 0)?;
            let name = parts.nth(1)?;
            Some(Symbol {
                address,
                size: 0,
                name: name.to_owned(),
            })
        })
        .collect();
    symbols.sort_by_key(|symbol| symbol.address);
    // A symbol reaches to the next one.
    for at in 1..symbols.len() {
        symbols[at - 1].size = symbols[at].address - symbols[at - 1].address;
    }
    symbols
}

/// The kernel symbol that `address` lies in, when it lies at most `within` bytes after its beginning.
pub(crate) fn in_kernel(symbols: &[Symbol], address: u64, within: u64) -> Option<&Symbol> {
    Table::find(symbols, address).filter(|symbol| address - symbol.address <= within)
}

/// A line of `/proc/PID/maps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) path: String,
    /// Where the file's first page is mapped, for the file's mappings and the zeroed memory behind them.
    pub(crate) first: u64,
}

/// The mappings of a process.
pub(crate) fn mappings(process: u32) -> Vec<Mapping> {
    parse_maps(&std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default())
}

fn parse_maps(text: &str) -> Vec<Mapping> {
    let mut firsts: HashMap<String, u64> = HashMap::new();
    let mut found: Vec<Mapping> = Vec::new();
    for line in text.lines() {
        let mut parts = line.split_whitespace();
        let Some((start, end)) = parts.next().and_then(|range| range.split_once('-')) else {
            continue;
        };
        let (Ok(start), Ok(end)) = (u64::from_str_radix(start, 16), u64::from_str_radix(end, 16))
        else {
            continue;
        };
        let path = parts.nth(4).unwrap_or_default().to_owned();
        if path.is_empty()
            && let Some(before) = found.last()
            && before.end == start
            && before.path.starts_with('/')
        {
            // The zeroed part of a file's data follows it without a name.
            let (path, first) = (before.path.clone(), before.first);
            found.push(Mapping {
                start,
                end,
                path,
                first,
            });
            continue;
        }
        let first = *firsts.entry(path.clone()).or_insert(start);
        found.push(Mapping {
            start,
            end,
            path,
            first,
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    static WITNESS: std::sync::Mutex<u32> = std::sync::Mutex::new(7);

    #[test]
    fn a_static_of_this_program_is_named() {
        let address = &raw const WITNESS as u64;
        let maps = mappings(std::process::id());
        let mapping = maps
            .iter()
            .find(|m| (m.start..m.end).contains(&address))
            .expect("a static is mapped");
        let table = Table::read(Path::new(&mapping.path));
        let (symbol, into) = table
            .variable(address - mapping.first)
            .expect("test programs are not stripped");
        assert!(
            readable(&symbol.name).contains("WITNESS"),
            "{}",
            symbol.name
        );
        assert_eq!(into, 0);
        let function =
            table.function(a_static_of_this_program_is_named as *const () as u64 - mapping.first);
        assert!(
            function
                .is_some_and(|f| readable(&f.name).contains("a_static_of_this_program_is_named"))
        );
    }

    #[test]
    fn other_files_have_no_symbols() {
        assert!(Table::parse(b"#!/bin/sh").is_none());
        assert!(Table::parse(b"\x7fELF\x02\x01").is_none());
    }
}
