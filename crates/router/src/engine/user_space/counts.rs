//! One set of counts from two who count: the program in the kernel, and the workers behind it.

use std::collections::BTreeMap;

use fastpath::forward::{Forwarder, Reason};

use crate::engine::workers::Workers;
use crate::engine::{Counters, PortCount, ReasonCount, tables};
use crate::user_plane;

/// The program counts what stays in the kernel, on the core that received it; workers count the
/// rest, on theirs, those that have been stopped in `past`, by interface index and core. A frame is
/// counted as received where its fate was decided, so the sums close, and those under way are not
/// counted yet. The bytes of frames that workers lost are not counted.
pub(super) fn add_up(
    forwarder: &Forwarder,
    workers: &Workers,
    past: &BTreeMap<(u32, u32), user_plane::PortCount>,
) -> Counters {
    let mut counters = Counters::default();
    let mut ports: BTreeMap<(u32, u32), PortCount> = BTreeMap::new();
    let mut row = |ifindex, core, add: &dyn Fn(&mut PortCount)| {
        add(ports.entry((ifindex, core)).or_insert(PortCount {
            ifindex,
            core,
            ..PortCount::default()
        }));
    };
    for count in forwarder.port_counters() {
        let kept: u64 = count.reasons.iter().sum();
        row(count.ifindex, count.cpu, &|port| {
            port.received += kept;
            port.received_bytes += count.received_bytes.saturating_sub(count.forwarded_bytes);
        });
        counters.reasons.extend(tables::reasons(&count));
    }
    let mut worked = past.clone();
    for (ifindex, core, cells) in workers.counters() {
        *worked.entry((ifindex, core)).or_default() += &cells.read();
    }
    for (&(ifindex, core), count) in &worked {
        let lost: Vec<_> = Reason::ALL
            .iter()
            .map(|&reason| (reason.name(), count.of(reason)))
            .chain([("socket-full", count.missed)])
            .filter(|&(_, frames)| frames > 0)
            .collect();
        let dropped: u64 = lost.iter().map(|(_, frames)| frames).sum();
        row(ifindex, core, &|port| {
            port.received += count.forwarded + dropped;
            port.received_bytes += count.forwarded_bytes;
            port.forwarded += count.forwarded;
            port.forwarded_bytes += count.forwarded_bytes;
        });
        counters
            .reasons
            .extend(lost.into_iter().map(|(reason, frames)| ReasonCount {
                ifindex,
                core,
                reason,
                // The kernel has given them away.
                punted: false,
                frames,
            }));
    }
    counters.ports = ports.into_values().collect();
    counters.next_hops.extend(tables::carried(forwarder));
    counters
}
