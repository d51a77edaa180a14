//! Capture files: read in (pcap and pcapng, draft-ietf-opsawg-pcap and -pcapng), written out
//! (pcap).
//!
//! Read are both byte orders, every resolution of time and several interfaces; written is the
//! machine's order with nanoseconds. The link type must be Ethernet.
//!
//! Memory: [`Reader`] holds a megabyte of the file, more if a record is longer.
//!
//! What it cannot do: wait for a file that is still written.

use std::io::{self, Read, Write};
use std::ops::Range;
use std::time::Duration;

use pcap_parser::nom::{Err, IResult, Needed, Offset};
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{
    Block, LegacyPcapBlock, PcapError, parse_block_be, parse_block_le, parse_pcap_frame,
    parse_pcap_frame_be, parse_pcap_header, parse_sectionheaderblock,
};

use crate::PortError;

const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const ETHERNET: i32 = 1;
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
/// The longest record that is believed; what libpcap takes at most (`MAXIMUM_SNAPLEN`).
const LONGEST_RECORD: u32 = 262_144;
/// The longest block of pcapng that is believed: some hold more than a frame.
const LONGEST_BLOCK: usize = 16 << 20;
/// Bytes that are read at once.
const CHUNK: u64 = 1 << 20;

/// A frame of a capture file.
#[derive(Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// When it was captured, since 1970; zero where the file does not say.
    pub time: Duration,
    /// Its bytes as far as they were captured.
    pub bytes: &'a [u8],
    /// Its length on the wire, without frame check sequence.
    pub wire_length: u32,
}

/// Reads the frames of a capture file.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    name: String,
    buffer: Vec<u8>,
    /// What comes before has been handed out.
    start: usize,
    form: Form,
    number: u64,
}

/// How the file is read.
#[derive(Debug)]
enum Form {
    Pcap {
        swapped: bool,
        nanoseconds_per_unit: u32,
    },
    Pcapng {
        big_endian: bool,
        interfaces: Vec<Interface>,
    },
}

/// An interface of a pcapng section.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link: i32,
    snap_length: u32,
    units_per_second: Option<u64>,
    offset_seconds: i64,
}

/// A frame's place in what was parsed.
struct Place {
    time: Duration,
    bytes: Range<usize>,
    wire_length: u32,
}

impl<R: Read> Reader<R> {
    /// Reads the file header. `name` is the one used in errors.
    ///
    /// # Errors
    /// [`PortError::Malformed`] when this is no capture of Ethernet, [`PortError::File`] when it
    /// cannot be read.
    pub fn new(input: R, name: impl Into<String>) -> Result<Self, PortError> {
        let mut reader = Self {
            input,
            name: name.into(),
            buffer: Vec::new(),
            start: 0,
            form: Form::Pcapng {
                big_endian: false,
                interfaces: Vec::new(),
            },
            number: 0,
        };
        reader.read_more()?;
        if parse_sectionheaderblock(&reader.buffer).is_ok() {
            return Ok(reader);
        }
        let malformed = |what| PortError::Malformed {
            name: reader.name.clone(),
            what,
        };
        let Ok((_, header)) = parse_pcap_header(&reader.buffer) else {
            return Err(malformed(
                "not a capture file (pcap or pcapng); convert it with `editcap -F pcapng`".into(),
            ));
        };
        if let Some(refusal) = not_ethernet(header.network.0 & 0xffff) {
            return Err(malformed(refusal));
        }
        reader.start = FILE_HEADER;
        reader.form = Form::Pcap {
            swapped: header.is_bigendian(),
            nanoseconds_per_unit: if header.is_nanosecond_precision() {
                1
            } else {
                1000
            },
        };
        Ok(reader)
    }

    /// The next frame; `None` at the end.
    ///
    /// # Errors
    /// [`PortError::Malformed`] when the file ends inside a record, a length is impossible or a
    /// frame is not Ethernet's, [`PortError::File`] when it cannot be read.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, PortError> {
        let place = loop {
            let rest = &self.buffer[self.start..];
            match self.form.parse(rest) {
                Ok((length, place)) => {
                    let start = self.start;
                    self.start += length;
                    if let Some(place) = place {
                        break Place {
                            bytes: start + place.bytes.start..start + place.bytes.end,
                            ..place
                        };
                    }
                }
                Err(Unparsed::Wrong(what)) => return Err(self.malformed(&what)),
                Err(Unparsed::Short(missing)) => {
                    let (have, header) = (rest.len(), self.form.header());
                    let wanted = have.saturating_add(missing).saturating_sub(header);
                    if wanted > self.form.longest() {
                        return Err(self.malformed(&format!(
                            "claims {wanted} bytes; {} is the most there can be",
                            self.form.longest()
                        )));
                    }
                    if !self.read_more()? {
                        return match have {
                            0 => Ok(None),
                            _ if have < header => {
                                Err(self.malformed(&format!("ends {have} bytes into its header")))
                            }
                            _ => Err(self.malformed(&format!(
                                "claims {wanted} bytes, but the file ends after {}",
                                have - header
                            ))),
                        };
                    }
                }
            }
        };
        self.number += 1;
        Ok(Some(Record {
            time: place.time,
            bytes: &self.buffer[place.bytes],
            wire_length: place.wire_length,
        }))
    }

    /// Reads on behind what is not handed out yet; says whether there was more.
    fn read_more(&mut self) -> Result<bool, PortError> {
        self.buffer.drain(..self.start);
        self.start = 0;
        let got = (&mut self.input).take(CHUNK).read_to_end(&mut self.buffer);
        got.map(|count| count > 0)
            .map_err(|source| file_error(&self.name, "read", source))
    }

    fn malformed(&self, what: &str) -> PortError {
        PortError::Malformed {
            name: self.name.clone(),
            what: format!("record {}: {what}", self.number + 1),
        }
    }
}

/// Why the next record or block cannot be taken.
enum Unparsed {
    /// So many bytes are missing, as far as is known.
    Short(usize),
    Wrong(String),
}

impl From<Err<PcapError<&[u8]>>> for Unparsed {
    fn from(error: Err<PcapError<&[u8]>>) -> Self {
        match error {
            Err::Incomplete(Needed::Size(missing)) => Self::Short(missing.get()),
            Err::Incomplete(Needed::Unknown) => Self::Short(1),
            Err::Error(_) | Err::Failure(_) => Self::Wrong(
                "is damaged; see `capinfos` for what can still be read of the file".to_owned(),
            ),
        }
    }
}

impl Form {
    /// Bytes that a record's own length does not count.
    const fn header(&self) -> usize {
        match self {
            Self::Pcap { .. } => RECORD_HEADER,
            Self::Pcapng { .. } => 0,
        }
    }

    const fn longest(&self) -> usize {
        match self {
            Self::Pcap { .. } => LONGEST_RECORD as usize,
            Self::Pcapng { .. } => LONGEST_BLOCK,
        }
    }

    /// Takes the record or block that `rest` begins with: how long it is, and the frame if it has
    /// one.
    fn parse(&mut self, rest: &[u8]) -> Result<(usize, Option<Place>), Unparsed> {
        if rest.is_empty() {
            return Err(Unparsed::Short(1));
        }
        let range = |bytes: &[u8]| {
            let start = rest.offset(bytes);
            start..start + bytes.len()
        };
        match self {
            &mut Self::Pcap {
                swapped,
                nanoseconds_per_unit,
            } => {
                type Parse = fn(&[u8]) -> IResult<&[u8], LegacyPcapBlock<'_>, PcapError<&[u8]>>;
                let parse: Parse = if swapped {
                    parse_pcap_frame_be
                } else {
                    parse_pcap_frame
                };
                let (left, record) = parse(rest)?;
                let nanoseconds = u64::from(record.ts_usec) * u64::from(nanoseconds_per_unit);
                let place = Place {
                    time: Duration::from_secs(record.ts_sec.into())
                        + Duration::from_nanos(nanoseconds),
                    bytes: range(record.data),
                    wire_length: record.origlen,
                };
                Ok((rest.offset(left), Some(place)))
            }
            Self::Pcapng {
                big_endian,
                interfaces,
            } => {
                let parse = if *big_endian {
                    parse_block_be
                } else {
                    parse_block_le
                };
                let (left, block) = parse(rest)?;
                let place = match block {
                    Block::SectionHeader(section) => {
                        *big_endian = section.big_endian();
                        interfaces.clear();
                        None
                    }
                    Block::InterfaceDescription(found) => {
                        interfaces.push(Interface {
                            link: found.linktype.0,
                            snap_length: found.snaplen,
                            units_per_second: units_per_second(found.if_tsresol),
                            // The library reads it as little-endian always.
                            offset_seconds: if *big_endian {
                                found.if_tsoffset.swap_bytes()
                            } else {
                                found.if_tsoffset
                            },
                        });
                        None
                    }
                    Block::EnhancedPacket(packet) => {
                        let interface = interface(interfaces, packet.if_id)?;
                        let stamp = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                        Some(Place {
                            time: interface.time(stamp)?,
                            bytes: range(packet.packet_data()),
                            wire_length: packet.origlen,
                        })
                    }
                    Block::SimplePacket(packet) => {
                        let interface = interface(interfaces, 0)?;
                        let longest = match interface.snap_length {
                            0 => usize::MAX,
                            length => length as usize,
                        };
                        let bytes = packet.packet_data();
                        Some(Place {
                            time: Duration::ZERO,
                            bytes: range(&bytes[..bytes.len().min(longest)]),
                            wire_length: packet.origlen,
                        })
                    }
                    _ => None,
                };
                Ok((rest.offset(left), place))
            }
        }
    }
}

/// The interface of a frame, which has to be an Ethernet.
fn interface(interfaces: &[Interface], number: u32) -> Result<Interface, Unparsed> {
    let Some(&interface) = interfaces.get(number as usize) else {
        return Err(Unparsed::Wrong(format!(
            "comes from interface {number}, which the file does not describe"
        )));
    };
    not_ethernet(interface.link).map_or(Ok(interface), |refusal| Err(Unparsed::Wrong(refusal)))
}

impl Interface {
    /// The time of a stamp, since 1970.
    fn time(&self, stamp: u64) -> Result<Duration, Unparsed> {
        let Some(units) = self.units_per_second else {
            return Err(Unparsed::Wrong(
                "has a time stamp in units too small to count".to_owned(),
            ));
        };
        let seconds = (stamp / units).saturating_add_signed(self.offset_seconds);
        let nanoseconds = u128::from(stamp % units) * 1_000_000_000 / u128::from(units);
        Ok(Duration::new(seconds, nanoseconds as u32))
    }
}

/// `if_tsresol`: a power of ten, or of two with the highest bit set.
fn units_per_second(resolution: u8) -> Option<u64> {
    let power = u32::from(resolution & 0x7f);
    if resolution & 0x80 == 0 {
        10_u64.checked_pow(power)
    } else {
        1_u64.checked_shl(power)
    }
}

/// What is wrong with this link type, if it is another.
fn not_ethernet(link: i32) -> Option<String> {
    (link != ETHERNET).then(|| {
        format!("link type {link} is not Ethernet ({ETHERNET}); capture on an Ethernet interface")
    })
}

/// Writes frames into a capture file.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    name: String,
}

impl<W: Write> Writer<W> {
    /// Writes the file header. `name` is the one used in errors.
    ///
    /// # Errors
    /// [`PortError::File`] when it cannot be written.
    pub fn new(mut output: W, name: impl Into<String>) -> Result<Self, PortError> {
        let name = name.into();
        let mut header = [0; FILE_HEADER];
        header[..4].copy_from_slice(&MAGIC_NANOSECONDS.to_ne_bytes());
        header[4..6].copy_from_slice(&2_u16.to_ne_bytes());
        header[6..8].copy_from_slice(&4_u16.to_ne_bytes());
        header[16..20].copy_from_slice(&LONGEST_RECORD.to_ne_bytes());
        header[20..24].copy_from_slice(&ETHERNET.to_ne_bytes());
        output
            .write_all(&header)
            .map_err(|source| file_error(&name, "write", source))?;
        Ok(Self { output, name })
    }

    /// Appends a frame captured at `time` since 1970.
    ///
    /// # Errors
    /// [`PortError::File`] when it cannot be written.
    pub fn write(&mut self, time: Duration, frame: &[u8]) -> Result<(), PortError> {
        let length = frame.len() as u32;
        let fields = [time.as_secs() as u32, time.subsec_nanos(), length, length];
        let mut header = [0; RECORD_HEADER];
        for (place, field) in header.chunks_exact_mut(4).zip(fields) {
            place.copy_from_slice(&field.to_ne_bytes());
        }
        let written = self
            .output
            .write_all(&header)
            .and_then(|()| self.output.write_all(frame));
        written.map_err(|source| file_error(&self.name, "write", source))
    }

    /// Hands everything to the operating system.
    ///
    /// # Errors
    /// [`PortError::File`] when it cannot be written.
    pub fn flush(&mut self) -> Result<(), PortError> {
        self.output
            .flush()
            .map_err(|source| file_error(&self.name, "write", source))
    }
}

fn file_error(name: &str, action: &'static str, source: io::Error) -> PortError {
    PortError::File {
        name: name.to_owned(),
        action,
        source,
    }
}
