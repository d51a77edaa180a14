//! Counts on their way from one process to another, which may be older or newer: reasons go by
//! their names.

use std::collections::BTreeMap;

use fastpath::forward::{Counted, LinkCount, PortCount, Reason};
use serde::{Deserialize, Serialize};

use crate::management_plane::forms::Count;

/// All that a router has counted of frames.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    ports: Vec<PortTotal>,
    /// By the interface index of a VLAN sub-interface.
    vlans: BTreeMap<u32, Count>,
    /// By the kernel's number of the table.
    tables: BTreeMap<u32, Count>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct PortTotal {
    ifindex: u32,
    core: u32,
    received: u64,
    received_bytes: u64,
    forwarded: u64,
    forwarded_bytes: u64,
    refused: u64,
    /// A router that hands no workers over does not say it.
    #[serde(default)]
    missed: u64,
    reasons: BTreeMap<String, u64>,
}

impl From<&Counted> for Totals {
    fn from(counted: &Counted) -> Self {
        let ports = counted.ports.iter();
        let ports = ports.filter(|(_, count)| **count != PortCount::default());
        let link = |(&of, &count): (&u32, &LinkCount)| (of, Count::from(count));
        Self {
            ports: ports.map(|(place, count)| port(*place, count)).collect(),
            vlans: counted.vlans.iter().map(link).collect(),
            tables: counted.tables.iter().map(link).collect(),
        }
    }
}

impl From<Totals> for Counted {
    fn from(totals: Totals) -> Self {
        let place = |total: &PortTotal| (total.ifindex, total.core);
        let ports = totals.ports.iter();
        let link = |(of, total): (u32, Count)| (of, LinkCount::from(total));
        Self {
            ports: ports.map(|total| (place(total), count(total))).collect(),
            vlans: totals.vlans.into_iter().map(link).collect(),
            tables: totals.tables.into_iter().map(link).collect(),
        }
    }
}

fn port((ifindex, core): (u32, u32), count: &PortCount) -> PortTotal {
    let reasons = count.reasons();
    PortTotal {
        ifindex,
        core,
        received: count.received,
        received_bytes: count.received_bytes,
        forwarded: count.forwarded,
        forwarded_bytes: count.forwarded_bytes,
        refused: count.refused,
        missed: count.missed,
        reasons: reasons
            .map(|(reason, frames)| (reason.name().to_owned(), frames))
            .collect(),
    }
}

/// A reason that is not known here any more counts for nothing.
fn count(total: &PortTotal) -> PortCount {
    let mut count = PortCount {
        received: total.received,
        received_bytes: total.received_bytes,
        forwarded: total.forwarded,
        forwarded_bytes: total.forwarded_bytes,
        refused: total.refused,
        missed: total.missed,
        ..PortCount::default()
    };
    for (place, reason) in Reason::ALL.iter().enumerate() {
        count.reasons[place] = total.reasons.get(reason.name()).copied().unwrap_or(0);
    }
    count
}
