//! The command that runs a program by hand.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::call;

const PROG_TEST_RUN: i32 = 10;
/// `BPF_F_TEST_XDP_LIVE_FRAMES`: the verdicts of a run by hand are carried out.
const RUN_LIVE: u32 = 1 << 1;

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
    /// The interface that the frame seems to come from; it must exist in the caller's network
    /// namespace. 0: none.
    pub ingress_ifindex: u32,
    /// Its queue.
    pub rx_queue_index: u32,
    egress_ifindex: u32,
}

impl Context {
    fn of(frame: &[u8], ingress_ifindex: u32) -> Self {
        Self {
            data_end: frame.len() as u32,
            ingress_ifindex,
            ..Self::default()
        }
    }
}

impl Run {
    /// Holds the addresses of `frame` and `context`, which must outlive the call. A context that
    /// names no interface is not given.
    fn new(program: BorrowedFd<'_>, frame: &[u8], repeat: u32, context: &Context) -> Self {
        let (size, at) = if context.ingress_ifindex == 0 {
            (0, 0)
        } else {
            (
                size_of::<Context>() as u32,
                std::ptr::from_ref(context) as u64,
            )
        };
        Self {
            program: program.as_raw_fd() as u32,
            data_size_in: frame.len() as u32,
            data_in: frame.as_ptr() as u64,
            repeat,
            context_size_in: size,
            context_in: at,
            ..Self::default()
        }
    }
}

/// Runs `program` on `count` live frames made from `frame`, `batch` (1 to 256) at a time; what it
/// redirects is really sent. Returns when all are done, with the mean time that one took, ns.
///
/// A frame that is used again has the bytes that the program gave it.
///
/// # Errors
/// The kernel's: `EINTR` when a signal came (some frames were sent), `EINVAL` for a frame shorter
/// than 14 bytes or longer than a page holds.
pub fn run_live(
    program: BorrowedFd<'_>,
    frame: &[u8],
    count: u32,
    batch: u32,
    ingress_ifindex: u32,
) -> io::Result<u32> {
    let context = Context::of(frame, ingress_ifindex);
    let mut run = Run {
        flags: RUN_LIVE,
        batch_size: batch,
        ..Run::new(program, frame, count, &context)
    };
    call(PROG_TEST_RUN, &mut run)?;
    Ok(run.duration_ns)
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

/// Runs `program` `repeat` times on a copy of `frame`, and gives the last verdict and frame;
/// nothing is sent.
///
/// # Errors
/// The kernel's.
pub fn run_dry(
    program: BorrowedFd<'_>,
    frame: &[u8],
    ingress_ifindex: u32,
    repeat: u32,
) -> io::Result<RunResult> {
    let context = Context::of(frame, ingress_ifindex);
    dry(Run::new(program, frame, repeat, &context))
}

/// The kernel's `struct __sk_buff`, as far as a program at tc that is run by hand can be given it.
/// All else is zero.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct SocketBuffer {
    length_to_mark: [u32; 3],
    queue_to_tag: [u32; 5],
    /// For queueing (`skb->priority`).
    pub priority: u32,
    index_to_class: [u32; 3],
    /// What a program may use as it likes (the first word of `skb->cb`).
    pub scratch: u32,
    more_scratch_to_meta: [u32; 23],
    flow_keys_and_time: [u64; 2],
    wire_length: u32,
    /// Segments that the frame stands for; 0 with [`SocketBuffer::segment_size`]: nobody counted.
    pub segments: u32,
    socket: u64,
    /// Bytes of data in each; 0: the frame is one.
    pub segment_size: u32,
    time_kind: u32,
    hardware_time: u64,
}

/// Runs a program at tc once on a copy of `frame`, with what `buffer` says beside it, and leaves
/// there what the program has written; nothing is sent.
///
/// # Errors
/// The kernel's.
pub fn run_buffer(
    program: BorrowedFd<'_>,
    frame: &[u8],
    buffer: &mut SocketBuffer,
) -> io::Result<RunResult> {
    const { assert!(size_of::<SocketBuffer>() == 192) };
    let at = std::ptr::from_mut(buffer) as u64;
    let size = size_of::<SocketBuffer>() as u32;
    dry(Run {
        context_in: at,
        context_size_in: size,
        context_out: at,
        context_size_out: size,
        ..Run::new(program, frame, 1, &Context::default())
    })
}

/// A run with room for the frame that it leaves; one that a signal breaks off is made again.
fn dry(mut run: Run) -> io::Result<RunResult> {
    let mut out = vec![0_u8; run.data_size_in as usize + 512];
    run.data_size_out = out.len() as u32;
    run.data_out = out.as_mut_ptr() as u64;
    // The kernel writes nothing of a run that it breaks off.
    while let Err(error) = call(PROG_TEST_RUN, &mut run) {
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    out.truncate(run.data_size_out as usize);
    Ok(RunResult {
        verdict: run.verdict,
        frame: out,
        duration_ns: run.duration_ns,
    })
}
