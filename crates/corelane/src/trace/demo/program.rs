//! The program that the demonstration records: threads that serve a table behind one lock, or each
//! a table of its own.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::Outcome;

/// The lock that stands in the way.
pub(super) const LOCK: &str = "the one table";
/// Hundredths of an operation in which the table is held.
pub(super) const HELD: u64 = 75;
/// What one operation takes, about.
const OPERATION: Duration = Duration::from_micros(50);

/// Which of the two programs, and for how long.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A table for each thread
    #[arg(long)]
    split: bool,
    /// All threads on one core, where they take turns
    #[arg(long)]
    one_core: bool,
    /// For how long
    #[arg(long, value_name = "N")]
    milliseconds: u64,
}

/// Runs the program, with a thread for each core.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let threads = thread::available_parallelism()?.get();
    let cores = host::allowed_cores()?;
    if let (true, Some(first)) = (arguments.one_core, cores.first()) {
        // Threads have the cores of the one that starts them.
        host::cores::bind(0, &[*first])?;
    }
    let tables: Vec<Arc<Table>> = if arguments.split {
        let own = |thread| Table::new(&format!("the table of thread {thread}"));
        (1..=threads).map(own).collect()
    } else {
        vec![Table::new(LOCK)]
    };
    let _names: Vec<_> = tables.iter().map(|table| table.name_lock()).collect();
    let end = Instant::now() + Duration::from_millis(arguments.milliseconds);
    let steps = steps_of_an_operation();
    let mut workers = Vec::new();
    for (number, table) in (1..=threads).zip(tables.iter().cycle()) {
        let table = Arc::clone(table);
        let worker = thread::Builder::new().name(format!("worker {number}"));
        workers.push(worker.spawn(move || serve(&table, steps, end))?);
    }
    for worker in workers {
        worker.join().map_err(|_| "a worker ended badly")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A table behind its lock.
struct Table {
    name: String,
    entries: Mutex<[u64; 256]>,
}

impl Table {
    fn new(name: &str) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            entries: Mutex::new([0; 256]),
        })
    }

    fn name_lock(&self) -> marker::Named {
        let entries = &raw const self.entries;
        marker::name_lock(entries as usize, size_of_val(&self.entries), &self.name)
    }
}

/// What each thread does until the `end`: operations, of which a part is done at the table.
fn serve(table: &Table, steps: u64, end: Instant) {
    let done = marker::Progress::new("operations");
    let mut key = 1;
    while Instant::now() < end {
        let mut entries = table.entries.lock().unwrap_or_else(PoisonError::into_inner);
        key = work(key, steps * HELD / 100);
        entries[(key % 256) as usize] += 1;
        drop(entries);
        key = work(key, steps * (100 - HELD) / 100);
        done.add(1);
    }
}

/// Steps that depend on each other, so that they take as long on every core.
fn work(mut key: u64, steps: u64) -> u64 {
    for _ in 0..steps {
        key = black_box(key.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1));
    }
    key
}

/// By the fastest of many tries: others may run now.
fn steps_of_an_operation() -> u64 {
    const STEPS: u64 = 10_000;
    let time = |_| {
        let start = Instant::now();
        black_box(work(1, STEPS));
        start.elapsed()
    };
    let fastest = (0..50).map(time).min().unwrap_or(OPERATION);
    let steps = OPERATION.as_secs_f64() / fastest.as_secs_f64().max(1e-9) * STEPS as f64;
    (steps as u64).max(100)
}
