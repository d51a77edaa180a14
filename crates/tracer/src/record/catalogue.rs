//! Which tracepoints are asked for, what each is for, and how its record becomes a [`Kind`].

use Interrupt::{Call, Reschedule, Timer};
use Point::{Begin, End};

use super::layout::{Field, Layout};
use crate::event::{Context, FutexCall, Interrupt, Kind, Left, Operation, Tid};
use crate::fast_map::FastMap;

/// A tracepoint we know how to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    Switch,
    Waking,
    WakeNew,
    Migrate,
    FutexEnter,
    FutexExit,
    LockBegin,
    LockEnd,
    /// An interrupt begins; the record has the number of a line or vector.
    Begin(Interrupt),
    End(Interrupt),
    Poll,
    Sent,
    Enqueued,
}

impl Point {
    /// The fields of its record that are needed, in the order in which they are asked for.
    fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Switch => &["prev_state", "next_pid"],
            Self::Waking | Self::WakeNew => &["pid", "target_cpu"],
            Self::Migrate => &["pid", "orig_cpu", "dest_cpu"],
            Self::FutexEnter => &["uaddr", "op", "val", "utime"],
            Self::FutexExit => &["ret"],
            Self::LockBegin => &["lock_addr", "flags"],
            Self::LockEnd => &["lock_addr", "ret"],
            Self::Begin(LINE) | Self::End(LINE) => &["irq"],
            Self::Begin(SOFT) | Self::End(SOFT) => &["vec"],
            Self::Begin(_) | Self::End(_) => &[],
            Self::Poll => &["work", "budget"],
            Self::Sent => &["sent", "drops"],
            Self::Enqueued => &["processed", "drops"],
        }
    }

    /// Asked for only on request: it fires for packets.
    pub(crate) fn is_of_packets(self) -> bool {
        matches!(self, Self::Sent | Self::Enqueued)
    }
}

/// One line of the catalogue.
pub(crate) struct Entry {
    pub(crate) path: &'static str,
    pub(crate) point: Point,
    /// What the analyses cannot say without it. `None`: nothing works without it.
    pub(crate) without: Option<&'static str>,
}

const fn needed(path: &'static str, point: Point) -> Entry {
    Entry {
        path,
        point,
        without: None,
    }
}

const fn entry(path: &'static str, point: Point, without: &'static str) -> Entry {
    Entry {
        without: Some(without),
        ..needed(path, point)
    }
}

/// Any line, any vector.
const LINE: Interrupt = Interrupt::Line(0);
const SOFT: Interrupt = Interrupt::Soft(0);

const NEW: &str = "the first wake-up of new threads";
const MOVES: &str = "migrations";
const KERNEL_LOCKS: &str = "waits for kernel locks (kernels before 5.19 do not tell)";
const FUTEX: &str = "waits for user-space locks";
const LINES: &str = "the share of device interrupts";
const SOFTS: &str = "the share of software interrupts";
const OWN: &str = "the share of timer and cross-core interrupts (told on x86 only)";
const POLLS: &str = "how full network polls were";
const XDP: &str = "XDP packet counts";

/// All tracepoints, in the order they are opened.
pub(crate) const CATALOGUE: [Entry; 24] = [
    needed("sched/sched_switch", Point::Switch),
    needed("sched/sched_waking", Point::Waking),
    entry("sched/sched_wakeup_new", Point::WakeNew, NEW),
    entry("sched/sched_migrate_task", Point::Migrate, MOVES),
    entry("syscalls/sys_enter_futex", Point::FutexEnter, FUTEX),
    entry("syscalls/sys_exit_futex", Point::FutexExit, FUTEX),
    entry("lock/contention_begin", Point::LockBegin, KERNEL_LOCKS),
    entry("lock/contention_end", Point::LockEnd, KERNEL_LOCKS),
    entry("irq/irq_handler_entry", Begin(LINE), LINES),
    entry("irq/irq_handler_exit", End(LINE), LINES),
    entry("irq/softirq_entry", Begin(SOFT), SOFTS),
    entry("irq/softirq_exit", End(SOFT), SOFTS),
    entry("irq_vectors/local_timer_entry", Begin(Timer), OWN),
    entry("irq_vectors/local_timer_exit", End(Timer), OWN),
    entry("irq_vectors/reschedule_entry", Begin(Reschedule), OWN),
    entry("irq_vectors/reschedule_exit", End(Reschedule), OWN),
    entry("irq_vectors/call_function_single_entry", Begin(Call), OWN),
    entry("irq_vectors/call_function_single_exit", End(Call), OWN),
    entry("irq_vectors/call_function_entry", Begin(Call), OWN),
    entry("irq_vectors/call_function_exit", End(Call), OWN),
    entry("napi/napi_poll", Point::Poll, POLLS),
    entry("xdp/xdp_bulk_tx", Point::Sent, XDP),
    entry("xdp/xdp_devmap_xmit", Point::Sent, XDP),
    entry("xdp/xdp_cpumap_enqueue", Point::Enqueued, XDP),
];

/// The decoders by the number of the tracepoint.
pub(crate) type Decoders = FastMap<u16, Decoder>;

/// How one tracepoint's record is read on this kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decoder {
    pub(crate) point: Point,
    places: [Field; 4],
}

impl Decoder {
    /// `None` when the record has not the fields that are needed.
    pub(crate) fn new(entry: &Entry, layout: &Layout) -> Option<Self> {
        let mut places = [Field::default(); 4];
        for (place, name) in places.iter_mut().zip(entry.point.fields()) {
            *place = layout.field(name)?;
        }
        Some(Self {
            point: entry.point,
            places,
        })
    }

    fn value(&self, raw: &[u8], index: usize) -> u64 {
        let Field { offset, size } = self.places[index];
        let at = usize::from(offset);
        let mut bytes = [0_u8; 8];
        let size = usize::from(size).min(8);
        if let Some(found) = raw.get(at..at + size) {
            bytes[..size].copy_from_slice(found);
        }
        u64::from_le_bytes(bytes)
    }

    fn word(&self, raw: &[u8], index: usize) -> u32 {
        self.value(raw, index) as u32
    }

    fn short(&self, raw: &[u8], index: usize) -> u16 {
        self.word(raw, index).min(u32::from(u16::MAX)) as u16
    }

    /// `what` with the record's number.
    fn interrupt(&self, raw: &[u8], what: Interrupt) -> Interrupt {
        match what {
            LINE => Interrupt::Line(self.short(raw, 0)),
            SOFT => Interrupt::Soft(self.word(raw, 0) as u8),
            own => own,
        }
    }

    /// The record's meaning; `flags` are the record's `common_flags`.
    pub(crate) fn kind(&self, raw: &[u8], flags: u8) -> Kind {
        match self.point {
            Point::Switch => Kind::Switch {
                left: Left::from_kernel(self.value(raw, 0)),
                next: self.word(raw, 1),
            },
            Point::Waking | Point::WakeNew => Kind::Waking {
                woken: self.word(raw, 0),
                target: self.short(raw, 1),
                by: Context::from_flags(flags),
                new: self.point == Point::WakeNew,
            },
            Point::Migrate => Kind::Migrate {
                moved: self.word(raw, 0),
                from: self.short(raw, 1),
                to: self.short(raw, 2),
            },
            Point::FutexEnter => {
                const PRIVATE: u32 = 128;
                let operation = self.word(raw, 1);
                Kind::FutexEnter(FutexCall {
                    address: self.value(raw, 0),
                    value: self.word(raw, 2),
                    operation: Operation::from_kernel(operation),
                    private: operation & PRIVATE != 0,
                    timeout: Operation::from_kernel(operation).waits() && self.value(raw, 3) != 0,
                })
            }
            Point::FutexExit => Kind::FutexExit(self.word(raw, 0) as i32),
            Point::LockBegin => Kind::LockBegin {
                address: self.value(raw, 0),
                flags: self.word(raw, 1) as u8,
            },
            Point::LockEnd => Kind::LockEnd {
                address: self.value(raw, 0),
                result: self.word(raw, 1) as i32,
            },
            Point::Begin(what) => Kind::InterruptBegin(self.interrupt(raw, what)),
            Point::End(what) => Kind::InterruptEnd(self.interrupt(raw, what)),
            Point::Poll => Kind::Poll {
                work: self.short(raw, 0),
                budget: self.short(raw, 1),
            },
            Point::Sent | Point::Enqueued => Kind::Packets {
                sent: self.short(raw, 0),
                dropped: self.short(raw, 1),
            },
        }
    }
}

/// The common beginning of every record: `common_type`, `common_flags`, `common_pid` have not moved
/// since Linux 2.6.32.
pub(crate) fn common(raw: &[u8]) -> Option<(u16, u8, Tid)> {
    let head = raw.get(..8)?;
    Some((
        u16::from_le_bytes([head[0], head[1]]),
        head[2],
        u32::from_le_bytes([head[4], head[5], head[6], head[7]]),
    ))
}

#[cfg(test)]
#[path = "../../tests/unit/catalogue.rs"]
mod tests;
