//! What the planes say to each other over a link: commands and answers as messages (JSON, few),
//! routes as packets (binary, many), counters as packets the other way.

use std::net::Ipv4Addr;

use icc::Port;
use serde::{Deserialize, Serialize};

/// The port of the user plane's agent.
pub const AGENT: Port = Port(1);
/// The port of whoever commands it.
pub const CONTROL: Port = Port(2);
/// The longest command or answer in bytes.
pub const LONGEST_MESSAGE: usize = 16 << 10;
/// Routes in one packet at most.
pub const ROUTES_PER_PACKET: usize = 128;
/// Bytes of memory that a link lies in.
pub const LINK_BYTES: usize = 4 << 20;

/// A route of the control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// Network.
    pub network: Ipv4Addr,
    /// Prefix length.
    pub length: u8,
    /// Next hop.
    pub via: Ipv4Addr,
}

/// How the user plane moves packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum UserPlaneMode {
    /// The kernel forwards; the payload never reaches user space.
    #[default]
    Kernel,
    /// Frames are brought up to user space, processed and sent on.
    UserSpace,
}

impl UserPlaneMode {
    /// Where packets are, as tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::UserSpace => "user space",
        }
    }
}

/// An interface of the user plane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    /// Its name where the agent runs.
    pub name: String,
    /// Its hardware address, to which the tester sends.
    pub mac: [u8; 6],
    /// Its largest IP packet in bytes.
    pub mtu: u32,
    /// Its address.
    pub address: Ipv4Addr,
    /// The prefix length of its network.
    pub length: u8,
    /// The host beyond the cable.
    pub neighbour: Ipv4Addr,
    /// That host's hardware address.
    pub neighbour_mac: [u8; 6],
}

/// What the control plane asks of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// Sets up interfaces and routes and begins to forward.
    Start {
        /// How.
        mode: UserPlaneMode,
        /// Between these.
        interfaces: Vec<Interface>,
        /// With these routes to begin with.
        routes: Vec<Route>,
    },
    /// Stops forwarding; interfaces and routes stay.
    Stop,
    /// Answers each of the next `count` scalars at once with the ticks that it took to arrive.
    Echo {
        /// How many.
        count: u64,
    },
    /// Sends everything back until told to end (`icc::conformance::mirror`), so that whoever asks
    /// can see whether the transport does what it must.
    Mirror,
    /// Takes `count` packets as fast as it can and says so.
    Drain {
        /// How many.
        count: u64,
    },
}

/// What the agent answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Done.
    Done,
    /// Not done, and why.
    Failed(String),
}

/// The user plane's counters, as sent up once in a while.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Frames in, all interfaces.
    pub received: u64,
    /// Frames out, all interfaces.
    pub sent: u64,
    /// Routes that took effect.
    pub routes_applied: u64,
    /// Routes that were refused.
    pub routes_refused: u64,
}

const ROUTE_BYTES: usize = 9;

/// Packs routes for the packet channel.
pub fn pack_routes(routes: &[Route]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(routes.len() * ROUTE_BYTES);
    for route in routes {
        bytes.extend_from_slice(&route.network.octets());
        bytes.push(route.length);
        bytes.extend_from_slice(&route.via.octets());
    }
    bytes
}

/// Unpacks them; `None` when the bytes are not whole routes.
pub fn unpack_routes(bytes: &[u8]) -> Option<Vec<Route>> {
    let records = bytes.chunks_exact(ROUTE_BYTES);
    if !records.remainder().is_empty() {
        return None;
    }
    records
        .map(|record| {
            let (network, rest) = record.split_first_chunk::<4>()?;
            let (length, via) = rest.split_first()?;
            (*length <= 32).then_some(Route {
                network: Ipv4Addr::from(*network),
                length: *length,
                via: Ipv4Addr::from(<[u8; 4]>::try_from(via).ok()?),
            })
        })
        .collect()
}

impl Counters {
    const WORDS: usize = 4;

    /// Packs the counters for the packet channel.
    pub fn pack(&self) -> [u8; Self::WORDS * 8] {
        let words = [
            self.received,
            self.sent,
            self.routes_applied,
            self.routes_refused,
        ];
        let mut bytes = [0; Self::WORDS * 8];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Unpacks them; `None` when the length is not theirs.
    pub fn unpack(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::WORDS * 8] = bytes.try_into().ok()?;
        let mut words = bytes
            .as_chunks::<8>()
            .0
            .iter()
            .map(|word| u64::from_le_bytes(*word));
        Some(Self {
            received: words.next()?,
            sent: words.next()?,
            routes_applied: words.next()?,
            routes_refused: words.next()?,
        })
    }
}

/// The processor's tick counter, the same under every kernel of the machine; 0 where there is none
/// that user space may read.
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads a counter; every x86-64 processor has it.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

#[cfg(test)]
#[path = "../tests/unit/protocol.rs"]
mod tests;
