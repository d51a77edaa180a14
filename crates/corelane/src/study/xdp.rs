//! Engines `xdp` and `xdp-kernel-fib`: forwarding inside the kernel, by our table or by the kernel's own look-up.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fastpath::attach::Request;
use fastpath::forward::Lookup;
use fib::generated::Random;
use fib::{NextHop, Prefix};
use report::units::{Bytes, grouped};
use router::engine::xdp::Xdp;
use router::engine::{Change, Engine as _, MAIN_TABLE, Port};

use super::bench::{Bench, Flood, MTU, NEXT_HOPS};
use super::case::{Case, FRAME_SIZES, Sample, Table};
use super::engine::{Abilities, Engine, Setting};
use super::routes::Routes;
use super::{Error, kernel};

/// Making generators and emptying queues.
const OVERHEAD: Duration = Duration::from_millis(100);
/// Routes given to the engine at once while loading.
const ROUTES_AT_ONCE: usize = 16 << 10;
/// How often route changes that are due are made.
const TICK: Duration = Duration::from_millis(1);

struct InKernel {
    lookup: Lookup,
    // Dropped before the interfaces that it is attached to.
    engine: Xdp,
    bench: Bench,
    flood: Flood,
    cores: usize,
    prefixes: Vec<Prefix<u32>>,
    mode: &'static str,
    sent: u64,
    lost: u64,
}

/// Our table.
///
/// # Errors
/// When the namespaces cannot be made, the programs not attached, or the routes not loaded.
pub(crate) fn open(setting: &Setting) -> Result<Box<dyn Engine>, Error> {
    let mut opened = attach("xdp", Lookup::Own, setting)?;
    load(&mut opened, setting.routes, setting.seed)?;
    opened.prefixes.clone_from(&setting.routes.prefixes.v4);
    Ok(Box::new(opened))
}

/// The kernel's look-up, for every packet.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_kernel_fib(setting: &Setting) -> Result<Box<dyn Engine>, Error> {
    let opened = attach("xdp-kernel", Lookup::Kernel, setting)?;
    kernel::load(opened.bench.dut(), setting.routes, setting.seed)?;
    Ok(Box::new(opened))
}

fn attach(name: &str, lookup: Lookup, setting: &Setting) -> Result<InKernel, Error> {
    let bench = Bench::new(name, setting.cores, &setting.routes.destinations)?;
    bench.dut().set("net.ipv4.ip_forward", "1")?;
    let ports = [&bench.ingress, &bench.egress];
    let names = ports.map(|end| end.interface.clone());
    let mut engine = bench
        .dut()
        .enter(|| Xdp::open(lookup, &names, Request::Any))??;
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
        bench
            .dut()
            .enter(|| engine.apply(&[Change::Port(port)]))??;
    }
    let mode = engine.modes().first().map_or("native", |port| port.mode);
    Ok(InKernel {
        lookup,
        engine,
        bench,
        flood: Flood::default(),
        cores: setting.cores.len(),
        prefixes: Vec::new(),
        mode,
        sent: 0,
        lost: 0,
    })
}

/// Next hops and all routes of both families, next hops given out at random.
fn load(opened: &mut InKernel, routes: &Routes, seed: u64) -> Result<(), Error> {
    let bench = &opened.bench;
    let hops: Vec<Change> = (1..=NEXT_HOPS)
        .map(|number| next_hop(bench, number))
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

fn next_hop(bench: &Bench, number: u16) -> Change {
    Change::NextHop {
        id: numbered(number),
        entry: bench.adjacency(),
    }
}

impl Engine for InKernel {
    fn abilities(&self) -> Abilities {
        let own = self.lookup == Lookup::Own;
        Abilities {
            name: if own { "xdp" } else { "xdp-kernel-fib" },
            tables: if own {
                &[Table::Shared]
            } else {
                &[Table::Kernel]
            },
            sizes: &FRAME_SIZES,
            most_workers: self.cores,
            takes_changes: own,
            trials: 2,
            overhead: OVERHEAD,
            every: 1,
        }
    }

    fn method(&self) -> String {
        let what = match self.lookup {
            Lookup::Own => format!(
                "Our program in the kernel, our table ({}, both address families)",
                Bytes(self.engine.memory())
            ),
            Lookup::Kernel => {
                "Our program in the kernel, which asks the kernel's table for every packet"
                    .to_owned()
            }
        };
        format!(
            "{what}; XDP mode {}, between the same veth pairs and with the same generator as the engine kernel. Of {} frames sent, {} \
             were lost.",
            self.mode,
            grouped(self.sent),
            grouped(self.lost)
        )
    }

    fn measure(&mut self, case: &Case, trial: Duration) -> Result<Sample, Error> {
        let Self {
            engine,
            bench,
            flood,
            prefixes,
            ..
        } = self;
        let stop = AtomicBool::new(false);
        let (flow, changed) = thread::scope(|scope| {
            let changer = (case.changes > 0)
                .then(|| scope.spawn(|| change_routes(engine, prefixes, case.changes, &stop)));
            let flow = flood.measure(bench, case.frame_bytes, case.workers, trial);
            stop.store(true, Ordering::Relaxed);
            let join = |changer: thread::ScopedJoinHandle<'_, _>| {
                changer
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            (flow, changer.map_or(Ok(0.0), join))
        });
        let (flow, changes_per_second) = (flow?, changed?);
        self.sent += flow.sent;
        self.lost += flow.lost;
        Ok(Sample {
            frames_per_second: flow.frames_per_second,
            changes_per_second,
        })
    }
}

/// Moves random prefixes to other next hops, `rate` a second, until told to stop; the rate really made.
fn change_routes(
    engine: &mut Xdp,
    prefixes: &[Prefix<u32>],
    rate: u64,
    stop: &AtomicBool,
) -> Result<f64, Error> {
    let mut random = Random::new(rate);
    let begun = Instant::now();
    let mut made = 0;
    while !stop.load(Ordering::Relaxed) {
        let due = (begun.elapsed().as_secs_f64() * rate as f64) as u64 - made;
        let changes: Vec<Change> = (0..due.min(ROUTES_AT_ONCE as u64))
            .map(|_| {
                let prefix = prefixes[random.below(prefixes.len())];
                route(
                    prefix,
                    NextHop(1 + random.below(usize::from(NEXT_HOPS)) as u16),
                )
            })
            .collect();
        engine.apply(&changes)?;
        made += changes.len() as u64;
        thread::sleep(TICK);
    }
    Ok(made as f64 / begun.elapsed().as_secs_f64())
}
