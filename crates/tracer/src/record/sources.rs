//! The perf events of one recording: for every core a ring and the tracepoints that write into it.
//!
//! The kernel keeps a tracepoint on only while a descriptor of it is open, so nothing stays behind,
//! however the program ends.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use host::process::checked;
use perf_event_open_sys as sys;
use rustix::param::page_size;
use sys::bindings::{self, perf_event_attr};

use super::refusal::refusal;
use super::ring::Ring;
use super::{RecordError, System, unwind};

/// One core's part.
pub(crate) struct Core {
    pub(crate) cpu: u16,
    pub(crate) ring: Ring,
    /// Owns the ring and tells of births, names and deaths of threads.
    owner: OwnedFd,
    points: Vec<OwnedFd>,
}

/// What one tracepoint event is opened with.
pub(crate) struct Wanted {
    pub(crate) id: u16,
    pub(crate) stack: Option<Chain>,
}

/// Which frames of a code place are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    pub(crate) kernel: bool,
    /// The user's, as the kernel follows frame pointers.
    pub(crate) user: bool,
    /// Registers and stack of the user's part, which the recorder unwinds.
    pub(crate) copied: bool,
    pub(crate) frames: u16,
}

impl Core {
    /// Opens the ring of `cpu` and the tracepoints `wanted`, all silent.
    pub(crate) fn open(
        cpu: u16,
        pages: usize,
        wanted: &[Wanted],
        system: &System,
    ) -> Result<Self, RecordError> {
        let refused = |cause: io::Error| refusal(&cause, system);
        let owner = open(&mut side_attr(pages), cpu).map_err(refused)?;
        let ring =
            Ring::map(&owner, pages).map_err(|cause| RecordError::Ring { cpu, pages, cause })?;
        let mut points = Vec::with_capacity(wanted.len());
        for want in wanted {
            let point = open(&mut point_attr(want, pages), cpu).map_err(refused)?;
            // SAFETY: both descriptors are open perf events of the same core; the call takes no
            // memory.
            checked(unsafe { sys::ioctls::SET_OUTPUT(point.as_raw_fd(), owner.as_raw_fd()) })
                .map_err(refused)?;
            points.push(point);
        }
        Ok(Self {
            cpu,
            ring,
            owner,
            points,
        })
    }

    pub(crate) fn owner(&self) -> BorrowedFd<'_> {
        self.owner.as_fd()
    }

    /// All events, the one with the thread news first.
    fn events(&self) -> impl DoubleEndedIterator<Item = &OwnedFd> {
        std::iter::once(&self.owner).chain(&self.points)
    }

    /// Lets the events flow, the thread news first.
    pub(crate) fn enable(&self) -> io::Result<()> {
        for fd in self.events() {
            // SAFETY: an open perf event; the call takes no memory.
            checked(unsafe { sys::ioctls::ENABLE(fd.as_raw_fd(), 0) })?;
        }
        Ok(())
    }

    /// Stops the events; what is in the ring stays there.
    pub(crate) fn disable(&self) {
        for fd in self.events().rev() {
            // SAFETY: an open perf event; the call takes no memory.
            unsafe { sys::ioctls::DISABLE(fd.as_raw_fd(), 0) };
        }
    }

    /// Events that found the ring full, by the kernel's own count. `None` where it does not count
    /// (before 6.0).
    pub(crate) fn lost(&self) -> Option<u64> {
        let mut total = 0;
        for fd in self.events() {
            let mut answer = [0; 16];
            let [_, lost] = (rustix::io::read(fd, &mut answer) == Ok(answer.len()))
                .then_some(answer.as_chunks::<8>().0)
                .and_then(<[_]>::as_array)?;
            total += u64::from_ne_bytes(*lost);
        }
        Some(total)
    }
}

fn open(attr: &mut perf_event_attr, cpu: u16) -> io::Result<OwnedFd> {
    let any_process = -1;
    let flags = bindings::PERF_FLAG_FD_CLOEXEC as libc::c_ulong;
    // SAFETY: `attr` is a valid structure whose size field is set; the kernel copies it. The
    // descriptor is new, and nobody else owns it.
    let open = |attr: &mut perf_event_attr| unsafe {
        let fd = sys::perf_event_open(attr, any_process, i32::from(cpu), -1, flags);
        checked(fd).map(|fd| OwnedFd::from_raw_fd(fd))
    };
    open(attr).or_else(|cause| {
        if cause.raw_os_error() != Some(libc::EINVAL) {
            return Err(cause);
        }
        // Kernels before 6.0 do not know PERF_FORMAT_LOST.
        attr.read_format = 0;
        open(attr)
    })
}

fn base_attr() -> perf_event_attr {
    let mut attr = perf_event_attr {
        size: std::mem::size_of::<perf_event_attr>() as u32,
        sample_type: u64::from(
            bindings::PERF_SAMPLE_TIME
                | bindings::PERF_SAMPLE_CALLCHAIN
                | bindings::PERF_SAMPLE_RAW,
        ),
        read_format: u64::from(bindings::PERF_FORMAT_LOST),
        clockid: libc::CLOCK_MONOTONIC,
        ..perf_event_attr::default()
    };
    attr.set_disabled(1);
    attr.set_use_clockid(1);
    attr.set_sample_id_all(1);
    attr.set_exclude_callchain_kernel(1);
    attr.set_exclude_callchain_user(1);
    attr
}

/// The owner of a ring counts nothing; it carries the news about threads.
fn side_attr(pages: usize) -> perf_event_attr {
    let mut attr = base_attr();
    attr.type_ = bindings::PERF_TYPE_SOFTWARE;
    attr.config = u64::from(bindings::PERF_COUNT_SW_DUMMY);
    attr.set_task(1);
    attr.set_comm(1);
    attr.set_comm_exec(1);
    attr.set_watermark(1);
    attr.__bindgen_anon_2.wakeup_watermark = half(pages);
    attr
}

/// Bytes of half a ring.
fn half(pages: usize) -> u32 {
    (pages * page_size() / 2) as u32
}

fn point_attr(want: &Wanted, pages: usize) -> perf_event_attr {
    let mut attr = base_attr();
    attr.type_ = bindings::PERF_TYPE_TRACEPOINT;
    attr.config = u64::from(want.id);
    attr.__bindgen_anon_1.sample_period = 1;
    attr.set_watermark(1);
    // The kernel wakes us by the watermark of the event that writes, so each one carries it.
    attr.__bindgen_anon_2.wakeup_watermark = u32::MAX / 2;
    if let Some(chain) = want.stack {
        attr.set_exclude_callchain_kernel(u64::from(!chain.kernel));
        attr.set_exclude_callchain_user(u64::from(!chain.user));
        attr.sample_max_stack = chain.frames;
        if chain.copied {
            attr.sample_type |=
                u64::from(bindings::PERF_SAMPLE_REGS_USER | bindings::PERF_SAMPLE_STACK_USER);
            attr.sample_regs_user = unwind::WANTED;
            attr.sample_stack_user = unwind::COPIED;
            // A ring is full of these long before the next turn.
            attr.__bindgen_anon_2.wakeup_watermark = half(pages);
        }
    }
    attr
}
