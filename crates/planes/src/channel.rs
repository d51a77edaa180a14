//! What the channel between two planes costs: one way, there and back, packets a second.

use std::time::{Duration, Instant};

use agent::protocol::{Command, ticks};
use figures::{median, quantile};
use icc::{Link, LinkError, Mapping};
use serde::{Deserialize, Serialize};

use crate::control::{answer, begin};
use crate::error::Error;

/// Exchanges of the latency measurement.
const EXCHANGES: u64 = 20_000;
/// Packets of the rate measurement, of this many bytes each.
const PACKETS: u64 = 200_000;
const PACKET_BYTES: usize = 64;
/// So long one packet waits for room, beside whatever else the agent's core does.
const PATIENCE: Duration = Duration::from_secs(2);

/// A channel measured between this thread and an agent on another core.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Channel {
    /// From a scalar's sending to its arrival at the agent, median, ns, by the processor's own
    /// tick counter, which kernels on one machine share. `None` where there is none, or where a
    /// virtual machine has its own.
    pub one_way_ns: Option<f64>,
    /// From its sending to the arrival of the answer, median, ns.
    pub round_trip_ns: f64,
    /// The same, 99th percentile.
    pub round_trip_p99_ns: f64,
    /// Packets of 64 bytes a second, one direction.
    pub packets_per_second: f64,
}

/// Measures the channel to an agent that is otherwise idle, and says whether it reads the same tick
/// counter as we do. Takes about a second.
///
/// # Errors
/// [`Error`].
pub fn measure(link: &mut Link<Mapping>, shared_ticks: bool) -> Result<Channel, Error> {
    begin(link, &Command::Echo { count: EXCHANGES })?;
    let (since, first) = (Instant::now(), ticks());
    let (mut there, mut back) = (Vec::new(), Vec::new());
    for _ in 0..EXCHANGES {
        let sent = Instant::now();
        link.send_scalar(ticks())?;
        let took = loop {
            match link.receive_scalar()? {
                Some(took) => break took,
                None if sent.elapsed() > Duration::from_secs(1) => {
                    return Err(Error::Silent(1));
                }
                None => std::hint::spin_loop(),
            }
        };
        there.push(took as f64);
        back.push(sent.elapsed().as_nanos() as f64);
    }
    let ns_per_tick =
        since.elapsed().as_nanos() as f64 / ticks().saturating_sub(first).max(1) as f64;
    answer(link)?;

    begin(link, &Command::Drain { count: PACKETS })?;
    let since = Instant::now();
    let packet = [0x5a; PACKET_BYTES];
    for _ in 0..PACKETS {
        let begun = Instant::now();
        loop {
            match link.send_packet(&packet) {
                Ok(()) => break,
                Err(LinkError::Full) if begun.elapsed() < PATIENCE => {
                    std::hint::spin_loop();
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
    answer(link)?;
    let packets_per_second = PACKETS as f64 / since.elapsed().as_secs_f64();
    Ok(Channel {
        one_way_ns: (shared_ticks && ticks() != 0).then(|| median(&there) * ns_per_tick),
        round_trip_ns: median(&back),
        round_trip_p99_ns: quantile(&back, 0.99),
        packets_per_second,
    })
}
