//! Symbols that are kept apart from their program, as distributions do it: a file that has the same
//! build id, under `/usr/lib/debug` or beside the program.

use std::fs::File;
use std::path::{Path, PathBuf};

use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ReadCache, ReadRef};

/// Where packages put them.
const DEBUG: &str = "/usr/lib/debug";

/// The file with the symbols of the program at `path`, whose content is `data`.
pub(super) fn symbols_of<'data>(data: impl ReadRef<'data>, path: &Path) -> Option<File> {
    let program = ElfFile64::<LittleEndian, _>::parse(data).ok()?;
    let id = program.build_id().ok()??;
    let link = program.gnu_debuglink().ok().flatten();
    let link = link.and_then(|(name, _)| std::str::from_utf8(name).ok());
    let places = by_id(id).into_iter().chain(by_link(link, path));
    places
        .filter_map(|place| File::open(place).ok())
        .find(|file| has_id(file, id))
}

fn by_id(id: &[u8]) -> Option<PathBuf> {
    let mut bytes = id.iter().map(|byte| format!("{byte:02x}"));
    let (first, rest) = (bytes.next()?, bytes.collect::<Vec<_>>().concat());
    Some(format!("{DEBUG}/.build-id/{first}/{rest}.debug").into())
}

/// Beside the program, and where its directory is under [`DEBUG`].
fn by_link(link: Option<&str>, path: &Path) -> Vec<PathBuf> {
    let link = link.and_then(|link| Path::new(link).file_name());
    let (Some(link), Some(directory)) = (link, path.parent()) else {
        return Vec::new();
    };
    let under = directory.strip_prefix("/").unwrap_or(directory);
    [
        directory.to_owned(),
        directory.join(".debug"),
        Path::new(DEBUG).join(under),
    ]
    .map(|directory| directory.join(link))
    .into()
}

/// A file of another build would give wrong names.
fn has_id(file: &File, id: &[u8]) -> bool {
    let Ok(file) = file.try_clone() else {
        return false;
    };
    let data = ReadCache::new(file);
    let found = ElfFile64::<LittleEndian, _>::parse(&data);
    found.is_ok_and(|found| found.build_id().ok().flatten() == Some(id))
}
