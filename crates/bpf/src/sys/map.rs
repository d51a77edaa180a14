//! Commands for maps.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use super::{call, descriptor, object_name};

const MAP_CREATE: i32 = 0;
const MAP_LOOKUP_ELEM: i32 = 1;
const MAP_UPDATE_ELEM: i32 = 2;
const MAP_DELETE_ELEM: i32 = 3;

/// `BPF_F_MMAPABLE`.
pub const MAP_MMAPABLE: u32 = 1 << 10;
/// `BPF_MAP_TYPE_ARRAY`.
pub const TYPE_ARRAY: u32 = 2;
/// `BPF_MAP_TYPE_ARRAY_OF_MAPS`.
pub const TYPE_ARRAY_OF_MAPS: u32 = 12;

/// Creates a map. `name` is what `bpftool map` shows (15 characters); `inner` is an example of what
/// a map of maps holds.
///
/// # Errors
/// The kernel's: `EPERM` without the capabilities, `EINVAL` for a shape or flag that it does not
/// know, `ENOMEM`.
pub fn map_create(
    name: &str,
    kind: u32,
    key_size: u32,
    value_size: u32,
    entries: u32,
    flags: u32,
    inner: Option<BorrowedFd<'_>>,
) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Argument {
        kind: u32,
        key_size: u32,
        value_size: u32,
        entries: u32,
        flags: u32,
        inner: u32,
        numa_node: u32,
        name: [u8; 16],
    }
    let mut argument = Argument {
        kind,
        key_size,
        value_size,
        entries,
        flags,
        inner: inner.map_or(0, |map| map.as_raw_fd() as u32),
        numa_node: 0,
        name: object_name(name),
    };
    call(MAP_CREATE, &mut argument).map(descriptor)
}

#[repr(C)]
struct Element {
    map: u32,
    reserved: u32,
    key: u64,
    value: u64,
    flags: u64,
}

impl Element {
    /// Element `key`, to be read into, or written from, what begins at `value`.
    fn new(map: BorrowedFd<'_>, key: &[u8], value: *const u8) -> Self {
        Self {
            map: map.as_raw_fd() as u32,
            reserved: 0,
            key: key.as_ptr() as u64,
            value: value as u64,
            flags: 0,
        }
    }
}

/// Writes one element. `value` must be as long as the map's value (for per-CPU maps: of all
/// possible CPUs, each rounded up to 8).
///
/// # Errors
/// The kernel's.
pub fn map_update(map: BorrowedFd<'_>, key: &[u8], value: &[u8]) -> io::Result<()> {
    let mut element = Element::new(map, key, value.as_ptr());
    call(MAP_UPDATE_ELEM, &mut element).map(drop)
}

/// Reads one element into `value`, which must be as long as in [`map_update`].
///
/// # Errors
/// The kernel's; `ENOENT` when there is none.
pub fn map_lookup(map: BorrowedFd<'_>, key: &[u8], value: &mut [u8]) -> io::Result<()> {
    let mut element = Element::new(map, key, value.as_mut_ptr());
    call(MAP_LOOKUP_ELEM, &mut element).map(drop)
}

/// Removes one element.
///
/// # Errors
/// The kernel's; `ENOENT` when there is none.
pub fn map_delete(map: BorrowedFd<'_>, key: &[u8]) -> io::Result<()> {
    let mut element = Element::new(map, key, std::ptr::null());
    call(MAP_DELETE_ELEM, &mut element).map(drop)
}
