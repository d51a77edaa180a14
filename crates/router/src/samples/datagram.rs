//! Datagrams of sFlow version 5 (`sflow.org/sflow_version_5.txt`): what is said of a sampled frame, of a
//! discarded one (`sflow.org/sflow_drops.txt`) and of an interface's counters.
//!
//! Numbers of interfaces are the kernel's, which can have more than 24 bits; so every sample is of the
//! expanded form.

use std::net::IpAddr;

use super::links::LinkCounters;
use super::xdr::Xdr;

/// Bytes of a datagram at most: no router between here and the collector has to fragment it.
const LONGEST: usize = 1400;
/// What follows the agent's address and stands in front of the first sample.
const VERSION: u32 = 5;
/// A check sequence that a device has taken off: it counts in the length of a frame.
const FCS: u32 = 4;
/// The frame is for this machine.
const INTERNAL: u32 = 0x3fff_ffff;

/// Formats of samples.
const FLOW: u32 = 3;
const COUNTERS: u32 = 4;
const DISCARDED: u32 = 5;
/// Formats of what is said in samples.
const HEADER: u32 = 1;
const INTERFACE: u32 = 1;
const SWITCH: u32 = 1001;
const ROUTER: u32 = 1002;
const FUNCTION: u32 = 1038;

/// Where a frame goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    /// Out by the interface of this index.
    Interface(u32),
    /// It is discarded, for the reason of this code.
    Discarded(u16),
    /// It is for this machine.
    Internal,
    /// The kernel decides.
    Unknown,
}

/// What routes say of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Routed {
    pub(super) next_hop: Option<IpAddr>,
    /// Bits of the longest prefix for its source, and for its destination.
    pub(super) source_mask: u32,
    pub(super) destination_mask: u32,
}

/// A frame.
#[derive(Debug, Clone)]
pub(super) struct Seen<'a> {
    /// The interface that it came by.
    pub(super) input: u32,
    pub(super) output: Output,
    /// Bytes of it without FCS.
    pub(super) length: u32,
    pub(super) header: &'a [u8],
    /// Tag control information that it came with, and that it leaves with.
    pub(super) tags: [Option<u16>; 2],
    pub(super) routed: Option<Routed>,
}

/// How a frame was drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drawn {
    /// One frame in so many.
    pub(super) every: u32,
    /// So many frames came by the interface.
    pub(super) pool: u32,
    /// So many samples were lost.
    pub(super) lost: u32,
}

impl Seen<'_> {
    /// What is said of it, with the number of that in front.
    fn records(&self, name: Option<&str>, xdr: &mut Xdr) {
        let switched = self.tags.iter().any(Option::is_some);
        let others = [switched, self.routed.is_some(), name.is_some()];
        xdr.number(1 + others.map(u32::from).iter().sum::<u32>());
        xdr.structure(HEADER, |xdr| {
            // Ethernet.
            xdr.number(1);
            xdr.number(self.length + FCS);
            xdr.number(FCS);
            xdr.opaque(self.header);
        });
        if switched {
            xdr.structure(SWITCH, |xdr| {
                for tag in self.tags {
                    let tag = tag.unwrap_or(0);
                    xdr.number(u32::from(tag & 0xfff));
                    xdr.number(u32::from(tag >> 13));
                }
            });
        }
        if let Some(routed) = self.routed {
            xdr.structure(ROUTER, |xdr| {
                xdr.address(routed.next_hop);
                xdr.number(routed.source_mask);
                xdr.number(routed.destination_mask);
            });
        }
        if let Some(name) = name {
            xdr.structure(FUNCTION, |xdr| xdr.opaque(name.as_bytes()));
        }
    }
}

/// What is to be sent to a collector, a datagram at a time.
#[derive(Debug)]
pub(super) struct Agent {
    address: IpAddr,
    /// Datagrams so far.
    datagrams: u32,
    /// Samples in the one that is being written.
    samples: u32,
    xdr: Xdr,
    /// Samples of each kind so far.
    flows: u32,
    counters: u32,
    discards: u32,
}

impl Agent {
    /// Under the address by which collectors know it.
    pub(super) fn new(address: IpAddr) -> Self {
        Self {
            address,
            datagrams: 0,
            samples: 0,
            xdr: Xdr::default(),
            flows: 0,
            counters: 0,
            discards: 0,
        }
    }

    /// Adds a frame that was drawn; the datagram that had no room for it, if one is full.
    pub(super) fn flow(&mut self, seen: &Seen<'_>, drawn: Drawn, uptime: u32) -> Option<Vec<u8>> {
        self.flows = self.flows.wrapping_add(1);
        let sequence = self.flows;
        self.add(FLOW, uptime, |xdr| {
            xdr.number(sequence);
            source(seen.input, xdr);
            xdr.number(drawn.every);
            xdr.number(drawn.pool);
            xdr.number(drawn.lost);
            // 0: the index of an interface.
            xdr.number(0);
            xdr.number(seen.input);
            let (format, value) = match seen.output {
                Output::Interface(index) => (0, index),
                Output::Discarded(code) => (1, code.into()),
                Output::Internal => (0, INTERNAL),
                Output::Unknown => (0, 0),
            };
            xdr.number(format);
            xdr.number(value);
            seen.records(None, xdr);
        })
    }

    /// Adds a frame that is discarded, for a reason of our own name; `missing`: so many were not
    /// told. As [`Agent::flow`].
    pub(super) fn discarded(
        &mut self,
        seen: &Seen<'_>,
        (code, name): (u16, &str),
        missing: u32,
        uptime: u32,
    ) -> Option<Vec<u8>> {
        self.discards = self.discards.wrapping_add(1);
        let sequence = self.discards;
        self.add(DISCARDED, uptime, |xdr| {
            xdr.number(sequence);
            source(seen.input, xdr);
            xdr.number(missing);
            xdr.number(seen.input);
            xdr.number(0);
            xdr.number(code.into());
            seen.records(Some(name), xdr);
        })
    }

    /// Adds the counters of an interface. As [`Agent::flow`].
    pub(super) fn counters(&mut self, link: &LinkCounters, uptime: u32) -> Option<Vec<u8>> {
        self.counters = self.counters.wrapping_add(1);
        let sequence = self.counters;
        self.add(COUNTERS, uptime, |xdr| {
            xdr.number(sequence);
            source(link.index, xdr);
            xdr.number(1);
            xdr.structure(INTERFACE, |xdr| link.write(xdr));
        })
    }

    /// The datagram as it is, unless nothing is in it.
    pub(super) fn flush(&mut self, uptime: u32) -> Option<Vec<u8>> {
        if self.samples == 0 {
            return None;
        }
        self.datagrams = self.datagrams.wrapping_add(1);
        let mut all = Xdr::default();
        all.number(VERSION);
        all.address(Some(self.address));
        // There is one agent of this address.
        all.number(0);
        all.number(self.datagrams);
        all.number(uptime);
        all.number(std::mem::take(&mut self.samples));
        all.append(&std::mem::take(&mut self.xdr));
        Some(all.bytes().to_vec())
    }

    fn add(&mut self, format: u32, uptime: u32, write: impl FnOnce(&mut Xdr)) -> Option<Vec<u8>> {
        let mut sample = Xdr::default();
        sample.structure(format, write);
        let is_full = self.xdr.len() + sample.len() > LONGEST;
        let full = is_full.then(|| self.flush(uptime)).flatten();
        self.xdr.append(&sample);
        self.samples += 1;
        full
    }
}

/// Where a sample was taken: class 0, an interface.
fn source(index: u32, xdr: &mut Xdr) {
    xdr.number(0);
    xdr.number(index);
}

#[cfg(test)]
#[path = "../../tests/unit/datagram.rs"]
mod tests;
