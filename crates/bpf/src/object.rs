//! Reads eBPF objects in libbpf's form (`docs.kernel.org/bpf/libbpf`): ELF, with maps in section
//! `.maps` that the types in section `.BTF` describe, arrays in sections `.data.NAME`, constants in
//! section `.rodata`.
//!
//! A program refers to a map, an array or a constant by a 16-byte "load 64-bit immediate";
//! [`Object`] keeps where they are, [`crate::program::Loader`] fills them in. Subprograms that are
//! not inlined and variables elsewhere are refused.

use std::ffi::CStr;

use object::elf::R_BPF_64_64;
use object::read::elf::ElfFile64;
use object::{
    Architecture, LittleEndian, Object as _, ObjectSection, ObjectSymbol, RelocationFlags,
    RelocationTarget, SectionIndex, SymbolKind,
};

use crate::btf::Btf;
use crate::sys::{self, Hook, Instruction, MapDefinition};
use crate::{Error, Result};

/// The section of constants, and the name of the map that holds them.
pub(crate) const CONSTANTS: &str = ".rodata";

/// The sections of arrays begin so. Each is a map of one value, named like the rest.
const VALUES: &str = ".data.";

/// What an instruction refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Index of the instruction, the first half of a "load 64-bit immediate".
    pub at: usize,
    /// Place in [`Object::maps`].
    pub map: usize,
    /// Bytes from the beginning of the map's first value, when a constant is meant and not the
    /// map.
    pub offset: Option<u32>,
}

/// One program: a function in a section of a name that [`Hook`] knows.
#[derive(Clone, Debug)]
pub struct Code {
    /// Where it runs.
    pub hook: Hook,
    /// Name of the function.
    pub name: String,
    /// `BPF_F_…` of the section's kind.
    pub flags: u32,
    /// Instructions, references not filled in.
    pub instructions: Vec<Instruction>,
    /// What belongs into them.
    pub references: Vec<Reference>,
}

/// A load-time constant.
#[derive(Clone, Debug)]
pub struct Constant {
    /// Its name in the C source.
    pub name: String,
    /// Where it lies in [`Object::constant_bytes`].
    pub bytes: std::ops::Range<usize>,
}

/// A parsed object file.
#[derive(Debug)]
pub struct Object {
    /// Maps in the order of the file, then the arrays; the constants' is the last.
    pub maps: Vec<MapDefinition>,
    /// The constants.
    pub constants: Vec<Constant>,
    /// The value of the constants' map.
    pub constant_bytes: Vec<u8>,
    /// Programs in the order of the file.
    pub programs: Vec<Code>,
    /// For the kernel: helpers for GPL programs need a compatible one.
    pub license: String,
    /// Types, to be shown with the maps.
    pub types: Btf,
}

type Elf<'a> = ElfFile64<'a, LittleEndian>;

/// `BPF_LD | BPF_IMM | BPF_DW`.
const LOAD_IMMEDIATE_64: u8 = 0x18;

impl Object {
    /// Parses an ELF file made by `bpf/build.sh`.
    ///
    /// # Errors
    /// [`Error::Object`] names what is missing or of an unknown kind.
    pub fn parse(file: &[u8]) -> Result<Self> {
        let elf = Elf::parse(file).map_err(|error| broken("file", error))?;
        if elf.architecture() != Architecture::Bpf {
            return Err(broken("file", "not for the eBPF machine"));
        }
        let types = Btf::parse(data(&elf, ".BTF")?)
            .ok_or_else(|| broken(".BTF", "no types that can be read"))?;
        let license = CStr::from_bytes_until_nul(data(&elf, "license")?)
            .map_err(|error| broken("license", error))?;
        let license = license.to_string_lossy().into_owned();

        let (mut maps, mut places) = (Vec::new(), Vec::new());
        for (name, at, _) in variables(&elf, ".maps")? {
            let definition = types.map(name);
            maps.push(definition.ok_or_else(|| broken(name, "no map in libbpf's form"))?);
            places.push(at);
        }
        // One value that fills a section, whose variables describe it.
        let array = |name: &str, section: &str, bytes: usize, flags| MapDefinition {
            name: name.to_owned(),
            kind: sys::TYPE_ARRAY,
            key_size: 4,
            value_size: bytes as u32,
            entries: 1,
            flags,
            key_type: 0,
            value_type: types.section(section).unwrap_or_default(),
        };
        let mut sections = Vec::new();
        for section in elf.sections() {
            let full = section.name().map_err(|error| broken("section", error))?;
            if let Some(name) = full.strip_prefix(VALUES) {
                maps.push(array(
                    name,
                    full,
                    section.size() as usize,
                    sys::MAP_MMAPABLE,
                ));
                sections.push(section.index());
            }
        }
        let mut constants = Vec::new();
        let mut constant_bytes = Vec::new();
        if elf.section_by_name(CONSTANTS).is_some() {
            constant_bytes = data(&elf, CONSTANTS)?.to_vec();
            for (name, at, size) in variables(&elf, CONSTANTS)? {
                let (name, bytes) = (name.to_owned(), at..at.saturating_add(size));
                if constant_bytes.get(bytes.clone()).is_none() || size > size_of::<u64>() {
                    return Err(broken(&name, "not a word in its section"));
                }
                constants.push(Constant { name, bytes });
            }
            maps.push(array(
                CONSTANTS,
                CONSTANTS,
                constant_bytes.len(),
                sys::MAP_READ_ONLY,
            ));
        }

        let mut programs = Vec::new();
        for section in elf.sections() {
            let name = section.name().map_err(|error| broken("section", error))?;
            let Some((hook, flags)) = Hook::of_section(name) else {
                continue;
            };
            let code = section.data().map_err(|error| broken(name, error))?;
            let references = references(&elf, section.index(), code, &places, &sections)?;
            for (name, at, size) in symbols(&elf, section.index(), SymbolKind::Text)? {
                let (first, end) = (at / 8, at.saturating_add(size) / 8);
                programs.push(Code {
                    hook,
                    name: name.to_owned(),
                    flags,
                    instructions: code
                        .get(at..at.saturating_add(size))
                        .and_then(instructions)
                        .ok_or_else(|| broken(name, "not a whole number of instructions"))?,
                    references: (references.iter())
                        .filter(|reference| (first..end).contains(&reference.at))
                        .map(|reference| Reference {
                            at: reference.at - first,
                            ..reference.clone()
                        })
                        .collect(),
                });
            }
        }
        Ok(Self {
            maps,
            constants,
            constant_bytes,
            programs,
            license,
            types,
        })
    }
}

fn broken(thing: &str, what: impl std::fmt::Display) -> Error {
    Error::Object(format!("{thing}: {what}"))
}

fn data<'a>(elf: &Elf<'a>, name: &str) -> Result<&'a [u8]> {
    let section = elf.section_by_name(name);
    let section = section.ok_or_else(|| broken("file", format!("no section {name}")))?;
    section.data().map_err(|error| broken(name, error))
}

/// The variables of the section of this name, if there is one: as [`symbols`].
fn variables<'a>(elf: &Elf<'a>, section: &str) -> Result<Vec<(&'a str, usize, usize)>> {
    elf.section_by_name(section)
        .map_or(Ok(Vec::new()), |section| {
            symbols(elf, section.index(), SymbolKind::Data)
        })
}

/// Name, place and size of what a section holds of one kind, in order.
fn symbols<'a>(
    elf: &Elf<'a>,
    section: SectionIndex,
    kind: SymbolKind,
) -> Result<Vec<(&'a str, usize, usize)>> {
    let mut found = Vec::new();
    for symbol in elf.symbols() {
        if symbol.section_index() == Some(section) && symbol.kind() == kind {
            let name = symbol.name().map_err(|error| broken("symbol", error))?;
            found.push((name, symbol.address() as usize, symbol.size() as usize));
        }
    }
    found.sort_by_key(|&(_, at, _)| at);
    Ok(found)
}

/// What the code of a section refers to; `maps` are the maps' places in theirs, `values` the
/// sections that are a map each and come behind them.
fn references(
    elf: &Elf<'_>,
    section: SectionIndex,
    code: &[u8],
    maps: &[usize],
    values: &[SectionIndex],
) -> Result<Vec<Reference>> {
    let mut found = Vec::new();
    let relocations = elf.section_by_index(section).map(|s| s.relocations());
    for (place, relocation) in relocations.map_err(|error| broken("section", error))? {
        let RelocationTarget::Symbol(symbol) = relocation.target() else {
            return Err(broken("relocation", "to no symbol"));
        };
        let symbol = elf.symbol_by_index(symbol);
        let symbol = symbol.map_err(|error| broken("relocation", error))?;
        let name = symbol.name().unwrap_or_default();
        let at = place as usize / 8;
        // Both halves of the instruction.
        let bytes = code.get(at * 8..at * 8 + 16).and_then(instructions);
        let first = match bytes.as_deref() {
            Some([first, _]) if first.code == LOAD_IMMEDIATE_64 => *first,
            _ => return Err(broken(name, "not the operand of a 64-bit load")),
        };
        if !matches!(relocation.flags(), RelocationFlags::Elf { r_type } if r_type == R_BPF_64_64) {
            return Err(broken(name, "a relocation of another kind"));
        }
        let target = symbol.section_index();
        let own = values.iter().position(|&value| Some(value) == target);
        let target = target.and_then(|index| elf.section_by_index(index).ok());
        let target = target.as_ref().and_then(|section| section.name().ok());
        let value = symbol.address() as usize + first.immediate as usize;
        let (map, offset) = match target {
            _ if let Some(place) = own => (maps.len() + place, Some(value as u32)),
            Some(".maps") => {
                let map = maps.iter().position(|&map| map == value);
                let map = map.ok_or_else(|| broken(name, "not the beginning of a map"))?;
                (map, None)
            }
            Some(CONSTANTS) => (maps.len() + values.len(), Some(value as u32)),
            _ => return Err(broken(name, "neither a map nor a constant")),
        };
        found.push(Reference { at, map, offset });
    }
    Ok(found)
}

fn instructions(code: &[u8]) -> Option<Vec<Instruction>> {
    let (records, rest) = code.as_chunks::<8>();
    let instruction = |&[code, registers, o0, o1, i0, i1, i2, i3]: &[u8; 8]| Instruction {
        code,
        registers,
        offset: i16::from_le_bytes([o0, o1]),
        immediate: i32::from_le_bytes([i0, i1, i2, i3]),
    };
    let whole = rest.is_empty() && !records.is_empty();
    whole.then(|| records.iter().map(instruction).collect())
}

#[cfg(test)]
#[path = "../tests/unit/object.rs"]
mod tests;
