//! No cache line is written by two cores for a packet, by every engine as it runs.
//!
//! Frames are sent on one core and then on the other, so that one core's program and worker run and
//! then the other's, and everything that `corelane` and its programs can write is compared before
//! and after. A line that both wrote each time is one that two cores write for a packet. What also
//! changes while nothing is sent is the control plane's; more rounds tell what it writes seldom.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::{Duration, Instant};

use host::{CoreId, Pinned};

use super::lab::{Lab, Router, is_root};
use super::raw::{Wires, ipv4, ipv6};
use super::watch::{Line, Watch};

/// What is written for a packet is written in each round; the first without such a line is the last.
const MOST_ROUNDS: usize = 20;
/// Frames of each flow in a phase.
const FRAMES: usize = 16;
/// Flows of each family: by chance, none goes to one of two workers once in 2^32 times.
const FLOWS: u16 = 32;
/// Longer than a worker looks for frames before it sleeps.
const REST: Duration = Duration::from_millis(30);

/// Two ports with two queues each; with our table the source of each frame is looked up, and remembered.
/// What is behind b it throws away without an answer.
fn lab(engine: &str) -> Lab {
    let lab = Lab::with_queues(2);
    for route in [
        "10.9.0.0/16 via 10.1.0.2",
        "2001:db8:9::/48 via 2001:db8:1::2",
    ] {
        lab.r.ip(format!("route add {route}")).unwrap();
    }
    let strict = if engine == "xdp-kernel-fib" { "0" } else { "1" };
    lab.r.set("net.ipv4.conf.r0.rp_filter", strict).unwrap();
    lab
}

/// Frames that this core has forwarded.
fn forwarded(router: &Router, core: CoreId) -> u64 {
    let workers = router.show("workers");
    let rows = workers.as_array().unwrap().iter();
    let ours = rows.filter(|row| row["core"] == core.0);
    ours.filter_map(|row| row["forwarded"].as_u64()).sum()
}

/// Sends frames, and waits until they are through.
fn send(wires: &Wires, frames: &[Vec<u8>]) {
    for frame in frames {
        wires.a.send(frame);
        let payload = &frame[frame.len() - 18..];
        let arrived = wires.b.wait_for(|got| got.ends_with(payload));
        assert!(arrived.is_some(), "a frame is lost");
    }
}

/// The flows, sent from this core, that this core forwards.
fn flows(router: &Router, wires: &Wires, core: CoreId) -> Vec<Vec<u8>> {
    let _pinned = Pinned::to(core).unwrap();
    let payload = [0x5A; 18];
    let v4 = |port| ipv4(wires.macs, [10, 0, 0, 2], [10, 9, 0, 2], port, &payload);
    let v6 = |port| {
        let source = format!("2001:db8::{:x}", 0x100 + port);
        ipv6(wires.macs, &source, "2001:db8:9::2", &payload)
    };
    let flows = (1..=FLOWS).map(v4).chain((1..=FLOWS).map(v6));
    let ours = flows.filter(|flow| {
        let before = forwarded(router, core);
        send(wires, std::slice::from_ref(flow));
        sleep(Duration::from_millis(1));
        forwarded(router, core) > before
    });
    ours.collect()
}

/// The lines that cores write in common when these flows go by one and those by the other.
fn common(router: &Router, wires: &Wires, cores: [CoreId; 2]) -> BTreeSet<Line> {
    let flows = cores.map(|core| flows(router, wires, core));
    for (core, flows) in cores.iter().zip(&flows) {
        for kind in [0x08, 0x86] {
            let some = flows.iter().any(|flow| flow[12] == kind);
            assert!(some, "core {core} forwards no flow of type {kind:#x}");
        }
    }
    let mut watch = Watch::all(router.id());
    let mut common: Option<BTreeSet<Line>> = None;
    for _ in 0..MOST_ROUNDS {
        let begin = Instant::now();
        watch.changed();
        let written = [0, 1].map(|place| {
            let _pinned = Pinned::to(cores[place]).unwrap();
            for _ in 0..FRAMES {
                send(wires, &flows[place]);
            }
            sleep(REST);
            watch.changed()
        });
        let both = &written[0] & &written[1];
        // What is written without frames too, in as long a time.
        sleep(begin.elapsed());
        let idle = watch.changed();
        let kept = common.map_or(both.clone(), |earlier| &earlier & &both);
        common = Some(&kept - &idle);
        if common.as_ref().is_some_and(BTreeSet::is_empty) {
            break;
        }
    }
    common.unwrap_or_default()
}

#[test]
fn no_line_is_written_by_two_cores_for_a_packet() {
    if !is_root() || !needs::two_cores() {
        return;
    }
    let cores = host::allowed_cores().unwrap();
    for engine in ["xdp", "xdp-kernel-fib", "tc", "af-xdp", "af-packet"] {
        let lab = lab(engine);
        let router = lab.run(&["r0", "r1"], &["--engine", engine]);
        lab.wait_for_fast_path(&router, &["10.1.0.2", "2001:db8:1::2"]);
        let wires = Wires::open(&lab);
        wires.a.past_queueing();
        let common = common(&router, &wires, [cores[0], cores[1]]);
        assert!(common.is_empty(), "{engine}: {common:?}");
    }
}
