//! Counters as the program keeps them: a row for each CPU, which nobody else writes, summed by
//! whoever reads.

use bpf::map::{Map, MappedArray};

use super::Reason;

/// Places for ports: `PORTS` of the C source.
pub(super) const PORTS: usize = 64;
const FIELDS: usize = 4;
/// 64-bit words of `struct port_counters`, rounded up to whole cache lines.
const PORT_WORDS: usize = (FIELDS + Reason::COUNT).next_multiple_of(8);

/// Frames of one port on one CPU since the program was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortCounters {
    /// Interface index.
    pub ifindex: u32,
    /// The CPU.
    pub cpu: u32,
    /// Frames received.
    pub received: u64,
    /// Their bytes, without FCS. Of a frame in several buffers that is not IP only the first is
    /// counted.
    pub received_bytes: u64,
    /// Frames redirected to a port, whichever.
    pub forwarded: u64,
    /// Their bytes as received.
    pub forwarded_bytes: u64,
    /// The others, each under one reason; in the order of [`Reason::ALL`].
    pub reasons: [u64; Reason::COUNT],
}

impl PortCounters {
    /// Reasons with frames.
    pub fn reasons(&self) -> impl Iterator<Item = (Reason, u64)> + '_ {
        Reason::ALL
            .iter()
            .copied()
            .zip(self.reasons)
            .filter(|(_, frames)| *frames > 0)
    }

    /// Frames under the reason of this name.
    pub fn reason(&self, name: &str) -> u64 {
        self.reasons()
            .find(|(reason, _)| reason.name() == name)
            .map_or(0, |(_, frames)| frames)
    }
}

pub(super) fn port(
    rows: &MappedArray<u64>,
    cpu: usize,
    number: usize,
    ifindex: u32,
) -> PortCounters {
    let at = (cpu * PORTS + number) * PORT_WORDS;
    PortCounters {
        ifindex,
        cpu: cpu as u32,
        received: rows.read(at),
        received_bytes: rows.read(at + 1),
        forwarded: rows.read(at + 2),
        forwarded_bytes: rows.read(at + 3),
        reasons: std::array::from_fn(|reason| rows.read(at + FIELDS + reason)),
    }
}

/// The rows of all CPUs, one after the other.
pub(super) fn rows(map: &Map) -> bpf::Result<MappedArray<u64>> {
    let (ours, theirs) = (PORTS * PORT_WORDS * 8, map.definition().value_size as usize);
    if ours != theirs {
        return Err(bpf::Error::Object(format!(
            "a row of counters is {theirs} bytes in the program and {ours} here"
        )));
    }
    map.mapped()
}

/// Frames that one next hop carried, all CPUs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Its number.
    pub next_hop: u16,
    /// Frames.
    pub frames: u64,
    /// Their bytes as received.
    pub bytes: u64,
}

/// Next hops that carried anything.
pub(super) fn carried(rows: &MappedArray<u64>, cpus: usize) -> Vec<Carried> {
    let numbers = rows.len() / 2 / cpus;
    (0..numbers)
        .map(|number| {
            let sum = |field: usize| {
                (0..cpus)
                    .map(|cpu| rows.read((cpu * numbers + number) * 2 + field))
                    .sum()
            };
            Carried {
                next_hop: number as u16,
                frames: sum(0),
                bytes: sum(1),
            }
        })
        .filter(|carried| carried.frames > 0)
        .collect()
}
