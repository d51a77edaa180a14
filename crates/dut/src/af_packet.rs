//! Engine `af-packet`: our workers in user space, on packet sockets.

use std::time::Duration;

use fib::next_hop::Kind;
use fib::organisation::{Change, Locked, Options, Organisation, PerCore, Shared};
use fib::{NextHop, NextHopEntry, Prefix};
use host::CoreId;
use router::engine::plain_sockets::PlainSockets;
use router::user_plane::Reason;
use tester::result::Entry;
use tester::veth::lanes::{Carried, Lanes, Load, MTU, NEXT_HOPS, Pace};

use crate::case::{Case, FRAME_SIZES, Sample, Table};
use crate::changer::while_routes_change;
use crate::device::{Abilities, Device, Setting};
use crate::error::Error;
use crate::offer::Wanted;
use crate::routes::Routes;
use crate::tally::Tally;

/// Starting workers, emptying queues.
const OVERHEAD: Duration = Duration::from_millis(60);
/// Frames on their way for each core, at most: a quarter of the slots of a socket's ring.
const WINDOW: u32 = 1024;
/// What a worker calls frames that its socket's ring had no slot for.
const RING_FULL: &str = "receive ring full";
/// Frames that lay in a ring when the workers were stopped: some worker had not got its core for
/// long.
const LEFT: &str = "left in the ring";

struct Sockets {
    locked: Locked,
    shared: Shared,
    per_core: PerCore,
    lanes: Lanes,
    load: Load,
    cores: Vec<CoreId>,
    prefixes: Vec<Prefix<u32>>,
    tally: Tally,
}

/// Makes the namespaces and fills a table of each organisation.
///
/// # Errors
/// When the namespaces cannot be made or the tables not filled.
pub fn open(setting: &Setting) -> Result<Box<dyn Device>, Error> {
    let lanes = Lanes::new("af-packet", setting.cores, &setting.routes.destinations)?;
    // What workers forward the kernel must not forward too.
    lanes.dut().set("net.ipv4.ip_forward", "0")?;
    let changes = changes(&lanes, setting.routes, setting.seed);
    let options = Options::for_workers(setting.cores.len());
    let locked = Locked::new(&options)?;
    let shared = Shared::new(&options)?;
    let per_core = PerCore::new(&options)?;
    let tables: [&dyn Fill; 3] = [&locked, &shared, &per_core];
    for table in tables {
        table.fill(&changes)?;
        host::cleanup::check()?;
    }
    Ok(Box::new(Sockets {
        locked,
        shared,
        per_core,
        lanes,
        load: Load::default(),
        cores: setting.cores.to_vec(),
        prefixes: setting.routes.prefixes.v4.clone(),
        tally: Tally::default(),
    }))
}

/// The part of [`Organisation`] that needs no type of reader.
trait Fill {
    fn fill(&self, changes: &[Change]) -> Result<(), Error>;
}

impl<O: Organisation> Fill for O {
    fn fill(&self, changes: &[Change]) -> Result<(), Error> {
        Ok(self.apply(changes)?)
    }
}

/// Next hops and all routes of both families, next hops given out at random.
fn changes(lanes: &Lanes, routes: &Routes, seed: u64) -> Vec<Change> {
    let prefixes = &routes.prefixes;
    let given_out =
        fib::generated::next_hops(seed, prefixes.v4.len() + prefixes.v6.len(), NEXT_HOPS);
    let (hops_v4, hops_v6) = given_out.split_at(prefixes.v4.len());
    let hops = (1..=NEXT_HOPS).map(|number| Change::NextHop(NextHop(number), adjacency(lanes)));
    let v4 = prefixes.v4.iter().zip(hops_v4);
    let v6 = prefixes.v6.iter().zip(hops_v6);
    hops.chain(v4.map(|(&prefix, &hop)| Change::V4(prefix, hop)))
        .chain(v6.map(|(&prefix, &hop)| Change::V6(prefix, hop)))
        .collect()
}

/// What every next hop is: the sink, out of the egress.
pub fn adjacency(lanes: &Lanes) -> NextHopEntry {
    NextHopEntry {
        kind: Kind::Adjacency,
        mtu: MTU,
        port: lanes.egress().index,
        destination_mac: lanes.sink_mac(),
        source_mac: lanes.egress().mac,
        ..NextHopEntry::default()
    }
}

impl Device for Sockets {
    fn abilities(&self) -> Abilities {
        Abilities {
            name: "af-packet",
            tables: &[Table::Locked, Table::Shared, Table::PerCore],
            sizes: &FRAME_SIZES,
            most_workers: self.cores.len(),
            takes_changes: true,
            searched: true,
            overhead: OVERHEAD,
        }
    }

    fn method(&self) -> String {
        format!(
            "Our workers in user space, on packet sockets, between veth pairs as before. \
             Generator, worker and sink share each core. A generator that does not wait would \
             outrun the sockets, so it keeps at most {WINDOW} frames for each core on their way: \
             as fast as the workers go, and no faster. {}",
            self.tally.sentence()
        )
    }

    fn measure(&mut self, case: &Case, trial: Duration) -> Result<Sample, Error> {
        let (tables, mut bench) = self.bench(case);
        match tables {
            Tables::Locked(tables) => bench.measure(tables, case, trial),
            Tables::Shared(tables) => bench.measure(tables, case, trial),
            Tables::PerCore(tables) => bench.measure(tables, case, trial),
        }
    }

    fn search(&mut self, case: &Case, wanted: &Wanted) -> Result<Entry, Error> {
        let (tables, mut bench) = self.bench(case);
        match tables {
            Tables::Locked(tables) => bench.search(tables, case, wanted),
            Tables::Shared(tables) => bench.search(tables, case, wanted),
            Tables::PerCore(tables) => bench.search(tables, case, wanted),
        }
    }
}

/// The tables of one organisation.
enum Tables<'a> {
    Locked(&'a Locked),
    Shared(&'a Shared),
    PerCore(&'a PerCore),
}

impl Sockets {
    /// The tables of a case, and what else it needs.
    fn bench(&mut self, case: &Case) -> (Tables<'_>, Socketed<'_>) {
        let tables = match case.table {
            Table::Locked => Tables::Locked(&self.locked),
            Table::Shared => Tables::Shared(&self.shared),
            Table::PerCore | Table::Kernel => Tables::PerCore(&self.per_core),
        };
        let bench = Socketed {
            lanes: &self.lanes,
            load: &mut self.load,
            cores: &self.cores[..case.workers],
            prefixes: &self.prefixes,
            tally: &mut self.tally,
        };
        (tables, bench)
    }
}

/// All that a measurement needs but the table.
struct Socketed<'a> {
    lanes: &'a Lanes,
    load: &'a mut Load,
    cores: &'a [CoreId],
    prefixes: &'a [Prefix<u32>],
    tally: &'a mut Tally,
}

impl Socketed<'_> {
    fn start<O>(&self, tables: &O) -> Result<PlainSockets, Error>
    where
        O: Organisation,
        O::Reader: 'static,
    {
        let ports = [self.lanes.ingress(), self.lanes.egress()];
        let names = ports.map(|end| end.interface.as_str());
        let cores = self.cores;
        let start = || PlainSockets::start(tables, &names, cores);
        Ok(self.lanes.dut().enter(start)??)
    }

    fn search<O>(&mut self, tables: &O, case: &Case, wanted: &Wanted) -> Result<Entry, Error>
    where
        O: Organisation,
        O::Reader: 'static,
    {
        let workers = self.start(tables)?;
        let entry = wanted.on_lanes(self.lanes, self.load, case, Pace::Window(WINDOW));
        // Why a worker has ended explains why nothing was carried.
        workers.stop()?;
        entry
    }

    fn measure<O>(&mut self, tables: &O, case: &Case, trial: Duration) -> Result<Sample, Error>
    where
        O: Organisation,
        O::Reader: 'static,
    {
        let workers = self.start(tables)?;
        let change = |changes: &[(Prefix<u32>, NextHop)]| {
            let changes: Vec<Change> = changes
                .iter()
                .map(|&(prefix, hop)| Change::V4(prefix, hop))
                .collect();
            Ok(tables.apply(&changes)?)
        };
        let (lanes, load) = (self.lanes, &mut *self.load);
        let carried = while_routes_change(case.changes, self.prefixes, change, || {
            let wanted = (case.frame_bytes, case.workers);
            Ok(load.carry(lanes, wanted, Pace::Window(WINDOW), trial)?)
        });
        // Why a worker has ended explains why nothing was carried.
        let counts = workers.stop()?;
        let (carried, changes_per_second): (Carried, f64) = carried?;
        self.tally.add(&carried)?;
        let entered = carried.counts.sent - carried.losses.to_device;
        let mut taken = 0;
        for count in &counts {
            taken += count.received + count.missed;
            self.tally.explain(RING_FULL, count.missed);
            for (reason, &frames) in Reason::ALL.iter().zip(&count.reasons) {
                self.tally.explain(reason.name(), frames);
            }
        }
        self.tally.explain(LEFT, entered.saturating_sub(taken));
        Ok(Sample {
            frames_per_second: carried.frames_per_second,
            changes_per_second,
        })
    }
}
