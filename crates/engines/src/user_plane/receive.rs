//! Receive: a burst comes from a port.

use fastpath::forward::Step;
use port::{Burst, Pool, Port, PortError};

use super::PortCounters;

/// Takes a burst and counts it; says how many frames.
#[inline]
pub(super) fn step(
    port: &mut dyn Port,
    pool: &mut Pool,
    burst: &mut Burst,
    counters: &PortCounters,
) -> Result<usize, PortError> {
    let count = port.receive(pool, burst)?;
    if count > 0 {
        let bytes: u64 = burst
            .frames()
            .iter()
            .map(|frame| u64::from(frame.length()))
            .sum();
        counters.bursts.add(1);
        counters.received.add(count as u64);
        counters.received_bytes.add(bytes);
        counters.entered(Step::Receive, count);
        counters.entered(Step::EthernetInput, count);
    }
    Ok(count)
}
