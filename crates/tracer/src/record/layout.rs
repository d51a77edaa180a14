//! The `format` files of tracefs: where a tracepoint of the running kernel keeps its fields.
//!
//! Offsets differ between kernel versions (6.18 moved `pid` of `sched_migrate_task` from byte 24 to
//! byte 12), so they are read at run time and never written into the program.

use std::collections::HashMap;

/// Where a field stands in a tracepoint's record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Field {
    /// Bytes from the beginning of the record.
    pub(crate) offset: u16,
    /// Bytes it takes.
    pub(crate) size: u16,
}

/// A tracepoint's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The number that stands in the record's first two bytes, and in `perf_event_attr.config`.
    pub(crate) id: u16,
    /// Its fields by name, the common ones too.
    fields: HashMap<String, Field>,
}

impl Layout {
    /// Reads the text of a `format` file. `None` when it is not one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let id = lines.find_map(|line| line.strip_prefix("ID: "))?;
        let id = id.trim().parse().ok()?;
        let fields: HashMap<_, _> = lines.filter_map(|line| field(line.trim())).collect();
        (!fields.is_empty()).then_some(Self { id, fields })
    }

    /// The field called `name`.
    pub(crate) fn field(&self, name: &str) -> Option<Field> {
        self.fields.get(name).copied()
    }
}

fn field(line: &str) -> Option<(String, Field)> {
    let rest = line.strip_prefix("field:")?;
    let (declaration, places) = rest.split_once(';')?;
    let place = |name: &str| {
        let mut places = places.split(';');
        places.find_map(|place| place.trim().strip_prefix(name)?.parse().ok())
    };
    // `__data_loc char[] comm` names its field after the brackets, `char comm[16]` before them.
    let named = match declaration.strip_prefix("__data_loc") {
        Some(declaration) => declaration,
        None => declaration.split('[').next()?,
    };
    let name = named.rsplit([' ', '*']).find(|word| !word.is_empty())?;
    let (offset, size) = (place("offset:")?, place("size:")?);
    Some((name.to_owned(), Field { offset, size }))
}

#[cfg(test)]
#[path = "../../tests/unit/layout.rs"]
mod tests;
