//! Engines with an XDP program: `xdp` and `xdp-kernel-fib` forward inside the kernel, by our table
//! or by the kernel's own look-up; `af-xdp` gives the frames to workers behind sockets.

use std::time::Duration;

use fib::{NextHop, Prefix};
use report::units::{Bytes, grouped};
use router::engine::{self, Change, Engine, EngineKind, MAIN_TABLE, Port, Require};
use tester::result::Entry;
use tester::veth::lanes::{Lanes, Load, MTU, NEXT_HOPS, Pace, next_hop_address};

use crate::af_packet::adjacency;
use crate::case::{Case, FRAME_SIZES, Sample, Table};
use crate::changer::while_routes_change;
use crate::device::{Abilities, Device, Setting};
use crate::error::Error;
use crate::kernel;
use crate::offer::Wanted;
use crate::routes::Routes;
use crate::tally::Tally;

/// Making generators and emptying queues.
const OVERHEAD: Duration = Duration::from_millis(60);
/// Routes given to the engine at once while loading.
const ROUTES_AT_ONCE: usize = 16 << 10;
/// Frames on their way to sockets for each core, at most: half a socket's ring.
const WINDOW: u32 = 1024;

/// Which of the engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Our table, in the kernel.
    Own,
    /// The kernel's look-up, in the kernel.
    KernelFib,
    /// Our table, in the kernel and again in the workers.
    Sockets,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Own => "xdp",
            Self::KernelFib => "xdp-kernel-fib",
            Self::Sockets => "af-xdp",
        }
    }

    /// What keeps a closed loop from outrunning it.
    const fn pace(self) -> Pace {
        match self {
            Self::Own | Self::KernelFib => Pace::Call,
            Self::Sockets => Pace::Window(WINDOW),
        }
    }

    /// Attaches to `ports` in the calling thread's namespace.
    fn start(self, ports: &[String]) -> Result<Box<dyn Engine>, Error> {
        let kind = match self {
            Self::Own => EngineKind::Xdp,
            Self::KernelFib => EngineKind::XdpKernelFib,
            Self::Sockets => EngineKind::AfXdp,
        };
        Ok(engine::open(kind, ports, Require::Any, false)?)
    }
}

struct Attached {
    kind: Kind,
    // Dropped before the interfaces that it is attached to.
    engine: Box<dyn Engine>,
    lanes: Lanes,
    load: Load,
    cores: usize,
    prefixes: Vec<Prefix<u32>>,
    mode: &'static str,
    tally: Tally,
}

/// Our table.
///
/// # Errors
/// When the namespaces cannot be made, the programs not attached, or the routes not loaded.
pub fn open(setting: &Setting) -> Result<Box<dyn Device>, Error> {
    let mut opened = attach(Kind::Own, setting)?;
    load(&mut opened, setting.routes, setting.seed)?;
    Ok(Box::new(opened))
}

/// The kernel's look-up, for every packet.
///
/// # Errors
/// As [`open`].
pub fn open_kernel_fib(setting: &Setting) -> Result<Box<dyn Device>, Error> {
    let opened = attach(Kind::KernelFib, setting)?;
    kernel::load(opened.lanes.dut(), setting.routes, setting.seed)?;
    Ok(Box::new(opened))
}

/// Our table, workers behind sockets.
///
/// # Errors
/// As [`open`], and when a socket cannot be opened.
pub fn open_sockets(setting: &Setting) -> Result<Box<dyn Device>, Error> {
    let mut opened = attach(Kind::Sockets, setting)?;
    load(&mut opened, setting.routes, setting.seed)?;
    Ok(Box::new(opened))
}

fn attach(kind: Kind, setting: &Setting) -> Result<Attached, Error> {
    let lanes = Lanes::new(kind.name(), setting.cores, &setting.routes.destinations)?;
    lanes.dut().set("net.ipv4.ip_forward", "1")?;
    if kind != Kind::KernelFib {
        // For what the program leaves to the kernel, a frame in 65,536 with a checksum that looks
        // unfinished by chance.
        let hop = next_hop_address(1).to_string();
        lanes.dut().ip(format!("route add default via {hop}"))?;
    }
    let ports = [lanes.ingress(), lanes.egress()];
    let names = ports.map(|end| end.interface.clone());
    let mut engine = lanes.dut().enter(|| kind.start(&names))??;
    for end in ports {
        let port = Port {
            ifindex: end.index,
            name: end.interface.clone(),
            enabled: true,
            mac: end.mac,
            mtu: u32::from(MTU),
            table: MAIN_TABLE,
            vlans: Vec::new(),
        };
        lanes
            .dut()
            .enter(|| engine.apply(&[Change::Port(port)]))??;
    }
    let mode = engine.modes().first().map_or("native", |port| port.mode);
    Ok(Attached {
        kind,
        engine,
        lanes,
        load: Load::default(),
        cores: setting.cores.len(),
        prefixes: setting.routes.prefixes.v4.clone(),
        mode,
        tally: Tally::default(),
    })
}

/// Next hops and all routes of both families, next hops given out at random.
fn load(opened: &mut Attached, routes: &Routes, seed: u64) -> Result<(), Error> {
    let lanes = &opened.lanes;
    let hops: Vec<Change> = (1..=NEXT_HOPS)
        .map(|number| next_hop(lanes, number))
        .collect();
    opened.engine.apply(&hops)?;
    let prefixes = &routes.prefixes;
    let given_out =
        fib::generated::next_hops(seed, prefixes.v4.len() + prefixes.v6.len(), NEXT_HOPS);
    let (hops_v4, hops_v6) = given_out.split_at(prefixes.v4.len());
    let v4 = prefixes
        .v4
        .iter()
        .zip(hops_v4)
        .map(|(&prefix, &next_hop)| route(prefix, next_hop));
    let v6 = prefixes
        .v6
        .iter()
        .zip(hops_v6)
        .map(|(&prefix, &next_hop)| Change::RouteV6 {
            table: MAIN_TABLE,
            prefix,
            next_hop: numbered(next_hop.0),
        });
    let changes: Vec<Change> = v4.chain(v6).collect();
    for part in changes.chunks(ROUTES_AT_ONCE) {
        host::cleanup::check()?;
        opened.engine.apply(part)?;
    }
    Ok(())
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
    NextHop(router::engine::fixed::FIRST_FREE + number - 1)
}

fn next_hop(lanes: &Lanes, number: u16) -> Change {
    Change::NextHop {
        id: numbered(number),
        entry: adjacency(lanes),
    }
}

impl Device for Attached {
    fn abilities(&self) -> Abilities {
        let own = self.kind != Kind::KernelFib;
        Abilities {
            name: self.kind.name(),
            tables: if own {
                &[Table::Shared]
            } else {
                &[Table::Kernel]
            },
            sizes: &FRAME_SIZES,
            most_workers: self.cores,
            takes_changes: own,
            searched: true,
            overhead: OVERHEAD,
        }
    }

    fn method(&self) -> String {
        let table = Bytes(self.engine.answers().memory());
        let what = match self.kind {
            Kind::Own => {
                format!("Our program in the kernel, our table ({table}, both address families)")
            }
            Kind::KernelFib => "Our program in the kernel, which asks the kernel's table for \
                                every packet"
                .to_owned(),
            Kind::Sockets => format!(
                "Our program in the kernel gives what our table ({table}) can forward to workers \
                 behind AF_XDP sockets, which look it up again and send it; generator, worker and \
                 sink share each core, and at most {WINDOW} frames for each core are on their way"
            ),
        };
        let mut tally = self.tally.clone();
        let mut left = 0;
        for count in self.engine.counters().unwrap_or_default().reasons {
            if count.punted {
                left += count.frames;
            } else {
                tally.explain(count.reason, count.frames);
            }
        }
        let left = match (self.kind, left) {
            (Kind::KernelFib, _) | (_, 0) => String::new(),
            (_, left) => format!(
                " {} frames of these the program left to the kernel, which forwarded them.",
                grouped(left)
            ),
        };
        format!(
            "{what}; mode {}, between the same veth pairs and with the same generator as the \
             engine kernel. {}{left}",
            self.mode,
            tally.sentence()
        )
    }

    fn measure(&mut self, case: &Case, trial: Duration) -> Result<Sample, Error> {
        let Self {
            kind,
            engine,
            lanes,
            load,
            prefixes,
            ..
        } = self;
        let pace = kind.pace();
        let change = |changes: &[(Prefix<u32>, NextHop)]| {
            let changes: Vec<Change> = changes
                .iter()
                .map(|&(prefix, hop)| route(prefix, hop))
                .collect();
            Ok(engine.apply(&changes)?)
        };
        let (carried, changes_per_second) =
            while_routes_change(case.changes, prefixes, change, || {
                let wanted = (case.frame_bytes, case.workers);
                Ok(load.carry(lanes, wanted, pace, trial)?)
            })?;
        // A worker that has ended explains why nothing was carried.
        self.engine.check()?;
        self.tally.add(&carried)?;
        Ok(Sample {
            frames_per_second: carried.frames_per_second,
            changes_per_second,
        })
    }

    fn search(&mut self, case: &Case, wanted: &Wanted) -> Result<Entry, Error> {
        let pace = self.kind.pace();
        let entry = wanted.on_lanes(&self.lanes, &mut self.load, case, pace)?;
        self.engine.check()?;
        Ok(entry)
    }
}
