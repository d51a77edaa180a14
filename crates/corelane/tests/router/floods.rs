//! Floods of what the kernel has to answer, ask about or drop: routing protocols live through them,
//! forwarding goes on, and neither the kernel's tables nor the control plane overflow.
//!
//! A host `a` floods, a host `c` sends what is to be forwarded to `b`, with which the router has a
//! BGP session: each by a port of its own, `a` and `c` on a core of their own where there are two.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fastpath::generate::{Destinations, Frames, Generator};
use fastpath::sink::{Checks, Sink};
use host::Namespace;
use host::offload::{Offload, switch};
use host::pin::Pinned;

use super::lab::{Lab, Router, is_root, ping, wait_for};
use super::protocols::{Daemon, bird};
use super::raw::mac;

/// Frames that a generator sends without looking whether it is to end.
const BURST: u32 = 64;
/// Addresses that are scanned.
const SCANNED: u32 = 20_000;

/// A lab with a third host `c` behind r2.
fn lab() -> (Lab, Namespace) {
    let mut lab = Lab::new();
    let c = lab.link("c", 2);
    c.ip("route add default via 10.2.0.1").unwrap();
    c.ip("route add default via 2001:db8:2::1").unwrap();
    (lab, c)
}

/// A generator of the shortest frames from a host by its interface to the router's.
fn generator(
    (host, interface): (&Namespace, &str),
    (r, port): (&Namespace, &str),
    destinations: Destinations,
    ttl: u8,
) -> Generator {
    let source = match destinations {
        Destinations::V4(_) => IpAddr::from([198, 18, 0, 1]),
        Destinations::V6(_) => "2001:db8:5::1".parse().unwrap(),
    };
    let frames = Frames {
        source_mac: mac(host, interface),
        destination_mac: mac(r, port),
        vlan: None,
        source,
        lengths: vec![if source.is_ipv4() { 60 } else { 80 }],
        destinations,
        source_port: 1024,
        source_ports: 512,
        destination_port: 9,
        ttl,
        stream: 1,
        stamp_every: 0,
    };
    // What is redirected to it arrives whether it has an XDP program or not.
    r.enter(|| switch(port, Offload::GenericReceive, true).unwrap())
        .unwrap();
    let index = host.interface_index(interface).unwrap();
    host.enter(|| Generator::new(index, &frames).unwrap())
        .unwrap()
}

/// Addresses of the connected network of r1 at which nobody is.
fn scanned() -> Destinations {
    let first = "2001:db8:1::1:0".parse::<Ipv6Addr>().unwrap().to_bits();
    let address = |number: u32| Ipv6Addr::from_bits(first + u128::from(number));
    Destinations::V6((0..SCANNED).map(address).collect())
}

fn to(address: [u8; 4]) -> Destinations {
    Destinations::V4(vec![Ipv4Addr::from(address)])
}

/// What goes on while the frames of some generators are sent by turns, on one core, as fast as it
/// goes.
fn while_sending<T>(generators: &mut [Generator], core: usize, work: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    let cores = host::allowed_cores().unwrap();
    let core = cores[core % cores.len()];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _pinned = Pinned::to(core).unwrap();
            while !stop.load(Ordering::Relaxed) {
                for generator in &mut *generators {
                    generator.send(BURST).unwrap();
                }
            }
        });
        let _stop = Stop(&stop);
        work()
    })
}

/// Ends the sending, also when a test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The router's side and the other's of a session that ends after three silent seconds.
struct Session {
    here: std::path::PathBuf,
    _birds: [Daemon; 2],
}

impl Session {
    fn start(lab: &Lab) -> Self {
        let base = lab.directory.path();
        let speaker = |name: &str, number: u32, neighbour: u32| {
            format!(
                "log \"{}\" all;\nrouter id 192.168.1.{number};\nprotocol device {{ }}\nprotocol \
                 bgp {{ debug {{ states }}; local as 6500{number}; neighbor 10.1.0.{neighbour} \
                 as 6500{neighbour}; hold time 3; keepalive time 1; connect delay time 1; connect \
                 retry time 1; ipv4 {{ import all; export none; }}; }}\n",
                base.join(format!("{name}.log")).display()
            )
        };
        let birds = [
            bird(&lab.r, "here", &speaker("here", 1, 2), base),
            bird(&lab.b, "there", &speaker("there", 2, 1), base),
        ];
        let session = Self {
            here: base.join("here.log"),
            _birds: birds,
        };
        wait_for("the session", 40, || session.ups() == 1);
        session
    }

    /// How often it has come up.
    fn ups(&self) -> usize {
        let log = std::fs::read_to_string(&self.here).unwrap_or_default();
        log.lines()
            .filter(|line| line.ends_with("State changed to up"))
            .count()
    }
}

/// Sum of a port's frames in `show ports`.
fn of_port(router: &Router, port: &str, what: &str) -> u64 {
    let ports = router.show("ports");
    let mut ports = ports.as_array().unwrap().iter();
    ports.find(|row| row["port"] == port).unwrap()[what]
        .as_u64()
        .unwrap()
}

/// Frames in a second that the router forwards from r2 during `duration`.
fn rate(router: &Router, duration: Duration) -> f64 {
    let (before, began) = (of_port(router, "r2", "forwarded"), Instant::now());
    std::thread::sleep(duration);
    (of_port(router, "r2", "forwarded") - before) as f64 / began.elapsed().as_secs_f64()
}

/// Four seconds, one more than the session lives without a word; `CORELANE_FLOOD_SECONDS` says
/// otherwise (scripts/bench-flood).
fn duration() -> Duration {
    let seconds = std::env::var("CORELANE_FLOOD_SECONDS").ok();
    Duration::from_secs(seconds.map_or(4, |text| text.parse().unwrap()))
}

#[test]
fn a_session_lives_and_forwarding_goes_on_beside_a_flood() {
    if !is_root() || !needs::program("bird") {
        return;
    }
    let (lab, c) = lab();
    let router = lab.run(&["r0", "r1", "r2"], &["--stale-milliseconds", "10000"]);
    lab.wait_for_fast_path(&router, &["10.1.0.2", "2001:db8:1::2"]);
    let session = Session::start(&lab);
    // b counts what was forwarded and drops it; the session's frames go on to its kernel.
    let mut sink = Sink::new(Checks {
        signature: true,
        ..Checks::COUNT
    })
    .unwrap();
    lab.b
        .enter(|| sink.attach("e1", bpf::attach::Request::Native).map(drop))
        .unwrap()
        .unwrap();
    let from =
        |port, destinations, ttl| generator((&lab.a, "e0"), (&lab.r, port), destinations, ttl);
    let mut flood = [
        from("r0", to([10, 1, 0, 2]), 1),
        from("r0", to([192, 0, 2, 1]), 64),
        from("r0", scanned(), 64),
    ];
    let mut load = [generator((&c, "e2"), (&lab.r, "r2"), to([10, 1, 0, 2]), 64)];
    let duration = duration();
    let began = Instant::now();
    let (alone, beside) = while_sending(&mut load, 0, || {
        let alone = rate(&router, duration / 4);
        (
            alone,
            while_sending(&mut flood, 1, || rate(&router, duration)),
        )
    });
    let sent: u64 = flood.iter().map(Generator::sent).sum();
    let flood_rate = sent as f64 / duration.as_secs_f64();
    println!(
        "flood {:.3} Mpps for {} s: {} flaps; forwarded {:.3} Mpps, alone {:.3} Mpps ({:.1} %)",
        flood_rate / 1e6,
        duration.as_secs(),
        session.ups() - 1,
        beside / 1e6,
        alone / 1e6,
        100.0 * beside / alone
    );
    assert_eq!(session.ups(), 1, "the session has flapped");
    assert!(beside > 0.0);
    // The kernel has had its second's worth and what came with time, of each; the rest is counted.
    let seconds = began.elapsed().as_secs_f64() + 1.0;
    for (reason, class, limit) in [
        ("ipv4-time-to-live", "policed-expired", 1000.0),
        ("no-route", "policed-no-route", 1000.0),
        ("unresolved", "policed-unresolved", 200.0),
    ] {
        let (punted, policed) = (router.reason(reason), router.reason(class));
        assert!(
            punted as f64 <= limit * (seconds + 1.0),
            "{punted} under {reason} in {seconds} s"
        );
        assert!(policed > punted, "{class}: {policed}, {reason}: {punted}");
    }
    assert_eq!(router.reason("stale"), 0);
    assert_eq!(
        router.reason("policed-routing") + router.reason("policed-neighbour"),
        0
    );
}

#[test]
fn a_scan_of_a_connected_network_fills_no_table_and_keeps_nobody_from_being_found() {
    if !is_root() {
        return;
    }
    let (lab, c) = lab();
    let mut router = lab.run(&["r0", "r1", "r2"], &[]);
    lab.wait_for_fast_path(&router, &["10.1.0.2", "2001:db8:1::2"]);
    let mut scan = [generator((&lab.a, "e0"), (&lab.r, "r0"), scanned(), 64)];
    let began = Instant::now();
    let most = AtomicU64::new(0);
    while_sending(&mut scan, 1, || {
        wait_for("all addresses to be scanned", 20, || {
            most.fetch_max(unresolved(&lab.r), Ordering::Relaxed);
            router.reason("policed-unresolved") > u64::from(2 * SCANNED)
                && began.elapsed() > Duration::from_secs(3)
        });
        // Others still find and reach whoever is new there.
        lab.b.ip("addr add 2001:db8:1::77/64 dev e1 nodad").unwrap();
        wait_for("a new neighbour", 10, || ping(&c, "2001:db8:1::77", 1));
        assert!(
            ping(&lab.a, "10.1.0.2", 10),
            "what is known is forwarded to"
        );
    });
    let seconds = began.elapsed().as_secs();
    let asked = router.reason("unresolved");
    assert!(
        asked <= 3 * (200 * (seconds + 2)),
        "{asked} in {seconds} s, from three ports"
    );
    // The kernel's table has 1024 places.
    let most = most.into_inner();
    assert!(most < 1000, "{most} neighbours without an answer at a time");
    let engine = router.show("engine");
    assert_eq!(engine["overruns"], 0, "{engine}");
    assert_eq!(router.reason("stale"), 0);
    assert!(!router.log().contains("event=resync"), "{}", router.log());
    assert_eq!(router.verify()["different"], 0);
}

/// Whoever moves the frames behind the program.
#[test]
fn punts_are_policed_with_every_engine() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    for engine in ["xdp", "tc", "af-xdp"] {
        let more = ["--engine", engine, "--punt-limits", "local=1"];
        let router = lab.run(&["r0", "r1"], &more);
        lab.wait_for_fast_path(&router, &["10.1.0.2"]);
        assert!(!ping(&lab.a, "10.0.0.1", 20), "{engine}: one in a second");
        assert!(router.reason("policed-local") >= 10, "{engine}");
        assert!(ping(&lab.a, "10.1.0.2", 20), "{engine}: what is forwarded");
    }
}

/// Neighbours of IPv6 that the kernel asks about just now.
fn unresolved(r: &Namespace) -> u64 {
    let listed = r.ip("-6 neigh show dev r1 nud incomplete").unwrap();
    listed.lines().count() as u64
}
