//! Samples that a router sends to a collector: what two other decoders of sFlow make of them, beside
//! what the router has counted.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use serde_json::Value;

use super::lab::{Lab, Router, is_root, text, wait_for};
use super::raw::{Wires, ipv4};
use super::roads::roads;
use super::sflow::{decoded, header, missing, number, record, samples};
use crate::schemas::assert_is;

/// Where the collector is: host b.
const COLLECTOR: &str = "10.1.0.2:6343";
/// One frame in so many is a sample.
const EVERY: u64 = 10;
/// Flows, and frames of each.
const FLOWS: u16 = 20;
const FRAMES: u64 = 1000;
/// Frames that are lost by a route, and by there being none.
const LOST: u64 = 20;
/// How often all of it is sent while datagrams are missing.
const ATTEMPTS: usize = 5;

/// The collector's end.
struct Collector(UdpSocket);

impl Collector {
    fn open(lab: &Lab) -> Self {
        let socket = lab.b.enter(|| UdpSocket::bind(COLLECTOR)).unwrap().unwrap();
        let patience = Some(Duration::from_millis(100));
        socket.set_read_timeout(patience).unwrap();
        // Beside other work this thread reads late.
        set_socket_recv_buffer_size_force(&socket, 8 << 20).unwrap();
        Self(socket)
    }

    /// All that comes within so long.
    fn datagrams(&self, time: Duration) -> Vec<Vec<u8>> {
        let (mut all, end) = (Vec::new(), Instant::now() + time);
        let mut buffer = vec![0; 2048];
        while Instant::now() < end {
            if let Ok(length) = self.0.recv(&mut buffer) {
                all.push(buffer[..length].to_vec());
            }
        }
        all
    }
}

/// Waits until frames are sampled: counters are told before a port has the program for that.
fn wait_for_samples(collector: &Collector, wires: &Wires) {
    const MARK: &[u8] = b"the first sample is awaited";
    wait_for("the first sample", 30, || {
        let frame = ipv4(wires.macs, [10, 0, 0, 2], [203, 0, 113, 9], 4999, MARK);
        for _ in 0..5 * EVERY {
            wires.a.send(&frame);
        }
        let told = collector.datagrams(Duration::from_millis(1500));
        let shows = |one: &Vec<u8>| one.windows(MARK.len()).any(|some| some == MARK);
        told.iter().any(shows)
    });
}

fn runs(lab: &Lab, engine: &str, more: &str) -> Router {
    let file = lab.path("sflow.toml");
    let keys = format!(
        "ports = [\"r0\", \"r1\"]\nengine = {engine:?}\nmetrics = \"\"\ntable-words = 131072\n\
         vrf-words = 8192\npunt-limits = \"none\"\n[sflow]\ncollector = {COLLECTOR:?}\nagent = \
         \"192.0.2.77\"\nsampling = {EVERY}\n{more}"
    );
    std::fs::write(&file, keys).unwrap();
    let router = lab.run_words(&["run".to_owned(), file.to_str().unwrap().to_owned()]);
    roads(lab, &router);
    router
}

fn a_collector_gets_what_passed(engine: &str) {
    let lab = Lab::new();
    let collector = Collector::open(&lab);
    let router = runs(&lab, engine, "polling-seconds = 1\ndiscards = 1000\n");
    let wires = Wires::open(&lab);
    wait_for_samples(&collector, &wires);
    let sent = |to: [u8; 4], port: u16| {
        let frame = ipv4(wires.macs, [10, 0, 0, 2], to, port, &[0x55; 300]);
        wires.a.send(&frame);
    };
    let attempt = || {
        let before = router.forwarded();
        // Those of the counters, before and behind, so that whatever is missing shows.
        let mut all = collector.datagrams(Duration::from_millis(1500));
        // A second or more, so that nobody has to keep much.
        std::thread::scope(|threads| {
            let sender = threads.spawn(|| {
                for round in 0..FRAMES {
                    (0..FLOWS).for_each(|flow| sent([203, 0, 113, 9], 5000 + flow));
                    if round % 25 == 0 {
                        std::thread::sleep(Duration::from_millis(25));
                    }
                }
                for _ in 0..LOST {
                    sent([198, 51, 100, 3], 9);
                    sent([192, 0, 2, 200], 9);
                }
            });
            while !sender.is_finished() {
                all.extend(collector.datagrams(Duration::from_millis(100)));
            }
        });
        all.extend(collector.datagrams(Duration::from_secs(3)));
        // Beside other work a queue in front of the router can be full, too.
        let forwarded = router.forwarded() - before;
        println!("{engine}: {forwarded} forwarded");
        (forwarded >= u64::from(FLOWS) * FRAMES).then_some(all)
    };
    // Beside other work a queue on the way can be full, and nobody sends a datagram twice.
    let datagrams = (0..ATTEMPTS)
        .filter_map(|_| attempt())
        .find(|all| !all.is_empty() && missing(all) == 0)
        .expect("once no frame and no datagram is missing");
    assert!(datagrams.iter().all(|one| one.len() <= 1428));
    if needs::program("tshark") {
        tshark_agrees(&lab, &datagrams);
    }
    if let Some(documents) = decoded(&datagrams) {
        flows_are_estimated(&lab, engine, &documents);
        discards_are_told(&lab, engine, &documents);
        counters_are_the_kernels(&lab, &documents);
    }
    router.verify();
}

/// Each flow within the error that sFlow says (196 % divided by the root of the samples), but for one
/// in twenty by chance; and what is said of the way.
fn flows_are_estimated(lab: &Lab, engine: &str, documents: &[Value]) {
    let [r0, r1] = ["r0", "r1"].map(|name| u64::from(lab.r.interface_index(name).unwrap()));
    let mut by_flow: BTreeMap<u16, u64> = BTreeMap::new();
    let flows = samples(documents, 3);
    for sample in &flows {
        let header = header(sample);
        let port = u16::from_be_bytes([header[36], header[37]]);
        if header[30..34] != [203, 0, 113, 9] || !(5000..5000 + FLOWS).contains(&port) {
            continue;
        }
        *by_flow.entry(port).or_default() += 1;
        assert_eq!(number(&sample["sampling-rate"]), EVERY);
        assert_eq!(number(&sample["drops"]), 0, "{engine}");
        assert_eq!(number(&sample["input-if-value"]), r0);
        let output = [&sample["output-if-format"], &sample["output-if-value"]];
        assert_eq!(output.map(number), [0, r1], "{engine}");
        let raw = record(sample, 1);
        assert_eq!(number(&raw["frame-length"]), 14 + 28 + 300 + 4);
        assert_eq!((number(&raw["stripped"]), header.len()), (4, 128));
        let routed = record(sample, 1002);
        assert_eq!(routed["next-hop"], "10.1.0.2", "{routed}");
        assert_eq!(number(&routed["dst-mask-len"]), 24);
        // The sender is a neighbour, which has a prefix of its own.
        assert_eq!(number(&routed["src-mask-len"]), 32);
    }
    assert_eq!(by_flow.len(), usize::from(FLOWS));
    let within = by_flow.values().filter(|count| {
        let estimate = (**count * EVERY) as f64;
        let error = 1.96 / (**count as f64).sqrt();
        (estimate - FRAMES as f64).abs() <= error * FRAMES as f64
    });
    let within = within.count();
    println!("{engine}: {within} of {FLOWS} flows within the bound: {by_flow:?}");
    // Chance keeps fewer than 15 of 20 once in 4,000 times.
    assert!(within >= 15, "{engine}: {by_flow:?}");
    let sum: u64 = by_flow.values().sum();
    let (estimate, exact) = ((sum * EVERY) as f64, (u64::from(FLOWS) * FRAMES) as f64);
    assert!(
        (estimate / exact - 1.0).abs() < 3.0 * 1.96 / (sum as f64).sqrt(),
        "{sum}"
    );
    let pool = flows
        .iter()
        .map(|one| number(&one["sample-pool"]))
        .max()
        .unwrap();
    assert!(pool > exact as u64 / 2 && pool < 2 * exact as u64, "{pool}");
}

/// Every frame that was lost, with the code of the reason and its name.
fn discards_are_told(lab: &Lab, engine: &str, documents: &[Value]) {
    let r0 = u64::from(lab.r.interface_index("r0").unwrap());
    for (to, code, name) in [
        ([198, 51, 100, 3], 269, "blackhole"),
        ([192, 0, 2, 200], 6, "no-route"),
    ] {
        let all = samples(documents, 5);
        let of_it = all.iter().filter(|one| header(one)[30..34] == to);
        let of_it: Vec<_> = of_it.collect();
        assert_eq!(of_it.len() as u64, LOST, "{engine}: {name}");
        for sample in of_it {
            assert_eq!(number(&sample["reason"]), code);
            let place = [&sample["input"], &sample["output"], &sample["drops"]];
            assert_eq!(place.map(number), [r0, 0, 0]);
            assert_eq!(record(sample, 1038)["symbol"], name);
        }
    }
}

/// Both ports, by the kernel's numbers.
fn counters_are_the_kernels(lab: &Lab, documents: &[Value]) {
    for name in ["r0", "r1"] {
        let index = u64::from(lab.r.interface_index(name).unwrap());
        let all = samples(documents, 4);
        let counters: Vec<_> = all.iter().map(|one| record(one, 1)).collect();
        let latest = counters.iter().rev().find(|one| one["if-index"] == index);
        let latest = latest.unwrap_or_else(|| panic!("no counters of {name}"));
        assert_eq!(number(&latest["if-status"]), 3, "up, and running");
        let least = u64::from(FLOWS) * FRAMES;
        let which = if name == "r0" {
            "if-in-ucast-pkts"
        } else {
            "if-out-ucast-pkts"
        };
        assert!(number(&latest[which]) >= least, "{name}: {latest}");
    }
}

/// The same by tshark, as far as it knows sFlow.
fn tshark_agrees(lab: &Lab, datagrams: &[Vec<u8>]) {
    let mut file = Vec::new();
    // A capture of raw IP.
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 0xffff, 101] {
        file.extend(word.to_le_bytes());
    }
    for one in datagrams {
        let frame = ipv4(([0; 6], [0; 6]), [10, 1, 0, 1], [10, 1, 0, 2], 6343, one);
        let packet = &frame[14..];
        for word in [0, 0, packet.len() as u32, packet.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    let path = lab.path("sflow.pcap");
    std::fs::write(&path, file).unwrap();
    let fields = [
        "sflow_245.agent",
        "sflow.flow_sample.sampling_rate",
        "sflow_245.nexthop",
        "sflow_245.nexthop.dst_mask",
        "sflow_245.ifinoct",
        "_ws.malformed",
    ];
    let mut command = Command::new("tshark");
    command
        .args(["-T", "fields", "-d", "udp.port==6343,sflow", "-r"])
        .arg(&path);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let told = String::from_utf8(output.stdout).unwrap();
    let mut values: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
    for line in told.lines() {
        for (field, value) in fields.iter().zip(line.split('\t')) {
            for one in value.split(',').filter(|one| !one.is_empty()) {
                *values.entry(field).or_default().entry(one).or_default() += 1;
            }
        }
    }
    let only = |field: &str| values[field].keys().copied().collect::<Vec<_>>();
    assert_eq!(only("sflow_245.agent"), ["192.0.2.77"]);
    assert_eq!(only("sflow.flow_sample.sampling_rate"), ["10"]);
    assert!(
        values["sflow.flow_sample.sampling_rate"]["10"] > 1500,
        "{values:?}"
    );
    assert!(only("sflow_245.nexthop").contains(&"10.1.0.2"));
    assert!(only("sflow_245.nexthop.dst_mask").contains(&"24"));
    assert!(values["sflow_245.ifinoct"].values().sum::<u64>() >= 4);
    assert!(!values.contains_key("_ws.malformed"), "{values:?}");
}

#[test]
fn a_collector_gets_what_passed_at_xdp() {
    if is_root() {
        a_collector_gets_what_passed("xdp");
    }
}

#[test]
fn a_collector_gets_what_passed_at_tc() {
    if is_root() {
        a_collector_gets_what_passed("tc");
    }
}

#[test]
fn a_collector_gets_what_passed_in_front_of_workers() {
    if is_root() {
        a_collector_gets_what_passed("af-xdp");
    }
}

#[test]
fn samples_end_and_begin_with_the_configuration_and_a_capture_goes_beside_them() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let collector = Collector::open(&lab);
    let mut router = runs(&lab, "xdp", "polling-seconds = 1\n");
    let quiet = Duration::from_millis(1500);
    let wires = Wires::open(&lab);
    let lost = || {
        for _ in 0..50 {
            wires.a.send(&ipv4(
                wires.macs,
                [10, 0, 0, 2],
                [198, 51, 100, 3],
                9,
                &[0; 30],
            ));
        }
    };
    let is_told = |one: &Vec<u8>| one.windows(9).any(|some| some == b"blackhole");
    wait_for_samples(&collector, &wires);
    let program = |lab: &Lab| super::captured::program(lab, "r0");
    let sampling = program(&lab);
    let output = router.capture(&["--count", "1", "--reason", "blackhole"]);
    let mut capture = { output };
    let child = capture
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for("another program", 10, || program(&lab) != sampling);
    lost();
    assert!(child.wait_with_output().unwrap().status.success());
    let told = collector.datagrams(quiet);
    assert!(told.iter().any(is_told), "samples go on");
    // Without a collector there are none, and ports run their own programs.
    let file = lab.path("sflow.toml");
    let keys = std::fs::read_to_string(&file).unwrap();
    let without = keys.replace(&format!("collector = {COLLECTOR:?}\n"), "");
    std::fs::write(&file, without).unwrap();
    router.signal(libc::SIGHUP);
    wait_for("the end of samples", 10, || {
        collector.datagrams(quiet).is_empty()
    });
    let own = program(&lab);
    assert_ne!(own, sampling);
    std::fs::write(&file, keys).unwrap();
    router.signal(libc::SIGHUP);
    wait_for("samples again", 10, || {
        !collector.datagrams(quiet).is_empty()
    });
    // A collector that nobody listens on is no trouble for forwarding.
    drop(collector);
    assert!(lab.ping("10.1.0.2"));
    wait_for("what the log says", 20, || {
        router.log().contains("level=warning event=sflow")
    });
    router.verify();
    router.end(libc::SIGTERM);
}

/// The program of a port while nobody wants samples, another while somebody watches, and the first again;
/// what is shown is what was sent.
#[test]
fn heavy_hitters_are_found_while_somebody_watches() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let router = lab.run(&["r0", "r1"], &["--engine", "xdp"]);
    roads(&lab, &router);
    let own = super::captured::program(&lab, "r0");
    let wires = Wires::open(&lab);
    let over = AtomicBool::new(false);
    let watched = std::thread::scope(|threads| {
        threads.spawn(|| {
            let sent = |from: u8, port: u16| {
                wires.a.send(&ipv4(
                    wires.macs,
                    [10, 0, 0, from],
                    [203, 0, 113, 9],
                    port,
                    &[0; 200],
                ));
            };
            while !over.load(Ordering::Relaxed) {
                // Four of five frames are of one flow.
                (0..40).for_each(|_| sent(2, 5001));
                (0..10).for_each(|number| sent(100 + number, 5002));
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let mut watched = Value::Null;
        wait_for("heavy hitters", 20, || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_corelane"));
            command.args(["top", "--json", "--interval", "2", "--run-directory"]);
            let output = command.arg(&router.0).output().unwrap();
            assert!(output.status.success(), "{}", text(&output));
            watched = serde_json::from_slice(&output.stdout).unwrap();
            assert_is("corelane-top", &watched);
            watched["hitters"]["samples"].as_u64().unwrap() > 2000
        });
        over.store(true, Ordering::Relaxed);
        watched
    });
    let hitters = &watched["hitters"];
    let first = |kind: &str| hitters[kind][0].clone();
    assert_eq!(
        first("flows")["what"],
        "10.0.0.2:4242 > 203.0.113.9:5001 udp"
    );
    assert_eq!(first("sources")["what"], "10.0.0.2");
    assert_eq!(first("prefixes")["what"], "203.0.113.0/24");
    let all = hitters["frames_per_second"].as_f64().unwrap();
    let share = first("flows")["frames_per_second"].as_f64().unwrap() / all;
    assert!((0.75..0.85).contains(&share), "{hitters}");
    let flow = first("flows");
    let [low, rate, high] =
        ["low", "frames_per_second", "high"].map(|key| flow[key].as_f64().unwrap());
    assert!(low <= rate && rate <= high && low > 0.0, "{flow}");
    let program = || super::captured::program(&lab, "r0");
    assert_ne!(program(), own);
    wait_for("the program of before", 10, || program() == own);
    router.verify();
}
