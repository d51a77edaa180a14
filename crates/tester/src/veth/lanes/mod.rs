//! A device between two cables, loaded by every core at once: what forwarding costs, core by core.
//!
//! ```text
//! [ generator: out ]──veth──[ in :dut: out ]──veth──[ in: sink ]
//! ```
//!
//! Both ways at once each end sends and counts, frame by frame by turns.
//!
//! Frames are made inside the kernel by a program run on live frames, and counted by a program at
//! the sink. Each core in use does its own part of everything: on core n runs the n-th generator,
//! the forwarding of its frames and their counting: what a core sends or forwards leaves by the
//! veth's queue n, which the core that filled it serves. So a rate on one core includes the
//! generator's work, and a rate on two is comparable to it; every core's frames go to all
//! destinations, whoever else sends. [`Load`] offers the frames in a closed loop, [`LanesRig`] at a
//! rate; where lost ones went is read from the interfaces ([`Losses`]). Namespaces and cables go
//! away with this value.
//!
//! What it cannot do: time a frame, check a payload, keep a rate to a ten-thousandth.
//! [`XdpRig`](super::XdpRig) does that, from one core.

mod ledger;
mod load;
mod rig;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bpf::attach::Request;
use bpf::program::Program;
use fastpath::generate::Destinations;
use fastpath::sink::{Checks, Sink};
use host::bed::{Bed, End, side};
use host::offload::Offload;
use host::{CoreId, Namespace};
pub use ledger::Losses;
pub use load::{Carried, Load, Pace};
pub use rig::LanesRig;

use crate::rig::Result;
use crate::sizes::Family;
use crate::trial::{Direction, OnCore};

/// The device's address towards the generator; the generator is the next one.
const INGRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// The device's address towards the sink; the next hops follow it.
const EGRESS: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 1);
/// The same for IPv6.
const INGRESS_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
const EGRESS_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 1, 0, 0, 0, 0, 0, 1);
/// Next hops behind the egress that routes can be given out to, all at the sink.
pub const NEXT_HOPS: u16 = 16;
/// MTU of the cables, bytes.
pub const MTU: u16 = 1500;

/// Generator's side, device and sink.
pub struct Lanes {
    generator: End,
    ingress: End,
    egress: End,
    sink_end: End,
    sink: Sink,
    cores: Vec<CoreId>,
    destinations: Destinations,
    /// Those behind the device's entrance, where frames go both ways.
    back: Option<Destinations>,
}

/// One way of frames through the device.
struct Way<'a> {
    /// Where they are sent.
    from: &'a End,
    /// Where the device takes them in.
    enters: &'a End,
    /// Where it sends them out.
    leaves: &'a End,
    /// The address that they come from.
    source: IpAddr,
    destinations: &'a Destinations,
}

impl Lanes {
    /// Builds it; `name` tells its namespaces from those of others. Frames go to `destinations`,
    /// all of one address family.
    ///
    /// # Errors
    /// Without root, or when the kernel refuses a namespace, a cable or a program.
    pub fn new(name: &str, cores: &[CoreId], destinations: Destinations) -> Result<Self> {
        Self::lay(name, cores, destinations, None)
    }

    /// As [`Lanes::new`], and as many frames come back to `back`, behind the device's entrance:
    /// as many destinations of the same family.
    ///
    /// # Errors
    /// As [`Lanes::new`].
    pub fn both_ways(
        name: &str,
        cores: &[CoreId],
        destinations: Destinations,
        back: Destinations,
    ) -> Result<Self> {
        Self::lay(name, cores, destinations, Some(back))
    }

    fn lay(
        name: &str,
        cores: &[CoreId],
        destinations: Destinations,
        back: Option<Destinations>,
    ) -> Result<Self> {
        let [generator, dut, far] = ["generator", "dut", "sink"].map(|end| format!("{name}-{end}"));
        // A frame is served by queue (core modulo queues), so there must be one for the highest
        // core number.
        let queues = cores.iter().map(|core| core.0 + 1).max().unwrap_or(1);
        let mut ingress = side(&dut, "in")
            .address(format!("{INGRESS}/24"))
            .switch(Offload::GenericReceive, true);
        let mut egress = side(&dut, "out").address(format!("{EGRESS}/24"));
        for next_hop in 1..=NEXT_HOPS {
            egress = egress.neighbour(next_hop_address(next_hop));
        }
        if back.is_some() {
            for next_hop in 1..=NEXT_HOPS {
                ingress = ingress.neighbour(next_hop_back(next_hop));
            }
            // A veth takes generated frames only where the other end does this or runs a program.
            egress = egress.switch(Offload::GenericReceive, true);
        }
        if matches!(destinations, Destinations::V6(_)) {
            ingress = ingress.address(format!("{INGRESS_V6}/64"));
            egress = egress.address(format!("{EGRESS_V6}/64"));
            for next_hop in 1..=NEXT_HOPS {
                egress = egress.neighbour(next_hop_address_v6(next_hop));
                if back.is_some() {
                    ingress = ingress.neighbour(next_hop_back_v6(next_hop));
                }
            }
        }
        let bed = Bed::plan()
            .queues(queues)
            .set(&dut, "net.ipv4.conf.all.rp_filter", "0")
            .set(&dut, "net.ipv4.conf.default.rp_filter", "0")
            .cable(side(&generator, "out"), ingress)
            .cable(egress, side(&far, "in"))
            .lay()?;
        if queues > 1 {
            for cable in bed.cables() {
                cable.a.keep_apart(cores)?;
                cable.b.keep_apart(cores)?;
            }
        }
        let mut sink = Sink::new(Checks::COUNT)?;
        let generator = bed.end(&generator, "out")?.clone();
        let sink_end = bed.end(&far, "in")?.clone();
        count_at(&mut sink, &sink_end)?;
        if back.is_some() {
            count_at(&mut sink, &generator)?;
        }
        Ok(Self {
            generator,
            ingress: bed.end(&dut, "in")?.clone(),
            egress: bed.end(&dut, "out")?.clone(),
            sink_end,
            sink,
            cores: cores.to_vec(),
            destinations,
            back,
        })
    }

    /// Has frames end where they enter the device, and the sink counts them there: what is carried
    /// then is what generator, cable and sink take without a device.
    ///
    /// # Errors
    /// When the kernel refuses the program there.
    pub fn end_at_entrance(&mut self) -> Result<()> {
        count_at(&mut self.sink, &self.ingress)?;
        if self.back.is_some() {
            count_at(&mut self.sink, &self.egress)?;
        }
        Ok(())
    }

    /// From the generator to the sink.
    fn there(&self) -> Way<'_> {
        Way {
            from: &self.generator,
            enters: &self.ingress,
            leaves: &self.egress,
            source: match self.family() {
                Family::Ipv4 => next_hop_back(1).into(),
                Family::Ipv6 => next_hop_back_v6(1).into(),
            },
            destinations: &self.destinations,
        }
    }

    /// The other way, where frames go both ways.
    fn back(&self) -> Option<Way<'_>> {
        Some(Way {
            from: &self.sink_end,
            enters: &self.egress,
            leaves: &self.ingress,
            source: match self.family() {
                Family::Ipv4 => next_hop_address(1).into(),
                Family::Ipv6 => next_hop_address_v6(1).into(),
            },
            destinations: self.back.as_ref()?,
        })
    }

    /// The protocol of the frames.
    pub fn family(&self) -> Family {
        match self.destinations {
            Destinations::V4(_) => Family::Ipv4,
            Destinations::V6(_) => Family::Ipv6,
        }
    }

    /// Which ways frames go.
    pub fn direction(&self) -> Direction {
        if self.back.is_some() {
            Direction::BothWays
        } else {
            Direction::OneWay
        }
    }

    /// The device's namespace.
    pub fn dut(&self) -> &Namespace {
        &self.ingress.namespace
    }

    /// The device's end of the cable from the generator.
    pub fn ingress(&self) -> &End {
        &self.ingress
    }

    /// The device's end of the cable to the sink.
    pub fn egress(&self) -> &End {
        &self.egress
    }

    /// The program that counts at the sink: what it drops elsewhere has arrived, too.
    pub fn sink_program(&self) -> &Program {
        self.sink.program()
    }

    /// The hardware address of every next hop behind the device's entrance.
    pub fn generator_mac(&self) -> [u8; 6] {
        self.generator.mac
    }

    /// The hardware address of every next hop.
    pub fn sink_mac(&self) -> [u8; 6] {
        self.sink_end.mac
    }

    /// Frames that have arrived on each of `cores`; arrivals on others are added to the last.
    fn arrived_per_core(&self, cores: &[CoreId]) -> Result<Vec<u64>> {
        let per_core = self.sink.frames_per_cpu()?;
        let count = |core: &CoreId| per_core.get(core.0 as usize).copied().unwrap_or(0);
        let mut counts: Vec<u64> = cores.iter().map(count).collect();
        let elsewhere = per_core.iter().sum::<u64>() - counts.iter().sum::<u64>();
        if let Some(last) = counts.last_mut() {
            *last += elsewhere;
        }
        Ok(counts)
    }

    /// Frames that have arrived since it was built.
    fn arrived(&self) -> Result<u64> {
        Ok(self.sink.frames_per_cpu()?.iter().sum())
    }

    /// The cores by which frames have arrived since counts of [`Sink::frames_per_cpu`] `before`.
    fn arrived_since(&self, before: &[u64]) -> Result<Vec<OnCore>> {
        let now = self.sink.frames_per_cpu()?;
        let risen = (0..).zip(now.iter().zip(before));
        let risen = risen.map(|(core, (now, before))| OnCore {
            core,
            frames: now - before,
        });
        Ok(risen.filter(|one| one.frames > 0).collect())
    }

    /// Names an interface that is not there any more.
    ///
    /// # Errors
    /// The first one that has vanished.
    pub fn check_interfaces(&self) -> Result<()> {
        for end in [&self.generator, &self.ingress, &self.egress, &self.sink_end] {
            end.namespace.interface_index(&end.interface)?;
        }
        Ok(())
    }
}

/// The address of a next hop, counted from 1: behind the device's egress.
pub fn next_hop_address(next_hop: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(EGRESS.to_bits() + u32::from(next_hop))
}

/// The same for IPv6.
pub fn next_hop_address_v6(next_hop: u16) -> Ipv6Addr {
    Ipv6Addr::from_bits(EGRESS_V6.to_bits() + u128::from(next_hop))
}

/// The address of a next hop, counted from 1: behind the device's entrance.
pub fn next_hop_back(next_hop: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(INGRESS.to_bits() + u32::from(next_hop))
}

/// The same for IPv6.
pub fn next_hop_back_v6(next_hop: u16) -> Ipv6Addr {
    Ipv6Addr::from_bits(INGRESS_V6.to_bits() + u128::from(next_hop))
}

/// Has `sink` count what arrives at an end.
fn count_at(sink: &mut Sink, end: &End) -> Result<()> {
    end.namespace
        .enter(|| sink.attach(&end.interface, Request::Any))??;
    Ok(())
}
