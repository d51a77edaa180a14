//! Counters as the program keeps them: a row for each CPU, which nobody else writes, summed by
//! whoever reads.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use bpf::map::{Map, MappedArray};
use fib::NextHop;

use super::{Reason, Step};

/// Places for ports: `PORTS` of the C source.
pub(super) const PORTS: usize = 64;
const FIELDS: usize = 5;
/// 64-bit words of `struct port_counters`, rounded up to whole cache lines.
const PORT_WORDS: usize = (FIELDS + Reason::COUNT).next_multiple_of(8);

/// The frames of one port as counted on one core, or a sum of such. The kernel's program counts
/// neither losses nor bursts nor steps: those are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortCount {
    /// Frames that came from the port.
    pub received: u64,
    /// Their bytes, without FCS. Of a frame in several buffers that is not IP the kernel's program
    /// counts only the first.
    pub received_bytes: u64,
    /// Frames that came from the port and that the port taken was handed and took.
    pub forwarded: u64,
    /// Their bytes, without FCS: as sent by a worker; as received by the kernel's program, and
    /// there with those of frames that the egress device refused.
    pub forwarded_bytes: u64,
    /// Frames that came from any port of the kernel's program and that this port's device did not
    /// take. Each is also under its reason at the port that it came from.
    pub refused: u64,
    /// Frames that the port lost before a worker could take them; not among the received.
    pub missed: u64,
    /// Bursts that held at least one frame.
    pub bursts: u64,
    /// Frames that entered each step, in the order of [`Step::ALL`].
    pub steps: [u64; Step::ALL.len()],
    /// Frames not forwarded, each under one reason, in the order of [`Reason::ALL`].
    pub reasons: [u64; Reason::COUNT],
}

/// Counts by interface index and core.
pub type PortCounts = BTreeMap<(u32, u32), PortCount>;

impl Default for PortCount {
    fn default() -> Self {
        Self {
            received: 0,
            received_bytes: 0,
            forwarded: 0,
            forwarded_bytes: 0,
            refused: 0,
            missed: 0,
            bursts: 0,
            steps: [0; Step::ALL.len()],
            reasons: [0; Reason::COUNT],
        }
    }
}

impl PortCount {
    /// Frames not forwarded for this reason.
    pub fn of(&self, reason: Reason) -> u64 {
        self.reasons[reason as usize]
    }

    /// Reasons with frames.
    pub fn reasons(&self) -> impl Iterator<Item = (Reason, u64)> + '_ {
        let counts = Reason::ALL.iter().copied().zip(self.reasons);
        counts.filter(|(_, frames)| *frames > 0)
    }

    /// Frames under the reason of this name.
    pub fn reason(&self, name: &str) -> u64 {
        let named = |reason: &&Reason| reason.name() == name;
        Reason::ALL
            .iter()
            .find(named)
            .map_or(0, |&reason| self.of(reason))
    }

    /// Frames that entered this step.
    pub fn entered(&self, step: Step) -> u64 {
        self.steps[step as usize]
    }

    /// Frames that were not forwarded.
    pub fn not_forwarded(&self) -> u64 {
        self.reasons.iter().sum()
    }

    /// Whether every received frame was forwarded or has its one reason. False is a defect of who
    /// counts, or a reading in the middle of a burst.
    pub fn closes(&self) -> bool {
        self.received == self.forwarded + self.not_forwarded()
    }

    /// What was counted after `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.with(earlier, u64::wrapping_sub)
    }

    fn with(&self, other: &Self, each: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            received: each(self.received, other.received),
            received_bytes: each(self.received_bytes, other.received_bytes),
            forwarded: each(self.forwarded, other.forwarded),
            forwarded_bytes: each(self.forwarded_bytes, other.forwarded_bytes),
            refused: each(self.refused, other.refused),
            missed: each(self.missed, other.missed),
            bursts: each(self.bursts, other.bursts),
            steps: std::array::from_fn(|step| each(self.steps[step], other.steps[step])),
            reasons: std::array::from_fn(|at| each(self.reasons[at], other.reasons[at])),
        }
    }
}

impl AddAssign<&Self> for PortCount {
    fn add_assign(&mut self, other: &Self) {
        *self = self.with(other, u64::wrapping_add);
    }
}

pub(super) fn port(rows: &MappedArray<u64>, cpu: usize, number: usize) -> PortCount {
    let at = (cpu * PORTS + number) * PORT_WORDS;
    PortCount {
        received: rows.read(at),
        received_bytes: rows.read(at + 1),
        forwarded: rows.read(at + 2),
        forwarded_bytes: rows.read(at + 3),
        refused: rows.read(at + 4),
        reasons: std::array::from_fn(|reason| rows.read(at + FIELDS + reason)),
        ..PortCount::default()
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

/// What one next hop carried, all CPUs together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Frames.
    pub frames: u64,
    /// Their bytes as received.
    pub bytes: u64,
}

/// Of one next hop: there is room for 65,536 on each CPU, too many to be looked at together.
pub(super) fn carried(rows: &MappedArray<u64>, cpus: usize, next_hop: NextHop) -> Carried {
    let sum = |field: usize| {
        let cells = cells(rows, cpus, next_hop);
        cells.map(|at| rows.read(at + field)).sum()
    };
    Carried {
        frames: sum(0),
        bytes: sum(1),
    }
}

/// Begins anew for one next hop.
pub(super) fn forget(rows: &MappedArray<u64>, cpus: usize, next_hop: NextHop) {
    for at in cells(rows, cpus, next_hop) {
        rows.write(at, 0);
        rows.write(at + 1, 0);
    }
}

/// Where each CPU counts for a next hop: frames, and behind them bytes.
fn cells(
    rows: &MappedArray<u64>,
    cpus: usize,
    next_hop: NextHop,
) -> impl Iterator<Item = usize> + use<> {
    let numbers = rows.len() / 2 / cpus;
    (0..cpus).map(move |cpu| (cpu * numbers + usize::from(next_hop.0)) * 2)
}
