//! The events of all cores: each core's blocks decoded one event after the other, and all cores
//! merged by time as they come.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::block::Block;
use super::{Recent, code};
use crate::event::{Context, Event, FutexCall, Interrupt, Kind, Left, Operation, Tid};

/// All events in the order of time, and the core of every block that broke off.
pub(super) fn merged(cores: &BTreeMap<u16, Vec<Block<'_>>>) -> (Vec<Event>, Vec<u16>) {
    let blocks = || cores.values().flatten();
    // No event is shorter than two bytes, whatever the block says.
    let count = blocks()
        .map(|block| (block.count as usize).min(block.payload.len() / 2))
        .sum();
    let mut events = Vec::with_capacity(count);
    let mut broken = Vec::new();
    let mut streams: Vec<Stream<'_>> = cores.values().map(|blocks| Stream::new(blocks)).collect();
    let mut heads = Vec::new();
    let mut order = BinaryHeap::new();
    for (index, stream) in streams.iter_mut().enumerate() {
        let head = stream.next(&mut broken);
        order.extend(head.map(|event| Reverse((event.time, index))));
        heads.push(head);
    }
    while let Some(Reverse((_, index))) = order.pop() {
        // This core has the oldest event; it goes on until another one has.
        let other = order.peek().map(|Reverse(other)| *other);
        while let Some(event) = heads[index] {
            if other.is_some_and(|other| other < (event.time, index)) {
                order.push(Reverse((event.time, index)));
                break;
            }
            events.push(event);
            heads[index] = streams[index].next(&mut broken);
        }
    }
    // Version 1 let a core's block begin before the end of the one before it.
    if !events.is_sorted_by_key(|event| event.time) {
        events.sort_by_key(|event| event.time);
    }
    (events, broken)
}

/// One core's events.
struct Stream<'a> {
    blocks: std::slice::Iter<'a, Block<'a>>,
    now: Option<Decoder<'a>>,
}

impl<'a> Stream<'a> {
    fn new(blocks: &'a [Block<'a>]) -> Self {
        Self {
            blocks: blocks.iter(),
            now: None,
        }
    }

    /// The next event; a block that breaks off is noted, and the next one begun.
    fn next(&mut self, broken: &mut Vec<u16>) -> Option<Event> {
        loop {
            if let Some(decoder) = &mut self.now {
                if !decoder.cursor.at_end() {
                    match decoder.next() {
                        Some(event) => return Some(event),
                        None => broken.push(decoder.cpu),
                    }
                }
                self.now = None;
            }
            self.now = Some(Decoder::new(self.blocks.next()?));
        }
    }
}

/// The way through one block.
struct Decoder<'a> {
    cursor: Cursor<'a>,
    cpu: u16,
    recent: Recent,
    addresses: Vec<u64>,
    time: u64,
    tid: Tid,
}

impl<'a> Decoder<'a> {
    fn new(block: &'a Block<'a>) -> Self {
        Self {
            cursor: Cursor::new(&block.payload),
            cpu: block.cpu,
            recent: Recent::default(),
            addresses: Vec::new(),
            time: block.first,
            tid: 0,
        }
    }

    /// `None` when the bytes break off.
    fn next(&mut self) -> Option<Event> {
        let cursor = &mut self.cursor;
        let mut head = cursor.byte()?;
        self.time = self.time.checked_add(cursor.number()?)?;
        while head == code::CURRENT {
            self.tid = cursor.small()?;
            head = cursor.byte()?;
            self.time = self.time.checked_add(cursor.number()?)?;
        }
        let kind = if head & code::SWITCH != 0 {
            Kind::Switch {
                left: Left::from_code(head >> 4 & 7)?,
                next: thread(cursor, &mut self.recent, head)?,
            }
        } else if head & code::WAKING != 0 {
            waking(cursor, &mut self.recent, head, self.cpu)?
        } else {
            other(cursor, &mut self.addresses, head)?
        };
        let event = Event {
            time: self.time,
            cpu: self.cpu,
            tid: self.tid,
            kind,
        };
        if let Kind::Switch { next, .. } = kind {
            self.tid = next;
        }
        Some(event)
    }
}

fn thread(cursor: &mut Cursor<'_>, recent: &mut Recent, head: u8) -> Option<Tid> {
    match head & 0x0f {
        15 => {
            let tid = cursor.small()?;
            recent.push(tid);
            Some(tid)
        }
        place => recent.take(place),
    }
}

fn waking(cursor: &mut Cursor<'_>, recent: &mut Recent, head: u8, cpu: u16) -> Option<Kind> {
    let woken = thread(cursor, recent, head)?;
    let form = head >> 4 & 3;
    let flags = if form == 2 { cursor.byte()? } else { 0 };
    let target = if form == 0 { cpu } else { cursor.small()? };
    Some(Kind::Waking {
        woken,
        target,
        by: Context::from_code(flags & 3)?,
        new: flags & 4 != 0,
    })
}

fn other(cursor: &mut Cursor<'_>, addresses: &mut Vec<u64>, head: u8) -> Option<Kind> {
    Some(match head {
        code::MIGRATE => Kind::Migrate {
            moved: cursor.small()?,
            from: cursor.small()?,
            to: cursor.small()?,
        },
        code::FUTEX_ENTER => {
            let operation = cursor.byte()?;
            let value = cursor.number()?;
            Kind::FutexEnter(FutexCall {
                operation: Operation::from_kernel(u32::from(operation & 0x7f)),
                private: operation & 0x80 != 0,
                value: u32::try_from(value >> 1).ok()?,
                timeout: value & 1 != 0,
                address: cursor.address(addresses)?,
            })
        }
        code::FUTEX_EXIT => Kind::FutexExit(cursor.signed()?),
        code::LOCK_BEGIN => Kind::LockBegin {
            flags: cursor.byte()?,
            address: cursor.address(addresses)?,
        },
        code::LOCK_END => Kind::LockEnd {
            result: cursor.signed()?,
            address: cursor.address(addresses)?,
        },
        code::POLL => Kind::Poll {
            work: cursor.small()?,
            budget: cursor.small()?,
        },
        code::PACKETS => Kind::Packets {
            sent: cursor.small()?,
            dropped: cursor.small()?,
        },
        code::STACK => Kind::Stack(cursor.small()?),
        code::SAMPLE => Kind::Sample(cursor.small()?),
        code::PROGRESS => Kind::Progress {
            point: cursor.small()?,
            total: cursor.number()?,
        },
        code::STOLEN => Kind::Stolen {
            time: cursor.number()?,
            within: cursor.small()?,
        },
        code::LOST => Kind::Lost(cursor.small()?),
        code::LINE..=code::LAST => {
            let what = match head & !code::END {
                code::LINE => Interrupt::Line(cursor.small()?),
                code::SOFT => Interrupt::Soft(cursor.small()?),
                code::TIMER => Interrupt::Timer,
                code::RESCHEDULE => Interrupt::Reschedule,
                _ => Interrupt::Call,
            };
            if head & code::END == 0 {
                Kind::InterruptBegin(what)
            } else {
                Kind::InterruptEnd(what)
            }
        }
        _ => return None,
    })
}

/// A place in a payload. Every step answers `None` when the bytes do not make sense or are at their
/// end.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        let mut shift = 0;
        loop {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(value);
            }
            shift += 7;
        }
    }

    pub(super) fn small<T: TryFrom<u64>>(&mut self) -> Option<T> {
        T::try_from(self.number()?).ok()
    }

    fn signed(&mut self) -> Option<i32> {
        let value = self.number()?;
        i32::try_from((value >> 1) as i64 ^ -((value & 1) as i64)).ok()
    }

    fn address(&mut self, known: &mut Vec<u64>) -> Option<u64> {
        let number = usize::try_from(self.number()?).ok()?;
        if number == known.len() {
            let bytes = self.bytes.get(self.at..self.at + 8)?;
            self.at += 8;
            known.push(u64::from_le_bytes(bytes.try_into().ok()?));
        }
        known.get(number).copied()
    }

    pub(super) fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        let bytes = self.bytes.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}
