//! Devices of our own making in namespaces: the kernel's forwarding between two veth pairs, and a cable for the self-test.
//!
//! The tester's ends are in one namespace, the device's in another. Neighbours are permanent and routes static, so that nothing is
//! learnt while a trial runs. With two cores or more the device's receive paths run in threads on the last core, apart from the
//! generator's; with one core everything shares it, and the description says so.

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
    ends: [End; 2],
    wire: [End; 2],
    generator: CoreId,
    /// Of the device's ports, and of the wire's far end.
    threads: Vec<libc::pid_t>,
    wire_threads: Vec<libc::pid_t>,
}

impl Bench {
    /// Makes namespaces, cables, addresses, routes and neighbours for a device with two ports; `mtu` in bytes. The kernel forwards
    /// between them when `forwarding` is set.
    ///
    /// # Errors
    /// Without root, or when the kernel refuses.
    pub fn new(mtu: u16, forwarding: bool) -> Result<Self, RigError> {
        let cores = host::allowed_cores().unwrap_or_else(|_| vec![CoreId(0)]);
        let generator = cores.first().copied().unwrap_or(CoreId(0));
        let other = cores.last().copied().filter(|&core| core != generator);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let tester = Namespace::new(&format!("tester{count}"))?;
        let inside = Namespace::new(&format!("device{count}"))?;
        // Kernel threads are found by the interface's name, so it must be the only one of this name on the machine.
        let mark = std::process::id() & 0xFFFF;
        let name = |kind: &str, port: u8| format!("{kind}{port}{mark:04x}{:x}", count & 0xF);
        let mut ends = Vec::new();
        let mut ports = Vec::new();
        for port in 0..2 {
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
        let cable = Veth::new((&tester, &name("w", 0)), (&tester, &name("w", 1)), 1)?;
        let wire = [(&cable.a, &cable.b), (&cable.b, &cable.a)].map(|(near, far)| End {
            namespace: Some(tester.clone()),
            interface: near.interface.clone(),
            index: near.index,
            macs: Macs {
                tester: near.mac,
                device: far.mac,
            },
        });
        let all = ends
            .iter()
            .chain(&wire)
            .map(|end| (&tester, &end.interface));
        for (namespace, interface) in all.chain(ports.iter().map(|port| (&inside, &port.interface)))
        {
            namespace.ip(["link", "set", interface, "mtu", &mtu.to_string()])?;
        }
        let [first, second] =
            <[End; 2]>::try_from(ends).unwrap_or_else(|_| unreachable!("two ports were made"));
        let device = Device {
            namespace: inside,
            ports,
            core: other,
        };
        device.configure([&first.macs, &second.macs], forwarding)?;
        let threads = device.place()?;
        let mut wire_threads = Vec::new();
        if let Some(core) = other {
            // The sink's end of the wire: its work must not be the generator's in the self-test either.
            let interface = &wire[1].interface;
            wire_threads = receive_on(&tester, interface, core);
        }
        Ok(Self {
            tester,
            device,
            ends: [first, second],
            wire,
            generator,
            threads,
            wire_threads,
        })
    }

    /// A rig with the device between its ends.
    ///
    /// # Errors
    /// As [`XdpRig::new`].
    pub fn rig(&self, what: &str, seed: u64) -> Result<XdpRig, RigError> {
        Ok(XdpRig::new(&self.ends, self.generator, what, seed)?.watching(&self.threads))
    }

    /// A rig with a cable in the device's place.
    ///
    /// # Errors
    /// As [`XdpRig::new`].
    pub fn wire(&self, seed: u64) -> Result<XdpRig, RigError> {
        Ok(
            XdpRig::new(&self.wire, self.generator, "a cable (veth)", seed)?
                .watching(&self.wire_threads),
        )
    }

    /// Sets the device's ports down and up again, and restores the addresses, routes and neighbours that go with that.
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
        let [first, second] = &self.ends;
        self.device
            .configure([&first.macs, &second.macs], forwarding)
    }

    /// Where the tester's ends are.
    pub fn tester(&self) -> &Namespace {
        &self.tester
    }

    /// The tester's ends towards the device.
    pub fn ends(&self) -> &[End; 2] {
        &self.ends
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

impl Device {
    /// Addresses, permanent neighbours, static routes, forwarding.
    fn configure(&self, ends: [&Macs; 2], forwarding: bool) -> Result<(), RigError> {
        let inside = &self.namespace;
        for key in [
            "net.ipv4.conf.all.rp_filter",
            "net.ipv4.conf.default.rp_filter",
        ] {
            inside.set(key, "0")?;
        }
        for (number, (port, macs)) in (0_u8..).zip(self.ports.iter().zip(ends)) {
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
            for (network, length) in addresses::behind_v4(number, 2) {
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

    /// Makes the ports take redirected frames, on the device's core. Returns the threads that do so.
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
