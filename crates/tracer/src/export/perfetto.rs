//! Perfetto's trace format, written by hand: about a dozen protobuf messages.
//!
//! Field numbers are those of `protos/perfetto/trace` (Perfetto 52). Times are `CLOCK_BOOTTIME`,
//! which Perfetto takes scheduler events to be in. The first switch of every core goes out in full,
//! because the importer drops the first compact one; the rest is `CompactSched`, columns of
//! differences. Waits for locks have no event there and become track events.

use std::collections::BTreeSet;
use std::io::{self, Write};

use crate::analyse::Analysis;
use crate::event::{Context, Event, Interrupt, Kind, Left, Tid};
use crate::threads::Role;
use crate::timeline::{Cause, Doing, UNKNOWN};
use crate::trace::Trace;
use crate::verdict::title;

const BOOTTIME: u64 = 6;
const MONOTONIC: u64 = 3;
/// The sequence that all track events belong to.
const SEQUENCE: u64 = 1;

/// A message being built.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(&mut self, field: u32, value: u64) -> &mut Self {
        self.varint(u64::from(field) << 3);
        self.varint(value);
        self
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) -> &mut Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// `fixed64`, which flow numbers are.
    fn fixed(&mut self, field: u32, value: u64) -> &mut Self {
        self.varint(u64::from(field) << 3 | 1);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn text(&mut self, field: u32, text: &str) -> &mut Self {
        self.bytes(field, text.as_bytes())
    }

    fn message(&mut self, field: u32, message: &Self) -> &mut Self {
        self.bytes(field, &message.0)
    }

    fn packed(&mut self, field: u32, values: &[u64]) -> &mut Self {
        let mut packed = Self::default();
        for value in values {
            packed.varint(*value);
        }
        self.message(field, &packed)
    }
}

/// Writes the trace.
///
/// # Errors
/// What the writer says.
pub fn write(trace: &Trace, analysis: &Analysis, out: &mut impl Write) -> io::Result<()> {
    let offset = trace.header.boot_offset;
    let mut packet = |message: &Message| {
        let mut file = Message::default();
        file.message(1, message);
        out.write_all(&file.0)
    };
    packet(&clocks(trace))?;
    packet(&processes(analysis))?;
    for cpu in &analysis.timeline.cores {
        let events: Vec<&Event> = trace
            .events
            .iter()
            .filter(|event| event.cpu == *cpu)
            .collect();
        let mut first = true;
        for chunk in events.chunks(8192) {
            packet(&bundle(*cpu, chunk, &mut first, offset, analysis))?;
        }
    }
    lock_waits(analysis, offset, &mut packet)
}

fn boot(time: u64, offset: i64) -> u64 {
    time.saturating_add_signed(offset)
}

fn clocks(trace: &Trace) -> Message {
    let now = trace.window().0;
    let mut snapshot = Message::default();
    for (id, time) in [
        (BOOTTIME, boot(now, trace.header.boot_offset)),
        (MONOTONIC, now),
    ] {
        let mut clock = Message::default();
        clock.number(1, id).number(2, time);
        snapshot.message(1, &clock);
    }
    snapshot.number(2, BOOTTIME);
    let mut packet = Message::default();
    packet.message(6, &snapshot).number(10, SEQUENCE);
    packet
}

fn processes(analysis: &Analysis) -> Message {
    let threads = &analysis.timeline.threads;
    let mut tree = Message::default();
    let seen: BTreeSet<Tid> = analysis
        .timeline
        .lives
        .iter()
        .map(|life| life.tid)
        .filter(|tid| *tid != 0)
        .collect();
    let leaders: BTreeSet<Tid> = seen.iter().map(|tid| threads.process(*tid)).collect();
    for process in leaders {
        let mut message = Message::default();
        message
            .number(1, u64::from(process))
            .text(3, &threads.name(process));
        tree.message(1, &message);
    }
    for tid in seen {
        let mut message = Message::default();
        message
            .number(1, u64::from(tid))
            .text(2, &threads.name(tid))
            .number(3, u64::from(threads.process(tid)));
        tree.message(2, &message);
    }
    let mut packet = Message::default();
    packet.message(2, &tree);
    packet
}

/// The kernel's bits for a state.
fn state(left: Left) -> u64 {
    match left {
        Left::Runnable | Left::Preempted => 0,
        Left::Sleeping => 1,
        Left::Uninterruptible => 2,
        Left::Stopped => 4,
        Left::Dead => 16,
        Left::Parked => 64,
        Left::Idle => 128,
    }
}

/// A priority that says "an ordinary thread": priorities are not recorded.
const ORDINARY: u64 = 120;

#[derive(Default)]
struct Columns {
    switch: [Vec<u64>; 5],
    waking: [Vec<u64>; 6],
    names: Vec<String>,
    last_switch: u64,
    last_waking: u64,
}

impl Columns {
    fn name(&mut self, name: String) -> u64 {
        let at = self
            .names
            .iter()
            .position(|known| *known == name)
            .unwrap_or_else(|| {
                self.names.push(name);
                self.names.len() - 1
            });
        at as u64
    }

    fn message(&self) -> Message {
        let mut message = Message::default();
        for (field, column) in (1..).zip(&self.switch[..4]) {
            message.packed(field, column);
        }
        for name in &self.names {
            message.text(5, name);
        }
        message.packed(6, &self.switch[4]);
        for (field, column) in (7..).zip(&self.waking) {
            message.packed(field, column);
        }
        message
    }
}

fn bundle(
    cpu: u16,
    events: &[&Event],
    first: &mut bool,
    offset: i64,
    analysis: &Analysis,
) -> Message {
    let threads = &analysis.timeline.threads;
    let mut bundle = Message::default();
    bundle.number(1, u64::from(cpu));
    let mut columns = Columns::default();
    for event in events {
        let time = boot(event.time, offset);
        let mut whole = |field: u32, inner: &Message| {
            let mut message = Message::default();
            message
                .number(1, time)
                .number(2, u64::from(event.tid))
                .message(field, inner);
            bundle.message(2, &message);
        };
        match event.kind {
            Kind::Switch { left, next } if *first => {
                *first = false;
                let mut inner = Message::default();
                inner
                    .text(1, &threads.name(event.tid))
                    .number(2, u64::from(event.tid))
                    .number(3, ORDINARY)
                    .number(4, state(left))
                    .text(5, &threads.name(next))
                    .number(6, u64::from(next))
                    .number(7, ORDINARY);
                whole(4, &inner);
            }
            Kind::Switch { left, next } => {
                let name = columns.name(threads.name(next));
                let row = [
                    time - columns.last_switch,
                    state(left),
                    u64::from(next),
                    ORDINARY,
                    name,
                ];
                columns.last_switch = time;
                for (column, value) in columns.switch.iter_mut().zip(row) {
                    column.push(value);
                }
            }
            Kind::Waking {
                woken, target, by, ..
            } => {
                const HARDIRQ: u64 = 8;
                const SOFTIRQ: u64 = 16;
                let flags = match by {
                    Context::Thread => 0,
                    Context::Softirq => SOFTIRQ,
                    Context::Hardirq => HARDIRQ,
                };
                let name = columns.name(threads.name(woken));
                let row = [
                    time - columns.last_waking,
                    u64::from(woken),
                    u64::from(target),
                    ORDINARY,
                    name,
                    flags,
                ];
                columns.last_waking = time;
                for (column, value) in columns.waking.iter_mut().zip(row) {
                    column.push(value);
                }
            }
            Kind::InterruptBegin(Interrupt::Soft(vector)) => {
                whole(24, Message::default().number(1, u64::from(vector)));
            }
            Kind::InterruptEnd(Interrupt::Soft(vector)) => {
                whole(25, Message::default().number(1, u64::from(vector)));
            }
            Kind::InterruptBegin(Interrupt::Line(line)) => {
                whole(
                    36,
                    Message::default()
                        .number(1, u64::from(line))
                        .text(2, &format!("irq {line}")),
                );
            }
            Kind::InterruptEnd(Interrupt::Line(line)) => whole(
                37,
                Message::default().number(1, u64::from(line)).number(2, 1),
            ),
            Kind::Lost(_) => {
                bundle.number(3, 1);
            }
            _ => {}
        }
    }
    bundle.message(4, &columns.message());
    let mut packet = Message::default();
    packet.message(1, &bundle);
    packet
}

/// Waits for locks: a row under every thread that waited, and an arrow from the thread that let go
/// to the one that went on.
fn lock_waits(
    analysis: &Analysis,
    offset: i64,
    packet: &mut impl FnMut(&Message) -> io::Result<()>,
) -> io::Result<()> {
    const INSTANT: u64 = 3;
    const SLICE_BEGIN: u64 = 1;
    const SLICE_END: u64 = 2;
    let timeline = &analysis.timeline;
    let name = |object: u32| {
        analysis
            .locks
            .iter()
            .find(|lock| lock.index == object)
            .map(title)
    };
    let waits: Vec<_> = timeline
        .lives
        .iter()
        .filter(|life| timeline.threads.role(life.tid) == Role::Target)
        .flat_map(|life| life.segments.iter().map(|segment| (life.tid, segment)))
        .filter_map(|(tid, segment)| match segment.doing {
            Doing::Blocked(Cause::Futex(object) | Cause::KernelLock(object)) => {
                Some((tid, segment, name(object)?))
            }
            _ => None,
        })
        .collect();
    let ends = waits
        .iter()
        .map(|(_, segment, _)| segment.waker)
        .filter(|waker| *waker != UNKNOWN);
    let threads: BTreeSet<Tid> = waits.iter().map(|(tid, ..)| *tid).chain(ends).collect();
    for (number, tid) in threads.iter().enumerate() {
        for message in tracks(*tid, timeline.threads.process(*tid), number == 0) {
            packet(&message)?;
        }
    }
    let mut event = |kind: u64, tid: Tid, time: u64, name: Option<&str>, flow: Option<u64>| {
        let mut event = Message::default();
        event.number(9, kind).number(11, wait_track(tid));
        if let Some(name) = name {
            event.text(23, name);
        }
        if let Some(flow) = flow {
            event.fixed(47, flow);
        }
        let mut message = Message::default();
        message
            .number(8, boot(time, offset))
            .number(58, BOOTTIME)
            .number(10, SEQUENCE)
            .message(11, &event);
        packet(&message)
    };
    for (flow, (tid, segment, name)) in (1..).zip(&waits) {
        event(SLICE_BEGIN, *tid, segment.start, Some(name), None)?;
        event(SLICE_END, *tid, segment.end, None, None)?;
        if segment.waker != UNKNOWN {
            let (gives, has) = (format!("gives {name}"), format!("goes on with {name}"));
            event(
                INSTANT,
                segment.waker,
                segment.end,
                Some(&gives),
                Some(flow),
            )?;
            event(INSTANT, *tid, segment.end, Some(&has), Some(flow))?;
        }
    }
    Ok(())
}

fn wait_track(tid: Tid) -> u64 {
    u64::from(tid) << 8 | 2
}

/// Describes a thread's track and the one under it; the first message of the sequence says that
/// nothing came before it.
fn tracks(tid: Tid, process: Tid, first: bool) -> [Message; 2] {
    const STATE_CLEARED: u64 = 1;
    let thread_track = u64::from(tid) << 8 | 1;
    let mut thread = Message::default();
    thread
        .number(1, u64::from(process))
        .number(2, u64::from(tid));
    let mut described = Message::default();
    described.number(1, thread_track).message(4, &thread);
    let mut child = Message::default();
    child
        .number(1, wait_track(tid))
        .text(2, "lock waits")
        .number(5, thread_track);
    [(described, first), (child, false)].map(|(descriptor, first)| {
        let mut message = Message::default();
        message.number(10, SEQUENCE);
        if first {
            message.number(13, STATE_CLEARED);
        }
        message.message(60, &descriptor);
        message
    })
}
