//! The memory engine: workers on frames replayed from memory, and a control thread that changes
//! routes meanwhile. No network, no root: it measures what the forwarding itself costs, and what a
//! second core buys.
//!
//! A trial runs one pinned worker on each core given, each between a memory port and itself, all on
//! one [`Replay`], begun at different places. After a warm-up the counters are read, and read again
//! when the time is over; what lies between is the outcome, worker by worker.
//!
//! A memory port always has the next frame, so a trial is a closed loop: no frame is lost for lack
//! of speed, and frames forwarded a second are the throughput of RFC 2544 directly, without a
//! search.
//!
//! Route changes are made by a thread that is not pinned: where workers occupy every core it takes
//! its time from them, and that is part of what is measured. Every tick it applies the changes that
//! are due by then, so a delayed tick delays changes and loses none.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use fastpath::forward::{Accepts, Capacity, PortCount, PortSettings};
use fib::next_hop::Kind;
use fib::organisation::{
    ApplyError, Change, Locked, LockedPerCore, OneByOne, Options, Organisation, PerCore, Shared,
    TableOrganisation, Uncounted,
};
use fib::quiescence::TooManyReaders;
use fib::storage::OutOfMemory;
use fib::{NextHop, NextHopEntry, Prefix};
use host::clock::now_ns;
use host::counting::{Counting, Mark, Timer};
use host::pace::{Looks, Marks};
use host::pin::PinError;
use host::{CoreId, Pinned};
use port::memory::{MemoryPort, Replay};
use port::pool::Layout;
use port::{Burst, Pool, Port, PortError};

use route_changes::RouteChanges;

use super::worker::WorkerError;
use super::{Worker, test_traffic};
use crate::engine;
use crate::engine::workers::Workers;

mod route_changes;

/// How long workers run before counting begins: caches and branch predictors are warm, huge pages
/// in place.
const WARM_UP: Duration = Duration::from_millis(100);
/// How often the thread that waits for the end of a trial looks for Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(50);
/// Buffers of a worker: two full bursts in flight would do.
const BUFFERS: u32 = 512;
/// The number by which next hops name a worker's one port.
const PORT: u32 = 1;

/// The routes of a table.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// IPv4 prefixes and their next hops, numbered from 1.
    pub v4: Vec<(Prefix<u32>, NextHop)>,
    /// IPv6 prefixes and their next hops, numbered from 1.
    pub v6: Vec<(Prefix<u128>, NextHop)>,
    /// How many next hops there are: 1 to this number.
    pub next_hops: u16,
}

/// What to run.
#[derive(Clone, Debug)]
pub struct Trial<'a> {
    /// One worker on each.
    pub cores: &'a [CoreId],
    /// The frames, as [`test_traffic::frames`] makes them.
    pub frames: &'a Arc<Replay>,
    /// How long to count, after the warm-up.
    pub duration: Duration,
    /// Route changes to make meanwhile; 0: none.
    pub route_changes_per_second: u32,
}

/// What one worker did.
#[derive(Clone, Debug)]
pub struct WorkerOutcome {
    /// Where it ran.
    pub core: CoreId,
    /// What it counted.
    pub count: PortCount,
    /// In this time.
    pub elapsed: Duration,
}

/// What a trial showed.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// In the order of the cores given.
    pub workers: Vec<WorkerOutcome>,
    /// Route changes made while it was counted.
    pub route_changes: u64,
    /// In this time.
    pub elapsed: Duration,
    /// All workers' frames, as they were counted.
    pub counted: Counting,
}

impl WorkerOutcome {
    /// Frames this worker forwarded each second.
    pub fn frames_per_second(&self) -> f64 {
        self.count.forwarded as f64 / self.elapsed.as_secs_f64()
    }
}

impl Outcome {
    /// Frames forwarded each second by all workers.
    pub fn frames_per_second(&self) -> f64 {
        self.workers
            .iter()
            .map(WorkerOutcome::frames_per_second)
            .sum()
    }

    /// Route changes made each second.
    pub fn route_changes_per_second(&self) -> f64 {
        self.route_changes as f64 / self.elapsed.as_secs_f64()
    }
}

/// Why a trial could not be run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No memory for the tables.
    #[error(transparent)]
    Tables(#[from] OutOfMemory),
    /// The routes do not fit the tables.
    #[error("loading routes: {0}")]
    Routes(#[from] ApplyError),
    /// A route names a next hop that there is not.
    #[error("a route goes to next hop {0}, but the next hops are 1 to {1}")]
    NextHop(u16, u16),
    /// A core cannot be used.
    #[error(transparent)]
    Pin(#[from] PinError),
    /// The same core twice.
    #[error("core {0} is named twice; give each worker a core of its own")]
    CoreTwice(CoreId),
    /// No cores, or more than the engine was built for.
    #[error("{wanted} workers, but the engine was built for 1 to {most}")]
    Workers {
        /// Cores given.
        wanted: usize,
        /// Workers built for.
        most: usize,
    },
    /// More readers than places.
    #[error(transparent)]
    Readers(#[from] TooManyReaders),
    /// The worker could not be put together.
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// Memory for frames could not be had.
    #[error(transparent)]
    Port(#[from] PortError),
    /// A worker could not be started.
    #[error(transparent)]
    Start(#[from] engine::EngineError),
    /// A worker ended before the trial did.
    #[error("a worker ended: {0}")]
    Ended(String),
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

/// Tables with routes in them, ready for trials.
#[derive(Debug)]
pub struct MemoryEngine {
    tables: Tables,
    /// Readers of each worker, of which it uses the first.
    readers: usize,
    workers: usize,
    changes: RouteChanges,
}

#[derive(Debug)]
enum Tables {
    Locked(Locked),
    Shared(Shared),
    PerCore(PerCore),
    OneByOne(OneByOne),
    LockedPerCore(LockedPerCore),
    AsShipped(Uncounted),
}

/// Does `$do` with the tables, whichever they are.
macro_rules! with {
    ($of:expr, $tables:ident => $do:expr) => {
        match $of {
            Tables::Locked($tables) => $do,
            Tables::Shared($tables) => $do,
            Tables::PerCore($tables) => $do,
            Tables::OneByOne($tables) => $do,
            Tables::LockedPerCore($tables) => $do,
            Tables::AsShipped($tables) => $do,
        }
    };
}

impl MemoryEngine {
    /// Builds tables of an organisation for at most `workers` workers: an experiment, for none of
    /// the router's engines counts in its readers, or keeps copies.
    ///
    /// # Errors
    /// [`EngineError`] when memory is short, or a route names a next hop that there is not.
    pub fn build(
        organisation: TableOrganisation,
        routes: &Routes,
        workers: usize,
    ) -> Result<Self, EngineError> {
        let options = Options::for_workers(workers);
        let tables = match organisation {
            TableOrganisation::Locked => Tables::Locked(Locked::new(&options)?),
            TableOrganisation::Shared => Tables::Shared(Shared::new(&options)?),
            TableOrganisation::PerCore => Tables::PerCore(PerCore::new(&options)?),
            TableOrganisation::OneByOne => Tables::OneByOne(OneByOne::new(&options)?),
            TableOrganisation::LockedPerCore => {
                Tables::LockedPerCore(LockedPerCore::new(&options)?)
            }
        };
        Self::fill(tables, 1, routes, workers)
    }

    /// Builds what the workers of `corelane run` read: the same readers, as many as for their
    /// tables, in memory of this process instead of the programs' maps.
    ///
    /// # Errors
    /// As [`MemoryEngine::build`].
    pub fn as_shipped(routes: &Routes, workers: usize) -> Result<Self, EngineError> {
        let readers = Capacity::default().tables();
        let options = Options::for_workers(workers * readers);
        let tables = Tables::AsShipped(Uncounted::new(&options)?);
        Self::fill(tables, readers, routes, workers)
    }

    fn fill(
        tables: Tables,
        readers: usize,
        routes: &Routes,
        workers: usize,
    ) -> Result<Self, EngineError> {
        let (v4, v6) = (routes.v4.iter(), routes.v6.iter());
        let mut hops = v4.map(|route| route.1).chain(v6.map(|route| route.1));
        if let Some(hop) = hops.find(|hop| !(1..=routes.next_hops).contains(&hop.0)) {
            return Err(EngineError::NextHop(hop.0, routes.next_hops));
        }
        let hops = 1..=routes.next_hops;
        let hops = hops.map(|number| Change::NextHop(NextHop(number), adjacency(number)));
        let v4 = routes
            .v4
            .iter()
            .map(|&(prefix, hop)| Change::V4(prefix, hop));
        let v6 = routes
            .v6
            .iter()
            .map(|&(prefix, hop)| Change::V6(prefix, hop));
        let changes: Vec<Change> = hops.chain(v4).chain(v6).collect();
        with!(&tables, tables => tables.apply(&changes)?);
        Ok(Self {
            tables,
            readers,
            workers,
            changes: RouteChanges::new(&routes.v4, routes.next_hops),
        })
    }

    /// How the workers share the tables, when it is an experiment.
    pub fn organisation(&self) -> Option<TableOrganisation> {
        match self.tables {
            Tables::Locked(_) => Some(TableOrganisation::Locked),
            Tables::Shared(_) => Some(TableOrganisation::Shared),
            Tables::PerCore(_) => Some(TableOrganisation::PerCore),
            Tables::OneByOne(_) => Some(TableOrganisation::OneByOne),
            Tables::LockedPerCore(_) => Some(TableOrganisation::LockedPerCore),
            Tables::AsShipped(_) => None,
        }
    }

    /// Where the mutex of [`TableOrganisation::Locked`] is, for a profiler that wants to name it.
    pub fn lock_address(&self) -> Option<usize> {
        match &self.tables {
            Tables::Locked(tables) => Some(tables.lock_address()),
            _ => None,
        }
    }

    /// Exact bytes of the tables.
    pub fn memory(&self) -> fib::MemoryReport {
        with!(&self.tables, tables => tables.memory())
    }

    /// Runs a trial.
    ///
    /// # Errors
    /// [`EngineError`] when a core cannot be used, or after Ctrl-C.
    pub fn run(&self, trial: &Trial) -> Result<Outcome, EngineError> {
        self.run_after(WARM_UP, trial)
    }

    /// Runs a trial after a warm-up of another length: shorter for many trials in a row on the same
    /// tables.
    ///
    /// # Errors
    /// As [`MemoryEngine::run`].
    pub fn run_after(&self, warm_up: Duration, trial: &Trial) -> Result<Outcome, EngineError> {
        if trial.cores.is_empty() || trial.cores.len() > self.workers {
            return Err(EngineError::Workers {
                wanted: trial.cores.len(),
                most: self.workers,
            });
        }
        for (index, core) in trial.cores.iter().enumerate() {
            if trial.cores[..index].contains(core) {
                return Err(EngineError::CoreTwice(*core));
            }
        }
        with!(&self.tables, tables => self.run_on(tables, warm_up, trial))
    }

    fn run_on<O>(
        &self,
        tables: &O,
        warm_up: Duration,
        trial: &Trial,
    ) -> Result<Outcome, EngineError>
    where
        O: Organisation,
        O::Reader: 'static,
    {
        let mut workers = Workers::default();
        let marks: Vec<Marks> = trial.cores.iter().map(|_| Marks::default()).collect();
        for (index, &core) in trial.cores.iter().enumerate() {
            // Its memory is touched first by its core.
            let _pinned = Pinned::to(core)?;
            let readers = (0..self.readers).map(|_| tables.reader(index));
            let pool = Pool::new(Layout::ordinary(BUFFERS))?;
            let mut worker = Worker::new(readers.collect::<Result<_, _>>()?, pool);
            let first = trial.frames.len() / trial.cores.len() * index;
            let port = MemoryPort::new(format!("memory{index}"), Arc::clone(trial.frames), first);
            let port = Watched::new(port, Arc::clone(&marks[index]));
            let counters = worker.attach(Box::new(port), PORT, settings())?;
            workers.start(worker, core, vec![(PORT, counters)])?;
        }
        if trial.route_changes_per_second > 0 {
            self.changes.draw();
        }
        let (stop, changes_made) = (AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|scope| {
            let control = (trial.route_changes_per_second > 0).then(|| {
                scope.spawn(|| {
                    self.changes
                        .make(tables, trial.route_changes_per_second, &stop, &changes_made)
                })
            });
            let outcome = measure(warm_up, trial, &workers, &marks, &changes_made);
            stop.store(true, Ordering::Relaxed);
            if let Some(why) = workers.stop() {
                return Err(EngineError::Ended(why));
            }
            if let Some(control) = control {
                // Its panic goes on in this one.
                let result = control.join();
                result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            }
            outcome
        })
    }
}

/// The entry of a next hop: back out by the worker's one port, to a neighbour of its own.
fn adjacency(number: u16) -> NextHopEntry {
    let [high, low] = number.to_be_bytes();
    NextHopEntry {
        kind: Kind::Adjacency,
        mtu: 1500,
        port: PORT,
        destination_mac: [0x02, 0xc0, 0x4e, 0x01, high, low],
        source_mac: test_traffic::ROUTER.0,
        ..NextHopEntry::default()
    }
}

/// Of a worker's one port.
fn settings() -> PortSettings {
    PortSettings {
        enabled: true,
        accepts: Accepts::default(),
        mac: test_traffic::ROUTER.0,
        ..PortSettings::default()
    }
}

/// A memory port that times a piece of work now and then: it shows whether somebody slows its core.
#[derive(Debug)]
struct Watched {
    port: MemoryPort,
    looks: Looks,
    received: u64,
}

impl Watched {
    fn new(port: MemoryPort, marks: Marks) -> Self {
        Self {
            port,
            looks: Looks::new(marks),
            received: 0,
        }
    }
}

impl Port for Watched {
    fn name(&self) -> &str {
        self.port.name()
    }

    #[inline]
    fn receive(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<usize, PortError> {
        self.looks.turn(self.received);
        let count = self.port.receive(pool, burst)?;
        self.received += count as u64;
        Ok(count)
    }

    #[inline]
    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<usize, PortError> {
        self.port.transmit(pool, burst)
    }
}

/// Reads all counters after the warm-up and again at the end.
fn measure(
    warm_up: Duration,
    trial: &Trial,
    running: &Workers,
    marks: &[Marks],
    changes: &AtomicU64,
) -> Result<Outcome, EngineError> {
    let read = || {
        let counts: Vec<(PortCount, Instant)> = running
            .counters()
            .map(|(_, _, counters)| (counters.read(), Instant::now()))
            .collect();
        (counts, changes.load(Ordering::Relaxed), Instant::now())
    };
    wait(warm_up)?;
    let (before, changes_before, begun) = read();
    let from_ns = now_ns();
    wait(trial.duration)?;
    let to_ns = now_ns();
    let (after, changes_after, ended) = read();
    let workers = trial.cores.iter().zip(before.iter().zip(&after));
    let workers = workers
        .map(|(&core, ((before, begun), (after, ended)))| WorkerOutcome {
            core,
            count: after.since(before),
            elapsed: *ended - *begun,
        })
        .collect();
    let counted = |marks: &Marks| {
        let marks = marks.lock().unwrap_or_else(PoisonError::into_inner);
        let marks = marks.iter().copied();
        let is_counted = |mark: &Mark| (from_ns..to_ns).contains(&mark.begun_ns);
        marks.filter(is_counted).collect()
    };
    let counted = Counting::by_cores(Timer::Counting, marks.iter().map(counted).collect());
    Ok(Outcome {
        workers,
        route_changes: changes_after - changes_before,
        elapsed: ended - begun,
        counted: counted.unwrap_or_default(),
    })
}

fn wait(duration: Duration) -> Result<(), EngineError> {
    let end = Instant::now() + duration;
    loop {
        if host::interrupted() {
            return Err(EngineError::Interrupted);
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        thread::sleep(left.min(PATIENCE));
    }
}
