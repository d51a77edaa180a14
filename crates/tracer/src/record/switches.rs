//! Switches and wake-ups by two small eBPF programs: the two events that happen at every context
//! switch, at a fraction of what a perf event costs there.
//!
//! The programs are assembled here, from the offsets that the running kernel's type information
//! gives, so nothing has to be compiled and nothing fits only one kernel. Both run with interrupts
//! off (the scheduler calls them so), hence one at a time on a core, and write 16 bytes into that
//! core's part of a memory-mapped array:
//!
//! ```text
//! word 0: nanoseconds of CLOCK_MONOTONIC, the clock of the perf events
//! word 1: kind (1 bit: 1 = wake-up), thread (22), other thread (22), rest (19)
//!         rest of a switch: the state left, bit 18 = preempted; of a wake-up: the core
//! ```
//! A core's head is written by the program, its tail by [`Switches::take`]; a full ring counts what
//! it drops. The programs live as long as their descriptors, so nothing stays behind. Where the
//! kernel cannot do this (no type information, no `CAP_BPF`, before 5.12) the recorder opens the
//! same tracepoints through perf and says so in the trace.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use bpf::assemble::Assembler;
use bpf::btf::Btf;
use bpf::map::{Map, MappedArray};
use bpf::sys::{self, MapDefinition};

use crate::event::{Context, Kind, Left, Tid};

/// Bits of a thread's number: the kernel's limit is 2^22 threads.
const TID_BITS: u32 = 22;
const REST_BITS: u32 = 64 - 1 - 2 * TID_BITS;
const PREEMPTED_BIT: u32 = REST_BITS - 1;
const WAKING_BIT: u32 = 63;
/// Byte offsets inside a core's counters: written by the program...
const HEAD: i16 = 0;
const LOST: i16 = 8;
/// ...and by us, on a cache line of its own.
const TAIL: i16 = 64;
const COUNTERS: usize = 16;

/// The programs and their rings.
pub(crate) struct Switches {
    slots: usize,
    records: MappedArray<[u64; 2]>,
    counters: MappedArray<[u64; COUNTERS]>,
    links: Vec<OwnedFd>,
}

/// Which of the two are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Which {
    /// Wake-ups too; perf tells them when their code places are wanted.
    pub(crate) wakings: bool,
}

impl Switches {
    /// Loads and attaches the programs for cores up to `last`, with rings of `bytes`: events flow
    /// from here on.
    ///
    /// # Errors
    /// Why this kernel cannot, in words.
    pub(crate) fn open(btf: &Path, last: u16, bytes: usize, which: Which) -> Result<Self, String> {
        let types =
            Btf::read(btf).ok_or_else(|| format!("no type information in {}", btf.display()))?;
        let field = |path: &[&str]| types.offset("task_struct", path);
        let pid = field(&["pid"]).ok_or("task_struct has no pid")?;
        // Names before 5.14 and 5.16.
        let state = field(&["__state"])
            .or_else(|| field(&["state"]))
            .ok_or("task_struct has no state")?;
        let core = field(&["thread_info", "cpu"])
            .or_else(|| field(&["cpu"]))
            .ok_or("task_struct has no core")?;
        let tracepoint = |name: &str| {
            types
                .tracepoint(name)
                .ok_or_else(|| format!("no type of the tracepoint {name}"))
        };
        let (switch, arguments) = tracepoint("sched_switch")?;
        let (waking, _) = tracepoint("sched_waking")?;

        let cores = u32::from(last) + 1;
        let slots = (bytes / size_of::<[u64; 2]>()).next_power_of_two().max(2);
        let map = |name: &str, value_size: usize, entries: usize| {
            let entries =
                u32::try_from(entries).map_err(|_| "too many cores for rings of this size")?;
            Map::create(
                MapDefinition {
                    name: name.to_owned(),
                    kind: sys::TYPE_ARRAY,
                    key_size: 4,
                    value_size: value_size as u32,
                    entries,
                    flags: sys::MAP_MMAPABLE,
                    ..MapDefinition::default()
                },
                None,
            )
            .map_err(|error| error.to_string())
        };
        let records = map(
            "corelane_events",
            size_of::<[u64; 2]>(),
            slots * cores as usize,
        )?;
        let counters = map(
            "corelane_heads",
            size_of::<[u64; COUNTERS]>(),
            cores as usize,
        )?;
        let ring = Ring {
            records: records.as_fd().as_raw_fd(),
            counters: counters.as_fd().as_raw_fd(),
            slots: slots as u32,
        };
        let mut wanted = vec![(
            "corelane_switch",
            switch,
            ring.on_switch(pid, state, arguments),
        )];
        if which.wakings {
            wanted.push(("corelane_waking", waking, ring.on_waking(pid, core)));
        }
        let mapped = |error: bpf::Error| error.to_string();
        let (records, counters) = (
            records.mapped().map_err(mapped)?,
            counters.mapped().map_err(mapped)?,
        );
        let mut links = Vec::new();
        for (name, type_id, program) in wanted {
            let program = sys::tracing_program_load(name, &program, type_id, &mut [])
                .map_err(|cause| format!("the kernel refuses the program {name}: {cause}"))?;
            links.push(
                sys::tracepoint_attach(program.as_fd(), None)
                    .map_err(|cause| format!("the program {name} cannot be attached: {cause}"))?,
            );
        }
        Ok(Self {
            slots,
            records,
            counters,
            links,
        })
    }

    fn counter(&self, cpu: u16, offset: i16) -> &AtomicU64 {
        assert!(usize::from(cpu) < self.counters.len(), "core {cpu}");
        // SAFETY: in range (asserted; the offsets lie inside the counters), aligned, alive as long
        // as `self`; the program and we both treat the word as an atomic one.
        unsafe {
            AtomicU64::from_ptr(
                self.counters
                    .as_ptr()
                    .add(usize::from(cpu))
                    .cast::<u64>()
                    .byte_add(offset as usize),
            )
        }
    }

    /// Hands every event of core `cpu`, oldest first, to `take` (time, thread, what), frees their
    /// room, and tells how many were dropped since the beginning: those after the last one
    /// handed over, if there are new ones.
    pub(crate) fn take(&self, cpu: u16, mut take: impl FnMut(u64, Tid, Kind)) -> u64 {
        let (head, tail) = (self.counter(cpu, HEAD), self.counter(cpu, TAIL));
        let end = head.load(Ordering::Acquire);
        let mut at = tail.load(Ordering::Relaxed);
        while at < end {
            let slot = usize::from(cpu) * self.slots + (at as usize & (self.slots - 1));
            let [time, word] = self.records.read(slot);
            let (tid, kind) = unpack(word);
            take(time, tid, kind);
            at += 1;
        }
        // While the ring is full nothing is written, so drops counted now came after the events
        // just taken.
        let lost = self.counter(cpu, LOST).load(Ordering::Relaxed);
        tail.store(at, Ordering::Release);
        lost
    }

    /// The share of core `cpu`'s ring that is in use.
    pub(crate) fn filled(&self, cpu: u16) -> f64 {
        let head = self.counter(cpu, HEAD).load(Ordering::Relaxed);
        let tail = self.counter(cpu, TAIL).load(Ordering::Relaxed);
        head.saturating_sub(tail) as f64 / self.slots as f64
    }

    /// Stops the events; what is in the rings stays there.
    pub(crate) fn close(&mut self) {
        self.links.clear();
    }
}

/// A record's second word. Who interrupts is told by the interrupts around it, so a wake-up is a
/// thread's here.
fn unpack(word: u64) -> (Tid, Kind) {
    let tids = (1 << TID_BITS) - 1;
    let tid = (word >> (REST_BITS + TID_BITS)) as u32 & tids;
    let other = (word >> REST_BITS) as u32 & tids;
    let rest = word & ((1 << REST_BITS) - 1);
    let kind = if word >> WAKING_BIT == 1 {
        Kind::Waking {
            woken: other,
            target: rest as u16,
            by: Context::Thread,
            new: false,
        }
    } else {
        let preempted = rest >> PREEMPTED_BIT == 1;
        Kind::Switch {
            left: left(rest & ((1 << PREEMPTED_BIT) - 1), preempted),
            next: other,
        }
    };
    (tid, kind)
}

/// From the bits of `task_struct.__state` (`include/linux/sched.h`), which differ from those that
/// the tracepoint prints.
fn left(state: u64, preempted: bool) -> Left {
    const SLEEPING: u64 = 0x1;
    const UNINTERRUPTIBLE: u64 = 0x2;
    const STOPPED: u64 = 0x4 | 0x8;
    const PARKED: u64 = 0x40;
    const DEAD: u64 = 0x80;
    const NO_LOAD: u64 = 0x400;
    const WAITS_FOR_RT_LOCK: u64 = 0x1000;
    const FROZEN: u64 = 0x8000;
    match state {
        _ if preempted => Left::Preempted,
        state if state & STOPPED != 0 => Left::Stopped,
        state if state & SLEEPING != 0 => Left::Sleeping,
        state if state & PARKED != 0 => Left::Parked,
        state if state & DEAD != 0 => Left::Dead,
        state if state & UNINTERRUPTIBLE != 0 && state & NO_LOAD != 0 => Left::Idle,
        state if state & (UNINTERRUPTIBLE | WAITS_FOR_RT_LOCK | FROZEN) != 0 => {
            Left::Uninterruptible
        }
        _ => Left::Runnable,
    }
}

/// What the programs have in common.
struct Ring {
    records: i32,
    counters: i32,
    slots: u32,
}

impl Ring {
    /// Arguments of `sched_switch`: preempted, the thread that leaves, the one that comes, (from
    /// 5.18) the state left.
    fn on_switch(&self, pid: i16, state: i16, arguments: usize) -> Vec<sys::Instruction> {
        const STATE_ARGUMENT: usize = 4;
        let mut a = Assembler::default();
        let (context, former, next, word) = (1, 2, 3, 7);
        if arguments >= STATE_ARGUMENT {
            a.load64(word, context, 24);
        } else {
            a.load64(former, context, 8);
            a.load32(word, former, state);
        }
        a.and(word, (1 << PREEMPTED_BIT) - 1);
        a.load64(4, context, 0);
        a.and(4, 1);
        a.shift_left(4, PREEMPTED_BIT);
        a.or(word, 4);
        a.load64(next, context, 16);
        a.load32(next, next, pid);
        a.shift_left(next, REST_BITS);
        a.or(word, next);
        self.emit(&mut a, word);
        a.finish()
    }

    /// The one argument of `sched_waking`: the thread.
    fn on_waking(&self, pid: i16, core: i16) -> Vec<sys::Instruction> {
        let mut a = Assembler::default();
        let (context, woken, word) = (1, 3, 7);
        a.load64(woken, context, 0);
        a.load32(word, woken, core);
        a.and(word, i32::from(u16::MAX));
        a.load32(woken, woken, pid);
        a.shift_left(woken, REST_BITS);
        a.or(word, woken);
        a.constant(woken, 1);
        a.shift_left(woken, WAKING_BIT);
        a.or(word, woken);
        self.emit(&mut a, word);
        a.finish()
    }

    /// Adds the running thread to `word` and writes the record.
    fn emit(&self, a: &mut Assembler, word: u8) {
        const MAP_LOOKUP: i32 = 1;
        const TIME: i32 = 5;
        const CORE: i32 = 8;
        const THREAD: i32 = 14;
        const KEY: i16 = -4;
        let (cpu, counters, head, record) = (6, 8, 9, 6);
        a.call(THREAD);
        a.low_half(0);
        a.shift_left(0, REST_BITS + TID_BITS);
        a.or(word, 0);
        a.call(CORE);
        a.copy(cpu, 0);
        a.store32_on_stack(KEY, cpu);
        a.element(MAP_LOOKUP, self.counters, KEY);
        a.leave_if_null(0);
        a.copy(counters, 0);
        a.load64(head, counters, HEAD);
        a.load64(1, counters, TAIL);
        a.copy(2, head);
        a.subtract(2, 1);
        a.if_not_less(2, self.slots as i32, "full");
        a.copy(3, head);
        a.and(3, self.slots as i32 - 1);
        a.multiply(cpu, self.slots as i32);
        a.add(cpu, 3);
        a.store32_on_stack(KEY, cpu);
        a.element(MAP_LOOKUP, self.records, KEY);
        a.leave_if_null(0);
        a.copy(record, 0);
        a.call(TIME);
        a.store64(record, 0, 0);
        a.store64(record, 8, word);
        // The order of these two stores and the next is what the reader's acquire relies on.
        a.increase(head);
        a.store64_in_order(counters, HEAD, head);
        a.leave();
        a.label("full");
        a.constant(1, 1);
        a.add_in_order(counters, LOST, 1);
        a.leave();
    }
}

#[cfg(test)]
#[path = "../../tests/unit/switches.rs"]
mod tests;
