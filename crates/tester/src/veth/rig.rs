//! Trials with the generator and the sink of crate `fastpath`.

use bpf::attach::Request;
use fastpath::sink::{Checks, Sink};
use host::clock::now_ns;
use host::{CoreId, Pinned};

use super::end::End;
use super::generators::{GENERATOR, Generators};
use super::record::record;
use super::sending::{Sending, send, send_by_timetable};
use crate::clock::wait_until;
use crate::conduct::conducted;
use crate::privilege::Privilege;
use crate::rig::{Event, Result, Rig, RigError};
use crate::trial::{Order, Trial};

/// Between two looks for residual frames, ns.
const LOOK_NS: u64 = 200_000;
/// The part of a trial's length for which others get the cores after it: 1/16 is more than the 50
/// ms in a second that the kernel would else take for them in the midst of one.
const REST: u64 = 16;
/// Rate at which searches begin, frames/s: beyond what one core makes.
const CEILING: f64 = 20e6;
/// Sequence numbers remembered for a stream: what a trial may send for its losses to be located.
const WINDOW: u32 = 1 << 21;

/// What a port needs to take frames from a program in the kernel.
const TAKES: &str = "a veth takes frames of a program only when its other end has an XDP program or \
                     generic receive offload. Type ethtool -K OTHER-END gro on, or use --generator \
                     packet";

/// Fewer than one in so many is none.
const FEW: u64 = 10;

/// Two ends with something between them.
pub struct XdpRig {
    ends: Vec<End>,
    sinks: Vec<Sink>,
    generators: Generators,
    core: CoreId,
    number: u32,
    seed: u64,
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
    pub fn new(ends: &[End; 2], core: CoreId, what: &str, seed: u64) -> Result<Self> {
        let checks = Checks {
            streams: 1,
            window: WINDOW,
            ..Checks::ALL
        };
        let mut names = Vec::new();
        let mut sinks = Vec::new();
        for end in ends {
            let mut sink = Sink::new(checks)?;
            let mode = end.enter(|| sink.attach(&end.interface, Request::Any))??;
            names.push(format!("{} ({mode} XDP)", end.interface));
            sinks.push(sink);
        }
        Ok(Self {
            description: format!(
                "in-kernel generator on core {core} and in-kernel sink, {} through {what}; \
                 payload bytes not compared",
                names.join(" and ")
            ),
            ends: ends.to_vec(),
            sinks,
            generators: Generators::default(),
            core,
            number: 0,
            seed,
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
    fn arrived(&self) -> Result<u64> {
        let counts = self.sinks.iter().map(|sink| Ok(sink.counts()?.frames));
        counts.sum()
    }

    /// Whether the last frame of each generator has come.
    fn last_came(&self) -> bool {
        let mut generators = self.generators.list.iter();
        generators
            .all(|(from, generator)| self.sinks[from ^ 1].largest(0) == generator.sent() as u32)
    }

    /// Waits until nothing has come for `quiet_ns`, `all` have, or `limit_ns` is over.
    fn settle(&self, limit_ns: u64, quiet_ns: u64, all: u64) -> Result<()> {
        let start = now_ns();
        let (mut seen, mut since) = (self.arrived()?, start);
        loop {
            let now = now_ns();
            let complete = seen >= all && self.last_came();
            if complete || now - start >= limit_ns || (seen > 0 && now - since >= quiet_ns) {
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

    /// What the sending ports have sent, as the kernel counts.
    fn transmitted(&self) -> Result<Vec<Option<u64>>> {
        let generators = self.generators.list.iter();
        let sent = generators.map(|(from, _)| self.ends[*from].transmitted());
        sent.collect()
    }

    /// Fails when nothing came and a port took none of the frames that were handed to it: then the
    /// device has not seen any.
    fn accepted(&self, sending: &[Sending], before: &[Option<u64>]) -> Result<()> {
        if self.arrived()? > 0 {
            return Ok(());
        }
        let after = self.transmitted()?;
        let generators = self.generators.list.iter().zip(sending);
        for (((from, generator), state), (before, after)) in
            generators.zip(before.iter().zip(after))
        {
            let handed = generator.sent() - state.base;
            let (Some(before), Some(after)) = (before, after) else {
                continue;
            };
            // The kernel sends some of its own meanwhile: neighbour and group messages.
            if after.saturating_sub(*before) * FEW < handed {
                let port = &self.ends[*from].interface;
                let what = format!("send into {port}: it took none of {handed} frames");
                return Err(RigError::unable(GENERATOR, &what, TAKES));
            }
        }
        Ok(())
    }

    /// Fails when one of the ends is no more: frames into it would be counted as sent, and as lost
    /// by the device.
    fn present(&self) -> Result<()> {
        for end in &self.ends {
            let found = end.enter(|| bpf::attach::index_of(&end.interface))?;
            if !found.is_ok_and(|index| index == end.index) {
                let name = end.interface.clone();
                return Err(port::PortError::Gone { name }.into());
            }
        }
        Ok(())
    }
}

impl Rig for XdpRig {
    fn run(&mut self, order: &Order, purpose: &str, event: Option<Event<'_>>) -> Result<Trial> {
        self.number += 1;
        self.generators.prepare(order, &self.ends, self.seed)?;
        let _pinned = Pinned::to(self.core);
        let privilege = Privilege::during(&order.schedule, &self.threads, event.is_none());
        for (_, generator) in &mut self.generators.list {
            generator.pace(0, 1.0, 1);
            generator.send(1)?;
        }
        wait_until(now_ns() + order.waits.learning_ns, host::interrupted);
        let since = now_ns();
        for sink in &self.sinks {
            sink.restart(since)?;
        }
        let transmitted = self.transmitted()?;
        let by_timetable = self.generators.keep_timetable();
        let (generators, sinks) = (&mut self.generators.list, &self.sinks);
        let mut sending: Vec<Sending> = generators
            .iter()
            .map(|(_, generator)| Sending::new(order, generator.sent()))
            .collect();
        let begun = now_ns();
        let watch = event.is_some();
        let (sent, noise) = conducted(Some(self.core), event, &self.threads, || {
            match (&mut generators[..], &mut sending[..]) {
                ([(from, generator)], [state]) if by_timetable => {
                    send_by_timetable(generator, &sinks[*from ^ 1], order, state, watch)
                }
                (generators, sending) => send(generators, sinks, order, sending),
            }
        });
        let seen = sent?;
        let expected = sending
            .iter()
            .zip(&*generators)
            .map(|(state, (_, generator))| generator.sent() - state.base)
            .sum();
        self.settle(order.waits.residual_ns, order.waits.quiet_ns, expected)?;
        self.present()?;
        self.accepted(&sending, &transmitted)?;
        drop(privilege);
        // What has been counted last may still be duplicates; a moment more costs nothing.
        let record = record(
            (self.number, purpose),
            order,
            (&self.generators.list, &self.sinks),
            (&sending, &seen),
            &noise,
        )?;
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
        CEILING
    }
}
