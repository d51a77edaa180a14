//! Settings of a port by name, and changes of them. Values are text, as people write them.

use std::fmt;

use host::CoreId;
use host::card::{Coalescing, Queues, Rings};
use host::cores::write_list;
use serde::{Deserialize, Serialize};

/// A setting of a port. The order is that in which settings are put back: what queues there are
/// decides what they can be set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    /// `rx 0 tx 0 combined 4`.
    Queues,
    /// `rx 512 tx 512`.
    Rings,
    /// `adaptive 0 usecs 8 frames 0`, for receiving.
    Coalescing,
    /// Segments joined by the card: `on`, `off`.
    Lro,
    /// Segments joined by the kernel: `on`, `off`.
    Gro,
    /// In hexadecimal digits.
    RssKey,
    /// `equal 4`, or the queue of each value of the hash: `0 1 0 1`.
    RssTable,
    /// `0`, `1`, as in `/sys`.
    NapiThreads,
    /// Cores of the interrupt line of this number, as a list: `0-3,8`.
    InterruptCores(u32),
    /// Cores that send by this queue (XPS), as a list, or `none`.
    SendCores(u32),
    /// Cores to which frames of this queue are handed (RPS), as a list, or `none`.
    SteerCores(u32),
    /// Frames that wait for the device.
    SendQueueLength,
}

impl fmt::Display for Setting {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queues => out.write_str("queues"),
            Self::Rings => out.write_str("rings"),
            Self::Coalescing => out.write_str("coalescing"),
            Self::Lro => out.write_str("LRO"),
            Self::Gro => out.write_str("GRO"),
            Self::RssKey => out.write_str("RSS key"),
            Self::RssTable => out.write_str("RSS table"),
            Self::NapiThreads => out.write_str("NAPI threads"),
            Self::InterruptCores(line) => write!(out, "cores of interrupt {line}"),
            Self::SendCores(queue) => write!(out, "cores of tx-{queue} (XPS)"),
            Self::SteerCores(queue) => write!(out, "cores of rx-{queue} (RPS)"),
            Self::SendQueueLength => out.write_str("txqueuelen"),
        }
    }
}

/// A setting of a port that should have another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The port.
    pub port: String,
    /// What.
    pub setting: Setting,
    /// The value now.
    pub from: String,
    /// The better value.
    pub to: String,
    /// Why it is better: a sentence.
    pub why: &'static str,
}

pub(crate) fn queues_text(queues: Queues) -> String {
    let Queues {
        receive,
        send,
        combined,
    } = queues;
    format!("rx {receive} tx {send} combined {combined}")
}

pub(crate) fn rings_text(rings: Rings) -> String {
    format!("rx {} tx {}", rings.receive, rings.send)
}

pub(crate) fn coalescing_text(coalescing: Coalescing) -> String {
    let Coalescing {
        adaptive,
        microseconds,
        frames,
    } = coalescing;
    let adaptive = u32::from(adaptive);
    format!("adaptive {adaptive} usecs {microseconds} frames {frames}")
}

pub(crate) fn switch_text(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

pub(crate) fn cores_text(cores: &[CoreId]) -> String {
    if cores.is_empty() {
        return "none".to_owned();
    }
    write_list(cores)
}

pub(crate) fn key_text(key: &[u8]) -> String {
    let digits: Vec<String> = key.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.concat()
}

pub(crate) fn table_text(table: &[u32]) -> String {
    let queues = table.iter().max().map_or(0, |last| last + 1);
    if table.iter().zip((0..queues).cycle()).all(|(a, b)| *a == b) {
        return format!("equal {queues}");
    }
    let words: Vec<String> = table.iter().map(u32::to_string).collect();
    words.join(" ")
}
