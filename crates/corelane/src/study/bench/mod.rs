//! The bench for engines between Linux interfaces: generator, device under test and sink in namespaces of their own.
//!
//! ```text
//! [ generator: out ]──veth──[ in :dut: out ]──veth──[ in: sink ]
//! ```
//!
//! Frames are made inside the kernel by a program run on live frames, and counted by a program at the sink. Each of the cores in
//! use carries its own share of everything: on core n runs the n-th generator, the forwarding of its frames (the veth's queue n is
//! served by the core that filled it) and their counting. So a rate on one core includes the generator's work, and a rate on two is
//! comparable to it. The namespaces and cables go away with this value.

mod flood;
mod paced;

use std::net::Ipv4Addr;
use std::thread;
use std::time::Duration;

use fastpath::attach::Request;
use fastpath::sink::{Checks, Sink};
use fib::NextHopEntry;
use fib::next_hop::Kind;
use host::namespace::End;
use host::{CoreId, Namespace, Veth};

pub(crate) use flood::Flood;
pub(crate) use paced::{GRACE, Offered, Paced};

use super::Error;

/// The device's address towards the generator; the generator is the next one.
const INGRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// The device's address towards the sink; the next hops follow it.
const EGRESS: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 1);
/// Next hops that routes are given out to, all at the sink.
pub(crate) const NEXT_HOPS: u16 = 16;
/// MTU of the cables.
pub(crate) const MTU: u16 = 1500;
/// Bytes of the frame check sequence, which no software sees.
const FCS: u32 = 4;
/// Pause after which two equal readings of the sink mean that nothing is on its way any more.
const DRAIN: Duration = Duration::from_millis(2);
/// Readings of the sink at most: the device may hold frames no longer than this many pauses.
const DRAIN_READINGS: usize = 50;

/// Generator's side, device and sink.
pub(crate) struct Bench {
    /// The generator's end of the cable to the device.
    generator: End,
    /// The device's end of the cable from the generator.
    pub(crate) ingress: End,
    /// The device's end of the cable to the sink.
    pub(crate) egress: End,
    /// The sink's end.
    sink_end: End,
    sink: Sink,
    cores: Vec<CoreId>,
    destinations: Vec<u32>,
}

impl Bench {
    /// Builds it; `name` tells this bench's namespaces from those of others.
    ///
    /// # Errors
    /// Without root, or when the kernel refuses a namespace, a cable or a program.
    pub(crate) fn new(name: &str, cores: &[CoreId], destinations: &[u32]) -> Result<Self, Error> {
        let generator = Namespace::new(&format!("{name}-generator"))?;
        let dut = Namespace::new(&format!("{name}-dut"))?;
        let sink_side = Namespace::new(&format!("{name}-sink"))?;
        // A frame is served by queue (core modulo queues), so there must be one for the highest core number.
        let queues = cores.iter().map(|core| core.0 + 1).max().unwrap_or(1);
        let input = Veth::new((&generator, "out"), (&dut, "in"), queues)?;
        let output = Veth::new((&dut, "out"), (&sink_side, "in"), queues)?;
        dut.ip(["address", "add", &format!("{INGRESS}/24"), "dev", "in"])?;
        dut.ip(["address", "add", &format!("{EGRESS}/24"), "dev", "out"])?;
        for key in ["all", "default", "in", "out"] {
            dut.set(&format!("net.ipv4.conf.{key}.rp_filter"), "0")?;
        }
        let sink_mac = mac_text(output.b.mac);
        for next_hop in 1..=NEXT_HOPS {
            let address = next_hop_address(next_hop);
            let line = format!("neighbour add {address} lladdr {sink_mac} dev out nud permanent");
            dut.ip(line.split_whitespace())?;
        }
        dut.enter(|| host::offload::generic_receive("in", true))??;
        let mut sink = Sink::new(Checks::COUNT)?;
        sink_side.enter(|| sink.attach("in", Request::Any))??;
        Ok(Self {
            generator: input.a,
            ingress: input.b,
            egress: output.a,
            sink_end: output.b,
            sink,
            cores: cores.to_vec(),
            destinations: destinations.to_vec(),
        })
    }

    /// The device's namespace.
    pub(crate) fn dut(&self) -> &Namespace {
        &self.ingress.namespace
    }

    /// What every next hop is: the sink, out of the egress.
    pub(crate) fn adjacency(&self) -> NextHopEntry {
        NextHopEntry {
            kind: Kind::Adjacency,
            mtu: MTU,
            port: self.egress.index,
            destination_mac: self.sink_end.mac,
            source_mac: self.egress.mac,
            ..NextHopEntry::default()
        }
    }

    /// Frames that have arrived since the bench was built.
    fn arrived(&self) -> Result<u64, Error> {
        Ok(self.sink.counts()?.frames)
    }

    /// The same for every core of the machine, by number.
    fn arrived_per_core(&self) -> Result<Vec<u64>, Error> {
        Ok(self.sink.frames_per_cpu()?)
    }

    /// Waits until the sink's count stands still.
    fn drain(&self) -> Result<(), Error> {
        let mut last = self.arrived()?;
        for _ in 0..DRAIN_READINGS {
            thread::sleep(DRAIN);
            let now = self.arrived()?;
            if now == last {
                break;
            }
            last = now;
        }
        Ok(())
    }

    /// Names an interface that is not there any more.
    fn check_interfaces(&self) -> Result<(), Error> {
        for end in [&self.generator, &self.ingress, &self.egress, &self.sink_end] {
            end.namespace.interface_index(&end.interface)?;
        }
        Ok(())
    }
}

/// The address of a next hop, counted from 1: behind the device's egress.
pub(crate) fn next_hop_address(next_hop: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(EGRESS.to_bits() + u32::from(next_hop))
}

fn mac_text(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}
