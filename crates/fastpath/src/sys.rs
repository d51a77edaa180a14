//! bpf(2): one function per command that this crate needs, with the argument records of `include/uapi/linux/bpf.h`.
//!
//! Every function takes and gives owned descriptors and slices; the raw addresses that the kernel wants do not leave this file.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const MAP_CREATE: i32 = 0;
const MAP_LOOKUP_ELEM: i32 = 1;
const MAP_UPDATE_ELEM: i32 = 2;
const MAP_DELETE_ELEM: i32 = 3;
const PROG_LOAD: i32 = 5;
const PROG_TEST_RUN: i32 = 10;
const RAW_TRACEPOINT_OPEN: i32 = 17;
const LINK_CREATE: i32 = 28;
const LINK_DETACH: i32 = 34;

/// `BPF_PROG_TYPE_XDP`.
const PROG_TYPE_XDP: u32 = 6;
/// `BPF_XDP`, the attach type.
const ATTACH_XDP: u32 = 37;
/// `BPF_PROG_TYPE_SOCKET_FILTER`.
const PROG_TYPE_SOCKET_FILTER: u32 = 1;
/// `BPF_PROG_TYPE_SCHED_CLS`, for tc.
const PROG_TYPE_SCHED_CLS: u32 = 3;
/// `BPF_TCX_INGRESS`.
const ATTACH_TCX_INGRESS: u32 = 46;
/// `BPF_PROG_TYPE_TRACING`.
const PROG_TYPE_TRACING: u32 = 26;
/// `BPF_TRACE_RAW_TP`, the attach type of a program that reads a tracepoint's own arguments.
const ATTACH_RAW_TRACEPOINT: u32 = 23;
/// `BPF_F_XDP_HAS_FRAGS`: the program can be given frames of more than one buffer.
pub const PROGRAM_FRAGS: u32 = 1 << 5;
/// `BPF_F_TEST_XDP_LIVE_FRAMES`: the verdicts of a run by hand are carried out.
const RUN_LIVE: u32 = 1 << 1;
/// `BPF_F_MMAPABLE`.
pub const MAP_MMAPABLE: u32 = 1 << 10;

/// `BPF_MAP_TYPE_ARRAY`.
pub const TYPE_ARRAY: u32 = 2;
/// `BPF_MAP_TYPE_ARRAY_OF_MAPS`.
pub const TYPE_ARRAY_OF_MAPS: u32 = 12;

/// Where a program is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// `xdp/NAME`: in the driver or right behind it.
    Xdp,
    /// `tc/NAME`: at tc, after packet sockets have had their copy.
    Tc,
    /// `socket/NAME`: the filter of a socket.
    Socket,
}

/// One eBPF instruction, as in the kernel's `struct bpf_insn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Instruction {
    /// Operation.
    pub code: u8,
    /// Destination register in the low, source register in the high four bits.
    pub registers: u8,
    /// Signed offset.
    pub offset: i16,
    /// Immediate operand.
    pub immediate: i32,
}

fn call<T>(command: i32, argument: &mut T) -> io::Result<i64> {
    // SAFETY: `argument` is one of the repr(C) records below, laid out as the kernel's union for `command`, zero where unused; its
    // addresses point to slices that the callers in this file borrow across the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_mut(argument),
            size_of::<T>(),
        )
    };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
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

/// Creates a map. `name` is what `bpftool map` shows (15 characters); `inner` is an example of what a map of maps holds.
///
/// # Errors
/// The kernel's: `EPERM` without the capabilities, `EINVAL` for a shape or flag that it does not know, `ENOMEM`.
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

/// Writes one element. `value` must be as long as the map's value (for per-CPU maps: of all possible CPUs, each rounded up to 8).
///
/// # Errors
/// The kernel's.
pub fn map_update(map: BorrowedFd<'_>, key: &[u8], value: &[u8]) -> io::Result<()> {
    let mut element = Element {
        map: map.as_raw_fd() as u32,
        reserved: 0,
        key: key.as_ptr() as u64,
        value: value.as_ptr() as u64,
        flags: 0,
    };
    call(MAP_UPDATE_ELEM, &mut element).map(drop)
}

/// Reads one element into `value`, which must be as long as in [`map_update`].
///
/// # Errors
/// The kernel's; `ENOENT` when there is none.
pub fn map_lookup(map: BorrowedFd<'_>, key: &[u8], value: &mut [u8]) -> io::Result<()> {
    let mut element = Element {
        map: map.as_raw_fd() as u32,
        reserved: 0,
        key: key.as_ptr() as u64,
        value: value.as_mut_ptr() as u64,
        flags: 0,
    };
    call(MAP_LOOKUP_ELEM, &mut element).map(drop)
}

/// Removes one element.
///
/// # Errors
/// The kernel's; `ENOENT` when there is none.
pub fn map_delete(map: BorrowedFd<'_>, key: &[u8]) -> io::Result<()> {
    let mut element = Element {
        map: map.as_raw_fd() as u32,
        reserved: 0,
        key: key.as_ptr() as u64,
        value: 0,
        flags: 0,
    };
    call(MAP_DELETE_ELEM, &mut element).map(drop)
}

/// Loads an XDP program; `log` receives the verifier's words (give an empty one for a quiet load).
///
/// # Errors
/// The kernel's: `EACCES` or `EINVAL` with the reason in `log`, `EPERM` without the capabilities, `ENOSPC` when the log was too long.
pub fn program_load(
    hook: Hook,
    name: &str,
    instructions: &[Instruction],
    license: &str,
    flags: u32,
    log: &mut [u8],
) -> io::Result<OwnedFd> {
    let license = CString::new(license)?;
    let kind = match hook {
        Hook::Xdp => PROG_TYPE_XDP,
        Hook::Tc => PROG_TYPE_SCHED_CLS,
        Hook::Socket => PROG_TYPE_SOCKET_FILTER,
    };
    let mut argument = ProgramArgument {
        flags,
        attach_type: attach_type(hook),
        ..ProgramArgument::new(kind, name, instructions, &license, log)
    };
    call(PROG_LOAD, &mut argument).map(descriptor)
}

/// Loads a program for a tracepoint; `type_id` is the number of the tracepoint's `btf_trace_NAME` in the kernel's type information, and
/// gives the program its arguments with their types. The license is told as `Dual MIT/GPL`, which the kernel demands here.
///
/// # Errors
/// The kernel's, as for [`program_load`].
pub fn tracing_program_load(
    name: &str,
    instructions: &[Instruction],
    type_id: u32,
    log: &mut [u8],
) -> io::Result<OwnedFd> {
    let license = c"Dual MIT/GPL";
    let mut argument = ProgramArgument {
        attach_type: ATTACH_RAW_TRACEPOINT,
        attach_type_id: type_id,
        ..ProgramArgument::new(PROG_TYPE_TRACING, name, instructions, license, log)
    };
    call(PROG_LOAD, &mut argument).map(descriptor)
}

/// What `BPF_PROG_LOAD` is told (`union bpf_attr`); an older kernel takes the part that it does not know if it is zero.
#[repr(C)]
struct ProgramArgument {
    kind: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    ifindex: u32,
    attach_type: u32,
    type_information: [u32; 2],
    function_information: u64,
    function_count: u32,
    line_size: u32,
    line_information: u64,
    line_count: u32,
    attach_type_id: u32,
}

impl ProgramArgument {
    /// Holds the addresses of what it is given, which must outlive the call.
    fn new(
        kind: u32,
        name: &str,
        instructions: &[Instruction],
        license: &CStr,
        log: &mut [u8],
    ) -> Self {
        Self {
            kind,
            instruction_count: instructions.len() as u32,
            instructions: instructions.as_ptr() as u64,
            license: license.as_ptr() as u64,
            log_level: u32::from(!log.is_empty()),
            log_size: log.len() as u32,
            log: if log.is_empty() {
                0
            } else {
                log.as_mut_ptr() as u64
            },
            kernel_version: 0,
            flags: 0,
            name: object_name(name),
            ifindex: 0,
            attach_type: 0,
            type_information: [0; 2],
            function_information: 0,
            function_count: 0,
            line_size: 0,
            line_information: 0,
            line_count: 0,
            attach_type_id: 0,
        }
    }
}

/// Lets a program of [`tracing_program_load`] run at its tracepoint until the descriptor is closed.
///
/// # Errors
/// The kernel's.
pub fn tracepoint_attach(program: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Argument {
        name: u64,
        program: u32,
        reserved: u32,
    }
    let mut argument = Argument {
        name: 0,
        program: program.as_raw_fd() as u32,
        reserved: 0,
    };
    call(RAW_TRACEPOINT_OPEN, &mut argument).map(descriptor)
}

fn attach_type(hook: Hook) -> u32 {
    match hook {
        Hook::Xdp => ATTACH_XDP,
        Hook::Tc => ATTACH_TCX_INGRESS,
        // Attached by an option of the socket, not by a link.
        Hook::Socket => 0,
    }
}

/// Attaches a program to the interface with this index in the caller's network namespace; the link detaches when it is closed.
///
/// # Errors
/// The kernel's: `EBUSY` when another XDP program is there, `EOPNOTSUPP` and others when the driver cannot; `EINVAL` at tc before Linux 6.6.
pub fn link_create(
    hook: Hook,
    program: BorrowedFd<'_>,
    ifindex: u32,
    flags: u32,
) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Argument {
        program: u32,
        ifindex: u32,
        attach_type: u32,
        flags: u32,
        /// No neighbour in an order of programs, no expected revision.
        order: [u32; 4],
    }
    let mut argument = Argument {
        program: program.as_raw_fd() as u32,
        ifindex,
        attach_type: attach_type(hook),
        flags,
        order: [0; 4],
    };
    call(LINK_CREATE, &mut argument).map(descriptor)
}

/// Detaches a link now, even if a copy of its descriptor is still open in a child process that has not reached its `exec`.
///
/// # Errors
/// The kernel's: `ENOLINK` and others when the interface is gone already.
pub fn link_detach(link: BorrowedFd<'_>) -> io::Result<()> {
    let mut descriptor = link.as_raw_fd() as u32;
    call(LINK_DETACH, &mut descriptor).map(drop)
}

#[repr(C)]
#[derive(Default)]
struct Run {
    program: u32,
    verdict: u32,
    data_size_in: u32,
    data_size_out: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration_ns: u32,
    context_size_in: u32,
    context_size_out: u32,
    context_in: u64,
    context_out: u64,
    flags: u32,
    cpu: u32,
    batch_size: u32,
    reserved: u32,
}

/// The kernel's `struct xdp_md`, as given to a program that is run by hand.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Context {
    data: u32,
    data_end: u32,
    data_meta: u32,
    /// The interface that the frame seems to come from; it must exist in the caller's network namespace. 0: none.
    pub ingress_ifindex: u32,
    /// Its queue.
    pub rx_queue_index: u32,
    egress_ifindex: u32,
}

/// Runs `program` on `count` live frames made from `frame`, `batch` (1 to 256) at a time; what it redirects is really sent. Returns
/// when all are done.
///
/// # Errors
/// The kernel's: `EINTR` when a signal came (some frames were sent), `EINVAL` for a frame shorter than 14 bytes or longer than a page
/// holds.
pub fn run_live(
    program: BorrowedFd<'_>,
    frame: &[u8],
    count: u32,
    batch: u32,
    ingress_ifindex: u32,
) -> io::Result<()> {
    let mut context = Context {
        data_end: frame.len() as u32,
        ingress_ifindex,
        ..Context::default()
    };
    let mut run = Run {
        program: program.as_raw_fd() as u32,
        data_size_in: frame.len() as u32,
        data_in: frame.as_ptr() as u64,
        repeat: count,
        context_size_in: if ingress_ifindex == 0 {
            0
        } else {
            size_of::<Context>() as u32
        },
        context_in: if ingress_ifindex == 0 {
            0
        } else {
            std::ptr::from_mut(&mut context) as u64
        },
        flags: RUN_LIVE,
        batch_size: batch,
        ..Run::default()
    };
    call(PROG_TEST_RUN, &mut run).map(drop)
}

/// What one run by hand gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunResult {
    /// The program's return value.
    pub verdict: u32,
    /// The frame as the program left it.
    pub frame: Vec<u8>,
    /// Mean time of one run in nanoseconds.
    pub duration_ns: u32,
}

/// Runs `program` `repeat` times on a copy of `frame`, and gives the last verdict and frame; nothing is sent.
///
/// # Errors
/// The kernel's.
pub fn run_dry(
    program: BorrowedFd<'_>,
    frame: &[u8],
    ingress_ifindex: u32,
    repeat: u32,
) -> io::Result<RunResult> {
    let mut out = vec![0_u8; frame.len() + 512];
    let mut context = Context {
        data_end: frame.len() as u32,
        ingress_ifindex,
        ..Context::default()
    };
    let mut run = Run {
        program: program.as_raw_fd() as u32,
        data_size_in: frame.len() as u32,
        data_size_out: out.len() as u32,
        data_in: frame.as_ptr() as u64,
        data_out: out.as_mut_ptr() as u64,
        repeat,
        context_size_in: if ingress_ifindex == 0 {
            0
        } else {
            size_of::<Context>() as u32
        },
        context_in: if ingress_ifindex == 0 {
            0
        } else {
            std::ptr::from_mut(&mut context) as u64
        },
        ..Run::default()
    };
    call(PROG_TEST_RUN, &mut run)?;
    out.truncate(run.data_size_out as usize);
    Ok(RunResult {
        verdict: run.verdict,
        frame: out,
        duration_ns: run.duration_ns,
    })
}
