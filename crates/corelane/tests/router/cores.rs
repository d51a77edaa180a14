//! As many queues, workers and senders as there are cores: every frame arrives once, what is counted
//! adds up on each core, routes change meanwhile, and the end of the router loses nothing.
//!
//! The cores are those of this machine, and of a virtual one that pretends to have more.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use host::namespace::OnFailure;
use host::offload::Offload;
use host::{CoreId, Pinned};

use super::guest;
use super::lab::{Lab, Router, is_root, text};
use super::raw::{Wires, ipv4, mac};

/// Frames that a core sends before all wait for what was sent: fewer than a queue holds.
const BATCH: u64 = 16;
const BATCHES: u64 = 4;
/// Behind a frame's number, in its payload.
const MARK: &[u8] = b"many cores";
/// Only ends a test that hangs: an emulated core is slow.
const PATIENCE: Duration = Duration::from_mins(2);

/// Frames by a route that changes, each with its number.
struct Traffic {
    wires: Wires,
    cores: Vec<CoreId>,
    sent: u64,
    arrived: BTreeSet<u64>,
}

impl Traffic {
    fn frame(&self, number: u64) -> Vec<u8> {
        let payload = [&number.to_le_bytes(), MARK].concat();
        let port = 1024 + number as u16 % 4096;
        ipv4(
            self.wires.macs,
            [10, 0, 0, 2],
            [10, 9, 0, 9],
            port,
            &payload,
        )
    }

    /// Sends a batch from each core at once, and waits until all have arrived.
    fn batch(&mut self, what: &str) {
        thread::scope(|scope| {
            let this = &*self;
            for (place, &core) in (0..).zip(&this.cores) {
                scope.spawn(move || {
                    let _pinned = Pinned::to(core).unwrap();
                    let first = this.sent + place * BATCH;
                    (first..first + BATCH)
                        .for_each(|number| this.wires.a.send(&this.frame(number)));
                });
            }
        });
        self.sent += BATCH * self.cores.len() as u64;
        let end = Instant::now() + PATIENCE;
        while (self.arrived.len() as u64) < self.sent {
            match self.wires.b.receive() {
                Some(frame) => self.arrive(&frame),
                None => assert!(
                    Instant::now() < end,
                    "{what}: of {} frames {} arrived",
                    self.sent,
                    self.arrived.len()
                ),
            }
        }
    }

    fn arrive(&mut self, frame: &[u8]) {
        let ours = frame.strip_suffix(MARK);
        let Some(number) = ours.and_then(|frame| frame.last_chunk().copied()) else {
            return;
        };
        let number = u64::from_le_bytes(number);
        assert!(self.arrived.insert(number), "frame {number} came twice");
    }
}

/// What each core forwarded, when every core's sums close.
fn forwarded(router: &Router, what: &str) -> Vec<(u32, u64)> {
    let rows = router.show("workers");
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| {
        let of = |key: &str| row[key].as_u64().unwrap();
        let fates = of("forwarded") + of("to_kernel") + of("dropped");
        assert_eq!(of("received"), fates, "{what}: {row}");
        (of("core") as u32, of("forwarded"))
    })
    .collect()
}

/// Moves the route of all frames between two neighbours, and announces and withdraws others, until told
/// to stop.
fn change_routes(lab: &Lab, stop: &AtomicBool) {
    for turn in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let action = if turn % 2 == 0 { "replace" } else { "del" };
        let other = |net| format!("route {action} 10.8.{net}.0/24 via 10.1.0.2\n");
        let others: String = (0..64).map(other).collect();
        let lines = format!(
            "route replace 10.9.0.0/16 via 10.1.0.{}\n{others}",
            2 + turn % 2
        );
        lab.r.batch(&lines, OnFailure::Stop).unwrap();
    }
}

/// Whether this machine's kernel is too old for the engine between veth devices; says so.
fn cannot(lab: &Lab, engine: &str, mode: &str) -> bool {
    let wanted = match (engine, mode) {
        // Before, it does not say that a veth takes redirected frames.
        ("xdp" | "xdp-kernel-fib", "native") => (6, 3),
        ("tc" | "af-packet", _) => (6, 6),
        _ => return false,
    };
    let release = text(&lab.r.command("uname").arg("-r").output().unwrap());
    let mut numbers = release.split('.').map_while(|number| number.parse().ok());
    let here = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let old = here < wanted;
    if old {
        let (major, minor) = wanted;
        needs::skipped!("engine {engine}, {mode}, needs Linux {major}.{minor}");
    }
    old
}

fn every_core_forwards(engine: &str, mode: &str) {
    let cores = host::allowed_cores().unwrap();
    println!("{engine}, {mode}: {} cores", cores.len());
    let lab = Lab::with_queues(cores.len() as u32);
    if cannot(&lab, engine, mode) {
        return;
    }
    for port in ["r0", "r1"] {
        // Without it, a veth throws away what waits in it when its program goes.
        lab.r.switch(port, Offload::GenericReceive, true).unwrap();
    }
    let [one, other] = [(&lab.a, "e0"), (&lab.b, "e1")].map(|(place, name)| {
        let bytes = mac(place, name).map(|byte| format!("{byte:02x}"));
        bytes.join(":")
    });
    lab.r
        .ip(format!("neigh replace 10.0.0.2 lladdr {one} dev r0"))
        .unwrap();
    for last in [2, 3] {
        let line = format!("neigh replace 10.1.0.{last} lladdr {other} dev r1");
        lab.r.ip(line).unwrap();
    }
    lab.r.ip("route add 10.9.0.0/16 via 10.1.0.2").unwrap();

    // A kernel that tells no program of tags leaves such ports to itself.
    let words = [
        "--engine",
        engine,
        "--require",
        mode,
        "--bypass-vlan-offload",
    ];
    let mut router = lab.run(&["r0", "r1"], &words);
    let wires = Wires::open(&lab);
    wires.a.past_queueing();
    let mut traffic = Traffic {
        wires,
        cores,
        sent: 0,
        arrived: BTreeSet::new(),
    };
    // Until the first batch is forwarded by the router, the kernel may forward some.
    let mut before = forwarded(&router, engine);
    let end = Instant::now() + PATIENCE;
    while {
        traffic.batch(engine);
        let now = forwarded(&router, engine);
        let grown: u64 = sum(&now) - sum(&before);
        before = now;
        grown < BATCH * traffic.cores.len() as u64
    } {
        assert!(
            Instant::now() < end,
            "{engine}: the kernel forwards: {before:?}"
        );
    }

    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| change_routes(&lab, &stop));
        for _ in 0..BATCHES {
            traffic.batch(engine);
        }
        stop.store(true, Ordering::Relaxed);
    });
    let after = forwarded(&router, engine);
    let sent = BATCHES * BATCH * traffic.cores.len() as u64;
    assert!(
        sum(&after) - sum(&before) >= sent,
        "{engine}: {before:?}, {after:?}"
    );
    if engine != "xdp-kernel-fib" {
        assert_eq!(router.verify()["different"], 0);
    }
    if engine != "af-packet" {
        // Of packet sockets the kernel chooses one by the flow, and may leave some without any.
        for core in &traffic.cores {
            let of = |rows: &[(u32, u64)]| rows.iter().find(|row| row.0 == core.0).map(|row| row.1);
            assert!(
                of(&after) > of(&before),
                "{engine}: core {core}: {before:?}, {after:?}"
            );
        }
    }

    // What is under way when it ends arrives, and what comes behind.
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            router.end(libc::SIGTERM);
            ended.store(true, Ordering::Relaxed);
        });
        while !ended.load(Ordering::Relaxed) {
            traffic.batch(engine);
        }
    });
    traffic.batch(engine);
}

fn sum(rows: &[(u32, u64)]) -> u64 {
    rows.iter().map(|row| row.1).sum()
}

#[test]
fn every_core_forwards_and_every_frame_has_one_fate() {
    if !is_root() {
        return;
    }
    for (engine, mode) in [
        ("xdp", "native"),
        ("xdp", "generic"),
        ("xdp-kernel-fib", "native"),
        ("xdp-kernel-fib", "generic"),
        ("tc", "any"),
        ("af-xdp", "native"),
        ("af-packet", "any"),
    ] {
        every_core_forwards(engine, mode);
    }
}

#[test]
fn a_machine_of_many_cores_forwards_on_all() {
    if !is_root() {
        return;
    }
    let Some(guest) = guest::find() else { return };
    for cores in [8, 16] {
        let printed = guest.run(
            cores,
            "router::cores::every_core_forwards_and_every_frame_has_one_fate",
        );
        let passed = printed.contains("1 passed; 0 failed") && printed.contains("outcome 0");
        let all = printed.contains(&format!("{cores} cores"));
        assert!(passed && all, "with {cores} cores: {printed}");
    }
}
