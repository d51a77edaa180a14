//! What the channel between two planes costs: one way, there and back, packets a second.

use std::time::{Duration, Instant};

use agent::protocol::{AGENT, CONTROL, Command, ticks};
use icc::{Link, LinkError, Mapping, Priority};
use serde::{Deserialize, Serialize};

use crate::control::{AGENT_TURN, ControlError, answer};

/// Exchanges of the latency measurement.
const EXCHANGES: u64 = 20_000;
/// Packets of the rate measurement, of this many bytes each.
const PACKETS: u64 = 200_000;
const PACKET_BYTES: usize = 64;

/// A channel measured between this thread and an agent on another core.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
/// [`ControlError`].
pub fn measure(link: &mut Link<Mapping>, shared_ticks: bool) -> Result<Channel, ControlError> {
    let tell = |link: &mut Link<Mapping>, command: &Command| -> Result<(), ControlError> {
        let text = serde_json::to_vec(command).map_err(ControlError::Answer)?;
        link.send_message(CONTROL, AGENT, Priority::Normal, &text)?;
        std::thread::sleep(AGENT_TURN);
        Ok(())
    };
    // Counters that nobody has read would be taken for answers of the measurement.
    while link.receive_packet(&mut [0; 64])?.is_some() {}
    tell(link, &Command::Echo { count: EXCHANGES })?;
    let begin = (Instant::now(), ticks());
    let (mut there, mut back) = (Vec::new(), Vec::new());
    for _ in 0..EXCHANGES {
        let sent = Instant::now();
        link.send_scalar(ticks())?;
        let took = loop {
            match link.receive_scalar()? {
                Some(took) => break took,
                None if sent.elapsed() > Duration::from_secs(1) => {
                    return Err(ControlError::Silent);
                }
                None => std::hint::spin_loop(),
            }
        };
        there.push(took);
        back.push(sent.elapsed().as_nanos() as u64);
    }
    let ns_per_tick =
        begin.0.elapsed().as_nanos() as f64 / ticks().saturating_sub(begin.1).max(1) as f64;
    answer(link)?;

    tell(link, &Command::Drain { count: PACKETS })?;
    let begin = Instant::now();
    let packet = [0x5a; PACKET_BYTES];
    for _ in 0..PACKETS {
        loop {
            match link.send_packet(&packet) {
                Ok(()) => break,
                Err(LinkError::Full) if begin.elapsed() < Duration::from_secs(2) => {
                    std::hint::spin_loop();
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
    answer(link)?;
    let packets_per_second = PACKETS as f64 / begin.elapsed().as_secs_f64();

    there.sort_unstable();
    back.sort_unstable();
    let share = |times: &[u64], share: f64| {
        let index = (share * (times.len() - 1) as f64) as usize;
        times.get(index).copied().unwrap_or(0) as f64
    };
    Ok(Channel {
        one_way_ns: (shared_ticks && ticks() != 0).then(|| share(&there, 0.5) * ns_per_tick),
        round_trip_ns: share(&back, 0.5),
        round_trip_p99_ns: share(&back, 0.99),
        packets_per_second,
    })
}
