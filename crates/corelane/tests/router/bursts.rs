//! What leaves by one run of a program for a whole burst, engine `af-xdp` on devices that copy: all of
//! it arrives, in its order, and where the device takes no such frames the sockets send it.

use std::net::Ipv4Addr;
use std::time::Duration;

use bpf::attach::Request;
use fastpath::generate::{Destinations, Frames, Generator};
use fastpath::sink::{Checks, Sink};
use host::offload::{Offload, switch};

use super::lab::{Lab, Router, is_root, wait_for};
use super::raw::mac;

const BURSTS: u64 = 200;
const BURST: u32 = 64;

/// Frames that programs have redirected to r1, as its driver counts them.
fn redirected(lab: &Lab) -> u64 {
    let output = lab
        .r
        .command("ethtool")
        .args(["-S", "r1"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text.lines().filter(|line| line.contains("tx_queue"));
    let lines = lines.filter_map(|line| line.split_once("xdp_xmit:"));
    lines
        .filter_map(|(_, count)| count.trim().parse::<u64>().ok())
        .sum()
}

/// What r0 has received, what of it was forwarded, and what has its reason.
fn sums(router: &Router) -> [u64; 3] {
    let sum = |rows: &serde_json::Value, key: &str| -> u64 {
        let rows = rows.as_array().unwrap().iter();
        let of_r0 = rows.filter(|row| row["port"] == "r0");
        of_r0.map(|row| row[key].as_u64().unwrap()).sum()
    };
    let (ports, drops) = (router.show("ports"), router.show("drops"));
    [
        sum(&ports, "received"),
        sum(&ports, "forwarded"),
        sum(&drops, "frames"),
    ]
}

#[test]
fn af_xdp_sends_bursts_by_runs_of_a_program() {
    if !is_root() || !needs::program("ethtool") {
        return;
    }
    let lab = Lab::new();
    let router = lab.run(&["r0", "r1"], &["--engine", "af-xdp"]);
    lab.wait_for_fast_path(&router, &["10.1.0.2"]);
    lab.r
        .enter(|| switch("r0", Offload::GenericReceive, true).unwrap())
        .unwrap();
    let frames = Frames {
        source_mac: mac(&lab.a, "e0"),
        destination_mac: mac(&lab.r, "r0"),
        vlan: None,
        source: [10, 0, 0, 2].into(),
        destinations: Destinations::V4(vec![Ipv4Addr::new(10, 1, 0, 2)]),
        source_port: 1024,
        source_ports: 1,
        destination_port: 9,
        ttl: 64,
        lengths: vec![60, 300, 1514],
        stream: 1,
        stamp_every: 0,
    };
    let index = lab.a.interface_index("e0").unwrap();
    let generator = lab.a.enter(|| Generator::new(index, &frames).unwrap());
    let mut generator = generator.unwrap();
    let mut send = || {
        let before = generator.sent();
        for _ in 0..BURSTS {
            lab.a.enter(|| generator.send(BURST).unwrap()).unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
        generator.sent() - before
    };

    let mut sink = lab.b.enter(|| Sink::new(Checks::ALL).unwrap()).unwrap();
    lab.b
        .enter(|| sink.attach("e1", Request::Native).unwrap())
        .unwrap();
    for captured in [false, true] {
        // Ports run another program meanwhile.
        let capture = captured.then(|| router.captures(&["--write", "/dev/null", "--port", "r0"]));
        let mut attempt = || {
            let (before, [came, forwarded, left]) = (redirected(&lab), sums(&router));
            let earlier = sink.counts().unwrap();
            let sent = send();
            let mut told = [0; 3];
            wait_for("all frames in the counters", 10, || {
                told = sums(&router);
                told[0] - came >= sent && told[0] == told[1] + told[2]
            });
            // Whatever is said to be forwarded arrives, once and in its order.
            let (forwarded, left) = (told[1] - forwarded, told[2] - left);
            let arrived = || sink.counts().unwrap().frames - earlier.frames;
            wait_for("what was forwarded", 10, || arrived() == forwarded);
            let (counts, by_runs) = (sink.counts().unwrap(), redirected(&lab) - before);
            println!("{forwarded} of {sent}, {left} not, by runs {by_runs}");
            assert_eq!(counts.unique() - earlier.unique(), forwarded);
            assert_eq!(counts.reordered, 0);
            forwarded == sent && by_runs > sent / 2
        };
        // Beside other work a queue on the way can be full.
        assert!((0..5).any(|_| attempt()), "once all of them arrive by runs");
        if let Some(capture) = capture {
            capture.signal(libc::SIGINT);
            capture.end();
        }
    }

    drop(sink);
    lab.b
        .enter(|| switch("e1", Offload::GenericReceive, false).unwrap())
        .unwrap();
    let before = redirected(&lab);
    let mut attempt = || {
        let ([came, forwarded, _], earlier) = (sums(&router), device(&lab));
        let sent = send();
        let mut told = [0; 3];
        wait_for("all frames in the counters", 10, || {
            told = sums(&router);
            told[0] - came >= sent && told[0] == told[1] + told[2]
        });
        let forwarded = told[1] - forwarded;
        wait_for("what was forwarded", 10, || {
            device(&lab) - earlier >= forwarded
        });
        forwarded == sent
    };
    assert!((0..5).any(|_| attempt()), "once all of them are forwarded");
    assert_eq!(redirected(&lab), before);
}

/// Frames that e1 has received.
fn device(lab: &Lab) -> u64 {
    let text = lab.b.ip("-s -j link show dev e1").unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    value[0]["stats64"]["rx"]["packets"].as_u64().unwrap()
}
