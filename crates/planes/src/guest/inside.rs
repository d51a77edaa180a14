//! The guests' program that this one carries inside, as a file in memory.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::OnceLock;

use flate2::read::GzDecoder;
use rustix::fs::{MemfdFlags, memfd_create};

/// The program, packed by gzip.
#[cfg(guest_inside)]
const PACKED: Option<&[u8]> = Some(include_bytes!(env!("CORELANE_GUEST_INSIDE")));
#[cfg(not(guest_inside))]
const PACKED: Option<&[u8]> = None;

/// Where it can be read and started for as long as this process lives. `None` when none was packed,
/// or there is no memory for it.
pub(super) fn program() -> Option<PathBuf> {
    static FILE: OnceLock<Option<File>> = OnceLock::new();
    let file = FILE.get_or_init(|| unpacked(PACKED?).ok()).as_ref();
    file.map(place)
}

/// Of a file in memory, also as this process's children see it.
fn place(file: &File) -> PathBuf {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()).into()
}

fn unpacked(packed: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("corelane-guest", MemfdFlags::CLOEXEC)?);
    io::copy(&mut GzDecoder::new(packed), &mut file)?;
    Ok(file)
}

#[cfg(test)]
#[path = "../../tests/unit/inside.rs"]
mod tests;
