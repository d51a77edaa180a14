//! Devices of our own making in namespaces: the kernel's forwarding between veth pairs, and cables
//! for the self-test.
//!
//! The tester's ends are in one namespace, the device's in another. Neighbours are permanent and
//! routes static, so that nothing is learnt while a trial runs. With two cores or more the device's
//! receive paths run in threads on the last core, apart from the generator's; with one core
//! everything shares it, and the description says so.

use std::ffi::OsStr;
use std::sync::atomic::{AtomicU32, Ordering};

use host::{CoreId, Namespace, Veth};

use super::rig::{End, XdpRig};
use crate::addresses;
use crate::engine::Macs;
use crate::interface::receive_on;
use crate::rig::RigError;

/// Benches made by this process: their names must differ.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// One port of the device: its side of a veth pair.
#[derive(Debug, Clone)]
pub struct Port {
    /// In [`Device::namespace`].
    pub interface: String,
    /// Its hardware address.
    pub mac: [u8; 6],
}

impl End {
    /// Runs something in the namespace of this end.
    ///
    /// # Errors
    /// The namespace cannot be joined.
    pub fn enter<R: Send>(&self, work: impl FnOnce() -> R + Send) -> Result<R, RigError> {
        match &self.namespace {
            Some(namespace) => Ok(namespace.enter(work)?),
            None => Ok(work()),
        }
    }
}

/// A device in a namespace of its own.
#[derive(Debug)]
pub struct Device {
    /// Where it is.
    pub namespace: Namespace,
    /// Its ports.
    pub ports: Vec<Port>,
    /// The core of its receive path, when it has one of its own.
    pub core: Option<CoreId>,
}

/// Namespaces and cables of a test, removed when dropped.
#[derive(Debug)]
pub struct Bench {
    tester: Namespace,
    /// The device.
    pub device: Device,
    ends: Vec<End>,
    wire: Vec<End>,
    generator: CoreId,
    /// Of the device's ports, and of the wire's far end.
    threads: Vec<libc::pid_t>,
    wire_threads: Vec<libc::pid_t>,
}

impl Bench {
    /// Makes namespaces, cables, addresses, routes and neighbours for a device with two ports;
    /// `mtu` in bytes. The kernel forwards between them when `forwarding` is set.
    ///
    /// # Errors
    /// Without root, or when the kernel refuses.
    pub fn new(mtu: u16, forwarding: bool) -> Result<Self, RigError> {
        Self::with_ports(2, mtu, forwarding)
    }

    /// As [`Bench::new`], with any even number of ports.
    ///
    /// # Errors
    /// As [`Bench::new`].
    pub fn with_ports(ports: u8, mtu: u16, forwarding: bool) -> Result<Self, RigError> {
        let count_of_ports = ports.next_multiple_of(2).max(2);
        let cores = host::allowed_cores().unwrap_or_else(|_| vec![CoreId(0)]);
        let generator = cores.first().copied().unwrap_or(CoreId(0));
        let other = cores.last().copied().filter(|&core| core != generator);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let tester = Namespace::new(&format!("tester{count}"))?;
        let inside = Namespace::new(&format!("device{count}"))?;
        // Kernel threads are found by the interface's name, so it must be the only one of this name
        // on the machine.
        let mark = std::process::id() & 0xFFFF;
        let name = |kind: &str, port: u8| format!("{kind}{port}{mark:04x}{:x}", count & 0xF);
        let mut ends = Vec::new();
        let mut ports = Vec::new();
        for port in 0..count_of_ports {
            let cable = Veth::new((&tester, &name("t", port)), (&inside, &name("d", port)), 1)?;
            ends.push(End {
                namespace: Some(tester.clone()),
                interface: cable.a.interface.clone(),
                index: cable.a.index,
                macs: Macs {
                    tester: cable.a.mac,
                    device: cable.b.mac,
                },
            });
            ports.push(Port {
                interface: cable.b.interface.clone(),
                mac: cable.b.mac,
            });
        }
        let mut wire = Vec::new();
        for port in (0..count_of_ports).step_by(2) {
            let (near, far) = (name("w", port), name("w", port + 1));
            let cable = Veth::new((&tester, &near), (&tester, &far), 1)?;
            for (near, far) in [(&cable.a, &cable.b), (&cable.b, &cable.a)] {
                wire.push(End {
                    namespace: Some(tester.clone()),
                    interface: near.interface.clone(),
                    index: near.index,
                    macs: Macs {
                        tester: near.mac,
                        device: far.mac,
                    },
                });
            }
        }
        let all = ends
            .iter()
            .chain(&wire)
            .map(|end| (&tester, &end.interface));
        for (namespace, interface) in all.chain(ports.iter().map(|port| (&inside, &port.interface)))
        {
            namespace.ip(["link", "set", interface, "mtu", &mtu.to_string()])?;
        }
        let device = Device {
            namespace: inside,
            ports,
            core: other,
        };
        device.configure(&ends, forwarding)?;
        let threads = device.place()?;
        let mut wire_threads = Vec::new();
        if let Some(core) = other {
            // The sinks' ends of the wire: their work must not be the generator's in the self-test
            // either.
            for end in wire.iter().skip(1).step_by(2) {
                wire_threads.extend(receive_on(&tester, &end.interface, core));
            }
        }
        Ok(Self {
            tester,
            device,
            ends,
            wire,
            generator,
            threads,
            wire_threads,
        })
    }

    /// A rig with the device between its first two ends.
    ///
    /// # Errors
    /// As [`XdpRig::new`].
    pub fn rig(&self, what: &str, seed: u64) -> Result<XdpRig, RigError> {
        let rig = XdpRig::new(pair(&self.ends), self.generator, what, seed)?;
        Ok(rig.watching(&self.threads))
    }

    /// A rig with a cable in the device's place.
    ///
    /// # Errors
    /// As [`XdpRig::new`].
    pub fn wire(&self, seed: u64) -> Result<XdpRig, RigError> {
        let rig = XdpRig::new(pair(&self.wire), self.generator, "a cable (veth)", seed)?;
        Ok(rig.watching(&self.wire_threads))
    }

    /// Sets the device's ports down and up again, and restores the addresses, routes and neighbours
    /// that go with that.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn flap(&self, forwarding: bool) -> Result<(), RigError> {
        for port in &self.device.ports {
            self.device
                .namespace
                .ip(["link", "set", &port.interface, "down"])?;
        }
        for port in &self.device.ports {
            self.device
                .namespace
                .ip(["link", "set", &port.interface, "up"])?;
        }
        self.device.configure(&self.ends, forwarding)?;
        // The threads that worked for the ports ended when these went down.
        self.device.place()?;
        Ok(())
    }

    /// Gives the device a route to each of the 256 networks that hold more than 192 IPv4
    /// destinations behind a port.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn widen(&self) -> Result<(), RigError> {
        let ports = self.device.ports.len() as u8;
        let mut lines = Vec::new();
        for (number, port) in (0_u8..).zip(&self.device.ports) {
            let (via, interface) = (addresses::tester_v4(number), &port.interface);
            for (network, length) in addresses::wide_networks_v4(number, ports) {
                lines.push(format!(
                    "route replace {network}/{length} via {via} dev {interface}\n"
                ));
            }
        }
        // One call for hundreds of routes.
        let directory = host::temporary::Directory::new("routes")?;
        let file = directory.path().join("routes");
        std::fs::write(&file, lines.concat())?;
        self.device
            .namespace
            .ip([OsStr::new("-batch"), file.as_os_str()])?;
        Ok(())
    }

    /// Gives the device default routes through its second port: for captures, whose destinations
    /// are anywhere.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn route_everything(&self) -> Result<(), RigError> {
        let Some(port) = self.device.ports.get(1) else {
            return Ok(());
        };
        let (v4, v6) = (addresses::tester_v4(1), addresses::tester_v6(1));
        for line in [
            format!("route replace default via {v4} dev {}", port.interface),
            format!("-6 route replace default via {v6} dev {}", port.interface),
        ] {
            self.device.namespace.ip(line.split_whitespace())?;
        }
        Ok(())
    }

    /// Where the tester's ends are.
    pub fn tester(&self) -> &Namespace {
        &self.tester
    }

    /// The tester's ends towards the device.
    pub fn ends(&self) -> &[End] {
        &self.ends
    }

    /// Ends of cables, each joined to its neighbour: what a self-test sends through.
    pub fn cable_ends(&self) -> &[End] {
        &self.wire
    }

    /// Kernel threads that do the device's work.
    pub fn device_threads(&self) -> &[libc::pid_t] {
        &self.threads
    }

    /// Kernel threads at the far ends of the cables.
    pub fn cable_threads(&self) -> &[libc::pid_t] {
        &self.wire_threads
    }

    /// The core that frames are made on.
    pub fn generator_core(&self) -> CoreId {
        self.generator
    }

    /// Which core does what, in words.
    pub fn cores(&self) -> String {
        match self.device.core {
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
        .unwrap_or_else(|| unreachable!("a bench has two ports at least"))
}

impl Device {
    /// Addresses, permanent neighbours, static routes, forwarding.
    fn configure(&self, ends: &[End], forwarding: bool) -> Result<(), RigError> {
        let inside = &self.namespace;
        for key in [
            "net.ipv4.conf.all.rp_filter",
            "net.ipv4.conf.default.rp_filter",
        ] {
            inside.set(key, "0")?;
        }
        let ports = self.ports.len() as u8;
        for (number, (port, End { macs, .. })) in (0_u8..).zip(self.ports.iter().zip(ends)) {
            let interface = port.interface.as_str();
            inside.set(&format!("net.ipv4.conf.{interface}.rp_filter"), "0")?;
            let run = |line: String| inside.ip(line.split_whitespace());
            run(format!(
                "addr replace {}/24 dev {interface}",
                addresses::device_v4(number)
            ))?;
            run(format!(
                "-6 addr replace {}/64 dev {interface} nodad",
                addresses::device_v6(number)
            ))?;
            let mac = macs.tester.map(|byte| format!("{byte:02x}")).join(":");
            let (v4, v6) = (addresses::tester_v4(number), addresses::tester_v6(number));
            run(format!(
                "neigh replace {v4} lladdr {mac} dev {interface} nud permanent"
            ))?;
            run(format!(
                "-6 neigh replace {v6} lladdr {mac} dev {interface} nud permanent"
            ))?;
            for (network, length) in addresses::behind_v4(number, ports) {
                run(format!(
                    "route replace {network}/{length} via {v4} dev {interface}"
                ))?;
            }
            let (network, length) = addresses::behind_v6(number);
            let masked =
                u128::from(network) >> (128 - u32::from(length)) << (128 - u32::from(length));
            run(format!(
                "-6 route replace {}/{length} via {v6} dev {interface}",
                std::net::Ipv6Addr::from(masked)
            ))?;
        }
        let switch = if forwarding { "1" } else { "0" };
        inside.set("net.ipv4.ip_forward", switch)?;
        inside.set("net.ipv6.conf.all.forwarding", switch)?;
        Ok(())
    }

    /// Makes the ports take redirected frames, on the device's core. Returns the threads that do
    /// so.
    fn place(&self) -> Result<Vec<libc::pid_t>, RigError> {
        let mut threads = Vec::new();
        for port in &self.ports {
            self.namespace
                .enter(|| host::offload::generic_receive(&port.interface, true))??;
            if let Some(core) = self.core {
                threads.extend(receive_on(&self.namespace, &port.interface, core));
            }
        }
        Ok(threads)
    }
}
