//! Writing: events of one core become bytes ([`CoreWriter`]), blocks become a file
//! ([`FileWriter`]).

use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};

use super::block::Packer;
use super::{MAGIC, Recent, VERSION, code};
use crate::event::{Event, Interrupt, Kind, TaskChange, TaskNews, Tid};
use crate::trace::{Header, Trailer};

/// A block is written when it has grown past this many bytes.
const BLOCK_BYTES: usize = 64 * 1024;
/// Deflating takes longest of all that a recorder does, so events wait for it until the file is
/// finished, when nobody is disturbed any more; only what exceeds this many bytes (some ten million
/// events) is written before.
const MOST_WAITING: usize = 32 << 20;
/// The list place that says "the thread's number follows".
const IN_FULL: u8 = 15;

pub(crate) fn put_number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_number(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// The events of one core on their way into a block.
#[derive(Debug)]
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
            count: 0,
            first: 0,
            last: 0,
            current: None,
            recent: Recent::new(),
            addresses: HashMap::new(),
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
            self.bytes.push(code::CURRENT);
            put_number(&mut self.bytes, 0);
            put_number(&mut self.bytes, u64::from(event.tid));
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
                    put_number(&mut self.bytes, u64::from(target));
                }
            }
            Kind::Migrate { moved, from, to } => {
                self.head(code::MIGRATE, delta);
                put_number(&mut self.bytes, u64::from(moved));
                put_number(&mut self.bytes, u64::from(from));
                put_number(&mut self.bytes, u64::from(to));
            }
            Kind::FutexEnter(call) => {
                self.head(code::FUTEX_ENTER, delta);
                self.bytes
                    .push(call.operation as u8 | u8::from(call.private) << 7);
                put_number(
                    &mut self.bytes,
                    u64::from(call.value) << 1 | u64::from(call.timeout),
                );
                self.address(call.address);
            }
            Kind::FutexExit(result) => {
                self.head(code::FUTEX_EXIT, delta);
                put_signed(&mut self.bytes, i64::from(result));
            }
            Kind::LockBegin { address, flags } => {
                self.head(code::LOCK_BEGIN, delta);
                self.bytes.push(flags);
                self.address(address);
            }
            Kind::LockEnd { address, result } => {
                self.head(code::LOCK_END, delta);
                put_signed(&mut self.bytes, i64::from(result));
                self.address(address);
            }
            Kind::InterruptBegin(interrupt) => self.interrupt(delta, interrupt, 0),
            Kind::InterruptEnd(interrupt) => self.interrupt(delta, interrupt, 1),
            Kind::Poll { work, budget } => self.pair(code::POLL, delta, work, budget),
            Kind::Packets { sent, dropped } => self.pair(code::PACKETS, delta, sent, dropped),
            Kind::Sample(stack) => {
                self.head(code::SAMPLE, delta);
                put_number(&mut self.bytes, u64::from(stack));
            }
            Kind::Stack(stack) => {
                self.head(code::STACK, delta);
                put_number(&mut self.bytes, u64::from(stack));
            }
            Kind::Progress { point, total } => {
                self.head(code::PROGRESS, delta);
                put_number(&mut self.bytes, u64::from(point));
                put_number(&mut self.bytes, total);
            }
            Kind::Lost(events) => {
                self.head(code::LOST, delta);
                put_number(&mut self.bytes, u64::from(events));
            }
        }
    }

    fn head(&mut self, head: u8, delta: u64) {
        self.bytes.push(head);
        put_number(&mut self.bytes, delta);
    }

    fn pair(&mut self, head: u8, delta: u64, first: u16, second: u16) {
        self.head(head, delta);
        put_number(&mut self.bytes, u64::from(first));
        put_number(&mut self.bytes, u64::from(second));
    }

    fn head_with_thread(&mut self, head: u8, delta: u64, tid: Tid) {
        if let Some(place) = self.recent.place(tid) {
            self.head(head | place, delta);
        } else {
            self.head(head | IN_FULL, delta);
            put_number(&mut self.bytes, u64::from(tid));
        }
    }

    fn interrupt(&mut self, delta: u64, interrupt: Interrupt, end: u8) {
        let (head, number) = match interrupt {
            Interrupt::Line(line) => (code::LINE_BEGIN, Some(u64::from(line))),
            Interrupt::Soft(vector) => (code::SOFT_BEGIN, Some(u64::from(vector))),
            Interrupt::Timer => (code::TIMER_BEGIN, None),
            Interrupt::Reschedule => (code::RESCHEDULE_BEGIN, None),
            Interrupt::Call => (code::CALL_BEGIN, None),
        };
        self.head(head + end, delta);
        if let Some(number) = number {
            put_number(&mut self.bytes, number);
        }
    }

    /// An address is written once in a block, afterwards by its number.
    fn address(&mut self, address: u64) {
        let new = self.addresses.len() as u64;
        let number = *self.addresses.entry(address).or_insert(new);
        put_number(&mut self.bytes, number);
        if number == new {
            self.bytes.extend_from_slice(&address.to_le_bytes());
        }
    }

    fn reset(&mut self) {
        self.bytes.clear();
        self.count = 0;
        self.current = None;
        self.recent = Recent::new();
        self.addresses.clear();
    }
}

/// Memory for a block.
fn room() -> Vec<u8> {
    Vec::with_capacity(BLOCK_BYTES + 256)
}

/// A trace file being written to anything that takes bytes. Events wait in memory, 32 MiB at most.
#[derive(Debug)]
pub struct FileWriter<W: Write> {
    out: W,
    written: u64,
    packer: Packer,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    most_waiting: usize,
}

/// Events of one core that are not written yet.
#[derive(Debug)]
struct Waiting {
    cpu: u16,
    count: u32,
    first: u64,
    bytes: Vec<u8>,
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
        };
        file.out.write_all(MAGIC)?;
        file.out.write_all(&[VERSION])?;
        file.block(b'H', 0, 1, 0, &serde_json::to_vec(header)?)?;
        Ok(file)
    }

    /// Takes the events gathered for one core and empties the gatherer; the oldest that wait are
    /// written when they are too many.
    ///
    /// # Errors
    /// What the writer says.
    pub fn core(&mut self, core: &mut CoreWriter) -> io::Result<()> {
        if core.count > 0 {
            self.waiting_bytes += core.bytes.len();
            self.waiting.push_back(Waiting {
                cpu: core.cpu,
                count: core.count,
                first: core.first,
                bytes: std::mem::replace(&mut core.bytes, room()),
            });
        }
        core.reset();
        self.let_wait(self.most_waiting)
    }

    /// Writes the oldest events until no more than `most` bytes of them wait.
    fn let_wait(&mut self, most: usize) -> io::Result<()> {
        while self.waiting_bytes > most
            && let Some(oldest) = self.waiting.pop_front()
        {
            self.waiting_bytes -= oldest.bytes.len();
            let Waiting {
                cpu, count, first, ..
            } = oldest;
            self.block(b'C', cpu, count, first, &oldest.bytes)?;
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
            put_number(&mut bytes, change.time);
            put_number(&mut bytes, u64::from(change.tid));
            put_number(&mut bytes, u64::from(change.process));
            match &change.what {
                TaskNews::Named(name) => put_text(&mut bytes, name),
                TaskNews::Forked { parent } => {
                    bytes.push(2);
                    put_number(&mut bytes, u64::from(*parent));
                }
                TaskNews::Exited => bytes.push(3),
            }
        }
        self.block(b'T', 0, changes.len() as u32, first.time, &bytes)
    }

    /// Writes the file's end and gives the writer back.
    ///
    /// # Errors
    /// What the writer says.
    pub fn finish(mut self, trailer: &Trailer) -> io::Result<W> {
        self.let_wait(0)?;
        self.block(b'E', 0, 1, 0, &serde_json::to_vec(trailer)?)?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    fn block(
        &mut self,
        kind: u8,
        cpu: u16,
        count: u32,
        first: u64,
        payload: &[u8],
    ) -> io::Result<()> {
        let (head, payload) = self.packer.block(kind, cpu, count, first, payload);
        self.out.write_all(&head)?;
        self.out.write_all(payload)?;
        self.written += (head.len() + payload.len()) as u64;
        Ok(())
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.push(0);
    put_number(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_wait_and_the_oldest_are_written_when_they_are_too_many() {
        let mut file = FileWriter::new(Vec::new(), &Header::default()).expect("memory");
        let mut core = CoreWriter::new(0);
        let mut gather = |file: &mut FileWriter<Vec<u8>>, time| {
            core.push(&Event {
                time,
                cpu: 0,
                tid: 7,
                kind: Kind::FutexExit(0),
            });
            file.core(&mut core).expect("memory");
        };
        let empty = file.written();
        gather(&mut file, 10);
        gather(&mut file, 20);
        assert_eq!(file.written(), empty);
        assert_eq!(file.waiting.len(), 2);
        file.most_waiting = file.waiting_bytes;
        gather(&mut file, 30);
        assert_eq!(file.waiting.front().map(|oldest| oldest.first), Some(20));
        assert!(file.written() > empty);
        let bytes = file.finish(&Trailer::default()).expect("memory");
        let events = crate::Trace::from_bytes(&bytes).expect("a trace").events;
        let times: Vec<u64> = events.iter().map(|event| event.time).collect();
        assert_eq!(times, [10, 20, 30]);
    }
}
