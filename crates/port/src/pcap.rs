//! Capture files (classic pcap, draft-ietf-opsawg-pcap): read in, written out.
//!
//! Read are both byte orders and both resolutions of time, micro- and nanoseconds; written is the
//! machine's order with nanoseconds. The link type must be Ethernet. Time stamps do not pace the
//! frames: a burst takes what is next in the file.
//!
//! Memory: [`Reader`] holds one record at a time, in a buffer that it keeps; [`PcapPort`] copies it
//! into a buffer of the worker's pool. A frame longer than such a buffer is skipped and counted as
//! [missed](crate::Port::missed).
//!
//! What it cannot do: pcapng; wait for a file that is still written.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::{Burst, Pool, Port, PortError};

const MAGIC_MICROSECONDS: u32 = 0xa1b2_c3d4;
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const ETHERNET: u32 = 1;
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
/// The longest record that is believed; what libpcap takes at most (`MAXIMUM_SNAPLEN`).
const LONGEST_RECORD: u32 = 262_144;

/// A frame of a capture file.
#[derive(Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// When it was captured, since 1970.
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
    swapped: bool,
    nanoseconds_per_unit: u32,
    record: Vec<u8>,
    number: u64,
}

impl<R: Read> Reader<R> {
    /// Reads the file header. `name` is the one used in errors.
    ///
    /// # Errors
    /// [`PortError::Malformed`] when this is no classic capture of Ethernet, [`PortError::File`]
    /// when it cannot be read.
    pub fn new(mut input: R, name: impl Into<String>) -> Result<Self, PortError> {
        let name = name.into();
        let mut header = [0; FILE_HEADER];
        let got = read_full(&mut input, &mut header).map_err(|source| unreadable(&name, source))?;
        let magic = word(&header, 0, false);
        let known = |magic| match magic {
            MAGIC_MICROSECONDS => Some(1000),
            MAGIC_NANOSECONDS => Some(1),
            _ => None,
        };
        let plain = known(magic).map(|unit| (unit, false));
        let form = plain.or_else(|| known(magic.swap_bytes()).map(|unit| (unit, true)));
        let (Some((nanoseconds_per_unit, swapped)), FILE_HEADER) = (form, got) else {
            return Err(PortError::Malformed {
                name,
                what: format!(
                    "not a classic capture file: it begins with {magic:#010x}; convert it with \
                     `editcap -F nsecpcap`"
                ),
            });
        };
        let link = word(&header, 20, swapped) & 0xffff;
        if link != ETHERNET {
            return Err(PortError::Malformed {
                name,
                what: format!(
                    "link type {link} is not Ethernet ({ETHERNET}); capture on an Ethernet \
                     interface"
                ),
            });
        }
        Ok(Self {
            input,
            name,
            swapped,
            nanoseconds_per_unit,
            record: Vec::new(),
            number: 0,
        })
    }

    /// The next frame; `None` at the end.
    ///
    /// # Errors
    /// [`PortError::Malformed`] when the file ends inside a record or a length is impossible,
    /// [`PortError::File`] when it cannot be read.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, PortError> {
        let mut header = [0; RECORD_HEADER];
        match read_full(&mut self.input, &mut header)
            .map_err(|source| unreadable(&self.name, source))?
        {
            0 => return Ok(None),
            RECORD_HEADER => {}
            got => return Err(self.malformed(&format!("ends {got} bytes into its header"))),
        }
        let field = |at| word(&header, at, self.swapped);
        let (seconds, fraction, length, wire_length) = (field(0), field(4), field(8), field(12));
        if length > LONGEST_RECORD {
            return Err(self.malformed(&format!(
                "claims {length} bytes; {LONGEST_RECORD} is the most there can be"
            )));
        }
        self.record.resize(length as usize, 0);
        let got = read_full(&mut self.input, &mut self.record)
            .map_err(|source| unreadable(&self.name, source))?;
        if got < self.record.len() {
            return Err(self.malformed(&format!(
                "claims {length} bytes, but the file ends after {got}"
            )));
        }
        self.number += 1;
        let nanoseconds = u64::from(fraction) * u64::from(self.nanoseconds_per_unit);
        let time = Duration::from_secs(u64::from(seconds)) + Duration::from_nanos(nanoseconds);
        Ok(Some(Record {
            time,
            bytes: &self.record,
            wire_length,
        }))
    }

    fn malformed(&self, what: &str) -> PortError {
        PortError::Malformed {
            name: self.name.clone(),
            what: format!("record {}: {what}", self.number + 1),
        }
    }
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
            .map_err(|source| unwritable(&name, source))?;
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
        written.map_err(|source| unwritable(&self.name, source))
    }

    /// Hands everything to the operating system.
    ///
    /// # Errors
    /// [`PortError::File`] when it cannot be written.
    pub fn flush(&mut self) -> Result<(), PortError> {
        self.output
            .flush()
            .map_err(|source| unwritable(&self.name, source))
    }
}

/// A port between two capture files: frames come from one and go to the other. Without a file to
/// read it never receives; without one to write it drops what is transmitted.
#[derive(Debug)]
pub struct PcapPort {
    name: String,
    input: Option<Reader<BufReader<File>>>,
    output: Option<Writer<BufWriter<File>>>,
    missed: u64,
}

impl PcapPort {
    /// Opens `input` and creates `output`.
    ///
    /// # Errors
    /// [`PortError`] when a file cannot be opened, or the input is no capture of Ethernet.
    pub fn open(
        name: impl Into<String>,
        input: Option<&Path>,
        output: Option<&Path>,
    ) -> Result<Self, PortError> {
        let input = input.map(|path| {
            let name = path.display().to_string();
            let file = File::open(path).map_err(|source| unreadable(&name, source))?;
            Reader::new(BufReader::with_capacity(1 << 20, file), name)
        });
        let output = output.map(|path| {
            let name = path.display().to_string();
            let file = File::create(path).map_err(|source| unwritable(&name, source))?;
            Writer::new(BufWriter::with_capacity(1 << 20, file), name)
        });
        Ok(Self {
            name: name.into(),
            input: input.transpose()?,
            output: output.transpose()?,
            missed: 0,
        })
    }

    /// Writes what is still buffered; dropping the port does the same but cannot say when it fails.
    ///
    /// # Errors
    /// [`PortError::File`] when it cannot be written.
    pub fn flush(&mut self) -> Result<(), PortError> {
        self.output.as_mut().map_or(Ok(()), Writer::flush)
    }
}

impl Port for PcapPort {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<usize, PortError> {
        let Some(input) = &mut self.input else {
            return Ok(0);
        };
        let mut count = 0;
        while burst.room() > 0 && pool.available() > 0 {
            let Some(record) = input.next_record()? else {
                break;
            };
            let frame = u16::try_from(record.bytes.len())
                .ok()
                .and_then(|length| pool.allocate(length));
            let Some(frame) = frame else {
                self.missed += 1;
                continue;
            };
            pool.bytes_mut(&frame).copy_from_slice(record.bytes);
            if let Err(frame) = burst.push(frame) {
                pool.release(frame);
                break;
            }
            count += 1;
        }
        Ok(count)
    }

    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<usize, PortError> {
        let mut count = 0;
        if let Some(output) = &mut self.output {
            let now = SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .unwrap_or_default();
            let mut result = Ok(());
            for frame in burst.frames() {
                result = output.write(now, pool.bytes(frame));
                if result.is_err() {
                    break;
                }
                count += 1;
            }
            burst.take_front(count, |frame| pool.release(frame));
            result.map(|()| count)
        } else {
            count = burst.len();
            pool.release_all(burst);
            Ok(count)
        }
    }

    fn missed(&mut self) -> u64 {
        self.missed
    }
}

fn word(bytes: &[u8], at: usize, swapped: bool) -> u32 {
    let word = u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    if swapped { word.swap_bytes() } else { word }
}

/// Fills `buffer` as far as the input goes; says how far.
fn read_full(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match input.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(count) => got += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

fn unreadable(name: &str, source: io::Error) -> PortError {
    PortError::File {
        name: name.to_owned(),
        action: "read",
        source,
    }
}

fn unwritable(name: &str, source: io::Error) -> PortError {
    PortError::File {
        name: name.to_owned(),
        action: "write",
        source,
    }
}
