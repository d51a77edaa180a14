//! One transfer, measured.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use host::observe::Times;
use host::{CoreId, Pinned, Topology, cleanup};

use crate::error::Error;
use crate::flow::Flow;
use crate::load::Transfer;
use crate::site::Site;

const BITS_PER_BYTE: f64 = 8.0;

/// What a transfer gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carried {
    /// Payload that arrived, bits a second.
    pub payload_bits_per_second: f64,
    /// The same with all headers and FCS; `None` for TCP, whose frames are the kernel's to size.
    pub layer_2_bits_per_second: Option<f64>,
    /// Busy time of all cores of the machine, seconds, for each 10^9 bits of payload; `None` when
    /// none arrived. The kernel counts it in hundredths of a second.
    pub cpu_seconds_per_gigabit: Option<f64>,
    /// Share of all cores' time that the hypervisor gave to others.
    pub steal: f64,
    /// TCP segments that were sent again.
    pub repeated_segments: u64,
    /// Share of the datagrams' payload that never arrived.
    pub lost: f64,
    /// Flows through which nothing came in the second half: the transfer was cut, or waited.
    pub silent_flows: usize,
}

/// What the flows had done at one moment.
struct Reading {
    at: Instant,
    arrived: Vec<u64>,
    repeated: u64,
    times: Times,
}

impl Reading {
    fn now(flows: &[Flow], cores: &[CoreId]) -> Self {
        Self {
            at: Instant::now(),
            arrived: flows.iter().map(|flow| flow.counts.arrived.get()).collect(),
            repeated: flows.iter().map(Flow::repeated).sum(),
            times: Times::now(cores),
        }
    }
}

/// Transfers across the site for `warm_up`, then for `duration`, which alone counts. The sender of
/// a flow has one of `cores`, its receiver the next one.
///
/// # Errors
/// A host that does not answer, an option that the kernel does not have, a core that is refused, a
/// signal. A transfer that is cut while it runs is no error: [`Carried::silent_flows`].
pub fn carry(
    site: &Site,
    cores: &[CoreId],
    transfer: Transfer,
    warm_up: Duration,
    duration: Duration,
) -> Result<Carried, Error> {
    let flows = (1..=transfer.flows)
        .map(|number| Flow::open(site, transfer, number))
        .collect::<Result<Vec<Flow>, Error>>()?;
    let machine: Vec<CoreId> = Topology::read().cores.iter().map(|core| core.id).collect();
    let stop = AtomicBool::new(false);
    let readings = thread::scope(|scope| {
        let mut ends = Vec::new();
        for (number, flow) in flows.iter().enumerate() {
            let stop = &stop;
            let core = |place: usize| cores.get(place % cores.len().max(1)).copied();
            let (near, far) = (core(number), core(number + 1));
            ends.push(scope.spawn(move || on(near, || flow.send(stop))));
            ends.push(scope.spawn(move || on(far, || flow.receive(stop))));
        }
        // Nothing here may return before the ends are told to stop.
        let pauses = [warm_up, duration / 2, duration / 2];
        let readings = pauses.map(|pause| {
            thread::sleep(pause);
            Reading::now(&flows, &machine)
        });
        stop.store(true, Ordering::Relaxed);
        flows.iter().for_each(Flow::end);
        for end in ends {
            end.join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        Ok::<_, Error>(readings)
    })?;
    cleanup::check()?;
    Ok(between(&readings, &flows, transfer, site.mtu()))
}

/// Runs one end of a flow on its core.
fn on(core: Option<CoreId>, work: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
    let _pinned = core.map(Pinned::to).transpose()?;
    work()
}

/// What came from the first reading to the last; the one between tells the halves apart.
fn between(
    [first, middle, last]: &[Reading; 3],
    flows: &[Flow],
    transfer: Transfer,
    mtu: u16,
) -> Carried {
    let sum = |reading: &Reading| reading.arrived.iter().sum::<u64>();
    let seconds = (last.at - first.at).as_secs_f64();
    let bits = (sum(last) - sum(first)) as f64 * BITS_PER_BYTE;
    let rate = bits / seconds;
    let layer_2 = transfer.load.layer_2_share(mtu);
    let times = first.times.until(&last.times);
    let halves = middle.arrived.iter().zip(&last.arrived);
    let lost: u64 = flows.iter().map(Flow::lost).sum();
    let sent: u64 = flows.iter().map(|flow| flow.counts.sent.get()).sum();
    Carried {
        payload_bits_per_second: rate,
        layer_2_bits_per_second: layer_2.map(|share| rate * share),
        cpu_seconds_per_gigabit: (bits > 0.0).then(|| times.busy / (bits / 1e9)),
        steal: times.steal / times.total().max(f64::MIN_POSITIVE),
        repeated_segments: last.repeated.saturating_sub(first.repeated),
        lost: lost as f64 / sent.max(1) as f64,
        silent_flows: halves.filter(|(middle, last)| middle == last).count(),
    }
}
