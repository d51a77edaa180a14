//! One set of counts from two who count: the program in the kernel, and the workers behind it.

use fastpath::forward::{Forwarder, PortCounts};

use crate::engine::workers::Cells;
use crate::engine::{Counters, ReasonCount, tables};

/// The program counts what stays in the kernel, on the core that received it; workers count the
/// rest, on theirs: `workers` now, those that have been stopped in `past`, by interface index and
/// core. A frame is counted as received where its fate was decided, so the sums close, and those
/// under way are not counted yet. The bytes of frames that workers lost are not counted.
pub(super) fn add_up(
    forwarder: &Forwarder,
    workers: impl Iterator<Item = Cells>,
    past: &PortCounts,
) -> Counters {
    let mut counters = Counters {
        vlans: forwarder.vlan_counts(),
        tables: forwarder.table_counts(),
        ..Counters::default()
    };
    for (place, count) in &forwarder.port_counters() {
        let port = counters.ports.entry(*place).or_default();
        port.received += count.not_forwarded();
        port.received_bytes += count.received_bytes.saturating_sub(count.forwarded_bytes);
        counters.reasons.extend(tables::reasons((place, count)));
    }
    let mut worked = past.clone();
    for (ifindex, core, cells) in workers {
        *worked.entry((ifindex, core)).or_default() += &cells.read();
    }
    for (&(ifindex, core), count) in &worked {
        let port = counters.ports.entry((ifindex, core)).or_default();
        port.received += count.forwarded + count.not_forwarded() + count.missed;
        port.received_bytes += count.forwarded_bytes;
        port.forwarded += count.forwarded;
        port.forwarded_bytes += count.forwarded_bytes;
        let dropped = count
            .reasons()
            .map(|(reason, frames)| (reason.name(), frames));
        let missed = (count.missed > 0).then_some(("socket-full", count.missed));
        let lost = dropped.chain(missed).map(|(reason, frames)| ReasonCount {
            ifindex,
            core,
            reason,
            // The kernel has given them away.
            punted: false,
            frames,
        });
        counters.reasons.extend(lost);
    }
    counters
}
