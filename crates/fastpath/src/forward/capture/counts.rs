//! What programs count of the frames that they show, as who reads these frames sees it.

use std::io;
use std::os::fd::OwnedFd;

use bpf::map::{Map, MappedArray};
use bpf::sys::{MAP_MMAPABLE, MapDefinition, TYPE_ARRAY};

/// The counts behind a descriptor: a row of so many words for each core.
///
/// # Errors
/// The kernel's; the loader's for counts of another form.
pub(super) fn open(
    name: &str,
    words: usize,
    counts: OwnedFd,
    cpus: usize,
) -> io::Result<MappedArray<u64>> {
    let definition = MapDefinition {
        name: name.to_owned(),
        kind: TYPE_ARRAY,
        key_size: 4,
        value_size: (words * 8) as u32,
        entries: cpus as u32,
        flags: MAP_MMAPABLE,
        ..MapDefinition::default()
    };
    let counts = Map::received(definition, counts).mapped();
    counts.map_err(io::Error::other)
}
