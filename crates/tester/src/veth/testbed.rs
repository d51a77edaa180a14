//! Devices of our own making in namespaces: the kernel's forwarding between veth pairs, and cables
//! for the self-test.
//!
//! The tester's ends are in one namespace, the device's in another. Neighbours are permanent and
//! routes static, so that nothing is learnt while a trial runs. With two cores or more the device's
//! receive paths run in threads on the last core, apart from the generator's; with one core
//! everything shares it, and the description says so.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering};

use host::bed::{Bed, Plan, side};
use host::favour::Rank;
use host::offload::Offload;
use host::{CoreId, Namespace, Veth, napi};

use super::end::End;
use super::rig::XdpRig;
use crate::addresses;
use crate::rig::Result;

/// Names of the namespaces.
const TESTER: &str = "tester";
const DEVICE: &str = "device";
/// Testbeds made by this process: their interfaces' names must differ.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// Namespaces and cables of a test, removed when dropped.
#[derive(Debug)]
pub struct Testbed {
    bed: Bed,
    /// Where the tester's ends are.
    pub tester: Namespace,
    /// Where the device is.
    pub device: Namespace,
    /// The device's interfaces there.
    pub ports: Vec<String>,
    /// The tester's ends towards the device, one for each port.
    pub ends: Vec<End>,
    /// Ends of cables, each joined to its neighbour: what a self-test sends through.
    pub cable_ends: Vec<End>,
    /// The core that frames are made on.
    pub generator: CoreId,
    /// The core of the device's receive path, when it has one of its own.
    other: Option<CoreId>,
    /// Kernel threads that do the device's work.
    pub device_threads: Vec<u32>,
    /// Kernel threads at the far ends of the cables.
    pub cable_threads: Vec<u32>,
}

impl Testbed {
    /// Makes namespaces, cables, addresses, routes and neighbours for a device with two ports;
    /// `mtu` in bytes. The kernel forwards between them when `forwarding` is set.
    ///
    /// # Errors
    /// Without root, or when the kernel refuses.
    pub fn new(mtu: u16, forwarding: bool) -> Result<Self> {
        Self::with_ports(2, mtu, forwarding)
    }

    /// As [`Testbed::new`], with any even number of ports.
    ///
    /// # Errors
    /// As [`Testbed::new`].
    pub fn with_ports(ports: u8, mtu: u16, forwarding: bool) -> Result<Self> {
        let count_of_ports = ports.next_multiple_of(2).max(2);
        let cores = host::allowed_cores().unwrap_or_else(|_| vec![CoreId(0)]);
        let generator = cores.first().copied().unwrap_or(CoreId(0));
        let bed = plan(count_of_ports, mtu, forwarding).lay()?;
        let (cables, wires) = bed.cables().split_at(usize::from(count_of_ports));
        let near = |Veth { a, b }: &Veth| End::of_cable(a, b);
        let both = |Veth { a, b }: &Veth| [End::of_cable(a, b), End::of_cable(b, a)];
        let mut testbed = Self {
            tester: bed.namespace(TESTER)?.clone(),
            device: bed.namespace(DEVICE)?.clone(),
            ports: cables
                .iter()
                .map(|cable| cable.b.interface.clone())
                .collect(),
            ends: cables.iter().map(near).collect(),
            cable_ends: wires.iter().flat_map(both).collect(),
            generator,
            other: cores.last().copied().filter(|&core| core != generator),
            device_threads: Vec::new(),
            cable_threads: Vec::new(),
            bed,
        };
        testbed.device_threads = testbed.place();
        // The sinks' ends of the wire: their work must not be the generator's in the self-test
        // either.
        let sinks = testbed.cable_ends.iter().skip(1).step_by(2);
        let sinks = sinks.map(|end| end.interface.as_str());
        testbed.cable_threads = testbed.receive_apart(&testbed.tester, sinks);
        Ok(testbed)
    }

    /// Has the work of the device's ports done on its core; the threads that do so.
    fn place(&self) -> Vec<u32> {
        self.receive_apart(&self.device, self.ports.iter().map(String::as_str))
    }

    /// Has interfaces' work done on the other core, if there is one, in threads that ordinary work
    /// does not keep waiting: a thread that loses its core for a tick of the scheduler, 4 ms,
    /// overflows a veth's ring of 256 frames from 64 000 frames/s on. Without threaded NAPI there
    /// are none, and the sender's core does the work.
    fn receive_apart<'a>(
        &self,
        namespace: &Namespace,
        interfaces: impl Iterator<Item = &'a str>,
    ) -> Vec<u32> {
        let Some(core) = self.other else {
            return Vec::new();
        };
        let threads =
            interfaces.map(|name| napi::to_core(namespace, name, core, Rank::Favoured, true));
        threads.flat_map(Result::unwrap_or_default).collect()
    }

    /// A rig with the device between its first two ends.
    ///
    /// # Errors
    /// As [`XdpRig::new`].
    pub fn rig(&self, what: &str, seed: u64) -> Result<XdpRig> {
        let rig = XdpRig::new(pair(&self.ends), self.generator, what, seed)?;
        Ok(rig.watching(&self.device_threads))
    }

    /// A rig with a cable in the device's place.
    ///
    /// # Errors
    /// As [`XdpRig::new`].
    pub fn wire(&self, seed: u64) -> Result<XdpRig> {
        let rig = XdpRig::new(
            pair(&self.cable_ends),
            self.generator,
            "a cable (veth)",
            seed,
        )?;
        Ok(rig.watching(&self.cable_threads))
    }

    /// Sets the device's ports down and up again, and restores the addresses, routes and neighbours
    /// that go with that.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn flap(&self) -> Result<()> {
        self.bed.flap(DEVICE)?;
        // The threads that worked for the ports ended when these went down.
        self.place();
        Ok(())
    }

    /// Gives the device a route to each of the 256 networks that hold more than 192 IPv4
    /// destinations behind a port.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn widen(&mut self) -> Result<()> {
        let ports = self.ports.len() as u8;
        let mut plan = Bed::plan();
        for (number, interface) in (0_u8..).zip(&self.ports) {
            let via = addresses::tester_v4(number);
            for (network, length) in addresses::wide_networks_v4(number, ports) {
                let line = format!("route replace {network}/{length} via {via} dev {interface}");
                plan = plan.ip(DEVICE, line);
            }
        }
        Ok(self.bed.add(&plan)?)
    }

    /// Gives the device default routes through its second port: for captures, whose destinations
    /// are anywhere.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn route_everything(&mut self) -> Result<()> {
        let Some(interface) = self.ports.get(1) else {
            return Ok(());
        };
        let addresses: [IpAddr; 2] = [
            addresses::tester_v4(1).into(),
            addresses::tester_v6(1).into(),
        ];
        let plan = addresses.into_iter().fold(Bed::plan(), |plan, via| {
            plan.ip(
                DEVICE,
                format!("route replace default via {via} dev {interface}"),
            )
        });
        Ok(self.bed.add(&plan)?)
    }

    /// Which core does what, in words.
    pub fn cores(&self) -> String {
        match self.other {
            Some(core) => format!(
                "generator on core {}, device and sink on core {core}",
                self.generator
            ),
            None => format!("generator, device and sink share core {}", self.generator),
        }
    }
}

/// The first two of the ends, of which there are always as many.
fn pair(ends: &[End]) -> &[End; 2] {
    ends.first_chunk()
        .unwrap_or_else(|| unreachable!("a testbed has two ports at least"))
}

/// The device between as many cables as it has ports, and half as many cables without one. Kernel
/// threads are found by the interface's name, so each is the only one of this name on the machine.
fn plan(ports: u8, mtu: u16, forwarding: bool) -> Plan {
    let mark = std::process::id() & 0xFFFF;
    let count = COUNT.fetch_add(1, Ordering::Relaxed) & 0xF;
    let name = |kind: &str, port: u8| format!("{kind}{port}{mark:04x}{count:x}");
    let mut plan = Bed::plan().mtu(mtu.into());
    if forwarding {
        plan = plan.forwarding(DEVICE);
    }
    for port in 0..ports {
        let (v4, v6) = (addresses::tester_v4(port), addresses::tester_v6(port));
        let mut end = side(DEVICE, &name("d", port))
            .address(format!("{}/24", addresses::device_v4(port)))
            .address(format!("{}/64", addresses::device_v6(port)))
            .neighbour(v4)
            .neighbour(v6)
            // So that the port takes redirected frames.
            .switch(Offload::GenericReceive, true);
        for (network, length) in addresses::behind_v4(port, ports) {
            end = end.route(format!("{network}/{length}"), v4);
        }
        let (network, length) = addresses::behind_v6(port);
        end = end.route(format!("{network}/{length}"), v6);
        plan = plan.cable(side(TESTER, &name("t", port)), end);
    }
    for port in (0..ports).step_by(2) {
        let [near, far] = [port, port + 1].map(|port| side(TESTER, &name("w", port)));
        plan = plan.cable(near, far);
    }
    plan
}
