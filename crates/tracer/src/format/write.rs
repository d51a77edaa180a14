//! Writing: events of one core become bytes ([`CoreWriter`]), blocks become a file
//! ([`FileWriter`]).

use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};

use super::block::{Entries, Packer};
use super::{MAGIC, Recent, VERSION, code, task};
use crate::event::{Event, Interrupt, Kind, TaskChange, TaskNews, Tid};
use crate::trace::{Header, Trailer};
use crate::varint::{put, put_bytes};

/// A block is written when it has grown past this many bytes.
const BLOCK_BYTES: usize = 64 * 1024;
/// Deflating takes longest of all that a recorder does, so events wait for it until the file is
/// finished, when nobody is disturbed any more; only what exceeds this many bytes (some ten million
/// events) is written before.
const MOST_WAITING: usize = 32 << 20;
/// Of a recording that keeps its last part, events that are kept at most, bytes.
const MOST_KEPT: usize = 256 << 20;
/// The list place that says "the thread's number follows".
const IN_FULL: u8 = 15;

fn put_signed(out: &mut Vec<u8>, value: i32) {
    let value = i64::from(value);
    put(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// The events of one core on their way into a block.
#[derive(Debug, Default)]
pub struct CoreWriter {
    cpu: u16,
    bytes: Vec<u8>,
    count: u32,
    first: u64,
    last: u64,
    current: Option<Tid>,
    recent: Recent,
    addresses: HashMap<u64, u64>,
}

impl CoreWriter {
    /// An empty block of core `cpu`.
    pub fn new(cpu: u16) -> Self {
        Self {
            cpu,
            bytes: room(),
            ..Self::default()
        }
    }

    /// True when the block should be handed to [`FileWriter::core`].
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= BLOCK_BYTES
    }

    /// Appends one event. A time before that of the event before it counts as that time.
    pub fn push(&mut self, event: &Event) {
        if self.count == 0 {
            self.last = self.last.max(event.time);
            self.first = self.last;
        }
        if self.current != Some(event.tid) {
            self.plain(code::CURRENT, 0, [event.tid.into()]);
            self.current = Some(event.tid);
        }
        let delta = event.time.saturating_sub(self.last);
        self.last = self.last.max(event.time);
        self.count += 1;
        self.event(delta, &event.kind);
    }

    fn event(&mut self, delta: u64, kind: &Kind) {
        match *kind {
            Kind::Switch { left, next } => {
                self.head_with_thread(code::SWITCH | (left as u8) << 4, delta, next);
                self.current = Some(next);
            }
            Kind::Waking {
                woken,
                target,
                by,
                new,
            } => {
                let plain = by as u8 == 0 && !new;
                let form = match (plain, target == self.cpu) {
                    (true, true) => 0,
                    (true, false) => 1,
                    _ => 2,
                };
                self.head_with_thread(code::WAKING | form << 4, delta, woken);
                if form == 2 {
                    self.bytes.push(by as u8 | u8::from(new) << 2);
                }
                if form != 0 {
                    put(&mut self.bytes, target);
                }
            }
            Kind::Migrate { moved, from, to } => {
                self.plain(code::MIGRATE, delta, [moved.into(), from.into(), to.into()]);
            }
            Kind::FutexEnter(call) => {
                self.plain(code::FUTEX_ENTER, delta, []);
                self.bytes
                    .push(call.operation as u8 | u8::from(call.private) << 7);
                let value = u64::from(call.value) << 1 | u64::from(call.timeout);
                put(&mut self.bytes, value);
                self.address(call.address);
            }
            Kind::FutexExit(result) => {
                self.plain(code::FUTEX_EXIT, delta, []);
                put_signed(&mut self.bytes, result);
            }
            Kind::LockBegin { address, flags } => {
                self.plain(code::LOCK_BEGIN, delta, []);
                self.bytes.push(flags);
                self.address(address);
            }
            Kind::LockEnd { address, result } => {
                self.plain(code::LOCK_END, delta, []);
                put_signed(&mut self.bytes, result);
                self.address(address);
            }
            Kind::InterruptBegin(interrupt) => self.interrupt(delta, interrupt, 0),
            Kind::InterruptEnd(interrupt) => self.interrupt(delta, interrupt, code::END),
            Kind::Poll { work, budget } => {
                self.plain(code::POLL, delta, [work.into(), budget.into()]);
            }
            Kind::Packets { sent, dropped } => {
                self.plain(code::PACKETS, delta, [sent.into(), dropped.into()]);
            }
            Kind::Sample(stack) => self.plain(code::SAMPLE, delta, [stack.into()]),
            Kind::Stack(stack) => self.plain(code::STACK, delta, [stack.into()]),
            Kind::Progress { point, total } => {
                self.plain(code::PROGRESS, delta, [point.into(), total]);
            }
            Kind::Stolen { time, within } => self.plain(code::STOLEN, delta, [time, within.into()]),
            Kind::Lost(events) => self.plain(code::LOST, delta, [events.into()]),
        }
    }

    /// A head, the time, and the numbers of an event that has nothing else.
    fn plain<const N: usize>(&mut self, head: u8, delta: u64, numbers: [u64; N]) {
        self.bytes.push(head);
        put(&mut self.bytes, delta);
        for number in numbers {
            put(&mut self.bytes, number);
        }
    }

    fn head_with_thread(&mut self, head: u8, delta: u64, tid: Tid) {
        match self.recent.place(tid) {
            Some(place) => self.plain(head | place, delta, []),
            None => self.plain(head | IN_FULL, delta, [tid.into()]),
        }
    }

    fn interrupt(&mut self, delta: u64, interrupt: Interrupt, end: u8) {
        match interrupt {
            Interrupt::Line(line) => self.plain(code::LINE | end, delta, [line.into()]),
            Interrupt::Soft(vector) => self.plain(code::SOFT | end, delta, [vector.into()]),
            Interrupt::Timer => self.plain(code::TIMER | end, delta, []),
            Interrupt::Reschedule => self.plain(code::RESCHEDULE | end, delta, []),
            Interrupt::Call => self.plain(code::CALL | end, delta, []),
        }
    }

    /// An address is written once in a block, afterwards by its number.
    fn address(&mut self, address: u64) {
        let new = self.addresses.len() as u64;
        let number = *self.addresses.entry(address).or_insert(new);
        put(&mut self.bytes, number);
        if number == new {
            self.bytes.extend_from_slice(&address.to_le_bytes());
        }
    }

    /// The block so far; the next one begins.
    fn take(&mut self) -> Entries {
        self.current = None;
        self.recent = Recent::default();
        self.addresses.clear();
        Entries {
            cpu: self.cpu,
            count: std::mem::take(&mut self.count),
            first: self.first,
            last: self.last,
            bytes: std::mem::replace(&mut self.bytes, room()),
        }
    }
}

/// Memory for a block.
fn room() -> Vec<u8> {
    Vec::with_capacity(BLOCK_BYTES + 256)
}

/// A trace file being written to anything that takes bytes. Events wait in memory, 32 MiB at most; of
/// a recording that keeps its last part, 256 MiB.
#[derive(Debug)]
pub struct FileWriter<W: Write> {
    out: W,
    written: u64,
    packer: Packer,
    /// Events of single cores that are not written yet.
    waiting: VecDeque<Entries>,
    waiting_bytes: usize,
    most_waiting: usize,
    /// Of a recording that keeps its last part.
    last_part: Option<LastPart>,
}

/// What is kept of a recording whose last part is.
#[derive(Debug)]
struct LastPart {
    /// How long it is, ns.
    length: u64,
    /// No event up to this instant is to be had any more.
    forgotten: u64,
}

impl<W: Write> FileWriter<W> {
    /// Writes the file's beginning.
    ///
    /// # Errors
    /// What the writer says.
    pub fn new(out: W, header: &Header) -> io::Result<Self> {
        let mut file = Self {
            out,
            written: 16,
            packer: Packer::default(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            most_waiting: MOST_WAITING,
            last_part: None,
        };
        file.out.write_all(MAGIC)?;
        file.out.write_all(&[VERSION])?;
        file.block(b'H', &Entries::one(serde_json::to_vec(header)?))?;
        Ok(file)
    }

    /// Keeps of all events the last `length` nanoseconds, and of these as many as fit into 256 MiB:
    /// nothing is written before the end.
    pub fn keep_last(&mut self, length: u64) {
        let forgotten = 0;
        self.last_part = Some(LastPart { length, forgotten });
        self.most_waiting = MOST_KEPT;
    }

    /// When the part that is kept begins, of a recording that ends at `end`; `None` of one that keeps
    /// everything.
    pub fn begins(&self, end: u64) -> Option<u64> {
        let part = self.last_part.as_ref()?;
        Some(part.forgotten.max(end.saturating_sub(part.length)))
    }

    /// Takes the events gathered for one core and empties the gatherer; the oldest that wait are
    /// written when they are too many.
    ///
    /// # Errors
    /// What the writer says.
    pub fn core(&mut self, core: &mut CoreWriter) -> io::Result<()> {
        let entries = core.take();
        if entries.count > 0 {
            self.waiting_bytes += entries.bytes.len();
            self.waiting.push_back(entries);
            self.forget_while(|_, too_many| too_many);
        }
        self.let_wait(self.most_waiting)
    }

    /// Forgets what is not of the last part of a recording that ends at `now` or later.
    pub fn forget(&mut self, now: u64) {
        self.forget_while(|part, _| part < now);
    }

    /// Of a recording that keeps its last part, forgets the oldest events while `goes` says so of
    /// the instant until which their part lasts, and of whether they are more than fit.
    fn forget_while(&mut self, goes: impl Fn(u64, bool) -> bool) {
        let Some(part) = &mut self.last_part else {
            return;
        };
        while let Some(oldest) = self.waiting.front()
            && goes(
                oldest.last.saturating_add(part.length),
                self.waiting_bytes > self.most_waiting,
            )
        {
            part.forgotten = part.forgotten.max(oldest.last);
            self.waiting_bytes -= oldest.bytes.len();
            self.waiting.pop_front();
        }
    }

    /// Writes the oldest events until no more than `most` bytes of them wait.
    fn let_wait(&mut self, most: usize) -> io::Result<()> {
        while self.waiting_bytes > most
            && let Some(oldest) = self.waiting.pop_front()
        {
            self.waiting_bytes -= oldest.bytes.len();
            self.block(b'C', &oldest)?;
        }
        Ok(())
    }

    /// Writes news about threads.
    ///
    /// # Errors
    /// What the writer says.
    pub fn tasks(&mut self, changes: &[TaskChange]) -> io::Result<()> {
        let Some(first) = changes.first() else {
            return Ok(());
        };
        let mut bytes = Vec::new();
        for change in changes {
            put(&mut bytes, change.time);
            put(&mut bytes, change.tid);
            put(&mut bytes, change.process);
            match &change.what {
                TaskNews::Named(name) => {
                    bytes.push(task::NAMED);
                    put_bytes(&mut bytes, name.as_bytes());
                }
                TaskNews::Forked { parent } => {
                    bytes.push(task::FORKED);
                    put(&mut bytes, *parent);
                }
                TaskNews::Exited => bytes.push(task::EXITED),
            }
        }
        let entries = Entries {
            count: changes.len() as u32,
            first: first.time,
            ..Entries::one(bytes)
        };
        self.block(b'T', &entries)
    }

    /// Writes the file's end and gives the writer back.
    ///
    /// # Errors
    /// What the writer says.
    pub fn finish(mut self, trailer: &Trailer) -> io::Result<W> {
        self.let_wait(0)?;
        self.block(b'E', &Entries::one(serde_json::to_vec(trailer)?))?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    fn block(&mut self, kind: u8, entries: &Entries) -> io::Result<()> {
        let (head, payload) = self.packer.block(kind, entries);
        self.out.write_all(&head)?;
        self.out.write_all(payload)?;
        self.written += (head.len() + payload.len()) as u64;
        Ok(())
    }
}

#[cfg(test)]
#[path = "../../tests/unit/write.rs"]
mod tests;
