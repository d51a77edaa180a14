//! Reads eBPF objects: ELF, with maps as plain records, and two kinds of
//! relocation.
//!
//! A program refers to a map by its symbol in section `maps`, and to a load-time constant by an
//! undefined symbol. Both are a 16-byte "load 64-bit immediate" in the code; [`Object`] keeps where
//! they are, [`crate::program::Loader`] fills them in. Subprograms that are not inlined, global
//! variables and debug information are not read: the programs have none.

use crate::sys::{Hook, Instruction};
use crate::{Error, Result};

/// A map as the C source declares it; the loader may change the number of entries or the value's
/// size before it creates it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapDefinition {
    /// Its name in the C source.
    pub name: String,
    /// `BPF_MAP_TYPE_…`.
    pub kind: u32,
    /// Bytes of a key.
    pub key_size: u32,
    /// Bytes of a value.
    pub value_size: u32,
    /// How many.
    pub entries: u32,
    /// `BPF_F_…`.
    pub flags: u32,
}

/// What an instruction refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The map at this position of [`Object::maps`].
    Map(usize),
    /// The load-time constant of this name.
    Constant(String),
}

/// One program: the code of one `xdp/NAME`, `tc/NAME` or `socket/NAME` section.
#[derive(Clone, Debug)]
pub struct Code {
    /// Where it runs.
    pub hook: Hook,
    /// NAME of the section.
    pub name: String,
    /// Instructions, references not filled in.
    pub instructions: Vec<Instruction>,
    /// Instruction index and what belongs there.
    pub references: Vec<(usize, Reference)>,
}

/// A parsed object file.
#[derive(Clone, Debug)]
pub struct Object {
    /// Maps in the order of the file.
    pub maps: Vec<MapDefinition>,
    /// Programs in the order of the file.
    pub programs: Vec<Code>,
    /// For the kernel: helpers for GPL programs need a compatible one.
    pub license: String,
}

struct Section<'a> {
    name: String,
    kind: u32,
    link: u32,
    info: u32,
    data: &'a [u8],
}

struct Symbol {
    name: String,
    section: u16,
    value: u64,
}

const SECTION_SYMBOLS: u32 = 2;
const SECTION_RELOCATIONS: u32 = 9;
const SECTION_NOBITS: u32 = 8;
const MACHINE_BPF: u16 = 247;
const RELOCATION_64_64: u32 = 1;
const MAP_RECORD: usize = 20;
/// `BPF_LD | BPF_IMM | BPF_DW`.
const LOAD_IMMEDIATE_64: u8 = 0x18;

impl Object {
    /// Parses an ELF file made by `bpf/build.sh`.
    ///
    /// # Errors
    /// [`Error::Object`] names what is missing or of an unknown kind.
    pub fn parse(file: &[u8]) -> Result<Self> {
        let sections = sections(file)?;
        let symbols = symbols(&sections)?;
        let maps_section = sections.iter().position(|section| section.name == "maps");
        let (maps, map_offsets) = maps(&sections, &symbols, maps_section)?;
        let license = sections
            .iter()
            .find(|section| section.name == "license")
            .map(|section| text(section.data, 0))
            .unwrap_or_default();

        let mut programs = Vec::new();
        for (index, section) in sections.iter().enumerate() {
            let (hook, name) = match section.name.split_once('/') {
                Some(("xdp", name)) => (Hook::Xdp, name),
                Some(("tc", name)) => (Hook::Tc, name),
                Some(("socket", name)) => (Hook::Socket, name),
                _ => continue,
            };
            let instructions = instructions(section)?;
            let mut references = Vec::new();
            for relocations in sections
                .iter()
                .filter(|s| s.kind == SECTION_RELOCATIONS && s.info as usize == index)
            {
                for record in relocations.data.chunks_exact(16) {
                    let at = number(record, 0, 8)? as usize / 8;
                    let info = number(record, 8, 8)?;
                    let symbol = symbols
                        .get((info >> 32) as usize)
                        .ok_or_else(|| broken("relocation", "symbol out of range"))?;
                    if info as u32 != RELOCATION_64_64
                        || instructions.get(at).map(|i| i.code) != Some(LOAD_IMMEDIATE_64)
                        || at + 1 >= instructions.len()
                    {
                        return Err(broken(name, "a relocation that is not a 64-bit immediate"));
                    }
                    let reference = if symbol.section == 0 {
                        Reference::Constant(symbol.name.clone())
                    } else if Some(symbol.section as usize) == maps_section {
                        let map = map_offsets
                            .iter()
                            .position(|&offset| offset == symbol.value)
                            .ok_or_else(|| broken(&symbol.name, "not the start of a map record"))?;
                        Reference::Map(map)
                    } else {
                        return Err(broken(&symbol.name, "neither a map nor a constant"));
                    };
                    references.push((at, reference));
                }
            }
            programs.push(Code {
                hook,
                name: name.to_owned(),
                instructions,
                references,
            });
        }
        Ok(Self {
            maps,
            programs,
            license,
        })
    }
}

fn broken(thing: &str, what: &str) -> Error {
    Error::Object(format!("{thing}: {what}"))
}

/// Little-endian number of `size` bytes at `offset`.
fn number(data: &[u8], offset: usize, size: usize) -> Result<u64> {
    let bytes = offset
        .checked_add(size)
        .and_then(|end| data.get(offset..end))
        .ok_or_else(|| broken("file", "cut short"))?;
    Ok(bytes
        .iter()
        .rev()
        .fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
}

fn text(data: &[u8], offset: usize) -> String {
    let bytes = data.get(offset..).unwrap_or_default();
    let end = bytes
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn sections(file: &[u8]) -> Result<Vec<Section<'_>>> {
    // 64-bit, little-endian, current version.
    if !file.starts_with(b"\x7fELF\x02\x01\x01") {
        return Err(broken("file", "not a 64-bit little-endian ELF file"));
    }
    if number(file, 18, 2)? as u16 != MACHINE_BPF {
        return Err(broken("file", "not for the eBPF machine"));
    }
    let table = number(file, 40, 8)? as usize;
    let count = number(file, 60, 2)? as usize;
    let names = number(file, 62, 2)? as usize;
    let mut sections = Vec::with_capacity(count);
    for index in 0..count {
        let at = table.saturating_add(index * 64);
        let kind = number(file, at + 4, 4)? as u32;
        number(file, at + 56, 8)?; // the whole record is there
        let (offset, size) = (
            number(file, at + 24, 8)? as usize,
            number(file, at + 32, 8)? as usize,
        );
        let data = if kind == SECTION_NOBITS {
            &[][..]
        } else {
            offset
                .checked_add(size)
                .and_then(|end| file.get(offset..end))
                .ok_or_else(|| broken("section", "outside the file"))?
        };
        sections.push((
            number(file, at, 4)? as usize,
            Section {
                name: String::new(),
                kind,
                link: number(file, at + 40, 4)? as u32,
                info: number(file, at + 44, 4)? as u32,
                data,
            },
        ));
    }
    let strings = sections
        .get(names)
        .map(|(_, section)| section.data)
        .ok_or_else(|| broken("file", "no section names"))?;
    Ok(sections
        .into_iter()
        .map(|(name, section)| Section {
            name: text(strings, name),
            ..section
        })
        .collect())
}

fn symbols(sections: &[Section<'_>]) -> Result<Vec<Symbol>> {
    let table = sections
        .iter()
        .find(|section| section.kind == SECTION_SYMBOLS)
        .ok_or_else(|| broken("file", "no symbol table"))?;
    let strings = sections
        .get(table.link as usize)
        .ok_or_else(|| broken("file", "no symbol names"))?
        .data;
    table
        .data
        .chunks_exact(24)
        .map(|record| {
            Ok(Symbol {
                name: text(strings, number(record, 0, 4)? as usize),
                section: number(record, 6, 2)? as u16,
                value: number(record, 8, 8)?,
            })
        })
        .collect()
}

/// The maps, and each one's offset in its section.
fn maps(
    sections: &[Section<'_>],
    symbols: &[Symbol],
    section: Option<usize>,
) -> Result<(Vec<MapDefinition>, Vec<u64>)> {
    let Some(index) = section else {
        return Ok((Vec::new(), Vec::new()));
    };
    let data = sections[index].data;
    let mut found = Vec::new();
    for symbol in symbols
        .iter()
        .filter(|s| s.section as usize == index && !s.name.is_empty())
    {
        let field = |i: usize| number(data, symbol.value as usize + 4 * i, 4).map(|n| n as u32);
        found.push((
            MapDefinition {
                name: symbol.name.clone(),
                kind: field(0)?,
                key_size: field(1)?,
                value_size: field(2)?,
                entries: field(3)?,
                flags: field(4)?,
            },
            symbol.value,
        ));
    }
    found.sort_by_key(|(_, offset)| *offset);
    if found.len() * MAP_RECORD != data.len() {
        return Err(broken(
            "maps",
            "section holds something else than map records",
        ));
    }
    Ok(found.into_iter().unzip())
}

fn instructions(section: &Section<'_>) -> Result<Vec<Instruction>> {
    if section.data.is_empty() || !section.data.len().is_multiple_of(8) {
        return Err(broken(&section.name, "not a whole number of instructions"));
    }
    section
        .data
        .chunks_exact(8)
        .map(|record| {
            Ok(Instruction {
                code: record[0],
                registers: record[1],
                offset: (number(record, 2, 2)? as u16).cast_signed(),
                immediate: (number(record, 4, 4)? as u32).cast_signed(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GENERATE: &[u8] = include_bytes!("../../fastpath/bpf/built/generate.bpf.o");

    #[test]
    fn the_generator_object_has_its_parts() {
        let object = Object::parse(GENERATE).unwrap();
        assert_eq!(object.license, "Dual MIT/GPL");
        assert_eq!(object.programs.len(), 1);
        assert_eq!(object.programs[0].name, "generate");
        let destinations = object
            .maps
            .iter()
            .find(|map| map.name == "destinations")
            .unwrap();
        assert_eq!((destinations.key_size, destinations.value_size), (4, 16));
        let constants: Vec<_> = object.programs[0]
            .references
            .iter()
            .filter_map(|(_, reference)| match reference {
                Reference::Constant(name) => Some(name.as_str()),
                Reference::Map(_) => None,
            })
            .collect();
        assert!(constants.contains(&"STREAM") && constants.contains(&"IPV6"));
    }

    #[test]
    fn every_cut_or_changed_object_is_refused_or_parsed_but_never_panics() {
        for length in 0..GENERATE.len() {
            assert!(Object::parse(&GENERATE[..length]).is_err(), "{length}");
        }
        let mut changed = GENERATE.to_vec();
        for at in 0..changed.len() {
            for value in [0, 0xff, changed[at] ^ 0x10] {
                let before = std::mem::replace(&mut changed[at], value);
                let _outcome = Object::parse(&changed);
                changed[at] = before;
            }
        }
    }
}
