//! No cache line is written by two workers for a packet: shown on the workers' whole memory.
//!
//! A process of its own has two workers between memory ports, made as the memory engine makes them, on
//! threads that run one after the other and only when told. So of everything that this process can
//! write it is known which worker changed it. Before each step a route changes, so that storing the
//! epoch that tables are at changes memory too.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use fastpath::forward::{Accepts, PortSettings};
use fib::next_hop::Kind;
use fib::organisation::{Change, Locked, Options, Organisation, PerCore, Shared, Uncounted};
use fib::{NextHop, NextHopEntry, Prefix};
use port::Pool;
use port::memory::MemoryPort;
use port::pool::Layout;
use router::user_plane::Worker;
use router::user_plane::test_traffic::{self, Destinations};

use crate::watch::{Line, Watch};

/// Names the tables to the process of the workers.
const TABLES: &str = "CORELANE_TEST_TABLES";
const ROUNDS: usize = 3;
const BURSTS: usize = 32;
/// The number by which next hops name a worker's one port.
const PORT: u32 = 1;

/// The far end of two workers' process.
struct Workers {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Workers {
    fn start(tables: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["lines::two_workers_in_a_process_of_their_own", "--exact"])
            .arg("--nocapture")
            .env(TABLES, tables)
            // The kernel would write into each thread's memory on which core it runs (rseq(2)).
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let mut this = Self {
            child,
            orders,
            answers,
        };
        this.await_answer();
        this
    }

    fn await_answer(&mut self) {
        let mut line = String::new();
        while line.trim() != "done" {
            line.clear();
            assert_ne!(self.answers.read_line(&mut line).unwrap(), 0, "it ended");
        }
    }

    /// Has a route changed, and then this worker run, if there is one of this number.
    fn step(&mut self, number: u8) {
        self.orders.write_all(&[number]).unwrap();
        self.await_answer();
        // Whoever has answered waits for the next order now.
        let tasks = format!("/proc/{}/task", self.child.id());
        let waits = |task: PathBuf| {
            let text = std::fs::read_to_string(task.join("stat")).unwrap();
            text.rsplit(") ")
                .next()
                .is_some_and(|state| state.starts_with('S'))
        };
        while !std::fs::read_dir(&tasks)
            .unwrap()
            .all(|task| waits(task.unwrap().path()))
        {
            std::thread::yield_now();
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // It may have ended.
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// The lines that both workers write.
fn common(tables: &str) -> BTreeSet<Line> {
    let mut workers = Workers::start(tables);
    let mut watch = Watch::all(workers.child.id());
    let mut step = |number| {
        workers.step(number);
        watch.changed()
    };
    // The first one has nothing to compare with.
    (0..3).for_each(|number| drop(step(number)));
    let [mut first, mut second, mut nobody] = [0, 1, 2].map(&mut step);
    for _ in 1..ROUNDS {
        // What changes once was used for the first time.
        first = &first & &step(0);
        second = &second & &step(1);
        nobody.extend(step(2));
    }
    assert!(
        first.len() > BURSTS && second.len() > BURSTS,
        "buffers are written"
    );
    let common = &first & &second;
    &common - &nobody
}

#[test]
fn no_line_is_written_by_two_workers_for_a_packet() {
    for tables in ["as-shipped", "shared", "per-core"] {
        let common = common(tables);
        assert!(common.is_empty(), "{tables}: {common:?}");
    }
    // Here all count in the same cells, under a lock: what two workers write is found.
    assert!(!common("locked").is_empty());
}

/// A worker's thread, which runs when it is rung for.
struct Thread {
    bell: PipeWriter,
    ready: PipeReader,
}

fn threads<O: Organisation>(tables: &O) -> [Thread; 2]
where
    O::Reader: 'static,
{
    // No multiple of a burst, so that a buffer gets other bytes each time.
    let to: Vec<u32> = (0..97)
        .map(|number| 0x0a00_0001 | (number % 3) << 16 | number << 8)
        .collect();
    let frames = Arc::new(test_traffic::frames(Destinations::V4(&to), 64).unwrap());
    let hop = |number| NextHopEntry {
        kind: Kind::Adjacency,
        mtu: 1500,
        port: PORT,
        destination_mac: [2, 0, 0, 0, 1, number],
        source_mac: test_traffic::ROUTER.0,
        ..NextHopEntry::default()
    };
    let mut changes = vec![
        Change::NextHop(NextHop(1), hop(1)),
        Change::NextHop(NextHop(2), hop(2)),
    ];
    let routes = (0..3).map(|net| Prefix::containing(0x0a00_0000 | net << 16, 16));
    changes.extend(routes.map(|route| Change::V4(route, NextHop(1))));
    tables.apply(&changes).unwrap();
    // First all workers, and then their threads, as the engines do.
    let workers = [0, 1].map(|place| {
        let pool = Pool::new(Layout::ordinary(256)).unwrap();
        let mut worker = Worker::new(vec![tables.reader(place).unwrap()], pool);
        let settings = PortSettings {
            enabled: true,
            accepts: Accepts::default(),
            mac: test_traffic::ROUTER.0,
            ..PortSettings::default()
        };
        let port = MemoryPort::new(format!("memory{place}"), Arc::clone(&frames), place);
        worker.attach(Box::new(port), PORT, settings).unwrap();
        worker
    });
    workers.map(|mut worker| {
        let (mut ear, bell) = std::io::pipe().unwrap();
        let (ready, mut say) = std::io::pipe().unwrap();
        std::thread::spawn(move || {
            while ear.read_exact(&mut [0]).is_ok() {
                for _ in 0..BURSTS {
                    worker.run_burst().unwrap();
                }
                say.write_all(&[1]).unwrap();
            }
        });
        Thread { bell, ready }
    })
}

fn serve<O: Organisation>(tables: &O)
where
    O::Reader: 'static,
{
    let mut threads = threads(tables);
    println!("done");
    let mut order = [0];
    for turn in 0_u16.. {
        // It ends with whoever gives orders.
        if std::io::stdin().read_exact(&mut order).is_err() {
            return;
        }
        let route = Prefix::containing(0x0a02_0000, 16);
        tables
            .apply(&[Change::V4(route, NextHop(1 + turn % 2))])
            .unwrap();
        if let Some(thread) = threads.get_mut(usize::from(order[0])) {
            thread.bell.write_all(&[1]).unwrap();
            thread.ready.read_exact(&mut [0]).unwrap();
        }
        println!("done");
    }
}

#[test]
fn two_workers_in_a_process_of_their_own() {
    let mut options = Options::for_workers(2);
    (options.v4.node_words, options.v6.node_words) = (4096, 4096);
    match std::env::var(TABLES).as_deref() {
        Ok("as-shipped") => serve(&Uncounted::new(&options).unwrap()),
        Ok("shared") => serve(&Shared::new(&options).unwrap()),
        Ok("per-core") => serve(&PerCore::new(&options).unwrap()),
        Ok("locked") => serve(&Locked::new(&options).unwrap()),
        // It runs only for the test above.
        _ => {}
    }
}
