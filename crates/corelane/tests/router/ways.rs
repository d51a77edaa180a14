//! Several ways to one place: flows are spread, stay where they are, and move only when theirs is
//! gone.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use host::namespace::Namespace;

use host::offload::Offload;

use super::lab::{Lab, Router, is_root, text, wait_for};
use super::raw::{Raw, ipv4, mac};

const FLOWS: std::ops::Range<u16> = 20_000..20_240;

fn spread_by_ports(lab: &Lab) {
    let policy = "net.ipv4.fib_multipath_hash_policy";
    lab.r.set(policy, "1").unwrap();
}

/// A lab with links 1, 2, 3 to b, and 192.0.2.0/24 behind b by a group of three nexthop objects, as
/// FRR makes them.
fn three_ways() -> Lab {
    let mut lab = Lab::new();
    spread_by_ports(&lab);
    lab.link("b", 2);
    lab.link("b", 3);
    for number in 1..=3 {
        let line = format!("nexthop add id {number} via 10.{number}.0.2 dev r{number}");
        lab.r.ip(line).unwrap();
    }
    lab.r.ip("nexthop add id 10 group 1/2/3").unwrap();
    lab.r.ip("route add 192.0.2.0/24 nhid 10").unwrap();
    lab
}

fn resolved(lab: &Lab, router: &Router, ways: usize) {
    wait_for("every neighbour", 10, || {
        for number in 1..=3 {
            lab.ping(&format!("10.{number}.0.2"));
        }
        let answer = router.show("routes 192.0.2.1");
        let entries = answer["answers"][0]["entries"].as_array().unwrap().clone();
        entries.len() == ways && entries.iter().all(|entry| entry["kind"] == "adjacency")
    });
}

/// Which frame is of which flow: the UDP port, when it goes to 192.0.2.1.
fn flow(frame: &[u8]) -> Option<u16> {
    let ours = frame.get(12..14)? == [8, 0] && frame.get(30..34)? == [192, 0, 2, 1];
    ours.then(|| u16::from_be_bytes([frame[36], frame[37]]))
}

/// When which flow was seen on one link.
fn watch(host: &Namespace, link: &str, stop: &AtomicBool) -> Vec<(u16, Instant)> {
    let receiver = Raw::open(host, link);
    let mut seen = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        if let Some(flow) = receiver.receive().as_deref().and_then(flow) {
            seen.push((flow, Instant::now()));
        }
    }
    seen
}

#[test]
fn removing_a_way_moves_only_its_flows() {
    if !is_root() {
        return;
    }
    let lab = three_ways();
    let router = lab.run(&["r0", "r1", "r2", "r3"], &[]);
    resolved(&lab, &router, 3);
    let macs = (mac(&lab.r, "r0"), mac(&lab.a, "e0"));
    let frames: Vec<Vec<u8>> = FLOWS
        .map(|port| ipv4(macs, [10, 0, 0, 2], [192, 0, 2, 1], port, &[0; 18]))
        .collect();
    let (stop, turns) = (AtomicBool::new(false), AtomicU32::new(0));
    let (seen, removed, settled) = std::thread::scope(|scope| {
        let watchers = ["e1", "e2", "e3"].map(|link| scope.spawn(|| watch(&lab.b, link, &stop)));
        let sending = scope.spawn(|| {
            let sender = Raw::open(&lab.a, "e0");
            while !stop.load(Ordering::Relaxed) {
                for frame in &frames {
                    sender.send(frame);
                }
                turns.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        // So often was every flow sent in each part.
        let more_turns = || {
            let before = turns.load(Ordering::Relaxed);
            wait_for("the flows", 5, || {
                turns.load(Ordering::Relaxed) > before + 40
            });
        };
        more_turns();
        let removed = Instant::now();
        lab.r.ip("nexthop del id 2").unwrap();
        wait_for("the way to be gone", 5, || {
            let answer = router.show("routes 192.0.2.1");
            answer["answers"][0]["entries"].as_array().unwrap().len() == 2
        });
        // What was on its way arrives.
        std::thread::sleep(Duration::from_millis(100));
        let settled = Instant::now();
        more_turns();
        // What was on its way arrives.
        std::thread::sleep(Duration::from_millis(100));
        stop.store(true, Ordering::Relaxed);
        sending.join().unwrap();
        let seen = watchers.map(|watcher| watcher.join().unwrap());
        (seen, removed, settled)
    });
    let mut before: HashMap<u16, BTreeSet<usize>> = HashMap::new();
    let mut after: HashMap<u16, BTreeSet<usize>> = HashMap::new();
    for (way, seen) in seen.iter().enumerate() {
        for &(flow, at) in seen {
            if at < removed {
                before.entry(flow).or_default().insert(way);
            } else if at > settled {
                after.entry(flow).or_default().insert(way);
            }
        }
    }
    let mut shares = [0; 3];
    for flow in FLOWS {
        let (before, after) = (&before[&flow], &after[&flow]);
        assert_eq!(
            (before.len(), after.len()),
            (1, 1),
            "flow {flow} keeps to one way; {}",
            router.show("drops")
        );
        let way = *before.first().unwrap();
        shares[way] += 1;
        if way == 1 {
            assert!(!after.contains(&1), "flow {flow} left the way that is gone");
        } else {
            assert_eq!(before, after, "flow {flow} had no reason to move");
        }
    }
    println!("240 flows by three ways: {shares:?}");
    assert!(shares.iter().all(|share| *share > 40), "{shares:?}");
    assert_eq!(router.verify()["different"], 0);
}

#[test]
fn several_ways_share_the_flows_and_a_blackhole_swallows() {
    if !is_root() {
        return;
    }
    let mut lab = Lab::new();
    spread_by_ports(&lab);
    lab.link("b", 2);
    lab.b.ip("addr add 192.0.2.1/24 dev lo").unwrap();
    lab.r
        .ip("route add 192.0.2.0/24 nexthop via 10.1.0.2 nexthop via 10.2.0.2")
        .unwrap();
    lab.r.ip("route add blackhole 198.51.100.0/24").unwrap();
    let router = lab.run(&["r0", "r1", "r2"], &[]);
    wait_for("both neighbours", 10, || {
        lab.ping("10.1.0.2");
        lab.ping("10.2.0.2");
        let answer = router.show("routes 192.0.2.1");
        let entries = answer["answers"][0]["entries"].as_array().unwrap().clone();
        entries.len() == 2 && entries.iter().all(|entry| entry["kind"] == "adjacency")
    });
    let received = |interface: &str| -> u64 {
        let path = format!("/sys/class/net/{interface}/statistics/rx_packets");
        text(&lab.b.command("cat").arg(path).output().unwrap())
            .trim()
            .parse()
            .unwrap()
    };
    let before = [received("e1"), received("e2")];
    // With sums left for a card to complete, the kernel would forward these, and by one way only.
    lab.a.switch("e0", Offload::Checksums, false).unwrap();
    // Each port is a flow of its own.
    lab.a
        .enter(|| {
            let socket = std::net::UdpSocket::bind("10.0.0.2:0").unwrap();
            for port in 20_000..20_400 {
                // The refusals that come back are not of interest.
                let _ = socket.send_to(b"x", ("192.0.2.1", port));
            }
        })
        .unwrap();
    wait_for("a share of 400 flows on both links", 5, || {
        let shares = [received("e1") - before[0], received("e2") - before[1]];
        shares.iter().all(|share| *share > 100)
    });
    assert!(!lab.ping("198.51.100.1"));
    assert!(router.reason("blackhole") > 0);
    assert_eq!(router.verify()["different"], 0);
}

/// What `docs/router.md` promises for an announced change, however busy the machine.
const STALE_BOUND: Duration = Duration::from_secs(1);

#[test]
fn a_route_that_was_replaced_is_not_used_for_longer_than_stated() {
    if !is_root() {
        return;
    }
    let mut lab = Lab::new();
    lab.link("b", 2);
    let change = |way: u32| {
        let via = format!("10.{way}.0.2");
        lab.r
            .ip(format!("route replace 192.0.2.0/24 via {via}"))
            .unwrap();
    };
    change(1);
    let router = lab.run(&["r0", "r1", "r2"], &[]);
    lab.wait_for_fast_path(&router, &["10.1.0.2", "10.2.0.2"]);
    let macs = (mac(&lab.r, "r0"), mac(&lab.a, "e0"));
    let frame = ipv4(macs, [10, 0, 0, 2], [192, 0, 2, 1], 9, &[0; 18]);
    let stop = AtomicBool::new(false);
    let (seen, changes) = std::thread::scope(|scope| {
        let watchers = ["e1", "e2"].map(|link| scope.spawn(|| watch(&lab.b, link, &stop)));
        let sending = scope.spawn(|| {
            let sender = Raw::open(&lab.a, "e0");
            while !stop.load(Ordering::Relaxed) {
                sender.send(&frame);
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        let mut changes = Vec::new();
        for number in 0..20 {
            std::thread::sleep(Duration::from_millis(60));
            let way = 2 - number % 2;
            change(way);
            // The command has the kernel's acknowledgement when it ends.
            changes.push((way, Instant::now()));
        }
        std::thread::sleep(Duration::from_millis(60));
        stop.store(true, Ordering::Relaxed);
        sending.join().unwrap();
        (watchers.map(|watcher| watcher.join().unwrap()), changes)
    });
    let mut longest = Duration::ZERO;
    for (at, &(way, changed)) in changes.iter().enumerate() {
        let next = changes.get(at + 1).map_or_else(Instant::now, |next| next.1);
        // Until shortly before the next change, which may be under way while its command is still
        // running.
        let margin = Duration::from_millis(30);
        let old = &seen[usize::from(way == 1)];
        let late = old
            .iter()
            .filter(|(_, at)| *at >= changed && *at + margin < next);
        if let Some(last) = late.map(|(_, at)| *at - changed).max() {
            longest = longest.max(last);
        }
    }
    println!("the old way was used for at most {longest:?} after the kernel's acknowledgement");
    assert!(longest < STALE_BOUND, "{longest:?}");
    assert!(seen.iter().all(|seen| seen.len() > 100), "by both ways");
    drop(router);
}
