//! The router's engines, opened as `corelane run` opens them ([`router::engine::open`]) and filled
//! with the changes that its control plane would send.
//!
//! An engine in the kernel forwards on the core that a frame arrives on, and `af-xdp` has a worker
//! for each queue, so one opened engine serves every number of cores. `af-packet` has a worker for
//! each core that the process may use: for some cores it is opened by a thread that may use these
//! alone, as under `taskset`.

use std::net::IpAddr;
use std::ops::Range;
use std::thread;
use std::time::Duration;

use fastpath::forward::{Accepts, Capacity, PortSettings};
use fib::next_hop::Kind as NextHopKind;
use fib::{NextHop, NextHopEntry, Prefix};
use host::CoreId;
use host::bed::End;
use report::units::{Bytes, grouped};
use router::engine::{self, Change, Engine, EngineKind, MAIN_TABLE, Port, Require, SocketOptions};
use tester::result::Entry;
use tester::sizes::Family;
use tester::veth::lanes::{
    Lanes, Load, MTU, NEXT_HOPS, Pace, next_hop_address, next_hop_address_v6,
};

use crate::case::{Case, Sample};
use crate::changer::while_routes_change;
use crate::device::{Abilities, Device, Setting};
use crate::error::Error;
use crate::kernel;
use crate::kind::Kind;
use crate::offer::Wanted;
use crate::routes::Routes;
use crate::tally::Tally;

/// Routes given to the engine at once while loading.
const ROUTES_AT_ONCE: usize = 16 << 10;
/// Frames on their way to sockets for each core, at most: half a socket's ring of `af-xdp`, a
/// quarter of the slots of one of `af-packet`.
const WINDOW: u32 = 1024;
/// Opened engines of one kind kept at a time; they differ in the cores of their workers. Each of
/// four cores alone, and the first two, three and four.
const KEPT: usize = 7;

struct Router {
    kind: EngineKind,
    setting: Setting,
    /// The one used last is the last.
    opened: Vec<Opened>,
    tally: Tally,
    /// Frames that engines closed since have left to the kernel.
    left: u64,
}

/// An engine between two cables.
struct Opened {
    // Dropped before the interfaces that it is attached to.
    engine: Box<dyn Engine>,
    lanes: Lanes,
    load: Load,
    /// Those of the workers, among the setting's.
    cores: Range<usize>,
}

/// Opens the engine on all cores of the setting and gives it the routes.
///
/// # Errors
/// When the namespaces cannot be made, the engine not opened, or the routes not loaded.
pub fn open(kind: EngineKind, setting: &Setting) -> Result<Box<dyn Device>, Error> {
    Ok(Box::new(Router {
        kind,
        opened: vec![Opened::new(kind, setting, 0..setting.cores.len())?],
        setting: setting.clone(),
        tally: Tally::default(),
        left: 0,
    }))
}

impl Opened {
    fn new(kind: EngineKind, setting: &Setting, workers: Range<usize>) -> Result<Self, Error> {
        let all = workers == (0..setting.cores.len());
        let name = if all {
            kind.name().to_owned()
        } else {
            format!("{}-{}-{}", kind.name(), workers.start, workers.end)
        };
        let lanes = setting.lanes(&name)?;
        let keeps_table = kind != EngineKind::XdpKernelFib;
        if keeps_table {
            // For what the engine leaves to the kernel, a frame in 65,536 with a checksum that
            // looks unfinished by chance.
            let hop: IpAddr = match setting.family {
                Family::Ipv4 => next_hop_address(1).into(),
                Family::Ipv6 => next_hop_address_v6(1).into(),
            };
            lanes.dut().ip(format!("route add default via {hop}"))?;
        } else {
            kernel::load(lanes.dut(), setting)?;
        }
        kernel::load_back(lanes.dut(), setting)?;
        let cores = match &setting.apart {
            Some(core) => std::slice::from_ref(core),
            None => &setting.cores[workers.clone()],
        };
        let mut opened = Self {
            engine: start(kind, &lanes, cores)?,
            lanes,
            load: Load::default(),
            cores: workers,
        };
        for end in [opened.lanes.ingress(), opened.lanes.egress()] {
            let port = Change::Port(Port {
                ifindex: end.index,
                name: end.interface.clone(),
                mtu: u32::from(MTU),
                settings: PortSettings {
                    enabled: true,
                    accepts: Accepts::default(),
                    mac: end.mac,
                    table: MAIN_TABLE,
                    // The tester's frames have none.
                    trusts_tags: true,
                    ..PortSettings::default()
                },
            });
            let engine = &mut opened.engine;
            opened.lanes.dut().enter(|| engine.apply(&[port]))??;
        }
        if keeps_table {
            let there = adjacency(opened.lanes.egress(), opened.lanes.sink_mac());
            opened.fill(&setting.routes, (there, 0), setting.seed)?;
            if let Some(back) = &setting.back {
                let entry = adjacency(opened.lanes.ingress(), opened.lanes.generator_mac());
                opened.fill(back, (entry, NEXT_HOPS), setting.seed)?;
            }
        }
        listen(&*opened.engine, false)?;
        Ok(opened)
    }

    /// What `run` gives, with what the engine has at the kernel's tracepoints.
    fn listening<T>(
        &mut self,
        run: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        listen(&*self.engine, true)?;
        let given = run(self);
        listen(&*self.engine, false)?;
        given
    }

    /// Next hops and all routes of both families, next hops given out at random. All are `entry`,
    /// numbered after so many others.
    fn fill(
        &mut self,
        routes: &Routes,
        (entry, after): (NextHopEntry, u16),
        seed: u64,
    ) -> Result<(), Error> {
        let hops: Vec<Change> = (1..=NEXT_HOPS)
            .map(|number| Change::NextHop {
                id: numbered(after + number),
                entry,
            })
            .collect();
        self.engine.apply(&hops)?;
        let routes = routes.given_out(seed);
        let v4 = routes.v4.into_iter();
        let v4 = v4.map(|(prefix, next_hop)| route(prefix, NextHop(after + next_hop.0)));
        let v6 = routes.v6.into_iter();
        let v6 = v6.map(|(prefix, next_hop)| Change::RouteV6 {
            table: MAIN_TABLE,
            prefix,
            next_hop: numbered(after + next_hop.0),
        });
        let changes: Vec<Change> = v4.chain(v6).collect();
        for part in changes.chunks(ROUTES_AT_ONCE) {
            host::cleanup::check()?;
            self.engine.apply(part)?;
        }
        Ok(())
    }
}

/// Opens an engine between the device's two ports, in its namespace, by a thread that may use
/// `cores` alone.
fn start(kind: EngineKind, lanes: &Lanes, cores: &[CoreId]) -> Result<Box<dyn Engine>, Error> {
    let ports = [lanes.ingress(), lanes.egress()].map(|end| end.interface.clone());
    let confined = || -> Result<Box<dyn Engine>, Error> {
        host::cores::bind(0, cores)?;
        let open = || {
            engine::open(
                kind,
                &ports,
                Require::Any,
                SocketOptions::default(),
                Capacity::default(),
                true,
            )
        };
        Ok(lanes.dut().enter(open)??)
    };
    thread::scope(|scope| {
        let opened = scope.spawn(confined).join();
        opened.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Attaches what an engine has at the kernel's tracepoints, or takes it away. It runs for whatever is
/// redirected on the machine: of an engine that waits for its turn it would be in others' figures.
pub(crate) fn listen(engine: &dyn Engine, listen: bool) -> Result<(), Error> {
    let forwarder = engine.forwarder();
    Ok(forwarder.map_or(Ok(()), |forwarder| forwarder.listen(listen))?)
}

/// A next hop at a port of the device, with its hardware address.
fn adjacency(port: &End, mac: [u8; 6]) -> NextHopEntry {
    NextHopEntry {
        kind: NextHopKind::Adjacency,
        mtu: MTU,
        port: port.index,
        destination_mac: mac,
        source_mac: port.mac,
        ..NextHopEntry::default()
    }
}

fn route(prefix: Prefix<u32>, next_hop: NextHop) -> Change {
    Change::RouteV4 {
        table: MAIN_TABLE,
        prefix,
        next_hop: numbered(next_hop.0),
    }
}

/// The bench's n-th next hop, counted from 1, in the engine's numbers.
fn numbered(number: u16) -> NextHop {
    NextHop(engine::fixed::FIRST_FREE + number - 1)
}

impl Router {
    /// What keeps a closed loop from outrunning it.
    const fn pace(&self) -> Pace {
        if self.kind.has_workers() && self.setting.apart.is_none() {
            Pace::Window(WINDOW)
        } else {
            Pace::Call
        }
    }

    /// The engine that serves a case, opened if it is not.
    fn serving(&mut self, case: &Case) -> Result<&mut Opened, Error> {
        let cores = match self.kind {
            EngineKind::AfPacket => case.cores(),
            _ => 0..self.setting.cores.len(),
        };
        let found = self.opened.iter().position(|one| one.cores == cores);
        let opened = match found {
            Some(place) => self.opened.remove(place),
            None => Opened::new(self.kind, &self.setting, cores)?,
        };
        if self.opened.len() == KEPT {
            let oldest = self.opened.remove(0);
            self.left += account(&*oldest.engine, &mut self.tally);
        }
        Ok(self.opened.push_mut(opened))
    }
}

/// Adds to the tally what an engine says of frames that it did not forward; those that it left to
/// the kernel, which forwarded them.
fn account(engine: &dyn Engine, tally: &mut Tally) -> u64 {
    let mut left = 0;
    for count in engine.counters().unwrap_or_default().reasons {
        if count.punted {
            left += count.frames;
        } else {
            tally.explain(count.reason, count.frames);
        }
    }
    left
}

impl Device for Router {
    fn abilities(&self) -> Abilities {
        let most_workers = self.setting.cores.len();
        Abilities {
            takes_changes: self.kind != EngineKind::XdpKernelFib,
            ..Abilities::between_interfaces(vec![Kind::Router(self.kind)], most_workers)
        }
    }

    fn method(&self) -> String {
        let mut tally = self.tally.clone();
        let mut left = self.left;
        let mut table = Bytes(0);
        let mut mode = "native";
        for Opened { engine, .. } in &self.opened {
            table = Bytes(engine.answers().memory());
            mode = engine.modes().first().map_or(mode, |port| port.mode);
            left += account(&**engine, &mut tally);
        }
        let what = match self.kind {
            EngineKind::Auto | EngineKind::Xdp => {
                format!("Our program in the kernel, our table ({table}, both address families)")
            }
            EngineKind::Tc => {
                format!("Our program in the kernel at tc, our table ({table}, both families)")
            }
            EngineKind::XdpKernelFib => "Our program in the kernel, which asks the kernel's table \
                                         for every packet"
                .to_owned(),
            EngineKind::AfXdp | EngineKind::AfPacket => format!(
                "Our program in the kernel gives what our table ({table}) can forward to workers \
                 behind {} sockets. These look it up again and send it. Generator, worker and sink \
                 share each core, and at most {WINDOW} frames for each core are on their way",
                match self.kind {
                    EngineKind::AfPacket => "packet",
                    _ => "AF_XDP",
                }
            ),
        };
        let left = match (self.kind, left) {
            (EngineKind::XdpKernelFib, _) | (_, 0) => String::new(),
            (_, left) => format!(
                " {} frames of these the program left to the kernel, which forwarded them.",
                grouped(left)
            ),
        };
        format!(
            "{what}; mode {mode}, between the same veth pairs and with the same generator as the \
             engine kernel. {}{left}",
            tally.sentence()
        )
    }

    fn measure(&mut self, case: &Case, trial: Duration) -> Result<Sample, Error> {
        let pace = self.pace();
        let prefixes = std::sync::Arc::clone(&self.setting.routes);
        let (carried, changes_per_second) = self.serving(case)?.listening(|opened| {
            let Opened {
                engine,
                lanes,
                load,
                ..
            } = opened;
            let change = |changes: &[(Prefix<u32>, NextHop)]| {
                let changes: Vec<Change> = changes
                    .iter()
                    .map(|&(prefix, hop)| route(prefix, hop))
                    .collect();
                Ok(engine.apply(&changes)?)
            };
            let carried = while_routes_change(case.changes, &prefixes.prefixes.v4, change, || {
                let wanted = (case.frame_bytes, case.cores());
                Ok(load.carry(lanes, wanted, pace, trial)?)
            })?;
            // A worker that has ended explains why nothing was carried.
            engine.check()?;
            Ok(carried)
        })?;
        self.tally.add(&carried)?;
        Ok(Sample {
            frames_per_second: carried.frames_per_second,
            changes_per_second,
            counted: carried.counted,
        })
    }

    fn search(&mut self, case: &Case, wanted: &Wanted) -> Result<Entry, Error> {
        let pace = self.pace();
        self.serving(case)?.listening(|opened| {
            let searched = (case.frame_bytes, case.cores());
            let entry = wanted.on_lanes(&opened.lanes, &mut opened.load, searched, pace)?;
            opened.engine.check()?;
            Ok(entry)
        })
    }
}

#[cfg(test)]
#[path = "../tests/unit/router.rs"]
mod tests;
