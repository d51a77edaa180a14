//! Far more workers than cores: nothing is lost, sums close, and memory of tables is used again while
//! any of them may be waiting for a core in the middle of a burst.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fastpath::forward::{Accepts, PortSettings};
use fib::next_hop::Kind;
use fib::organisation::{Change, Options, Organisation, Reader, Uncounted};
use fib::{NextHop, NextHopEntry, Prefix};
use port::Pool;
use port::memory::MemoryPort;
use port::pool::Layout;
use router::user_plane::Worker;
use router::user_plane::test_traffic::{self, Destinations};

const PORT: u32 = 1;
/// Of each worker.
const FRAMES: usize = 20_000;
const BUFFERS: u32 = 128;
const NETS: u32 = 128;
/// Changes, each of several routes: many times what there is room for.
const TURNS: u16 = 2048;
/// Only ends a test that hangs.
const PATIENCE: Duration = Duration::from_mins(2);

/// All frames have a route at any time: by a next hop of their own, or by that of all. What one change
/// makes the next takes back.
fn change(turn: u16) -> Vec<Change> {
    let net = u32::from(turn / 2) % NETS;
    let hop = |number| match turn % 2 {
        0 => NextHop(1 + number % 3),
        _ => NextHop::NONE,
    };
    let route = Prefix::containing(0x0a00_0000 | net << 8, 24);
    let inside = Prefix::containing(0x0a00_0000 | net << 8, 28);
    vec![
        Change::V4(inside, hop(turn)),
        Change::V4(route, hop(turn / 2)),
        Change::NextHop(NextHop(1 + turn % 3), entry(turn)),
    ]
}

fn entry(stamp: u16) -> NextHopEntry {
    NextHopEntry {
        kind: Kind::Adjacency,
        mtu: 1500,
        port: PORT,
        destination_mac: [2, 0, 0, 0, 0, 1],
        source_mac: test_traffic::ROUTER.0,
        stamp: stamp.into(),
        ..NextHopEntry::default()
    }
}

/// Runs a worker until it has received its frames and is told to stop.
fn work<R: Reader>(mut worker: Worker<R>, stop: &AtomicBool) {
    let mut received = 0;
    while received < FRAMES || !stop.load(Ordering::Relaxed) {
        received += worker.run_burst().unwrap();
    }
    worker.readers().for_each(Reader::offline);
    assert_eq!(worker.free_buffers(), BUFFERS as usize);
}

#[test]
fn many_workers_on_few_cores_forward_everything_while_routes_change() {
    let to: Vec<u32> = (0..NETS).map(|net| 0x0a00_0001 | net << 8).collect();
    let frames = Arc::new(test_traffic::frames(Destinations::V4(&to), 64).unwrap());
    for count in [8, 16, 64] {
        let mut options = Options::for_workers(count);
        options.v4.node_words = 1024;
        let tables = Uncounted::new(&options).unwrap();
        let hops = (1..=3).map(|number| Change::NextHop(NextHop(number), entry(0)));
        let all = Change::V4(Prefix::containing(0x0a00_0000, 8), NextHop(1));
        tables
            .apply(&hops.chain([all]).collect::<Vec<_>>())
            .unwrap();

        let mut counters = Vec::new();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            for place in 0..count {
                let pool = Pool::new(Layout::ordinary(BUFFERS)).unwrap();
                let mut worker = Worker::new(vec![tables.reader(place).unwrap()], pool);
                let port = MemoryPort::new(place.to_string(), Arc::clone(&frames), place);
                let settings = PortSettings {
                    enabled: true,
                    accepts: Accepts::default(),
                    mac: test_traffic::ROUTER.0,
                    ..PortSettings::default()
                };
                counters.push(worker.attach(Box::new(port), PORT, settings).unwrap());
                let stop = &stop;
                scope.spawn(move || work(worker, stop));
            }
            let end = Instant::now() + PATIENCE;
            for turn in 0..TURNS {
                while tables.apply(&change(turn)).is_err() {
                    // What was replaced is used again when every worker has gone on.
                    if Instant::now() > end {
                        stop.store(true, Ordering::Relaxed);
                        panic!("{count} workers: no memory comes back at change {turn}");
                    }
                    thread::yield_now();
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
        for cells in counters {
            let counted = cells.read();
            assert!(
                counted.received >= FRAMES as u64 && counted.closes(),
                "{counted:?}"
            );
            assert_eq!(counted.forwarded, counted.received, "{counted:?}");
        }
    }
}
