//! How an interface is divided among cores: queues, rings, coalescing, RSS (`linux/ethtool.h`).
//!
//! Everything is about an interface of the calling thread's network namespace. `EOPNOTSUPP` is the
//! answer of a driver that has no such thing.

use std::io;

use crate::offload::{Record, ethtool};

const ETHTOOL_GCOALESCE: u32 = 0x0e;
const ETHTOOL_SCOALESCE: u32 = 0x0f;
const ETHTOOL_GRINGPARAM: u32 = 0x10;
const ETHTOOL_SRINGPARAM: u32 = 0x11;
const ETHTOOL_GCHANNELS: u32 = 0x3c;
const ETHTOOL_SCHANNELS: u32 = 0x3d;
const ETHTOOL_GRSSH: u32 = 0x46;
const ETHTOOL_SRSSH: u32 = 0x47;
/// `ETH_RXFH_INDIR_NO_CHANGE`; a size of zero means the driver's own table.
const TABLE_AS_IT_IS: u32 = u32::MAX;
/// `RXH_XFRM_NO_CHANGE`.
const TRANSFORM_AS_IT_IS: u8 = 0xff;
/// Words that the table and the key of any card of today fit.
const RSS_WORDS: usize = 4096;

/// Queues of a card: those for one direction, and those for both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queues {
    /// For receiving alone.
    pub receive: u32,
    /// For sending alone.
    pub send: u32,
    /// For both.
    pub combined: u32,
}

/// `struct ethtool_channels`.
#[repr(C)]
#[derive(Default)]
struct Channels {
    command: u32,
    most_receive: u32,
    most_send: u32,
    most_other: u32,
    most_combined: u32,
    receive: u32,
    send: u32,
    other: u32,
    combined: u32,
}

/// Places of each ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rings {
    /// For received frames.
    pub receive: u32,
    /// For frames to send.
    pub send: u32,
}

/// `struct ethtool_ringparam`.
#[repr(C)]
#[derive(Default)]
struct RingRecord {
    command: u32,
    most_receive: u32,
    most_mini: u32,
    most_jumbo: u32,
    most_send: u32,
    receive: u32,
    mini: u32,
    jumbo: u32,
    send: u32,
}

/// When a card interrupts for received frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coalescing {
    /// It decides by the load.
    pub adaptive: bool,
    /// After so many microseconds.
    pub microseconds: u32,
    /// After so many frames.
    pub frames: u32,
}

/// `struct ethtool_coalesce`.
#[repr(C)]
#[derive(Default)]
struct CoalesceRecord {
    command: u32,
    microseconds: u32,
    frames: u32,
    before: [u32; 7],
    adaptive: u32,
    after: [u32; 12],
}

/// How a card chooses the queue of a received frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spreading {
    /// Queue for each value of the hash.
    pub table: Vec<u32>,
    /// Key of the hash.
    pub key: Vec<u8>,
}

/// `struct ethtool_rxfh`, with room for the table and the key after it.
#[repr(C)]
struct SpreadRecord {
    command: u32,
    context: u32,
    table: u32,
    key: u32,
    function: u8,
    transform: u8,
    reserved: [u8; 2],
    more: u32,
    words: [u32; RSS_WORDS],
}

impl Record for Channels {}
impl Record for RingRecord {}
impl Record for CoalesceRecord {}
impl Record for SpreadRecord {}

const _: () = assert!(size_of::<CoalesceRecord>() == 92);
const _: () = assert!(std::mem::offset_of!(SpreadRecord, words) == 24);

/// Queues of `interface`, and the most that its driver gives.
///
/// # Errors
/// The kernel's.
pub fn queues(interface: &str) -> io::Result<(Queues, Queues)> {
    let found = channels(interface)?;
    let now = Queues {
        receive: found.receive,
        send: found.send,
        combined: found.combined,
    };
    let most = Queues {
        receive: found.most_receive,
        send: found.most_send,
        combined: found.most_combined,
    };
    Ok((now, most))
}

/// Gives `interface` other queues.
///
/// # Errors
/// The kernel's, when the driver refuses.
pub fn set_queues(interface: &str, wanted: Queues) -> io::Result<()> {
    let mut record = channels(interface)?;
    record.command = ETHTOOL_SCHANNELS;
    record.receive = wanted.receive;
    record.send = wanted.send;
    record.combined = wanted.combined;
    ethtool(interface, &mut record)
}

/// Receive queues of `interface`, as `ethtool -l` shows them; 1 for a driver that cannot say.
///
/// # Errors
/// The kernel's: `ENODEV` when there is no such interface.
pub fn receive_queues(interface: &str) -> io::Result<u32> {
    match queues(interface) {
        Ok((now, _)) => Ok((now.receive + now.combined).max(1)),
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(1),
        Err(error) => Err(error),
    }
}

fn channels(interface: &str) -> io::Result<Channels> {
    let mut record = Channels {
        command: ETHTOOL_GCHANNELS,
        ..Channels::default()
    };
    ethtool(interface, &mut record)?;
    Ok(record)
}

/// Places of the rings of `interface`, and the most that its driver gives.
///
/// # Errors
/// The kernel's.
pub fn rings(interface: &str) -> io::Result<(Rings, Rings)> {
    let found = ring_record(interface)?;
    let now = Rings {
        receive: found.receive,
        send: found.send,
    };
    let most = Rings {
        receive: found.most_receive,
        send: found.most_send,
    };
    Ok((now, most))
}

/// Gives `interface` other rings.
///
/// # Errors
/// The kernel's, when the driver refuses.
pub fn set_rings(interface: &str, wanted: Rings) -> io::Result<()> {
    let mut record = ring_record(interface)?;
    record.command = ETHTOOL_SRINGPARAM;
    record.receive = wanted.receive;
    record.send = wanted.send;
    ethtool(interface, &mut record)
}

fn ring_record(interface: &str) -> io::Result<RingRecord> {
    let mut record = RingRecord {
        command: ETHTOOL_GRINGPARAM,
        ..RingRecord::default()
    };
    ethtool(interface, &mut record)?;
    Ok(record)
}

/// When `interface` interrupts for received frames.
///
/// # Errors
/// The kernel's.
pub fn coalescing(interface: &str) -> io::Result<Coalescing> {
    let found = coalesce_record(interface)?;
    Ok(Coalescing {
        adaptive: found.adaptive != 0,
        microseconds: found.microseconds,
        frames: found.frames,
    })
}

/// Has `interface` interrupt otherwise.
///
/// # Errors
/// The kernel's, when the driver refuses.
pub fn set_coalescing(interface: &str, wanted: Coalescing) -> io::Result<()> {
    let mut record = coalesce_record(interface)?;
    record.command = ETHTOOL_SCOALESCE;
    record.adaptive = u32::from(wanted.adaptive);
    record.microseconds = wanted.microseconds;
    record.frames = wanted.frames;
    ethtool(interface, &mut record)
}

fn coalesce_record(interface: &str) -> io::Result<CoalesceRecord> {
    let mut record = CoalesceRecord {
        command: ETHTOOL_GCOALESCE,
        ..CoalesceRecord::default()
    };
    ethtool(interface, &mut record)?;
    Ok(record)
}

/// How `interface` spreads received frames over its queues.
///
/// # Errors
/// The kernel's; `InvalidData` when table and key are larger than any that is known.
pub fn spreading(interface: &str) -> io::Result<Spreading> {
    let mut record = SpreadRecord::new(ETHTOOL_GRSSH);
    // Asked with sizes of zero, the kernel says the sizes.
    ethtool(interface, &mut record)?;
    let (table, key) = (record.table as usize, record.key as usize);
    if table + key.div_ceil(4) > RSS_WORDS {
        return Err(io::ErrorKind::InvalidData.into());
    }
    ethtool(interface, &mut record)?;
    let bytes = record.words[table..].iter();
    let bytes = bytes.flat_map(|word| word.to_ne_bytes());
    Ok(Spreading {
        table: record.words[..table].to_vec(),
        key: bytes.take(key).collect(),
    })
}

/// Has `interface` spread received frames by another table; an empty one is the driver's own, which
/// is equal for all queues.
///
/// # Errors
/// The kernel's; `InvalidInput` for a table larger than any that is known.
pub fn set_table(interface: &str, table: &[u32]) -> io::Result<()> {
    let mut record = SpreadRecord::new(ETHTOOL_SRSSH);
    let room = record.words.get_mut(..table.len());
    room.ok_or(io::ErrorKind::InvalidInput)?
        .copy_from_slice(table);
    record.table = table.len() as u32;
    ethtool(interface, &mut record)
}

/// Has `interface` hash received frames by another key.
///
/// # Errors
/// The kernel's; `InvalidInput` for a key larger than any that is known.
pub fn set_key(interface: &str, key: &[u8]) -> io::Result<()> {
    let mut record = SpreadRecord::new(ETHTOOL_SRSSH);
    let room = record.words.get_mut(..key.len().div_ceil(4));
    let words = room.ok_or(io::ErrorKind::InvalidInput)?;
    for (word, part) in words.iter_mut().zip(key.chunks(4)) {
        let mut bytes = [0; 4];
        bytes[..part.len()].copy_from_slice(part);
        *word = u32::from_ne_bytes(bytes);
    }
    record.table = TABLE_AS_IT_IS;
    record.key = key.len() as u32;
    ethtool(interface, &mut record)
}

impl SpreadRecord {
    fn new(command: u32) -> Self {
        let order = command == ETHTOOL_SRSSH;
        Self {
            command,
            context: 0,
            table: 0,
            key: 0,
            function: 0,
            transform: if order { TRANSFORM_AS_IT_IS } else { 0 },
            reserved: [0; 2],
            more: 0,
            words: [0; RSS_WORDS],
        }
    }
}
