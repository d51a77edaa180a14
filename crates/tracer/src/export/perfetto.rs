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
use crate::timeline::UNKNOWN;
use crate::trace::Trace;
use crate::varint::{put, put_bytes};
use crate::verdict::title;

const BOOTTIME: u64 = 6;
const MONOTONIC: u64 = 3;
/// The sequence that all track events belong to.
const SEQUENCE: u64 = 1;

/// A message being built.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn number(mut self, field: u32, value: impl Into<u64>) -> Self {
        put(&mut self.0, field << 3);
        put(&mut self.0, value);
        self
    }

    fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        put(&mut self.0, field << 3 | 2);
        put_bytes(&mut self.0, bytes);
        self
    }

    /// `fixed64`, which flow numbers are.
    fn fixed(mut self, field: u32, value: u64) -> Self {
        put(&mut self.0, field << 3 | 1);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn text(self, field: u32, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    fn message(self, field: u32, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }

    fn packed(self, field: u32, values: &[u64]) -> Self {
        let mut packed = Vec::new();
        for value in values {
            put(&mut packed, *value);
        }
        self.bytes(field, &packed)
    }
}

/// Writes the trace.
///
/// # Errors
/// What the writer says.
pub fn write(trace: &Trace, analysis: &Analysis, out: &mut impl Write) -> io::Result<()> {
    let offset = trace.header.boot_offset;
    let mut packet = |message: &Message| out.write_all(&Message::default().message(1, message).0);
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
    let clock = |id, time| Message::default().number(1, id).number(2, time);
    let snapshot = Message::default()
        .message(1, &clock(BOOTTIME, boot(now, trace.header.boot_offset)))
        .message(1, &clock(MONOTONIC, now))
        .number(2, BOOTTIME);
    Message::default()
        .message(6, &snapshot)
        .number(10, SEQUENCE)
}

fn processes(analysis: &Analysis) -> Message {
    let threads = &analysis.timeline.threads;
    let lives = analysis.timeline.lives.iter().map(|life| life.tid);
    let seen: BTreeSet<Tid> = lives.filter(|tid| *tid != 0).collect();
    let leaders: BTreeSet<Tid> = seen.iter().map(|tid| threads.process(*tid)).collect();
    let mut tree = Message::default();
    for process in leaders {
        let message = Message::default().number(1, process);
        tree = tree.message(1, &message.text(3, &threads.name(process)));
    }
    for tid in seen {
        let message = Message::default()
            .number(1, tid)
            .text(2, &threads.name(tid))
            .number(3, threads.process(tid));
        tree = tree.message(2, &message);
    }
    Message::default().message(2, &tree)
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
        let known = self.names.iter().position(|known| *known == name);
        known.unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        }) as u64
    }

    fn message(&self) -> Message {
        let mut message = Message::default();
        for (field, column) in (1..).zip(&self.switch[..4]) {
            message = message.packed(field, column);
        }
        for name in &self.names {
            message = message.text(5, name);
        }
        message = message.packed(6, &self.switch[4]);
        for (field, column) in (7..).zip(&self.waking) {
            message = message.packed(field, column);
        }
        message
    }
}

/// Appends a value to each column.
fn push_row<const N: usize>(columns: &mut [Vec<u64>; N], row: [u64; N]) {
    for (column, value) in columns.iter_mut().zip(row) {
        column.push(value);
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
    let mut bundle = Message::default().number(1, cpu);
    let mut columns = Columns::default();
    for event in events {
        let time = boot(event.time, offset);
        let one = |value: u64| Message::default().number(1, value);
        // What is no row of the columns goes out in full: its field and message.
        let (field, inner) = match event.kind {
            Kind::Switch { left, next } if *first => {
                *first = false;
                let inner = Message::default()
                    .text(1, &threads.name(event.tid))
                    .number(2, event.tid)
                    .number(3, ORDINARY)
                    .number(4, state(left))
                    .text(5, &threads.name(next))
                    .number(6, next)
                    .number(7, ORDINARY);
                (4, inner)
            }
            Kind::Switch { left, next } => {
                let name = columns.name(threads.name(next));
                let since = time - std::mem::replace(&mut columns.last_switch, time);
                let row = [since, state(left), next.into(), ORDINARY, name];
                push_row(&mut columns.switch, row);
                continue;
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
                let since = time - std::mem::replace(&mut columns.last_waking, time);
                let (woken, target) = (woken.into(), target.into());
                let row = [since, woken, target, ORDINARY, name, flags];
                push_row(&mut columns.waking, row);
                continue;
            }
            Kind::InterruptBegin(Interrupt::Soft(vector)) => (24, one(vector.into())),
            Kind::InterruptEnd(Interrupt::Soft(vector)) => (25, one(vector.into())),
            Kind::InterruptBegin(Interrupt::Line(line)) => {
                (36, one(line.into()).text(2, &format!("irq {line}")))
            }
            Kind::InterruptEnd(Interrupt::Line(line)) => (37, one(line.into()).number(2, 1_u32)),
            Kind::Lost(_) => {
                bundle = bundle.number(3, 1_u32);
                continue;
            }
            _ => continue,
        };
        let whole = one(time).number(2, event.tid).message(field, &inner);
        bundle = bundle.message(2, &whole);
    }
    Message::default().message(1, &bundle.message(4, &columns.message()))
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
    let waits: Vec<_> = timeline
        .waits()
        .filter_map(|(tid, segment, object)| Some((tid, segment, title(analysis.lock(object)?))))
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
        let mut event = Message::default().number(9, kind);
        event = event.number(11, wait_track(tid));
        if let Some(name) = name {
            event = event.text(23, name);
        }
        if let Some(flow) = flow {
            event = event.fixed(47, flow);
        }
        let message = Message::default()
            .number(8, boot(time, offset))
            .number(58, BOOTTIME)
            .number(10, SEQUENCE)
            .message(11, &event);
        packet(&message)
    };
    for (flow, (tid, segment, name)) in (1..).zip(&waits) {
        let (end, flow) = (segment.end, Some(flow));
        event(SLICE_BEGIN, *tid, segment.start, Some(name), None)?;
        event(SLICE_END, *tid, end, None, None)?;
        if segment.waker != UNKNOWN {
            let (gives, has) = (format!("gives {name}"), format!("goes on with {name}"));
            event(INSTANT, segment.waker, end, Some(&gives), flow)?;
            event(INSTANT, *tid, end, Some(&has), flow)?;
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
    let thread = Message::default().number(1, process).number(2, tid);
    let described = Message::default().number(1, thread_track);
    let child = Message::default()
        .number(1, wait_track(tid))
        .text(2, "lock waits")
        .number(5, thread_track);
    [(described.message(4, &thread), first), (child, false)].map(|(descriptor, first)| {
        let mut message = Message::default().number(10, SEQUENCE);
        if first {
            message = message.number(13, STATE_CLEARED);
        }
        message.message(60, &descriptor)
    })
}
