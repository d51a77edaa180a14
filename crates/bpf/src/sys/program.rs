//! Commands that load programs and attach them.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use super::{call, descriptor, object_name};

const PROG_LOAD: i32 = 5;
/// How often a load that a signal ended is tried: as libbpf does.
const ATTEMPTS: u32 = 5;
const GET_INFORMATION: i32 = 15;
const RAW_TRACEPOINT_OPEN: i32 = 17;
const LINK_CREATE: i32 = 28;
const LINK_UPDATE: i32 = 29;
const LINK_DETACH: i32 = 34;
const PROG_BIND_MAP: i32 = 35;
const PROG_QUERY: i32 = 16;

/// `BPF_PROG_TYPE_XDP`.
const PROG_TYPE_XDP: u32 = 6;
/// `BPF_XDP`, the attach type.
const ATTACH_XDP: u32 = 37;
const ATTACH_XDP_DEVICE_MAP: u32 = 33;
/// `BPF_PROG_TYPE_SOCKET_FILTER`.
const PROG_TYPE_SOCKET_FILTER: u32 = 1;
/// `BPF_PROG_TYPE_SCHED_CLS`, for tc.
const PROG_TYPE_SCHED_CLS: u32 = 3;
/// `BPF_TCX_INGRESS`.
pub const ATTACH_TCX_INGRESS: u32 = 46;
/// `BPF_TCX_EGRESS`.
pub const ATTACH_TCX_EGRESS: u32 = 47;
/// `BPF_PROG_TYPE_RAW_TRACEPOINT`.
const PROG_TYPE_RAW_TRACEPOINT: u32 = 17;
/// `BPF_PROG_TYPE_TRACING`.
const PROG_TYPE_TRACING: u32 = 26;
/// `BPF_TRACE_RAW_TP`, the attach type of a program that reads a tracepoint's own arguments.
const ATTACH_RAW_TRACEPOINT: u32 = 23;
/// `BPF_F_ANY_ALIGNMENT`: the verifier lets programs load and store at any address, whatever the
/// kernel was configured for. The machines that we run on can.
pub const PROGRAM_UNALIGNED: u32 = 1 << 1;
/// `BPF_F_XDP_HAS_FRAGS`: the program can be given frames of more than one buffer.
const PROGRAM_FRAGS: u32 = 1 << 5;
/// `BPF_F_XDP_DEV_BOUND_ONLY`: the program is for one device, whose driver it may ask.
const PROGRAM_BOUND: u32 = 1 << 6;

/// Where a program is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// In the driver or right behind it.
    Xdp,
    /// At an element of a map of devices, on frames that are redirected to it.
    DeviceMap,
    /// At tc, after packet sockets have had their copy.
    Tc,
    /// At tc, where frames leave.
    TcEgress,
    /// The filter of a socket.
    Socket,
    /// At a tracepoint of the kernel, with its arguments as numbers.
    Tracepoint,
}

impl Hook {
    /// Where programs of an object's section run, and the `BPF_F_…` that belong to it.
    pub(crate) fn of_section(name: &str) -> Option<(Self, u32)> {
        Some(match name {
            "xdp" => (Self::Xdp, 0),
            "xdp.frags" => (Self::Xdp, PROGRAM_FRAGS),
            "xdp/devmap" => (Self::DeviceMap, 0),
            "tc" => (Self::Tc, 0),
            "socket" => (Self::Socket, 0),
            _ if name.starts_with("raw_tp/") => (Self::Tracepoint, 0),
            _ => return None,
        })
    }
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

/// Loads a program, for the device with the index `bound` alone unless that is 0; `log` receives
/// the verifier's words (give an empty one for a quiet load).
///
/// # Errors
/// The kernel's: `EACCES` or `EINVAL` with the reason in `log`, `EPERM` without the capabilities,
/// `ENOSPC` when the log was too long.
pub fn program_load(
    hook: Hook,
    name: &str,
    instructions: &[Instruction],
    license: &str,
    flags: u32,
    bound: u32,
    log: &mut [u8],
) -> io::Result<OwnedFd> {
    let license = CString::new(license)?;
    let kind = match hook {
        Hook::Xdp | Hook::DeviceMap => PROG_TYPE_XDP,
        Hook::Tc | Hook::TcEgress => PROG_TYPE_SCHED_CLS,
        Hook::Socket => PROG_TYPE_SOCKET_FILTER,
        Hook::Tracepoint => PROG_TYPE_RAW_TRACEPOINT,
    };
    let mut argument = ProgramArgument {
        flags: flags | (PROGRAM_BOUND * u32::from(bound != 0)),
        ifindex: bound,
        attach_type: attach_type(hook),
        ..ProgramArgument::new(kind, name, instructions, &license, log)
    };
    load(&mut argument)
}

/// Loads a program for a tracepoint; `type_id` is the number of the tracepoint's `btf_trace_NAME`
/// in the kernel's type information, and gives the program its arguments with their types. The
/// license is told as `Dual MIT/GPL`, which the kernel demands here.
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
    load(&mut argument)
}

/// Keeps a map for as long as a program, which need not use it (Linux 5.10).
///
/// # Errors
/// The kernel's.
pub fn program_bind(program: BorrowedFd<'_>, map: BorrowedFd<'_>) -> io::Result<()> {
    let flags = 0;
    let mut argument = [program.as_raw_fd(), map.as_raw_fd(), flags];
    call(PROG_BIND_MAP, &mut argument).map(drop)
}

/// How many bytes of instructions a loaded program has: what the verifier made of it.
///
/// # Errors
/// The kernel's.
pub fn program_bytes(program: BorrowedFd<'_>) -> io::Result<u32> {
    let mut information = Information::default();
    let mut argument = InformationArgument {
        program: program.as_raw_fd().cast_unsigned(),
        length: size_of::<Information>() as u32,
        information: std::ptr::from_mut(&mut information) as u64,
    };
    call(GET_INFORMATION, &mut argument)?;
    Ok(information.bytes)
}

/// The beginning of `struct bpf_prog_info`; the kernel writes as much of it as there is room for.
#[repr(C)]
#[derive(Default)]
struct Information {
    kind_number_and_tag: [u32; 4],
    machine_bytes: u32,
    bytes: u32,
}

#[repr(C)]
struct InformationArgument {
    program: u32,
    length: u32,
    information: u64,
}

/// The verifier gives up when a signal waits for the thread (`do_check` in
/// `kernel/bpf/verifier.c`), which may be the kernel's own: then it is asked again.
fn load(argument: &mut ProgramArgument) -> io::Result<OwnedFd> {
    let mut left = ATTEMPTS;
    loop {
        let outcome = call(PROG_LOAD, argument).map(descriptor);
        left -= 1;
        match &outcome {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && left > 0 => {}
            _ => return outcome,
        }
    }
}

/// What `BPF_PROG_LOAD` is told (`union bpf_attr`); an older kernel takes the part that it does not
/// know if it is zero.
#[repr(C)]
#[derive(Default)]
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
            name: object_name(name),
            ..Self::default()
        }
    }
}

/// Lets a program run at a tracepoint until the descriptor is closed: at that of this name, or, one
/// of [`tracing_program_load`], at its own.
///
/// # Errors
/// The kernel's.
pub fn tracepoint_attach(program: BorrowedFd<'_>, name: Option<&CStr>) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Argument {
        name: u64,
        program: u32,
        reserved: u32,
    }
    let mut argument = Argument {
        name: name.map_or(0, |name| name.as_ptr() as u64),
        program: program.as_raw_fd() as u32,
        reserved: 0,
    };
    call(RAW_TRACEPOINT_OPEN, &mut argument).map(descriptor)
}

fn attach_type(hook: Hook) -> u32 {
    match hook {
        Hook::Xdp => ATTACH_XDP,
        Hook::DeviceMap => ATTACH_XDP_DEVICE_MAP,
        Hook::Tc => ATTACH_TCX_INGRESS,
        Hook::TcEgress => ATTACH_TCX_EGRESS,
        // Attached by an option of the socket, or by the tracepoint's name, not by a link.
        Hook::Socket | Hook::Tracepoint => 0,
    }
}

/// Attaches a program to the interface with this index in the caller's network namespace; the link
/// detaches when it is closed.
///
/// # Errors
/// The kernel's: `EBUSY` when another XDP program is there, `EOPNOTSUPP` and others when the driver
/// cannot; `EINVAL` at tc before Linux 6.6.
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

/// Puts another program of the same kind in the place of a link's.
///
/// # Errors
/// The kernel's.
pub fn link_update(link: BorrowedFd<'_>, program: BorrowedFd<'_>) -> io::Result<()> {
    #[repr(C)]
    struct Argument {
        link: u32,
        program: u32,
        flags: u32,
        /// None that must have been there.
        old_program: u32,
    }
    let mut argument = Argument {
        link: link.as_raw_fd() as u32,
        program: program.as_raw_fd() as u32,
        flags: 0,
        old_program: 0,
    };
    call(LINK_UPDATE, &mut argument).map(drop)
}

/// Detaches a link now, even if a copy of its descriptor is still open in a child process that has
/// not reached its `exec`.
///
/// # Errors
/// The kernel's: `ENOLINK` and others when the interface is gone already.
pub fn link_detach(link: BorrowedFd<'_>) -> io::Result<()> {
    let mut descriptor = link.as_raw_fd() as u32;
    call(LINK_DETACH, &mut descriptor).map(drop)
}

/// How many programs are attached to an interface at [`ATTACH_TCX_INGRESS`] or
/// [`ATTACH_TCX_EGRESS`].
///
/// # Errors
/// The kernel's: `EINVAL` before Linux 6.6.
pub fn programs_attached(ifindex: u32, attach_type: u32) -> io::Result<u32> {
    #[repr(C)]
    #[derive(Default)]
    struct Argument {
        ifindex: u32,
        attach_type: u32,
        flags: [u32; 2],
        /// No room for numbers: only the count is wanted.
        ids: u64,
        count: [u32; 2],
        more: [u64; 4],
    }
    let mut argument = Argument {
        ifindex,
        attach_type,
        ..Argument::default()
    };
    call(PROG_QUERY, &mut argument)?;
    Ok(argument.count[0])
}
