//! Far more workers than cores: nothing is lost, sums close, and memory of tables is used again while
//! any of them may be waiting for a core in the middle of a burst.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

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
const FRAMES: u64 = 20_000;
const BUFFERS: u32 = 128;
/// Of each half of the routes' ranges.
const NETS: u32 = 128;

/// All frames have a route at any time: by a next hop of their own, or by that of all.
fn change(turn: u16) -> Vec<Change> {
    let net = u32::from(turn) % NETS;
    let route = Prefix::containing(0x0a00_0000 | net << 8, 24);
    let inside = Prefix::containing(0x0a00_0000 | net << 8, 28);
    let hop = |number| NextHop(1 + number % 3);
    vec![
        Change::V4(inside, hop(turn)),
        Change::V4(route, hop(turn / 2)),
        Change::V4(inside, NextHop::NONE),
        Change::V4(route, NextHop::NONE),
        Change::NextHop(hop(turn), entry(turn)),
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

/// Runs a worker until it has received its frames.
fn work<R: Reader>(mut worker: Worker<R>) {
    let mut received = 0;
    while received < FRAMES {
        received += worker.run_burst().unwrap() as u64;
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
        let working = AtomicUsize::new(count);
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
                let working = &working;
                scope.spawn(move || {
                    work(worker);
                    working.fetch_sub(1, Ordering::Relaxed);
                });
            }
            let mut turn = 0;
            while working.load(Ordering::Relaxed) > 0 {
                if tables.apply(&change(turn)).is_ok() {
                    turn = turn.wrapping_add(1);
                } else {
                    // What was replaced is used again when every worker has gone on.
                    thread::yield_now();
                }
            }
            // Many times what there is room for, while nobody looks.
            for turn in 0..4096 {
                tables.apply(&change(turn)).unwrap();
            }
        });
        for cells in counters {
            let counted = cells.read();
            assert!(
                counted.received >= FRAMES && counted.closes(),
                "{counted:?}"
            );
            assert_eq!(counted.forwarded, counted.received, "{counted:?}");
        }
    }
}
