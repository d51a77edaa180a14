//! Trials with the generator and the sink of crate `fastpath`.

use bpf::attach::{Attachment, Request};
use fastpath::generate::Generator;
use fastpath::sink::{Checks, Sink};
use host::clock::now_ns;
use host::{CoreId, Namespace, Pinned};

use super::generators::{Made, attic};
use super::sending::Sending;
use crate::clock::wait_until;
use crate::disturbance::Watch;
use crate::engine::Macs;
use crate::privilege::Privilege;
use crate::rig::{Event, Rig, RigError};
use crate::schedule::Pacer;
use crate::trial::{Order, Trial};

/// Most frames in one call, where the rate makes so many due at once.
const BATCH: u32 = 256;
/// Between two looks for residual frames, ns.
const LOOK_NS: u64 = 200_000;
/// The part of a trial's length for which others get the cores after it: 1/16 is more than the 50
/// ms in a second that the kernel would else take for them in the midst of one.
const REST: u64 = 16;
/// Sequence numbers remembered for a stream: what a trial may send for its losses to be located.
const WINDOW: u32 = 1 << 21;

/// One end of the tester.
#[derive(Debug, Clone)]
pub struct End {
    /// Where the interface is; `None` for the namespace of the process.
    pub namespace: Option<Namespace>,
    /// Its name.
    pub interface: String,
    /// Its index there.
    pub index: u32,
    /// Hardware addresses on both sides of the cable.
    pub macs: Macs,
}

/// Two ends with something between them.
pub struct XdpRig {
    pub(super) ends: Vec<End>,
    pub(super) sinks: Vec<Sink>,
    pub(super) generators: Vec<(usize, Generator)>,
    /// Where the generators' programs are parked, so that short calls are quick.
    pub(super) attic: Namespace,
    pub(super) parked: Vec<Attachment>,
    pub(super) made: Option<Made>,
    pub(super) core: CoreId,
    pub(super) number: u32,
    pub(super) seed: u64,
    ceiling: f64,
    line_rate: Option<f64>,
    description: String,
    /// Kernel threads that take part: those of the device and of the sink.
    threads: Vec<u32>,
}

impl XdpRig {
    /// Attaches a sink to both ends. Trials generate on `core`.
    ///
    /// # Errors
    /// A port has an XDP program already, or the kernel refuses ours.
    pub fn new(ends: &[End; 2], core: CoreId, what: &str, seed: u64) -> Result<Self, RigError> {
        let checks = Checks {
            streams: 1,
            window: WINDOW,
            ..Checks::ALL
        };
        let mut modes = Vec::new();
        let mut sinks = Vec::new();
        for end in ends {
            let mut sink = Sink::new(checks)?;
            modes.push(within(end, || sink.attach(&end.interface, Request::Any))??.to_string());
            sinks.push(sink);
        }
        let names: Vec<String> = ends
            .iter()
            .zip(&modes)
            .map(|(end, mode)| format!("{} ({mode} XDP)", end.interface))
            .collect();
        Ok(Self {
            description: format!(
                "in-kernel generator on core {core} and in-kernel sink, {} through {what}; \
                 payload bytes not compared",
                names.join(" and ")
            ),
            ends: ends.to_vec(),
            sinks,
            generators: Vec::new(),
            attic: attic()?,
            parked: Vec::new(),
            made: None,
            core,
            number: 0,
            seed,
            ceiling: 20e6,
            line_rate: None,
            threads: Vec::new(),
        })
    }

    /// Names kernel threads that take part: a trial in which they had to wait for their core is
    /// noisy.
    #[must_use]
    pub fn watching(mut self, threads: &[u32]) -> Self {
        self.threads = threads.to_vec();
        self
    }

    /// States the rate of the medium, bits per second.
    #[must_use]
    pub fn with_line_rate(mut self, bits_per_second: Option<f64>) -> Self {
        self.line_rate = bits_per_second;
        self
    }

    /// Frames that the sinks have seen, ours and others.
    fn arrived(&self) -> Result<u64, RigError> {
        let mut sum = 0;
        for sink in &self.sinks {
            sum += sink.counts()?.frames;
        }
        Ok(sum)
    }

    /// Waits until nothing has come for `quiet_ns`, `all` have, or `limit_ns` is over.
    fn settle(&self, limit_ns: u64, quiet_ns: u64, all: u64) -> Result<(), RigError> {
        let start = now_ns();
        let (mut seen, mut since) = (self.arrived()?, start);
        loop {
            let now = now_ns();
            if seen >= all || now - start >= limit_ns || (seen > 0 && now - since >= quiet_ns) {
                return Ok(());
            }
            if host::interrupted() {
                return Err(RigError::Interrupted);
            }
            wait_until(now + LOOK_NS, host::interrupted);
            let arrived = self.arrived()?;
            if arrived != seen {
                (seen, since) = (arrived, now_ns());
            }
        }
    }

    /// Fails when one of the ends is no more: frames into it would be counted as sent, and as lost
    /// by the device.
    fn present(&self) -> Result<(), RigError> {
        for end in &self.ends {
            let found = within(end, || bpf::attach::index_of(&end.interface))?;
            if !found.is_ok_and(|index| index == end.index) {
                let name = end.interface.clone();
                return Err(port::PortError::Gone { name }.into());
            }
        }
        Ok(())
    }

    fn clear(&self) -> Result<(), RigError> {
        for sink in &self.sinks {
            sink.clear()?;
        }
        Ok(())
    }
}

/// Runs something in the namespace of an end.
pub(super) fn within<R: Send>(end: &End, work: impl FnOnce() -> R + Send) -> Result<R, RigError> {
    match &end.namespace {
        Some(namespace) => Ok(namespace.enter(work)?),
        None => Ok(work()),
    }
}

impl Rig for XdpRig {
    fn run(
        &mut self,
        order: &Order,
        purpose: &str,
        event: Option<Event<'_>>,
    ) -> Result<Trial, RigError> {
        self.number += 1;
        self.prepare(order)?;
        let _pinned = Pinned::to(self.core);
        let privilege = Privilege::during(&order.schedule, &self.threads, event.is_none());
        for (_, generator) in &mut self.generators {
            generator.pace(0, 1.0, 1);
            generator.send(1)?;
        }
        wait_until(now_ns() + order.waits.learning_ns, host::interrupted);
        self.clear()?;
        let mut sending: Vec<Sending> = self
            .generators
            .iter()
            .map(|(_, generator)| Sending {
                pacer: Pacer::new(&order.schedule, BATCH),
                base: generator.sent(),
                first_ns: 0,
                last_ns: 0,
            })
            .collect();
        let begun = now_ns();
        let cores = [self.core];
        let watch = Watch::new(&cores, &self.threads);
        let sent = std::thread::scope(|scope| {
            if let Some(event) = event {
                let at = now_ns() + event.at_ns;
                scope.spawn(move || {
                    wait_until(at, host::interrupted);
                    (event.action)();
                });
            }
            if self.made.as_ref().is_some_and(|made| made.timetable) {
                self.send_by_timetable(order, &mut sending[0], event.is_some())
            } else {
                self.send(order, &mut sending)
            }
        });
        let noise = watch.end();
        let seen = sent?;
        let expected = sending
            .iter()
            .zip(&self.generators)
            .map(|(state, (_, generator))| generator.sent() - state.base)
            .sum();
        self.settle(order.waits.residual_ns, order.waits.quiet_ns, expected)?;
        self.present()?;
        drop(privilege);
        // What has been counted last may still be duplicates; a moment more costs nothing.
        let record = self.record(order, purpose, &sending, &seen, &noise)?;
        let now = now_ns();
        let rest = order.waits.settle_ns.max((now - begun) / REST);
        wait_until(now + rest, host::interrupted);
        Ok(record)
    }

    fn describe(&self) -> String {
        self.description.clone()
    }

    fn line_rate(&self) -> Option<f64> {
        self.line_rate
    }

    fn ceiling(&self) -> f64 {
        self.ceiling
    }
}
