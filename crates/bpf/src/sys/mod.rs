//! bpf(2): one function per command that this crate needs, with the argument records of
//! `include/uapi/linux/bpf.h`.
//!
//! Every function takes and gives owned descriptors and slices; the raw addresses that the kernel
//! wants do not leave these files.

mod map;
mod program;
mod run;

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use host::process::checked;
pub use map::{
    MAP_MMAPABLE, MAP_READ_ONLY, MapDefinition, TYPE_ARRAY, TYPE_ARRAY_OF_MAPS, TYPE_PROGRAM_ARRAY,
    btf_load, map_create, map_delete, map_freeze, map_lookup, map_update,
};
pub use program::{
    ATTACH_TCX_EGRESS, ATTACH_TCX_INGRESS, Hook, Instruction, PROGRAM_UNALIGNED, link_create,
    link_detach, link_update, program_bind, program_bytes, program_load, programs_attached,
    tracepoint_attach, tracing_program_load,
};
pub use run::{Context, RunResult, SocketBuffer, run_buffer, run_dry, run_live};

fn call<T>(command: i32, argument: &mut T) -> io::Result<i64> {
    // SAFETY: `argument` is one of the repr(C) records of this module's files, laid out as the
    // kernel's union for `command`, zero where unused; its addresses point to slices that the
    // callers, in these files too, borrow across the call.
    checked(unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_mut(argument),
            size_of::<T>(),
        )
    })
}

fn descriptor(result: i64) -> OwnedFd {
    // SAFETY: the commands that end here return a new descriptor, which nobody else owns.
    unsafe { OwnedFd::from_raw_fd(result as i32) }
}

fn object_name(name: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().take(15).zip(name.bytes()) {
        *to = from;
    }
    bytes
}
