//! From the generator's name to a rig over given ends.

use bpf::attach::Request;
use fastpath::steer::Steer;
use host::CoreId;
use port::packet::PacketPort;
use port::xsk::{self, XskPort};
use port::{Pool, Port};
use tester::clock::Monotonic;
use tester::engine::{Course, Engine, Far, Macs, Remote};
use tester::link::Link;
use tester::link::ports::Ports;
use tester::places::{Placing, Reasons, Way};
use tester::rig::{Rig, RigError};
use tester::veth::{End, Testbed, XdpRig};

/// Rate at which searches begin with sockets, frames/s: beyond what one core sends through any of
/// them.
const SOCKET_CEILING: f64 = 2e6;
/// The same over memory.
const MEMORY_CEILING: f64 = 40e6;
/// The longest frame that an `AF_XDP` buffer holds, bytes with FCS.
const XSK_LARGEST: u16 = 2048 - xsk::HEADROOM + 4;

/// Who makes and checks the frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generator {
    /// eBPF programs in the kernel: fastest; two ports, one protocol.
    Xdp,
    /// `AF_XDP` sockets: every byte compared.
    AfXdp,
    /// `AF_PACKET` sockets: every byte compared, any interface.
    Packet,
    /// Memory: for the calibrated device.
    Memory,
}

impl Generator {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Xdp, Self::AfXdp, Self::Packet, Self::Memory];

    /// Its name in options, and between two machines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Xdp => "xdp",
            Self::AfXdp => "af-xdp",
            Self::Packet => "packet",
            Self::Memory => "memory",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// The core that frames are made on: the first that this process may use.
fn core() -> CoreId {
    let cores = host::allowed_cores().unwrap_or_default();
    cores.first().copied().unwrap_or(CoreId(0))
}

/// Makes rigs.
#[derive(Debug)]
pub struct Maker {
    /// Who makes their frames.
    pub generator: Generator,
    /// How many ports the device has.
    pub ports: u8,
    /// Longest frame, bytes with FCS.
    pub largest: u16,
    /// Rate of the medium, bits/s, where it has one.
    pub line_rate: Option<f64>,
    /// Seed of everything random.
    pub seed: u64,
}

impl Maker {
    /// A rig over ends with `what` between them, whose work is done in the kernel's `threads`.
    ///
    /// # Errors
    /// The kernel refuses the ports, or the generator cannot use them.
    pub(super) fn rig(
        &self,
        ends: &[End],
        threads: &[u32],
        what: &str,
    ) -> Result<Box<dyn Rig>, RigError> {
        match (self.generator, ends) {
            (Generator::Xdp, [first, second]) => {
                let ends = [first.clone(), second.clone()];
                let rig = XdpRig::new(&ends, core(), what, self.seed)?;
                Ok(Box::new(
                    rig.with_line_rate(self.line_rate).watching(threads),
                ))
            }
            _ => Ok(Box::new(self.sockets(ends, what)?.watching(threads))),
        }
    }

    /// A rig with the device in namespaces of our own, which drops for those `reasons`.
    ///
    /// # Errors
    /// As [`Maker::rig`].
    pub(super) fn device(
        &self,
        testbed: &Testbed,
        what: &str,
        reasons: Reasons,
    ) -> Result<Box<dyn Rig>, RigError> {
        let rig = self.rig(&testbed.ends, &testbed.device_threads, what)?;
        Ok(Box::new(Placing::new(rig, Way::through(testbed, reasons))))
    }

    /// A rig with a cable in its place.
    ///
    /// # Errors
    /// As [`Maker::rig`].
    pub(super) fn wire(&self, testbed: &Testbed) -> Result<Box<dyn Rig>, RigError> {
        self.rig(
            &testbed.cable_ends,
            &testbed.cable_threads,
            "a cable (veth)",
        )
    }

    /// An engine over sockets.
    ///
    /// # Errors
    /// The kernel refuses the ports, or this is no generator of sockets.
    pub(super) fn sockets(&self, ends: &[End], what: &str) -> Result<Engine<Ports>, RigError> {
        let engine = match self.generator {
            Generator::Packet => self.packet(ends, what)?,
            Generator::AfXdp => self.xsk(ends, what)?,
            Generator::Xdp | Generator::Memory => {
                return Err(RigError::Unable {
                    rig: "this generator",
                    what: format!("use {} ports with sockets", ends.len()),
                    remedy: "use --generator packet or af-xdp",
                });
            }
        };
        Ok(engine.on(core()).with_line_rate(self.line_rate))
    }

    /// A rig that sends from `here`, received or sent back on another machine.
    ///
    /// # Errors
    /// As [`Maker::sockets`].
    pub(super) fn remote(
        &self,
        here: &End,
        what: &str,
        far: Far,
        course: Course,
    ) -> Result<Box<dyn Rig>, RigError> {
        let engine = self.sockets(std::slice::from_ref(here), what)?;
        Ok(Box::new(Remote::new(engine, far, course)))
    }

    /// A rig over a link in memory.
    ///
    /// # Errors
    /// No memory for the frames.
    pub(super) fn in_memory(&self, link: impl Link + 'static) -> Result<Box<dyn Rig>, RigError> {
        let macs = vec![Macs::default(); usize::from(self.ports)];
        let engine = Engine::new(link, macs, self.largest, MEMORY_CEILING, self.seed)?;
        Ok(Box::new(engine.on(core())))
    }

    fn packet(&self, ends: &[End], what: &str) -> Result<Engine<Ports>, RigError> {
        let ports = ends
            .iter()
            .map(|end| -> Result<Box<dyn Port>, RigError> {
                Ok(Box::new(
                    end.enter(|| PacketPort::open(&end.interface, None))??,
                ))
            })
            .collect::<Result<_, _>>()?;
        let link = Ports::new("AF_PACKET sockets", ports, what);
        Engine::new(link, macs(ends), self.largest, SOCKET_CEILING, self.seed)
    }

    fn xsk(&self, ends: &[End], what: &str) -> Result<Engine<Ports>, RigError> {
        if self.largest > XSK_LARGEST {
            return Err(RigError::Unable {
                rig: "the AF_XDP generator",
                what: format!("make frames of {} bytes", self.largest),
                remedy: "use frames of at most 1796 bytes, or --generator packet",
            });
        }
        let options = xsk::Options::default();
        let mut pool = Pool::new(options.layout(ends.len() as u32))?;
        let mut memory = xsk::Memory::default();
        let mut ports: Vec<Box<dyn Port>> = Vec::new();
        let mut steers = Vec::new();
        for end in ends {
            let (port, steer) = end.enter(|| -> Result<_, RigError> {
                let steer = Steer::attach(&end.interface, Some(end.macs.tester), Request::Any)?;
                let port = XskPort::open(&end.interface, 0, &mut pool, &mut memory, options)?;
                steer.insert(0, &port)?;
                Ok((port, steer))
            })??;
            ports.push(Box::new(port));
            steers.push(steer);
        }
        let link = Ports::new("AF_XDP sockets", ports, what).steered_by(steers);
        Ok(Engine::with_pool(
            link,
            Monotonic,
            pool,
            macs(ends),
            SOCKET_CEILING,
            self.seed,
        ))
    }
}

fn macs(ends: &[End]) -> Vec<Macs> {
    ends.iter().map(|end| end.macs).collect()
}
