//! Kernels of their own for some of the cores.

mod archive;
mod choice;
mod image;
mod inside;
mod plan;
mod qemu;
mod registers;
mod running;
mod uml;

use std::fs;
use std::path::PathBuf;

pub use choice::Choice;
pub use plan::{BOOT_BOUND, BOOT_PATIENCE, Kind, Plan};
pub use running::{Guest, sweep_leftovers};

/// The static program for guests: what `CORELANE_GUEST` names, else the file `corelane-guest`
/// beside this program, else the one that this program carries inside, as what `make dist` makes
/// does, else what `make guest` built in the source tree that this program was built from. `None`
/// when there is none. A program that needs a loader is passed over: a guest has none.
pub fn program() -> Option<PathBuf> {
    let named = std::env::var_os("CORELANE_GUEST").map(PathBuf::from);
    let beside = std::env::current_exe()
        .ok()
        .map(|own| own.with_file_name("corelane-guest"));
    let built = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../target/x86_64-unknown-linux-musl/guest/corelane-guest");
    [named, beside, inside::program(), Some(built)]
        .into_iter()
        .flatten()
        .find(|path| fs::read(path).is_ok_and(|bytes| is_static(&bytes)))
}

/// Whether this is a 64-bit ELF file (elf(5)) in this machine's byte order that asks for no loader
/// (`PT_INTERP`).
fn is_static(file: &[u8]) -> bool {
    const LOADER: u32 = 3;
    let half = |at: usize| Some(u16::from_ne_bytes(*file.get(at..)?.first_chunk()?) as usize);
    let table = || {
        let start = u64::from_ne_bytes(*file.get(32..)?.first_chunk()?);
        let (entry, count) = (half(54)?, half(56)?);
        let kinds = (0..count).map(|number| {
            let at = usize::try_from(start).ok()? + number * entry;
            Some(u32::from_ne_bytes(*file.get(at..)?.first_chunk()?))
        });
        kinds.collect::<Option<Vec<u32>>>()
    };
    file.starts_with(b"\x7fELF\x02") && table().is_some_and(|kinds| !kinds.contains(&LOADER))
}

#[cfg(test)]
#[path = "../../tests/unit/guest.rs"]
mod tests;
