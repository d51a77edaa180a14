//! Transmit: a burst for each egress port. What a full port does not take is dropped and counted,
//! not held back: a worker never waits.

use fastpath::forward::{Reason, Step};
use port::{Burst, Pool, Port, PortError};

use super::PortCounters;

/// Gives the burst to the port, counts both ways, and leaves the burst empty.
#[inline]
pub(super) fn step(
    port: &mut dyn Port,
    pool: &mut Pool,
    burst: &mut Burst,
    counters: &PortCounters,
) -> Result<(), PortError> {
    let offered = burst.len();
    counters.entered(Step::Transmit, offered);
    let bytes = |burst: &Burst| {
        burst
            .frames()
            .iter()
            .map(|frame| u64::from(frame.length()))
            .sum::<u64>()
    };
    let offered_bytes = bytes(burst);
    let result = port.transmit(pool, burst);
    let rest = burst.len();
    counters.forwarded.add((offered - rest) as u64);
    if rest == 0 {
        counters.forwarded_bytes.add(offered_bytes);
    } else {
        counters.forwarded_bytes.add(offered_bytes - bytes(burst));
        counters.not_forwarded(Reason::TransmitFull, rest);
        pool.release_all(burst);
    }
    result.map(drop)
}
