//! Reading: a file's bytes become a [`Trace`]. Nothing in a file is believed before it is checked.

use super::{BLOCK_HEAD, MAGIC, Recent, VERSION, code, crc32};
use crate::event::{
    Context, Event, FutexCall, Interrupt, Kind, Left, Operation, TaskChange, TaskNews, Tid,
};
use crate::trace::{Header, Trace, Trailer};

/// Why a file is not a trace.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The first bytes are not ours.
    #[error(
        "not a corelane trace: it begins with {0:?}; record one with `corelane trace record -o FILE -- COMMAND`"
    )]
    Foreign(String),
    /// Another version of the format.
    #[error(
        "this trace has format version {found}; this program reads version {VERSION}: report it with the program that recorded it"
    )]
    Version {
        /// The version in the file.
        found: u8,
    },
    /// The file ends before it says what was recorded.
    #[error(
        "the trace ends after {0} bytes, before its header is complete: nothing can be read from it"
    )]
    NoHeader(usize),
    /// The header is not what this version writes.
    #[error("the trace's {what} cannot be read: {cause}")]
    Json {
        /// Which part.
        what: &'static str,
        /// What the parser says.
        cause: serde_json::Error,
    },
    /// The file cannot be read at all.
    #[error("cannot read {path}: {cause}")]
    Io {
        /// The file.
        path: String,
        /// What the system says.
        cause: std::io::Error,
    },
}

impl Trace {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`ReadError`] when it is not a trace. A trace that was cut off or damaged is read as far as it is sound; see
    /// [`Trace::complaints`].
    pub fn open(path: &std::path::Path) -> Result<Self, ReadError> {
        let bytes = std::fs::read(path).map_err(|cause| ReadError::Io {
            path: path.display().to_string(),
            cause,
        })?;
        Self::from_bytes(&bytes)
    }

    /// Reads a trace from memory.
    ///
    /// # Errors
    /// As [`Trace::open`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ReadError> {
        let magic = bytes.get(..MAGIC.len()).unwrap_or(bytes);
        if magic != MAGIC {
            return Err(ReadError::Foreign(
                String::from_utf8_lossy(&magic[..magic.len().min(12)]).into_owned(),
            ));
        }
        let found = *bytes
            .get(MAGIC.len())
            .ok_or(ReadError::NoHeader(bytes.len()))?;
        if found != VERSION {
            return Err(ReadError::Version { found });
        }
        let mut header: Option<Header> = None;
        let mut trailer: Option<Trailer> = None;
        let mut events = Vec::new();
        let mut tasks = Vec::new();
        let mut complaints = Vec::new();
        let mut at = MAGIC.len() + 1;
        while let Some(block) = Block::at(bytes, at) {
            at += BLOCK_HEAD + block.payload.len();
            if !block.sound {
                complaints.push(format!(
                    "a block of {} entries of core {} is damaged (checksum differs): its events are missing",
                    block.count, block.cpu
                ));
                continue;
            }
            match block.kind {
                b'H' => {
                    header = Some(serde_json::from_slice(block.payload).map_err(|cause| {
                        ReadError::Json {
                            what: "header",
                            cause,
                        }
                    })?);
                }
                b'E' => {
                    trailer = Some(
                        serde_json::from_slice(block.payload)
                            .map_err(|cause| ReadError::Json { what: "end", cause })?,
                    );
                }
                b'C' if read_core(&block, &mut events).is_none() => {
                    complaints.push(format!(
                            "a block of core {} breaks off in the middle of an event: the rest of it is missing",
                            block.cpu
                        ));
                }
                b'T' if read_tasks(&block, &mut tasks).is_none() => {
                    complaints.push(
                        "a block of thread names breaks off: some names are missing".to_owned(),
                    );
                }
                _ => {}
            }
        }
        let header = header.ok_or(ReadError::NoHeader(bytes.len()))?;
        if trailer.is_none() {
            complaints.push(
                "the trace was cut off: its end is missing, so losses, lock names and code places are unknown".to_owned(),
            );
        }
        events.sort_by_key(|event: &Event| event.time);
        tasks.sort_by_key(|change: &TaskChange| change.time);
        Ok(Self {
            header,
            trailer: trailer.unwrap_or_default(),
            events,
            tasks,
            complaints,
        })
    }
}

struct Block<'a> {
    kind: u8,
    cpu: u16,
    count: u32,
    first: u64,
    payload: &'a [u8],
    sound: bool,
}

impl<'a> Block<'a> {
    fn at(bytes: &'a [u8], at: usize) -> Option<Self> {
        let head = bytes.get(at..at + BLOCK_HEAD)?;
        let word = |from: usize| {
            u32::from_le_bytes([head[from], head[from + 1], head[from + 2], head[from + 3]])
        };
        let length = word(4) as usize;
        let payload = bytes.get(at + BLOCK_HEAD..(at + BLOCK_HEAD).checked_add(length)?)?;
        Some(Self {
            kind: head[0],
            cpu: u16::from_le_bytes([head[2], head[3]]),
            count: word(8),
            first: u64::from(word(16)) | u64::from(word(20)) << 32,
            payload,
            sound: crc32(&[&head[..12], &head[16..], payload]) == word(12),
        })
    }
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn number(&mut self) -> Option<u64> {
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

    fn small<T: TryFrom<u64>>(&mut self) -> Option<T> {
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

    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        let bytes = self.bytes.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}

/// Appends a core's events. `None` when the bytes break off; what came before is kept.
fn read_core(block: &Block<'_>, events: &mut Vec<Event>) -> Option<()> {
    let mut cursor = Cursor {
        bytes: block.payload,
        at: 0,
    };
    let mut recent = Recent::new();
    let mut addresses = Vec::new();
    let mut time = block.first;
    let mut tid: Tid = 0;
    // No event is shorter than two bytes.
    events.reserve((block.count as usize).min(block.payload.len() / 2));
    while cursor.at < block.payload.len() {
        let head = cursor.byte()?;
        time = time.checked_add(cursor.number()?)?;
        if head == code::CURRENT {
            tid = cursor.small()?;
            continue;
        }
        let kind = if head & code::SWITCH != 0 {
            Kind::Switch {
                left: Left::from_code(head >> 4 & 7)?,
                next: thread(&mut cursor, &mut recent, head)?,
            }
        } else if head & code::WAKING != 0 {
            waking(&mut cursor, &mut recent, head, block.cpu)?
        } else {
            other(&mut cursor, &mut addresses, head)?
        };
        events.push(Event {
            time,
            cpu: block.cpu,
            tid,
            kind,
        });
        if let Kind::Switch { next, .. } = kind {
            tid = next;
        }
    }
    Some(())
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
        code::LOST => Kind::Lost(cursor.small()?),
        code::LINE_BEGIN => Kind::InterruptBegin(Interrupt::Line(cursor.small()?)),
        code::LINE_END => Kind::InterruptEnd(Interrupt::Line(cursor.small()?)),
        code::SOFT_BEGIN => Kind::InterruptBegin(Interrupt::Soft(cursor.small()?)),
        code::SOFT_END => Kind::InterruptEnd(Interrupt::Soft(cursor.small()?)),
        code::TIMER_BEGIN => Kind::InterruptBegin(Interrupt::Timer),
        code::TIMER_END => Kind::InterruptEnd(Interrupt::Timer),
        code::RESCHEDULE_BEGIN => Kind::InterruptBegin(Interrupt::Reschedule),
        code::RESCHEDULE_END => Kind::InterruptEnd(Interrupt::Reschedule),
        code::CALL_BEGIN => Kind::InterruptBegin(Interrupt::Call),
        code::CALL_END => Kind::InterruptEnd(Interrupt::Call),
        _ => return None,
    })
}

fn read_tasks(block: &Block<'_>, tasks: &mut Vec<TaskChange>) -> Option<()> {
    let mut cursor = Cursor {
        bytes: block.payload,
        at: 0,
    };
    while cursor.at < block.payload.len() {
        let (time, tid, process) = (cursor.number()?, cursor.small()?, cursor.small()?);
        let what = match cursor.byte()? {
            0 => TaskNews::Named(cursor.text()?),
            2 => TaskNews::Forked {
                parent: cursor.small()?,
            },
            3 => TaskNews::Exited,
            _ => return None,
        };
        tasks.push(TaskChange {
            time,
            tid,
            process,
            what,
        });
    }
    Some(())
}
