//! What the two machines say to each other: one line of JSON each way, over the standard streams of
//! a remote shell.

use std::io::{BufRead, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::clocks::Clocks;
use super::record::Arrived;
use crate::sizes::{Family, FrameSize};
use crate::traffic::{Blend, Modifier, Traffic};
use crate::trial::{Direction, Order, Waits};

/// Both programs must be the same.
pub(super) const VERSION: &str = concat!("corelane-agent/1 ", env!("CARGO_PKG_VERSION"));

/// From the machine that sends.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Request {
    /// Who are you, and how are your clocks?
    Hello,
    /// Receive on this port.
    Open(Open),
    /// Frames of this kind will come: throw away what came before.
    Begin(Watch),
    /// Send back every test frame that comes, to where it came from.
    Reflect,
    /// So many frames of each stream were sent; wait for the rest and tell. A reflector is told
    /// nothing, for it waits for nothing.
    Finish(Vec<u32>),
}

/// From the machine that receives.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Reply {
    Hello { version: String, clocks: Clocks },
    Ready { what: String },
    Arrived(Box<Arrived>),
    Reflected(Reflected),
    Error(String),
}

/// A port of the far machine.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Open {
    /// Its interface.
    pub interface: String,
    /// The kind of sockets, as named on the command line.
    pub generator: String,
    /// Longest frame, bytes with FCS.
    pub largest: u16,
    /// Seed of everything random.
    pub seed: u64,
}

/// What became of the frames at the far end of a round trip.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Reflected {
    /// Sent back.
    pub(super) returned: u64,
    /// Came, and could not be sent back; with those that its port missed.
    pub(super) dropped: u64,
}

/// What the receiver has to know of an order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Watch {
    pub(super) trial: u8,
    sizes: Vec<FrameSize>,
    family: Family,
    blend: Option<Blend>,
    modifier: Option<Modifier>,
    random_ports: bool,
    destinations: u32,
    pub(super) waits: Waits,
    /// To be added to the receiver's clock; `None`: delays are not measured.
    pub(super) clock_plus_ns: Option<i64>,
}

impl Watch {
    pub(super) fn new(order: &Order, trial: u8, clock_plus_ns: Option<i64>) -> Self {
        Self {
            trial,
            sizes: order.sizes.clone(),
            family: order.family,
            blend: order.traffic.blend,
            modifier: order.traffic.modifier,
            random_ports: order.traffic.random_ports,
            destinations: order.destinations,
            waits: order.waits,
            clock_plus_ns,
        }
    }

    /// The order as far as a receiver needs it.
    pub(super) fn order(&self) -> Order {
        Order {
            sizes: self.sizes.clone(),
            family: self.family,
            schedule: crate::schedule::Schedule::burst(1),
            direction: Direction::OneWay,
            destinations: self.destinations,
            traffic: Traffic {
                blend: self.blend,
                modifier: self.modifier,
                random_ports: self.random_ports,
                replay: None,
            },
            time_every_frame: true,
            waits: self.waits,
        }
    }
}

/// Writes one message.
pub(super) fn say(output: &mut impl Write, message: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

/// Reads one message; `None` at the end. Whatever is no JSON object (a shell's greeting) is passed
/// over.
pub(super) fn hear<T: DeserializeOwned>(input: &mut impl BufRead) -> std::io::Result<Option<T>> {
    let mut line = String::new();
    loop {
        line.clear();
        if input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let text = line.trim();
        if text.starts_with(['{', '"']) {
            return Ok(Some(serde_json::from_str(text)?));
        }
    }
}
