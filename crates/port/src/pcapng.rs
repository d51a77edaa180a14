//! Capture files of the newer form, written (pcapng, draft-ietf-opsawg-pcapng): one section with an
//! interface for each port, and beside each frame what became of it, in options that Wireshark shows
//! by itself.
//!
//! Numbers are in the machine's order, times in nanoseconds since 1970.

use std::io::{self, Write};
use std::time::Duration;

const SECTION: u32 = 0x0a0d_0d0a;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
const ETHERNET: u16 = 1;
const NANOSECONDS: u8 = 9;

const COMMENT: u16 = 1;
const SECTION_PROGRAM: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const INTERFACE_DESCRIPTION: u16 = 3;
const INTERFACE_RESOLUTION: u16 = 9;
const PACKET_FLAGS: u16 = 2;
const PACKET_DROPS: u16 = 4;
const PACKET_VERDICT: u16 = 7;
/// Of `PACKET_FLAGS`: it came in.
const INBOUND: u32 = 1;

/// Where a verdict was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// By an eBPF program at tc.
    Tc(i64),
    /// By an XDP program.
    Xdp(i64),
}

/// A frame, and what is known of it.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Number of its interface, in the order in which they were written.
    pub interface: u32,
    /// When it came, since 1970.
    pub time: Duration,
    /// Its bytes as far as they were captured.
    pub bytes: &'a [u8],
    /// Its length on the wire, without frame check sequence.
    pub wire_length: u32,
    /// For people.
    pub comment: &'a str,
    /// What became of it.
    pub verdict: Verdict,
    /// So many were lost between the one before and this one.
    pub lost: u64,
}

/// Writes frames.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    block: Vec<u8>,
    interfaces: u32,
}

impl<W: Write> Writer<W> {
    /// Begins the section; `program` is what writes it.
    ///
    /// # Errors
    /// The output's.
    pub fn new(output: W, program: &str) -> io::Result<Self> {
        let mut writer = Self {
            output,
            block: Vec::new(),
            interfaces: 0,
        };
        writer.begin(SECTION);
        writer.words(&[BYTE_ORDER]);
        // Version 1.0; how long the section is nobody knows yet.
        writer.block.extend_from_slice(&1_u16.to_ne_bytes());
        writer.block.extend_from_slice(&0_u16.to_ne_bytes());
        writer.block.extend_from_slice(&(-1_i64).to_ne_bytes());
        writer.option(SECTION_PROGRAM, program.as_bytes());
        writer.end()?;
        Ok(writer)
    }

    /// Describes an interface of Ethernet, of whose frames at most `snap` bytes are kept; its number.
    ///
    /// # Errors
    /// The output's.
    pub fn interface(&mut self, name: &str, description: &str, snap: u32) -> io::Result<u32> {
        self.begin(INTERFACE);
        self.block.extend_from_slice(&ETHERNET.to_ne_bytes());
        self.block.extend_from_slice(&[0; 2]);
        self.words(&[snap]);
        self.option(INTERFACE_NAME, name.as_bytes());
        self.option(INTERFACE_DESCRIPTION, description.as_bytes());
        self.option(INTERFACE_RESOLUTION, &[NANOSECONDS]);
        self.end()?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// Appends a frame.
    ///
    /// # Errors
    /// The output's.
    pub fn packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        let stamp = packet.time.as_nanos() as u64;
        self.begin(PACKET);
        let kept = packet.bytes.len() as u32;
        let time = [(stamp >> 32) as u32, stamp as u32];
        self.words(&[packet.interface, time[0], time[1], kept, packet.wire_length]);
        self.block.extend_from_slice(packet.bytes);
        self.fill();
        self.option(COMMENT, packet.comment.as_bytes());
        self.option(PACKET_FLAGS, &INBOUND.to_ne_bytes());
        if packet.lost > 0 {
            self.option(PACKET_DROPS, &packet.lost.to_ne_bytes());
        }
        let (kind, said) = match packet.verdict {
            Verdict::Tc(said) => (1, said),
            Verdict::Xdp(said) => (2, said),
        };
        let mut verdict = [kind; 9];
        verdict[1..].copy_from_slice(&said.to_ne_bytes());
        self.option(PACKET_VERDICT, &verdict);
        self.end()
    }

    /// Hands everything to the operating system.
    ///
    /// # Errors
    /// The output's.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        // The length is written at the end.
        self.words(&[kind, 0]);
    }

    fn words(&mut self, words: &[u32]) {
        for word in words {
            self.block.extend_from_slice(&word.to_ne_bytes());
        }
    }

    fn fill(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        // A length has two bytes.
        let value = &value[..value.len().min(usize::from(u16::MAX) - 3)];
        self.block.extend_from_slice(&code.to_ne_bytes());
        self.block
            .extend_from_slice(&(value.len() as u16).to_ne_bytes());
        self.block.extend_from_slice(value);
        self.fill();
    }

    fn end(&mut self) -> io::Result<()> {
        // The end of the options, and the length again.
        let length = self.block.len() as u32 + 8;
        self.words(&[0, length]);
        self.block[4..8].copy_from_slice(&length.to_ne_bytes());
        self.output.write_all(&self.block)
    }
}
