//! Instructions for each forwarded frame, counted by callgrind: the guard against a packet path
//! that quietly grows.
//!
//! Counted is the path of a 64-byte IPv4 frame between memory ports as the test profile compiles
//! it, the copy on receive and the look-up in a small table included: what is done in [`forward`].

use std::process::Command;
use std::sync::Arc;

use fastpath::forward::{Accepts, PortSettings};
use fib::next_hop::Kind;
use fib::organisation::{Change, Options, Organisation, Reader, Shared};
use fib::{NextHop, NextHopEntry, Prefix};
use port::Pool;
use port::memory::MemoryPort;
use port::pool::Layout;
use router::user_plane::Worker;
use router::user_plane::test_traffic::{self, Destinations};

/// Bursts of 64 frames.
const BURSTS: usize = 2000;
/// Most instructions for a frame. Raise it only together with the reason.
const BOUND: f64 = 650.0;
const WANTED: &str = "ROUTER_TEST_WORKLOAD";

#[test]
#[ignore = "the workload of the test below, which runs it under callgrind"]
fn workload() {
    if std::env::var_os(WANTED).is_none() {
        return;
    }
    let tables = Shared::new(&Options::for_workers(1)).expect("memory");
    let entry = NextHopEntry {
        kind: Kind::Adjacency,
        mtu: 1500,
        port: 1,
        ..NextHopEntry::default()
    };
    tables
        .apply(&[
            Change::NextHop(NextHop(1), entry),
            Change::V4(Prefix::containing(0x0a00_0000, 8), NextHop(1)),
        ])
        .expect("room");
    let destinations: Vec<u32> = (0..4096).map(|number| 0x0a00_0001 | number << 8).collect();
    let frames = test_traffic::frames(Destinations::V4(&destinations), 64).expect("a right size");
    let pool = Pool::new(Layout::ordinary(512)).expect("memory");
    let mut worker = Worker::new(vec![tables.reader(0).expect("one worker")], pool);
    let settings = PortSettings {
        enabled: true,
        accepts: Accepts::default(),
        mac: test_traffic::ROUTER.0,
        ..PortSettings::default()
    };
    let port = MemoryPort::new("m", Arc::new(frames), 0);
    let counters = worker.attach(Box::new(port), 1, settings).expect("room");
    forward(&mut worker);
    assert_eq!(counters.read().forwarded, BURSTS as u64 * 64);
}

/// What callgrind counts.
#[inline(never)]
fn forward<R: Reader>(worker: &mut Worker<R>) {
    for _ in 0..BURSTS {
        worker.run_burst().expect("memory never fails");
    }
}

fn instructions() -> Option<f64> {
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg("--toggle-collect=*::instructions::forward*")
        .arg(std::env::current_exe().expect("a test is a program"))
        .args([
            "--exact",
            "instructions::workload",
            "--ignored",
            "--test-threads=1",
        ])
        .env(WANTED, "1")
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "the workload failed:\n{said}");
    let collected = said
        .lines()
        .find_map(|line| line.split("Collected :").nth(1));
    let collected = collected.unwrap_or_else(|| panic!("callgrind said no count:\n{said}"));
    collected.trim().parse().ok()
}

#[test]
fn a_forwarded_frame_stays_within_its_instructions() {
    let Some(counted) = instructions() else {
        needs::skipped!("needs valgrind (Debian package valgrind)");
        return;
    };
    let each = counted / (BURSTS * 64) as f64;
    println!("{each:.1} instructions a frame, bound {BOUND}");
    assert!(
        each > 20.0 && each <= BOUND,
        "{each:.1} instructions a frame, bound {BOUND}"
    );
}
