//! A soak: routes, tables, VLANs, ports, nexthop groups and neighbours come and go under traffic,
//! round after round. No frame of others is lost, the router ends equal to the kernel, and nothing
//! is left of what went: no memory, no descriptor, no entry. A test has seconds of it, `make soak
//! SECONDS=…` as many as it is given.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bpf::attach::Request;
use fastpath::generate::{Destinations, Frames, Generator};
use fastpath::sink::{Checks, Sink};
use host::Namespace;
use host::namespace::OnFailure;

use super::changes::{Changes, lab, soak};
use super::lab::{Lab, Router, is_root};

/// In a test.
const SECONDS: Duration = Duration::from_secs(2);
/// Frames in a burst, and bursts a second.
const BURST: u32 = 32;
const PAUSE: Duration = Duration::from_millis(1);
/// Resident memory may grow by so much after the first rounds: what allocators keep.
const GROWTH: u64 = 4 << 20;
/// Rounds before anything is compared: tables grow once to the size that they need.
const WARM_UP: u32 = 3;
/// So much more than then is no leak: one would add up, round after round.
const SLACK: u64 = 8;

/// One line for each number.
fn lines(count: u32, line: impl Fn(u32) -> String) -> String {
    (0..count).fold(String::new(), |mut lines, number| {
        writeln!(lines, "{}", line(number)).unwrap();
        lines
    })
}

/// Something that comes and goes.
struct Churn {
    name: &'static str,
    come: String,
    change: String,
    go: String,
}

/// All kinds that this kernel has.
fn churns(lab: &Lab) -> Vec<Churn> {
    let place = |n: u32| format!("{}.{}", n >> 8, n & 255);
    let route = |verb: &str, via: u32| {
        let via = move |n: u32| 1 + (n + via) % 2;
        let verb = verb.to_owned();
        lines(1000, move |n| {
            format!("route {verb} 100.{}.0/25 via 10.{}.0.2", place(n), via(n))
        })
    };
    let mut all = vec![Churn {
        name: "routes",
        come: route("add", 0),
        change: route("replace", 1),
        go: lines(1000, |n| format!("route del 100.{}.0/25", place(n))),
    }];
    let weights = |a: u32, b: u32| {
        lines(50, move |n| {
            format!("nexthop replace id {} group 1,{}/2,{}", 100 + n, a + n, b)
        })
    };
    let hops = "nexthop add id 1 via 10.1.0.2 dev r1\nnexthop add id 2 via 10.2.0.2 dev r2\n";
    let by_them = lines(50, |n| {
        format!("route add 101.{}.0/24 nhid {}", place(n), 100 + n)
    });
    all.push(Churn {
        name: "nexthop groups",
        come: format!("{hops}{}{by_them}", weights(1, 1)),
        change: weights(3, 40),
        go: "nexthop flush\n".to_owned(),
    });
    let neighbour = |n: u32| format!("10.2.0.{} dev r2", 10 + n);
    let known = |last: u32| {
        lines(200, move |n| {
            format!(
                "neigh replace {} lladdr 02:00:00:00:{last:02x}:{n:02x} nud permanent",
                neighbour(n)
            )
        })
    };
    all.push(Churn {
        name: "neighbours",
        come: known(1),
        change: known(2),
        go: lines(200, |n| format!("neigh del {}", neighbour(n))),
    });
    let port = "link add r3 type veth peer name p3\nlink set r3 up\nlink set p3 up\naddr add \
                10.3.0.1/24 dev r3\nroute add 102.0.0.0/16 via 10.3.0.2\n";
    all.push(Churn {
        name: "a port",
        come: port.to_owned(),
        change: "link set r3 down\nlink set r3 up\n".to_owned(),
        go: "link del r3\n".to_owned(),
    });
    let inside = lines(100, |n| {
        format!("route add 103.{}.0/24 via 10.1.0.2 table 100", place(n))
    });
    if lab.r.ip("link add vrf type vrf table 100").is_ok() {
        lab.r.ip("link del vrf").unwrap();
        all.push(Churn {
            name: "a VRF",
            come: format!("link add vrf type vrf table 100\nlink set vrf up\n{inside}"),
            change: "link set r2 master vrf\nlink set r2 nomaster\n".to_owned(),
            go: "link del vrf\nroute flush table 100\n".to_owned(),
        });
    } else {
        needs::skipped!("this kernel has no VRF devices: rules and tables alone");
        all.push(Churn {
            name: "a table",
            come: inside,
            change: "rule add from 10.99.0.0/16 lookup 100\n".to_owned(),
            go: "rule del from 10.99.0.0/16 lookup 100\nroute flush table 100\n".to_owned(),
        });
    }
    if lab
        .r
        .ip("link add link r2 name r2.30 type vlan id 30")
        .is_ok()
    {
        lab.r.ip("link del r2.30").unwrap();
        let name = |n: u32| format!("r2.{}", 100 + n);
        let vlan = move |n: u32| {
            let (name, id) = (name(n), 100 + n);
            format!(
                "link add link r2 name {name} type vlan id {id}\nlink set {name} up\naddr add \
                 10.30.{n}.1/24 dev {name}"
            )
        };
        all.push(Churn {
            name: "VLANs",
            come: lines(20, vlan),
            change: lines(20, move |n| format!("link set {} down", name(n))),
            go: lines(20, move |n| format!("link del {}", name(n))),
        });
    } else {
        needs::skipped!("this kernel has no VLAN devices: none in the soak");
    }
    all
}

/// Frames from a to b by the fast path, which nothing of the churn is about.
struct Traffic {
    generator: Generator,
    sink: Sink,
}

impl Traffic {
    fn new(lab: &Lab) -> Self {
        lab.r.ip("route add 198.19.0.0/16 via 10.1.0.2").unwrap();
        let checks = Checks {
            sequence: false,
            latency: false,
            streams: 1,
            ..Checks::ALL
        };
        let mut sink = Sink::new(checks).unwrap();
        let attached = lab.b.enter(|| sink.attach("e1", Request::Native));
        attached.unwrap().unwrap();
        let end = lab.bed.end("a", "e0").unwrap();
        let frames = Frames {
            source_mac: end.mac,
            destination_mac: lab.bed.end("r", "r0").unwrap().mac,
            vlan: None,
            source: "10.0.0.2".parse().unwrap(),
            destinations: Destinations::V4(vec!["198.19.1.2".parse().unwrap()]),
            source_port: 1024,
            source_ports: 256,
            destination_port: 9,
            ttl: 64,
            lengths: vec![100],
            stream: 0,
            stamp_every: 0,
        };
        let generator = lab.a.enter(|| Generator::new(end.index, &frames));
        let generator = generator.unwrap().unwrap();
        Self { generator, sink }
    }

    fn send(&mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::Acquire) {
            self.generator.send(BURST).unwrap();
            std::thread::sleep(PAUSE);
        }
    }

    /// Sent and lost.
    fn counts(&self) -> (u64, u64) {
        let sent = self.generator.sent();
        let end = Instant::now() + Duration::from_secs(20);
        while self.sink.counts().unwrap().frames < sent && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        (sent, sent - self.sink.counts().unwrap().frames)
    }
}

/// Frames that never reached the router: the ring of the cable had no room, as the cable counts. It
/// is emptied only when softirq runs, which other programs on the machine may put off.
fn without_room(lab: &Lab) -> u64 {
    let shown = lab.a.command("ethtool").args(["-S", "e0"]).output();
    let shown = String::from_utf8(shown.unwrap().stdout).unwrap();
    let refused = shown.lines().filter_map(|line| {
        let (name, count) = line.split_once(':')?;
        let count: u64 = count.trim().parse().ok()?;
        name.ends_with("xdp_xmit_errors").then_some(count)
    });
    // A driver that has no such counter would hide what it lost.
    refused.reduce(|all, one| all + one).unwrap()
}

/// What must be as before when a round is over, by name.
type Held = BTreeMap<String, u64>;

fn held(router: &Router) -> Held {
    let descriptors = std::fs::read_dir(format!("/proc/{}/fd", router.id())).unwrap();
    let mut all = Held::from([("descriptors".to_owned(), descriptors.count() as u64)]);
    let routes = router.show("routes 0");
    for what in ["v4", "v6", "objects", "next_hops"] {
        all.insert(what.to_owned(), routes[what].as_u64().unwrap());
    }
    let room = router.show("engine")["room"].clone();
    for (what, used) in room.as_object().unwrap() {
        all.insert(what.clone(), used[0].as_u64().unwrap());
    }
    all
}

/// The hosts' own neighbours come and go with time.
fn is_no_more(now: &Held, first: &Held) -> bool {
    now.iter().all(|(what, now)| *now <= first[what] + SLACK)
}

fn resident(router: &Router) -> u64 {
    router.show("engine")["resident_bytes"].as_u64().unwrap()
}

/// Until everything is as it was; a re-read of the kernel's tables may be under way.
fn settle(router: &Router, first: Option<&Held>) -> Held {
    let end = Instant::now() + Duration::from_mins(1);
    loop {
        let (one, is_late) = (held(router), Instant::now() > end);
        std::thread::sleep(Duration::from_millis(30));
        let two = held(router);
        let is_same = first.map_or(one == two, |first| is_no_more(&two, first));
        if is_same || is_late {
            return two;
        }
    }
}

fn round(place: &Namespace, churns: &[Churn]) {
    let all = |part: fn(&Churn) -> &String| {
        for churn in churns {
            let made = place.batch(part(churn), OnFailure::Stop);
            made.unwrap_or_else(|error| panic!("{}: {error}", churn.name));
        }
    };
    all(|churn| &churn.come);
    all(|churn| &churn.change);
    all(|churn| &churn.go);
}

#[test]
fn what_comes_and_goes_for_long_loses_nothing_and_leaves_nothing() {
    if !is_root() {
        return;
    }
    let lab = lab();
    let churns = churns(&lab);
    let mut traffic = Traffic::new(&lab);
    let refused = without_room(&lab);
    let more = ["--engine", "xdp", "--bypass-policy-rules"];
    let mut router = lab.run(&["r0", "r1", "r2"], &more);
    lab.wait_for_fast_path(&router, &["10.1.0.2", "10.2.0.2"]);
    let mut changes = Changes::new(&lab);
    let began = Instant::now();
    let (stop, mut rounds) = (AtomicBool::new(false), 0);
    let mut first: Option<(Held, u64)> = None;
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| traffic.send(&stop));
        changes.during(|| {
            while rounds <= WARM_UP || began.elapsed() < soak().unwrap_or(SECONDS) {
                round(&lab.r, &churns);
                rounds += 1;
                let now = settle(&router, first.as_ref().map(|(first, _)| first));
                if let Some((first, _)) = &first {
                    assert!(
                        is_no_more(&now, first),
                        "round {rounds}: {first:?}, then {now:?}"
                    );
                } else if rounds == WARM_UP {
                    first = Some((now, resident(&router)));
                }
            }
        });
        stop.store(true, Ordering::Release);
        sender.join().unwrap();
    });
    let ((sent, lost), (held, before)) = (traffic.counts(), first.unwrap());
    let refused = without_room(&lab) - refused;
    let (after, verified) = (resident(&router), router.verify());
    let names: Vec<_> = churns.iter().map(|churn| churn.name).collect();
    println!(
        "soak: {:.0?}, {rounds} rounds of {}",
        began.elapsed(),
        names.join(", ")
    );
    println!(
        "soak: {sent} frames, {lost} lost, {refused} of them before the router, for want of room \
         in the cable's ring; {} answers compared, {} differ",
        verified["compared"], verified["different"]
    );
    if lost > 0 {
        println!("soak: not forwarded: {}", router.show("drops"));
    }
    println!("soak: resident {before} bytes after {WARM_UP} rounds, {after} at the end; {held:?}");
    changes.report("soak");
    assert_eq!(lost, refused, "frames that had nothing to do with it");
    assert_eq!(verified["different"], 0);
    assert!(
        after < before + before / 20 + GROWTH,
        "memory grows: {before}, then {after} bytes"
    );
    assert!(!router.ended());
    println!("soak: holds");
}
