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

/// What a card has of something, and the most that its driver gives.
#[repr(C)]
#[derive(Default)]
struct Sizes {
    most: [u32; 4],
    now: [u32; 4],
}

impl Queues {
    /// By the order of `struct ethtool_channels`: the third are other queues.
    const fn of([receive, send, _, combined]: [u32; 4]) -> Self {
        Self {
            receive,
            send,
            combined,
        }
    }
}

/// Places of each ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rings {
    /// For received frames.
    pub receive: u32,
    /// For frames to send.
    pub send: u32,
}

impl Rings {
    /// By the order of `struct ethtool_ringparam`: the others are for small and jumbo frames.
    const fn of([receive, _, _, send]: [u32; 4]) -> Self {
        Self { receive, send }
    }
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
    context: u32,
    table: u32,
    key: u32,
    function: u8,
    transform: u8,
    reserved: [u8; 2],
    more: u32,
    words: [u32; RSS_WORDS],
}

impl Record for Sizes {}
impl Record for CoalesceRecord {}
impl Record for SpreadRecord {}

const _: () = assert!(size_of::<CoalesceRecord>() == 88);
const _: () = assert!(std::mem::offset_of!(SpreadRecord, words) == 20);

/// Queues of `interface`, and the most that its driver gives.
///
/// # Errors
/// The kernel's.
pub fn queues(interface: &str) -> io::Result<(Queues, Queues)> {
    let found = ethtool(interface, ETHTOOL_GCHANNELS, Sizes::default())?;
    Ok((Queues::of(found.now), Queues::of(found.most)))
}

/// Gives `interface` other queues.
///
/// # Errors
/// The kernel's, when the driver refuses.
pub fn set_queues(interface: &str, wanted: Queues) -> io::Result<()> {
    let mut sizes = ethtool(interface, ETHTOOL_GCHANNELS, Sizes::default())?;
    sizes.now = [wanted.receive, wanted.send, sizes.now[2], wanted.combined];
    ethtool(interface, ETHTOOL_SCHANNELS, sizes).map(drop)
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

/// Places of the rings of `interface`, and the most that its driver gives.
///
/// # Errors
/// The kernel's.
pub fn rings(interface: &str) -> io::Result<(Rings, Rings)> {
    let found = ethtool(interface, ETHTOOL_GRINGPARAM, Sizes::default())?;
    Ok((Rings::of(found.now), Rings::of(found.most)))
}

/// Gives `interface` other rings.
///
/// # Errors
/// The kernel's, when the driver refuses.
pub fn set_rings(interface: &str, wanted: Rings) -> io::Result<()> {
    let mut sizes = ethtool(interface, ETHTOOL_GRINGPARAM, Sizes::default())?;
    (sizes.now[0], sizes.now[3]) = (wanted.receive, wanted.send);
    ethtool(interface, ETHTOOL_SRINGPARAM, sizes).map(drop)
}

/// When `interface` interrupts for received frames.
///
/// # Errors
/// The kernel's.
pub fn coalescing(interface: &str) -> io::Result<Coalescing> {
    let found = ethtool(interface, ETHTOOL_GCOALESCE, CoalesceRecord::default())?;
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
    let record = CoalesceRecord {
        adaptive: u32::from(wanted.adaptive),
        microseconds: wanted.microseconds,
        frames: wanted.frames,
        ..ethtool(interface, ETHTOOL_GCOALESCE, CoalesceRecord::default())?
    };
    ethtool(interface, ETHTOOL_SCOALESCE, record).map(drop)
}

/// How `interface` spreads received frames over its queues.
///
/// # Errors
/// The kernel's; `InvalidData` when table and key are larger than any that is known.
pub fn spreading(interface: &str) -> io::Result<Spreading> {
    // Asked with sizes of zero, the kernel says the sizes.
    let record = ethtool(interface, ETHTOOL_GRSSH, SpreadRecord::with_transform(0))?;
    let (table, key) = (record.table as usize, record.key as usize);
    if table + key.div_ceil(4) > RSS_WORDS {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let record = ethtool(interface, ETHTOOL_GRSSH, record)?;
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
    let mut record = SpreadRecord::with_transform(TRANSFORM_AS_IT_IS);
    let room = record.words.get_mut(..table.len());
    room.ok_or(io::ErrorKind::InvalidInput)?
        .copy_from_slice(table);
    record.table = table.len() as u32;
    ethtool(interface, ETHTOOL_SRSSH, record).map(drop)
}

/// Has `interface` hash received frames by another key.
///
/// # Errors
/// The kernel's; `InvalidInput` for a key larger than any that is known.
pub fn set_key(interface: &str, key: &[u8]) -> io::Result<()> {
    let mut record = SpreadRecord::with_transform(TRANSFORM_AS_IT_IS);
    let room = record.words.get_mut(..key.len().div_ceil(4));
    let words = room.ok_or(io::ErrorKind::InvalidInput)?;
    for (word, part) in words.iter_mut().zip(key.chunks(4)) {
        let mut bytes = [0; 4];
        bytes[..part.len()].copy_from_slice(part);
        *word = u32::from_ne_bytes(bytes);
    }
    record.table = TABLE_AS_IT_IS;
    record.key = key.len() as u32;
    ethtool(interface, ETHTOOL_SRSSH, record).map(drop)
}

impl SpreadRecord {
    const fn with_transform(transform: u8) -> Self {
        Self {
            context: 0,
            table: 0,
            key: 0,
            function: 0,
            transform,
            reserved: [0; 2],
            more: 0,
            words: [0; RSS_WORDS],
        }
    }
}
