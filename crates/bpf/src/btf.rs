//! Type information (BTF, `Documentation/bpf/btf.rst`), as far as we need it. Of the running kernel
//! (`/sys/kernel/btf/vmlinux`): where a field lies in a structure, and which arguments a tracepoint
//! hands over. Of an object file: what its maps are like.

use std::path::Path;

use crate::sys::MapDefinition;

const MAGIC: u16 = 0xeb9f;
const HEADER: usize = 24;
const TYPE: usize = 12;
const MEMBER: usize = 12;

/// `BTF_KIND_*` of `include/uapi/linux/btf.h`, those that are looked at.
mod kind {
    pub(super) const INTEGER: u32 = 1;
    pub(super) const POINTER: u32 = 2;
    pub(super) const ARRAY: u32 = 3;
    pub(super) const STRUCT: u32 = 4;
    pub(super) const UNION: u32 = 5;
    pub(super) const ENUMERATION: u32 = 6;
    pub(super) const TYPEDEF: u32 = 8;
    pub(super) const VOLATILE: u32 = 9;
    pub(super) const RESTRICT: u32 = 11;
    pub(super) const FUNCTION: u32 = 12;
    pub(super) const FUNCTION_PROTOTYPE: u32 = 13;
    pub(super) const VARIABLE: u32 = 14;
    pub(super) const SECTION: u32 = 15;
}

/// How deeply types are nested at most; broken information could have circles.
const DEPTH: u32 = 32;

/// Type information, read.
#[derive(Debug)]
pub struct Btf {
    bytes: Vec<u8>,
    /// Where each type begins in `bytes`, by its number.
    types: Vec<usize>,
    strings: usize,
    /// Where names of a module begin: their number of the first, and where that is in `bytes`.
    more_strings: (usize, usize),
}

/// One type's head.
#[derive(Clone, Copy)]
struct Head {
    name: u32,
    kind: u32,
    entries: usize,
    /// Members carry a bit field's size in their offset.
    bit_fields: bool,
    /// The type that this one refers to, or its size.
    refers: u32,
}

impl Btf {
    /// Reads the running kernel's. `None` when it was built without, or `path` is something else.
    pub fn read(path: &Path) -> Option<Self> {
        Self::parse(&std::fs::read(path).ok()?)
    }

    /// Reads the content of such a file, or of an object's section `.BTF`.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        Self::nothing().and(bytes)
    }

    /// This and what a file of a module adds to it (`/sys/kernel/btf/NAME`), whose types and names go
    /// on where these end.
    pub fn with_module(&self, path: &Path) -> Option<Self> {
        self.and(&std::fs::read(path).ok()?)
    }

    fn nothing() -> Self {
        Self {
            bytes: Vec::new(),
            // Number 0 is `void` and has no entry.
            types: vec![usize::MAX],
            strings: 0,
            more_strings: (0, 0),
        }
    }

    fn and(&self, bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(word(bytes, at)? as usize);
        if bytes.get(..2)? != MAGIC.to_le_bytes() {
            return None;
        }
        let header = word(4)?.max(HEADER);
        let (begin, length) = (header + word(8)?, word(12)?);
        let (strings, strings_length) = (header + word(16)?, word(20)?);
        let end = begin.checked_add(length)?.min(bytes.len());
        let behind = self.bytes.len();
        let mut types = self.types.clone();
        let mut at = begin;
        while at + TYPE <= end {
            types.push(behind + at);
            at += TYPE + tail(self::word(bytes, at + 4)?)?;
        }
        Some(Self {
            bytes: [&self.bytes, bytes].concat(),
            types,
            strings: if behind == 0 { strings } else { self.strings },
            more_strings: if behind == 0 {
                (strings_length, usize::MAX)
            } else {
                (self.more_strings.0, behind + strings)
            },
        })
    }

    /// All of it, as the kernel reads it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of the type that lists a section's variables.
    pub fn section(&self, name: &str) -> Option<u32> {
        self.find(kind::SECTION, name)
    }

    /// The map of this name: a variable whose structure says by its members' types what the map is
    /// like (`__uint` and `__type` of libbpf's `bpf_helpers.h`).
    pub fn map(&self, name: &str) -> Option<MapDefinition> {
        let variable = self.head(self.find(kind::VARIABLE, name)?)?;
        // Each member is a pointer: to the type that is meant, or to an array as long as the
        // number.
        let member = |name| {
            let (_, pointer) = self.member(variable.refers, name, DEPTH)?;
            Some(self.head(pointer)?.refers)
        };
        let number = |name| Some(self.array(member(name)?)?.1);
        let (key_type, value_type) = (member("key"), member("value"));
        let size = |number| self.size_of(number, DEPTH);
        Some(MapDefinition {
            name: name.to_owned(),
            kind: number("type")?,
            key_size: key_type.map_or_else(|| number("key_size"), size)?,
            value_size: value_type.map_or_else(|| number("value_size"), size)?,
            entries: number("max_entries")?,
            flags: number("map_flags").unwrap_or_default(),
            key_type: key_type.unwrap_or_default(),
            value_type: value_type.unwrap_or_default(),
        })
    }

    /// An array's element and length.
    fn array(&self, number: u32) -> Option<(u32, u32)> {
        let at = *self.types.get(number as usize)?;
        (self.head(number)?.kind == kind::ARRAY).then_some((
            word(&self.bytes, at + TYPE)?,
            word(&self.bytes, at + TYPE + 8)?,
        ))
    }

    /// In bytes.
    fn size_of(&self, number: u32, depth: u32) -> Option<u32> {
        let head = self.head(number)?;
        let depth = depth.checked_sub(1)?;
        match head.kind {
            kind::INTEGER | kind::STRUCT | kind::UNION | kind::ENUMERATION => Some(head.refers),
            kind::POINTER => Some(8),
            kind::TYPEDEF | kind::VOLATILE..=kind::RESTRICT => self.size_of(head.refers, depth),
            kind::ARRAY => {
                let (element, length) = self.array(number)?;
                self.size_of(element, depth)?.checked_mul(length)
            }
            _ => None,
        }
    }

    fn head(&self, number: u32) -> Option<Head> {
        let at = *self.types.get(number as usize)?;
        let information = word(&self.bytes, at.checked_add(4)?)?;
        Some(Head {
            name: word(&self.bytes, at)?,
            kind: kind_of(information),
            entries: (information & 0xffff) as usize,
            bit_fields: information >> 31 == 1,
            refers: word(&self.bytes, at + 8)?,
        })
    }

    fn is_called(&self, offset: u32, name: &str) -> bool {
        let (own, more) = self.more_strings;
        let offset = offset as usize;
        let at = match offset.checked_sub(own) {
            Some(beyond) => more.checked_add(beyond),
            None => Some(self.strings + offset),
        };
        at.and_then(|at| self.bytes.get(at..at.checked_add(name.len() + 1)?))
            .is_some_and(|text| text.split_last() == Some((&0, name.as_bytes())))
    }

    fn find(&self, kind: u32, name: &str) -> Option<u32> {
        (1..self.types.len() as u32).find(|number| {
            self.head(*number)
                .is_some_and(|head| head.kind == kind && self.is_called(head.name, name))
        })
    }

    /// The number of a structure.
    pub fn structure(&self, name: &str) -> Option<u32> {
        self.find(kind::STRUCT, name)
    }

    /// The number of a function.
    pub fn function(&self, name: &str) -> Option<u32> {
        self.find(kind::FUNCTION, name)
    }

    /// The number of a tracepoint's type, and how many arguments it hands to a program.
    pub fn tracepoint(&self, name: &str) -> Option<(u32, usize)> {
        let number = self.find(kind::TYPEDEF, &format!("btf_trace_{name}"))?;
        let pointer = self.head(self.head(number)?.refers)?;
        let function = self.head(pointer.refers)?;
        // The first parameter is the tracepoint's own.
        (pointer.kind == kind::POINTER && function.kind == kind::FUNCTION_PROTOTYPE)
            .then_some((number, function.entries.checked_sub(1)?))
    }

    /// How many bytes from the beginning of `structure` the field lies that a path of names leads
    /// to.
    pub fn offset(&self, structure: &str, path: &[&str]) -> Option<i16> {
        let mut number = self.find(kind::STRUCT, structure)?;
        let mut bits = 0;
        for name in path {
            let (offset, field) = self.member(number, name, DEPTH)?;
            bits += offset;
            number = self.meant(field, DEPTH)?;
        }
        i16::try_from(bits / 8).ok()
    }

    /// The type that stands behind other names for it.
    fn meant(&self, number: u32, depth: u32) -> Option<u32> {
        match self.head(number) {
            Some(head) if matches!(head.kind, kind::TYPEDEF | kind::VOLATILE..=kind::RESTRICT) => {
                self.meant(head.refers, depth.checked_sub(1)?)
            }
            _ => Some(number),
        }
    }

    /// A member's offset in bits and its type; members of nameless structures inside count too.
    fn member(&self, structure: u32, name: &str, depth: u32) -> Option<(u32, u32)> {
        let head = self.head(structure)?;
        let depth = depth.checked_sub(1)?;
        if !matches!(head.kind, kind::STRUCT | kind::UNION) {
            return None;
        }
        let first = *self.types.get(structure as usize)? + TYPE;
        for at in (0..head.entries).map(|index| first + index * MEMBER) {
            let (called, field) = (word(&self.bytes, at)?, word(&self.bytes, at + 4)?);
            let mut offset = word(&self.bytes, at + 8)?;
            if head.bit_fields {
                offset &= 0x00ff_ffff;
            }
            if self.is_called(called, name) {
                return Some((offset, field));
            }
            if self.is_called(called, "")
                && let Some((inside, field)) = self.member(field, name, depth)
            {
                return Some((offset + inside, field));
            }
        }
        None
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn kind_of(information: u32) -> u32 {
    information >> 24 & 0x1f
}

/// How many bytes follow a type's head. `None` for kinds this reader does not know, after which
/// nothing can be read.
fn tail(information: u32) -> Option<usize> {
    let entries = (information & 0xffff) as usize;
    Some(match kind_of(information) {
        // Integer, variable, declaration tag.
        1 | 14 | 17 => 4,
        // Array.
        3 => 12,
        // Structure, union, section, enumeration of 64 bits.
        4 | 5 | 15 | 19 => entries * 12,
        // Enumeration, function's parameters.
        6 | 13 => entries * 8,
        2 | 7..=12 | 16 | 18 => 0,
        _ => return None,
    })
}

#[cfg(test)]
#[path = "../tests/unit/btf.rs"]
mod tests;
