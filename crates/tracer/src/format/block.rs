//! Blocks: the head that frames them, the checksum that guards them, the deflate that shrinks them.

use std::borrow::Cow;

use flate2::{Compress, Compression, Crc, Decompress, FlushCompress, FlushDecompress, Status};

/// Bytes of a block's head.
pub(super) const HEAD: usize = 24;
/// The payload stands as it is.
const PLAIN: u8 = 0;
/// The payload is its length inflated, then a deflate stream.
const DEFLATED: u8 = 1;
/// Bytes of the length before a deflate stream.
const LENGTH: usize = 4;
/// A payload shorter than this is not worth the trouble.
const WORTH_DEFLATING: usize = 256;
/// No deflate stream holds more than this many times its own length.
const MOST_INFLATION: usize = 1040;

/// What a block's head says.
pub(super) struct Head {
    pub(super) kind: u8,
    /// How the payload is stored.
    form: u8,
    pub(super) cpu: u16,
    /// Bytes after the head.
    pub(super) stored: u32,
    /// Entries, as the writer says.
    pub(super) count: u32,
    checksum: u32,
    /// Time of the first entry.
    pub(super) first: u64,
}

impl Head {
    pub(super) fn new(bytes: &[u8; HEAD]) -> Self {
        let word = |from: usize| {
            u32::from_le_bytes([
                bytes[from],
                bytes[from + 1],
                bytes[from + 2],
                bytes[from + 3],
            ])
        };
        Self {
            kind: bytes[0],
            form: bytes[1],
            cpu: u16::from_le_bytes([bytes[2], bytes[3]]),
            stored: word(4),
            count: word(8),
            checksum: word(12),
            first: u64::from(word(16)) | u64::from(word(20)) << 32,
        }
    }
}

/// A block read from a file.
pub(super) struct Block<'a> {
    pub(super) kind: u8,
    pub(super) cpu: u16,
    /// Entries, as the writer says.
    pub(super) count: u32,
    /// Time of the first entry.
    pub(super) first: u64,
    /// The content, inflated; empty when the block is not sound.
    pub(super) payload: Cow<'a, [u8]>,
    /// Bytes of the whole block in the file.
    pub(super) length: usize,
    /// The checksum is right, and the payload can be inflated.
    pub(super) sound: bool,
}

impl<'a> Block<'a> {
    /// The block that begins at `at`; `None` when the bytes end before it does.
    pub(super) fn at(bytes: &'a [u8], at: usize) -> Option<Self> {
        let bytes_of_head = bytes.get(at..at.checked_add(HEAD)?)?.first_chunk()?;
        let head = Head::new(bytes_of_head);
        let stored = bytes.get(at + HEAD..(at + HEAD).checked_add(head.stored as usize)?)?;
        let payload = match head.form {
            _ if checksum(bytes_of_head, stored) != head.checksum => None,
            PLAIN => Some(Cow::Borrowed(stored)),
            DEFLATED => inflated(stored).map(Cow::Owned),
            _ => None,
        };
        Some(Self {
            kind: head.kind,
            cpu: head.cpu,
            count: head.count,
            first: head.first,
            length: HEAD + stored.len(),
            sound: payload.is_some(),
            payload: payload.unwrap_or_default(),
        })
    }
}

/// CRC-32 (IEEE 802.3, reflected) of a head without its checksum, and what follows it.
fn checksum(head: &[u8], stored: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(&head[..12]);
    crc.update(&head[16..]);
    crc.update(stored);
    crc.sum()
}

fn inflated(stored: &[u8]) -> Option<Vec<u8>> {
    let (length, stream) = stored.split_at_checked(LENGTH)?;
    let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
    if length > stream.len().checked_mul(MOST_INFLATION)? {
        return None;
    }
    let mut payload = Vec::with_capacity(length);
    let ended =
        Decompress::new(false).decompress_vec(stream, &mut payload, FlushDecompress::Finish);
    (matches!(ended, Ok(Status::StreamEnd)) && payload.len() == length).then_some(payload)
}

/// What a block is made of.
#[derive(Debug)]
pub(super) struct Entries {
    pub(super) cpu: u16,
    pub(super) count: u32,
    /// Time of the first entry.
    pub(super) first: u64,
    /// Time of the last one.
    pub(super) last: u64,
    pub(super) bytes: Vec<u8>,
}

impl Entries {
    /// One entry of no core and no time.
    pub(super) fn one(bytes: Vec<u8>) -> Self {
        Self {
            cpu: 0,
            count: 1,
            first: 0,
            last: 0,
            bytes,
        }
    }
}

/// Makes blocks. It keeps its memory from one to the next.
#[derive(Debug)]
pub(super) struct Packer {
    deflate: Compress,
    stored: Vec<u8>,
}

impl Default for Packer {
    fn default() -> Self {
        Self {
            // The recorder's time is the traced program's loss: level 1 takes a third of what level
            // 3 takes, for a tenth more bytes.
            deflate: Compress::new(Compression::fast(), false),
            stored: Vec::new(),
        }
    }
}

impl Packer {
    /// A block's head and what follows it in the file.
    pub(super) fn block<'a>(
        &'a mut self,
        kind: u8,
        entries: &'a Entries,
    ) -> ([u8; HEAD], &'a [u8]) {
        let (form, stored) = if self.deflated(&entries.bytes) {
            (DEFLATED, &self.stored)
        } else {
            (PLAIN, &entries.bytes)
        };
        let mut head = [0_u8; HEAD];
        head[0] = kind;
        head[1] = form;
        head[2..4].copy_from_slice(&entries.cpu.to_le_bytes());
        head[4..8].copy_from_slice(&(stored.len() as u32).to_le_bytes());
        head[8..12].copy_from_slice(&entries.count.to_le_bytes());
        head[16..24].copy_from_slice(&entries.first.to_le_bytes());
        let crc = checksum(&head, stored);
        head[12..16].copy_from_slice(&crc.to_le_bytes());
        (head, stored)
    }

    /// True when `stored` now holds `payload` in fewer bytes.
    fn deflated(&mut self, payload: &[u8]) -> bool {
        if payload.len() < WORTH_DEFLATING {
            return false;
        }
        self.stored.clear();
        self.stored
            .extend_from_slice(&(payload.len() as u32).to_le_bytes());
        // What does not fit is not worth it.
        self.stored.reserve(payload.len() - LENGTH);
        self.deflate.reset();
        let ended = self
            .deflate
            .compress_vec(payload, &mut self.stored, FlushCompress::Finish);
        matches!(ended, Ok(Status::StreamEnd)) && self.stored.len() < payload.len()
    }
}

#[cfg(test)]
#[path = "../../tests/unit/format_block.rs"]
mod tests;
