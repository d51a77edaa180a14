//! Names of addresses: symbols of ELF files (64 bits, little-endian) and of the kernel.
//!
//! Libraries know the format (`object`) and make names readable (`cpp_demangle`, `rustc_demangle`). One
//! that does all, as `blazesym`, is made for code; locks are variables, so both come of one reading here.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use cpp_demangle::{DemangleOptions, Symbol};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};
use object::{LittleEndian, ReadCache, ReadRef, elf};

use elf::FileHeader64;

use super::elsewhere::{self, Place};
use super::separate;

/// A symbol's place and the place of its name.
#[derive(Clone, Copy, Debug)]
struct Entry {
    address: u64,
    size: u64,
    name: usize,
}

/// Symbols by address. There are hundreds of thousands of them and a few are asked for, so their
/// names stay in the text that they were read in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbols {
    entries: Vec<Entry>,
}

impl Symbols {
    fn find(&self, address: u64) -> Option<Entry> {
        let at = self
            .entries
            .partition_point(|symbol| symbol.address <= address)
            .checked_sub(1)?;
        let symbol = self.entries[at];
        (address - symbol.address < symbol.size.max(1)).then_some(symbol)
    }

    fn sort(&mut self) {
        self.entries.sort_by_key(|symbol| symbol.address);
    }
}

/// A variable that an address lies in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) size: u64,
    /// Bytes from its beginning to the address.
    pub(crate) into: u64,
}

/// The symbols of one file, by address as the file has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    functions: Symbols,
    variables: Symbols,
    /// The file's string tables, one after the other.
    names: Vec<u8>,
    /// The first loaded address, a multiple of the page size.
    base: u64,
    /// It has more than what others may link to.
    is_whole: bool,
}

impl Table {
    /// The name of the function at `offset` bytes from where the file's first page is mapped.
    pub(crate) fn function(&self, offset: u64) -> Option<String> {
        Some(self.name(self.functions.find(offset.checked_add(self.base)?)?))
    }

    /// The variable at `offset` bytes from where the file's first page is mapped.
    pub(crate) fn variable(&self, offset: u64) -> Option<Variable> {
        let address = offset.checked_add(self.base)?;
        let symbol = self.variables.find(address)?;
        Some(Variable {
            name: self.name(symbol),
            size: symbol.size,
            into: address - symbol.address,
        })
    }

    /// A symbol's name for people.
    fn name(&self, symbol: Entry) -> String {
        let rest = self.names.get(symbol.name..).unwrap_or_default();
        let name = rest.split(|byte| *byte == 0).next().unwrap_or_default();
        demangled(&String::from_utf8_lossy(name))
    }

    /// Reads a file's symbols, and nothing else of it; of a stripped one those that are kept apart
    /// from it, if they are there. Empty when it is not an ELF file we know.
    pub(crate) fn read(file: File, path: &Path) -> Self {
        let data = ReadCache::new(file);
        let mut table = Self::parse(&data).unwrap_or_default();
        if !table.is_whole
            && let Some(apart) = separate::symbols_of(&data, path)
        {
            // What was read until it broke off is good.
            let _ = table.add(&ReadCache::new(apart));
        }
        table
    }

    /// Reads the symbols of a mapping's file.
    pub(crate) fn of(mapping: &Mapping) -> Self {
        let path = Path::new(&mapping.path);
        mapping
            .open()
            .map(|file| Self::read(file, path))
            .unwrap_or_default()
    }

    fn parse<'data>(data: impl ReadRef<'data>) -> object::read::Result<Self> {
        const PAGE: u64 = 4096;
        let head = FileHeader64::<LittleEndian>::parse(data)?;
        let endian = head.endian()?;
        let loaded = head
            .program_headers(endian, data)?
            .iter()
            .filter(|program| program.p_type(endian) == elf::PT_LOAD)
            .map(|program| program.p_vaddr(endian) / PAGE * PAGE);
        let mut table = Self {
            base: loaded.min().unwrap_or(0),
            ..Self::default()
        };
        table.add(data)?;
        Ok(table)
    }

    /// Adds the symbols of an ELF file.
    fn add<'data>(&mut self, data: impl ReadRef<'data>) -> object::read::Result<()> {
        let head = FileHeader64::<LittleEndian>::parse(data)?;
        let endian = head.endian()?;
        let sections = head.sections(endian, data)?;
        for kind in [elf::SHT_SYMTAB, elf::SHT_DYNSYM] {
            let symbols = sections.symbols(endian, data, kind)?;
            if symbols.is_empty() {
                continue;
            }
            self.is_whole |= kind == elf::SHT_SYMTAB;
            let first = self.names.len();
            let strings = sections.section(symbols.string_section())?;
            self.names.extend(strings.data(endian, data)?);
            for symbol in symbols.iter() {
                let list = match symbol.st_type() {
                    elf::STT_OBJECT => &mut self.variables,
                    elf::STT_FUNC => &mut self.functions,
                    _ => continue,
                };
                if let address @ 1.. = symbol.st_value(endian) {
                    list.entries.push(Entry {
                        address,
                        size: symbol.st_size(endian),
                        name: first + symbol.st_name(endian) as usize,
                    });
                }
            }
        }
        self.functions.sort();
        self.variables.sort();
        Ok(())
    }
}

/// A symbol's name as it was in the source: of Rust, C++ or C. Without parameters, which say little
/// and take much room.
fn demangled(name: &str) -> String {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return format!("{rust:#}");
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    // Without the mark it would be a type: `i` is int.
    let cpp = name.starts_with("_Z").then(|| Symbol::new(name).ok());
    cpp.flatten()
        .and_then(|symbol| symbol.demangle_with_options(&options).ok())
        .unwrap_or_else(|| name.to_owned())
}

/// The kernel's symbols.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kernel {
    text: String,
    symbols: Symbols,
}

impl Kernel {
    /// Reads `/proc/kallsyms`; empty where it hides them.
    pub(crate) fn read() -> Self {
        Self::parse(std::fs::read_to_string("/proc/kallsyms").unwrap_or_default())
    }

    /// Lines of address, letter, name and perhaps module.
    fn parse(text: String) -> Self {
        let mut symbols = Symbols::default();
        let mut line_at = 0;
        for line in text.split_inclusive('\n') {
            if let Some((address, _)) = line.split_once(' ')
                && let Ok(address @ 1..) = u64::from_str_radix(address, 16)
            {
                symbols.entries.push(Entry {
                    address,
                    size: 0,
                    name: line_at,
                });
            }
            line_at += line.len();
        }
        symbols.sort();
        // A symbol reaches to the next one.
        for at in 1..symbols.entries.len() {
            symbols.entries[at - 1].size =
                symbols.entries[at].address - symbols.entries[at - 1].address;
        }
        Self { text, symbols }
    }

    /// The static variable that `address` lies in, and how far from its beginning when that is not
    /// 0. A function is none, and what lies far behind the last variable of a file belongs to
    /// nobody: the kernel does not tell how long its variables are.
    pub(crate) fn variable(&self, address: u64) -> Option<String> {
        /// The letters of `nm` for data, small data, zeroed and read-only memory, and weak objects.
        const DATA: &str = "dDgGbBsSrRvV";
        /// A lock lies this near to the beginning of the variable that contains it.
        const NEAR: u64 = 4096;
        let symbol = self.symbols.find(address)?;
        let into = address - symbol.address;
        let mut words = self.text[symbol.name..].split_whitespace().skip(1);
        let (letter, name) = (words.next()?, words.next()?);
        if into > NEAR || !DATA.contains(letter) {
            return None;
        }
        Some(if into == 0 {
            name.to_owned()
        } else {
            format!("{name}+{into:#x}")
        })
    }

    /// The symbol that `address` lies in, when it lies at most `within` bytes after its beginning.
    pub(crate) fn name(&self, address: u64, within: u64) -> Option<&str> {
        let symbol = self
            .symbols
            .find(address)
            .filter(|symbol| address - symbol.address <= within)?;
        self.text[symbol.name..].split_whitespace().nth(2)
    }
}

/// A line of `/proc/PID/maps`.
#[derive(Clone, Debug)]
pub(crate) struct Mapping {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) path: String,
    /// Where the file's first page is mapped, for the file's mappings and the zeroed memory behind
    /// them.
    pub(crate) first: u64,
    /// Where that file is.
    pub(crate) place: Place,
}

/// Tells files apart, and not the mappings of one: its path, and in containers, where one path may mean
/// several files, its device and number.
pub(crate) type FileKey = (String, Option<(u64, u64)>);

impl Mapping {
    /// Its file; `None` where that cannot be read.
    pub(crate) fn open(&self) -> Option<File> {
        match &self.place {
            Place::Here => File::open(&self.path).ok(),
            Place::Opened(file, _) => file.try_clone().ok(),
            Place::Nowhere => None,
        }
    }

    /// Which file that is, if there is one to be read.
    pub(crate) fn file(&self) -> Option<FileKey> {
        let number = match &self.place {
            Place::Here => None,
            Place::Opened(_, number) => Some(*number),
            Place::Nowhere => return None,
        };
        Some((self.path.clone(), number))
    }
}

/// The mappings of a process.
pub(crate) fn mappings(process: u32) -> Vec<Mapping> {
    let text = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
    let mut mappings = parse_maps(&text);
    elsewhere::open(process, &mut mappings);
    mappings
}

/// The mapping that `address` lies in.
pub(crate) fn containing(maps: &[Mapping], address: u64) -> Option<&Mapping> {
    maps.iter()
        .find(|mapping| (mapping.start..mapping.end).contains(&address))
}

fn parse_maps(text: &str) -> Vec<Mapping> {
    let mut firsts: HashMap<String, u64> = HashMap::new();
    let mut found: Vec<Mapping> = Vec::new();
    for line in text.lines() {
        // The last part, the path, may have blanks.
        let mut parts = line.splitn(6, ' ');
        let Some((start, end)) = parts.next().and_then(|range| range.split_once('-')) else {
            continue;
        };
        let (Ok(start), Ok(end)) = (u64::from_str_radix(start, 16), u64::from_str_radix(end, 16))
        else {
            continue;
        };
        let path = parts.nth(4).unwrap_or_default().trim_start().to_owned();
        let (path, first) = match found.last() {
            // The zeroed part of a file's data follows it without a name.
            Some(before)
                if path.is_empty() && before.end == start && before.path.starts_with('/') =>
            {
                (before.path.clone(), before.first)
            }
            _ => {
                let first = *firsts.entry(path.clone()).or_insert(start);
                (path, first)
            }
        };
        found.push(Mapping {
            start,
            end,
            path,
            first,
            place: Place::Here,
        });
    }
    found
}

#[cfg(test)]
#[path = "../../tests/unit/record_symbols.rs"]
mod tests;
