//! The generator: frames made inside the kernel and sent into a device, several times faster than through a socket.
//!
//! A [`Generator`] owns one program with its template, destinations and counters. [`Generator::send`] runs it on live frames
//! (`BPF_PROG_RUN`) on the calling thread's core and returns when they have been handed to the device: pacing is the caller's, by how
//! many it asks for and when. Live frames are recycled; the program writes every byte before the payload each time, so nothing that the
//! device under test did to a frame comes back with the next.
//!
//! Frames carry a [`Signature`] in their last 16 bytes, which [`crate::sink::Sink`] checks.
//!
//! # Why the program is also attached to a loopback interface
//! The kernel enters every program that it runs by hand into the dispatcher of XDP programs, and takes it out again: each time it
//! patches code and waits for all cores, some ten milliseconds a call. A program that is attached somewhere is there already. So the
//! generator attaches its program, from its first frame to its end, to the loopback interface of a network namespace that nobody uses.
//!
//! # What it cannot do
//! The kernel does not tell how many frames the *device* refused (a full ring): [`Generator::sent`] counts frames made, the receiver
//! counts frames arrived. A veth takes frames only when its peer has an XDP program (or GRO on). A frame must fit a page with its
//! head-room: [`LENGTH_MAX`] bytes.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;
use std::sync::OnceLock;

use crate::attach::{Attachment, Request};
use crate::map::{Map, MappedArray, Plain};
use crate::program::{Loader, Program};
use crate::{Error, Result, sys};

const OBJECT: &[u8] = include_bytes!("../bpf/built/generate.bpf.o");

/// Longest frame in bytes, without FCS.
pub const LENGTH_MAX: u16 = 3_400;
/// Most destinations of one generator.
pub const DESTINATIONS_MAX: usize = 1 << 20;
/// First two bytes of a [`Signature`].
pub const SIGNATURE_MAGIC: u16 = 0xC07E;
/// Bytes of a [`Signature`].
pub const SIGNATURE_LENGTH: usize = 16;
/// Most frames that the kernel handles at once (`TEST_XDP_MAX_BATCH`).
pub const BATCH_MAX: u32 = 256;

const HEADER_MAX: usize = 72;
const ETHERNET: usize = 14;
const TAG: usize = 4;
const UDP: usize = 8;
const PROTOCOL_UDP: u8 = 17;

/// The last 16 bytes of every generated frame, in host byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Which stream.
    pub stream: u16,
    /// Position in the stream, from 1; wraps after 2³².
    pub sequence: u32,
    /// `CLOCK_MONOTONIC` at departure in nanoseconds; 0 when this frame is not stamped.
    pub sent_ns: u64,
}

impl Signature {
    /// Reads the signature at the end of `frame`; `None` when there is none.
    pub fn read(frame: &[u8]) -> Option<Self> {
        let bytes: &[u8; SIGNATURE_LENGTH] = frame.last_chunk()?;
        let (magic, rest) = bytes.split_first_chunk::<2>()?;
        let (stream, rest) = rest.split_first_chunk::<2>()?;
        let (sequence, rest) = rest.split_first_chunk::<4>()?;
        let (sent_ns, _) = rest.split_first_chunk::<8>()?;
        (u16::from_ne_bytes(*magic) == SIGNATURE_MAGIC).then(|| Self {
            stream: u16::from_ne_bytes(*stream),
            sequence: u32::from_ne_bytes(*sequence),
            sent_ns: u64::from_ne_bytes(*sent_ns),
        })
    }
}

/// Destination addresses, taken by turns in this order (shuffle them for random order).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destinations {
    /// IPv4 frames.
    V4(Vec<Ipv4Addr>),
    /// IPv6 frames.
    V6(Vec<Ipv6Addr>),
}

impl Destinations {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Self::V4(list) => list.len(),
            Self::V6(list) => list.len(),
        }
    }

    /// None at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What the frames look like.
#[derive(Clone, Debug)]
pub struct Frames {
    /// Source MAC address.
    pub source_mac: [u8; 6],
    /// MAC address of the device under test's port.
    pub destination_mac: [u8; 6],
    /// VLAN identifier (with priority bits) of an 802.1Q tag.
    pub vlan: Option<u16>,
    /// Source address; its family must be that of `destinations`.
    pub source: IpAddr,
    /// Destination addresses, one to [`DESTINATIONS_MAX`].
    pub destinations: Destinations,
    /// First UDP source port.
    pub source_port: u16,
    /// How many source ports are used by turns (1: only the first).
    pub source_ports: u16,
    /// UDP destination port.
    pub destination_port: u16,
    /// TTL or hop limit.
    pub ttl: u8,
    /// Frame lengths without FCS, by turns: 60 is the "64-byte frame" of RFC 2544.
    pub lengths: Vec<u16>,
    /// Number of this stream in the signatures.
    pub stream: u16,
    /// Every so many frames carry a departure time; a power of two, 0 for none. Reading the clock costs some 25 ns a frame.
    pub stamp_every: u32,
}

impl Frames {
    /// Bytes before the payload.
    fn headers(&self) -> usize {
        self.ip_at() + self.ip_length() + UDP
    }

    fn ip_at(&self) -> usize {
        ETHERNET + if self.vlan.is_some() { TAG } else { 0 }
    }

    fn ip_length(&self) -> usize {
        match self.destinations {
            Destinations::V4(_) => 20,
            Destinations::V6(_) => 40,
        }
    }

    /// Shortest frame in bytes without FCS that holds these headers and a signature.
    pub fn shortest(&self) -> u16 {
        (self.headers() + SIGNATURE_LENGTH).max(60) as u16
    }

    fn check(&self) -> Result<()> {
        let value = |what, value: String, remedy: String| {
            Err(Error::Value {
                what,
                value,
                remedy,
            })
        };
        if self.destinations.is_empty() || self.destinations.len() > DESTINATIONS_MAX {
            return value(
                "number of destinations",
                self.destinations.len().to_string(),
                format!("give 1 to {DESTINATIONS_MAX}"),
            );
        }
        if self.source.is_ipv4() != matches!(self.destinations, Destinations::V4(_)) {
            return value(
                "source address",
                self.source.to_string(),
                "its family must be that of the destinations".to_owned(),
            );
        }
        if self.lengths.is_empty() || self.lengths.len() > 4096 {
            return value(
                "number of frame lengths",
                self.lengths.len().to_string(),
                "give 1 to 4096".to_owned(),
            );
        }
        for &length in &self.lengths {
            if length < self.shortest() || length > LENGTH_MAX {
                return value(
                    "frame length without FCS",
                    length.to_string(),
                    format!("these headers allow {} to {LENGTH_MAX}", self.shortest()),
                );
            }
        }
        if self.source_ports == 0 {
            return value(
                "number of source ports",
                "0".to_owned(),
                "give at least 1".to_owned(),
            );
        }
        if self.stamp_every != 0 && !self.stamp_every.is_power_of_two() {
            return value(
                "stamp_every",
                self.stamp_every.to_string(),
                "give a power of two, or 0".to_owned(),
            );
        }
        Ok(())
    }

    /// The header without lengths, checksums and destination, and the sums that the program goes on from.
    fn template(&self) -> Template {
        let mut header = Vec::with_capacity(HEADER_MAX);
        header.extend_from_slice(&self.destination_mac);
        header.extend_from_slice(&self.source_mac);
        if let Some(tag) = self.vlan {
            header.extend_from_slice(&[0x81, 0x00]);
            header.extend_from_slice(&tag.to_be_bytes());
        }
        let mut ip_sum = 0;
        // RFC 768, RFC 8200 §8.1: the pseudo-header; the destination and the length are added per frame.
        let mut udp_sum = u32::from(u16::from(PROTOCOL_UDP).to_be());
        match self.source {
            IpAddr::V4(source) => {
                header.extend_from_slice(&[0x08, 0x00]);
                let at = header.len();
                header.extend_from_slice(&[
                    0x45,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                    self.ttl,
                    PROTOCOL_UDP,
                    0,
                    0,
                ]);
                header.extend_from_slice(&source.octets());
                ip_sum = sum(&header[at..]);
                udp_sum += sum(&source.octets());
                header.extend_from_slice(&[0; 4]);
            }
            IpAddr::V6(source) => {
                header.extend_from_slice(&[0x86, 0xdd]);
                header.extend_from_slice(&[0x60, 0, 0, 0, 0, 0, PROTOCOL_UDP, self.ttl]);
                header.extend_from_slice(&source.octets());
                udp_sum += sum(&source.octets());
                header.extend_from_slice(&[0; 16]);
            }
        }
        header.extend_from_slice(&self.source_port.to_be_bytes());
        header.extend_from_slice(&self.destination_port.to_be_bytes());
        header.extend_from_slice(&[0; 4]);
        udp_sum += sum(&self.destination_port.to_be_bytes());
        let mut template = Template {
            header: [0; HEADER_MAX],
            ip_sum,
            udp_sum,
            source_port: self.source_port,
            reserved: [0; 3],
        };
        template.header[..header.len()].copy_from_slice(&header);
        template
    }
}

/// Sum of 16-bit words as they lie in memory, not folded.
fn sum(bytes: &[u8]) -> u32 {
    bytes
        .chunks_exact(2)
        .map(|pair| u32::from(u16::from_ne_bytes([pair[0], pair[1]])))
        .sum()
}

/// `struct template` of the C source.
#[repr(C)]
#[derive(Clone, Copy)]
struct Template {
    header: [u8; HEADER_MAX],
    ip_sum: u32,
    udp_sum: u32,
    source_port: u16,
    reserved: [u16; 3],
}

/// `struct state` of the C source.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct State {
    sent: u64,
    position: u32,
    size: u32,
    port: u32,
    reserved: u32,
    start: u64,
    interval: u64,
    base: u64,
    until: u64,
    now: u64,
    allowance: u64,
}

// SAFETY: repr(C), 72 + 8 + 8 bytes with natural alignment 4 and no hole; integers only.
unsafe impl Plain for Template {}
// SAFETY: repr(C), 8 + 4 × 4 + 6 × 8 bytes, no hole; integers only.
unsafe impl Plain for State {}

/// Sends frames of one kind into one device.
#[derive(Debug)]
pub struct Generator {
    program: Program,
    state: MappedArray<State>,
    frame: Vec<u8>,
    batch: u32,
    _out: Map,
    /// From the first call of [`Generator::send`] on; `None`: the kernel refused.
    resident: OnceLock<Option<Resident>>,
}

/// Keeps a program in the kernel's dispatcher: an attachment in a namespace of its own.
#[derive(Debug)]
struct Resident {
    _attachment: Attachment,
    _namespace: File,
}

impl Resident {
    /// `None` when the kernel refuses: then everything works, with a longer pause in each call.
    fn new(program: &Program) -> Option<Self> {
        std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    // SAFETY: changes only the namespace of this thread, which ends here.
                    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                        return None;
                    }
                    Some(Self {
                        _attachment: Attachment::new(program, "lo", Request::Generic).ok()?,
                        _namespace: File::open("/proc/thread-self/ns/net").ok()?,
                    })
                })
                .join()
                .ok()?
        })
    }
}

impl Generator {
    /// Loads a generator for `frames` into the interface with index `ifindex` of the calling thread's network namespace; afterwards it
    /// can be used from any namespace.
    ///
    /// # Errors
    /// [`Error::Value`] for a setting out of range, else the loader's errors.
    pub fn new(ifindex: u32, frames: &Frames) -> Result<Self> {
        Self::load(ifindex, frames, false)
    }

    /// As [`Generator::new`], but frames leave by the timetable of [`Generator::pace`], which is kept inside the kernel.
    ///
    /// # Errors
    /// As [`Generator::new`].
    pub fn with_timetable(ifindex: u32, frames: &Frames) -> Result<Self> {
        Self::load(ifindex, frames, true)
    }

    fn load(ifindex: u32, frames: &Frames, paced: bool) -> Result<Self> {
        frames.check()?;
        let longest = frames.lengths.iter().copied().max().unwrap_or(LENGTH_MAX);
        let loaded = Loader::new(OBJECT)?
            .constant("IPV6", u64::from(frames.source.is_ipv6()))
            .constant("VLAN", u64::from(frames.vlan.is_some()))
            .constant("DESTINATIONS", frames.destinations.len() as u64)
            .constant("LENGTHS", frames.lengths.len() as u64)
            .constant("FRAME_LENGTH", u64::from(longest))
            .constant("SOURCE_PORTS", u64::from(frames.source_ports))
            .constant("STREAM", u64::from(frames.stream))
            .constant("STAMP_EVERY", u64::from(frames.stamp_every))
            .constant("PACED", u64::from(paced))
            .entries("destinations", frames.destinations.len() as u32)?
            .entries("lengths", frames.lengths.len() as u32)?
            .load()?;

        loaded.map("templates")?.set(0_u32, &frames.template())?;
        let lengths = loaded.map("lengths")?;
        for (index, &length) in (0_u32..).zip(&frames.lengths) {
            lengths.set(index, &u32::from(length))?;
        }
        let destinations = loaded.map("destinations")?.mapped::<[u8; 16]>()?;
        match &frames.destinations {
            Destinations::V4(list) => {
                for (index, address) in list.iter().enumerate() {
                    let mut bytes = [0; 16];
                    bytes[..4].copy_from_slice(&address.octets());
                    destinations.write(index, bytes);
                }
            }
            Destinations::V6(list) => {
                for (index, address) in list.iter().enumerate() {
                    destinations.write(index, address.octets());
                }
            }
        }
        let out = loaded.map("out")?;
        out.set(0_u32, &ifindex)?;
        let program = loaded.program("generate")?;
        Ok(Self {
            resident: OnceLock::new(),
            program,
            state: loaded.map("states")?.mapped()?,
            frame: vec![0; usize::from(longest)],
            batch: 64,
            _out: out,
        })
    }

    /// Sets how many frames the kernel handles at once, 1 to [`BATCH_MAX`] (64 at first).
    ///
    /// # Errors
    /// [`Error::Value`] when out of range.
    pub fn set_batch(&mut self, batch: u32) -> Result<()> {
        if !(1..=BATCH_MAX).contains(&batch) {
            return Err(Error::Value {
                what: "batch",
                value: batch.to_string(),
                remedy: format!("give 1 to {BATCH_MAX}"),
            });
        }
        self.batch = batch;
        Ok(())
    }

    /// Makes and sends `count` frames, as fast as it goes, on the core that the calling thread runs on. Returns how many were made:
    /// fewer than `count` only when a signal came.
    ///
    /// # Errors
    /// [`Error::Run`].
    pub fn send(&mut self, count: u32) -> Result<u32> {
        if count == 0 {
            return Ok(0);
        }
        self.resident.get_or_init(|| Resident::new(&self.program));
        let before = self.sent();
        let outcome = sys::run_live(
            self.program.as_fd(),
            &self.frame,
            count,
            self.batch.min(count),
            0,
        );
        match outcome {
            Err(error) if error.kind() != std::io::ErrorKind::Interrupted => Err(Error::Run {
                program: self.program.name().to_owned(),
                error,
            }),
            _ => Ok((self.sent() - before) as u32),
        }
    }

    /// Attaches the program to an interface at which nothing arrives (the loopback of an empty namespace), which makes short calls of
    /// [`Generator::send`] quick: the kernel keeps XDP programs that are attached in a dispatch table, and a call with a program that is
    /// not in it waits for two grace periods of RCU, some 25 ms, to put it there and take it out.
    ///
    /// # Errors
    /// As [`Attachment::new`].
    pub fn park(&self, interface: &str) -> Result<Attachment> {
        Attachment::new(&self.program, interface, Request::Generic)
    }

    /// Sets the timetable of a paced generator: `count` frames, the first at `start_ns` of the monotonic clock, one every
    /// `interval_ns`. Then call [`Generator::send`] until [`Generator::remaining`] is 0: a call ends after as many *runs* as it was
    /// told, and a run with nothing due waits at most 2 µs. A sender that was held up sends at most 64 frames at once and repays the
    /// rest a tenth above the rate.
    pub fn pace(&mut self, start_ns: u64, interval_ns: f64, count: u64) {
        let state = self.state.read(0);
        let interval = (interval_ns * 65_536.0).round().max(1.0) as u64;
        self.state.write(
            0,
            State {
                start: start_ns,
                interval,
                base: state.sent,
                until: state.sent + count,
                now: start_ns,
                allowance: interval,
                ..state
            },
        );
    }

    /// Frames of the timetable that have not been made.
    pub fn remaining(&self) -> u64 {
        let state = self.state.read(0);
        state.until.saturating_sub(state.sent)
    }

    /// When the next frame of the timetable is due, ns of the monotonic clock.
    pub fn next_due_ns(&self) -> u64 {
        let state = self.state.read(0);
        let place = u128::from(state.sent.wrapping_sub(state.base));
        state.start + ((place * u128::from(state.interval)) >> 16) as u64
    }

    /// When the timetable's clock was last read, ns: about the departure of the last frame.
    pub fn last_look_ns(&self) -> u64 {
        self.state.read(0).now
    }

    /// Leaves `count` places of the timetable empty, at most those that remain: they are not made up for.
    pub fn skip(&mut self, count: u64) {
        let state = self.state.read(0);
        let count = count.min(state.until.saturating_sub(state.sent));
        let (base, until) = (state.base.wrapping_sub(count), state.until - count);
        self.state.write(
            0,
            State {
                base,
                until,
                ..state
            },
        );
    }

    /// Frames made since the start.
    pub fn sent(&self) -> u64 {
        self.state.read(0).sent
    }

    /// The next frame as it would be sent now, with its signature; moves the generator one frame on, sends nothing.
    ///
    /// # Errors
    /// [`Error::Run`].
    pub fn preview(&mut self) -> Result<Vec<u8>> {
        self.program
            .run(&self.frame, 0, 1)
            .map(|result| result.frame)
    }
}
