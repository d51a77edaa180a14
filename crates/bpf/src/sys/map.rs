//! Commands for maps.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use super::{call, descriptor, object_name};

const MAP_CREATE: i32 = 0;
const MAP_LOOKUP_ELEM: i32 = 1;
const MAP_UPDATE_ELEM: i32 = 2;
const MAP_DELETE_ELEM: i32 = 3;

const MAP_FREEZE: i32 = 22;
const BTF_LOAD: i32 = 18;

/// `BPF_F_RDONLY_PROG`: programs cannot write it.
pub const MAP_READ_ONLY: u32 = 1 << 7;
/// `BPF_F_MMAPABLE`.
pub const MAP_MMAPABLE: u32 = 1 << 10;
/// `BPF_MAP_TYPE_ARRAY`.
pub const TYPE_ARRAY: u32 = 2;
/// `BPF_MAP_TYPE_PROG_ARRAY`.
pub const TYPE_PROGRAM_ARRAY: u32 = 3;
/// `BPF_MAP_TYPE_ARRAY_OF_MAPS`.
pub const TYPE_ARRAY_OF_MAPS: u32 = 12;

/// What a map is like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapDefinition {
    /// Its name in the C source; `bpftool map` shows 15 characters.
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
    /// Number of the key's type in the object's type information; 0: none.
    pub key_type: u32,
    /// The same of the value's.
    pub value_type: u32,
}

/// Creates a map; `inner` is an example of what a map of maps holds, `types` what
/// [`btf_load`] gave for the numbers in `definition`.
///
/// # Errors
/// The kernel's: `EPERM` without the capabilities, `EINVAL` for a shape or flag that it does not
/// know, `ENOMEM`.
pub fn map_create(
    definition: &MapDefinition,
    inner: Option<BorrowedFd<'_>>,
    types: Option<BorrowedFd<'_>>,
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
        ifindex: u32,
        types: u32,
        key_type: u32,
        value_type: u32,
    }
    let mut argument = Argument {
        kind: definition.kind,
        key_size: definition.key_size,
        value_size: definition.value_size,
        entries: definition.entries,
        flags: definition.flags,
        inner: inner.map_or(0, |map| map.as_raw_fd() as u32),
        numa_node: 0,
        name: object_name(&definition.name),
        ifindex: 0,
        types: types.map_or(0, |types| types.as_raw_fd() as u32),
        key_type: types.map_or(0, |_| definition.key_type),
        value_type: types.map_or(0, |_| definition.value_type),
    };
    call(MAP_CREATE, &mut argument).map(descriptor)
}

/// Forbids every change of a map from user space; with [`MAP_READ_ONLY`] the verifier then takes
/// its values for constants.
///
/// # Errors
/// The kernel's; `EBUSY` when it is mapped into memory for writing.
pub fn map_freeze(map: BorrowedFd<'_>) -> io::Result<()> {
    let mut descriptor = map.as_raw_fd() as u32;
    call(MAP_FREEZE, &mut descriptor).map(drop)
}

/// Hands type information to the kernel, for maps to refer to.
///
/// # Errors
/// The kernel's: `EINVAL` for kinds of types that it does not know.
pub fn btf_load(types: &[u8]) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Argument {
        types: u64,
        log: u64,
        size: u32,
        log_size: u32,
        log_level: u32,
        reserved: u32,
    }
    let mut argument = Argument {
        types: types.as_ptr() as u64,
        log: 0,
        size: types.len() as u32,
        log_size: 0,
        log_level: 0,
        reserved: 0,
    };
    call(BTF_LOAD, &mut argument).map(descriptor)
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
