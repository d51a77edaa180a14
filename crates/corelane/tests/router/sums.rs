//! The counters close with the interfaces' own: every frame that a port received was forwarded or
//! has its one reason, and what was forwarded has left.

use serde_json::Value;

use super::lab::{Lab, Router, is_root, wait_for};
use super::raw::{Raw, checksum, ipv4, mac};

/// How many frames of each kind.
const FRAMES: u64 = 30;

/// What an interface has received, sent, and not sent.
fn device(lab: &Lab, name: &str) -> [u64; 3] {
    let text = lab.r.ip(format!("-s -j link show dev {name}")).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    let of = |way: &str, what: &str| value[0]["stats64"][way][what].as_u64().unwrap();
    [
        of("rx", "packets"),
        of("tx", "packets"),
        of("tx", "dropped"),
    ]
}

/// What the router says of a port: received, forwarded, refused by its device, and all reasons.
fn counted(router: &Router, name: &str) -> [u64; 4] {
    let (ports, drops) = (router.show("ports"), router.show("drops"));
    let rows = |value: &Value| value.as_array().unwrap().clone();
    let port = rows(&ports).into_iter().find(|row| row["port"] == name);
    let port = port.unwrap();
    let of = |what: &str| port[what].as_u64().unwrap();
    let reasons = rows(&drops).into_iter().filter(|row| row["port"] == name);
    let reasons = reasons.map(|row| row["frames"].as_u64().unwrap()).sum();
    [of("received"), of("forwarded"), of("refused"), reasons]
}

/// Changes an IPv4 header, and makes its sum right again.
fn with(mut frame: Vec<u8>, change: impl Fn(&mut [u8])) -> Vec<u8> {
    change(&mut frame[14..34]);
    frame[24..26].fill(0);
    let sum = checksum(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum);
    frame
}

/// Nobody asks for neighbours, nobody says anything of its own accord.
fn silence(lab: &Lab) {
    for (host, address, link, peer) in [
        (&lab.r, "10.0.0.2", "r0", mac(&lab.a, "e0")),
        (&lab.r, "10.1.0.2", "r1", mac(&lab.b, "e1")),
        (&lab.a, "10.0.0.1", "e0", mac(&lab.r, "r0")),
        (&lab.b, "10.1.0.1", "e1", mac(&lab.r, "r1")),
    ] {
        let mac = host::bed::mac_text(peer);
        let line = format!("neigh replace {address} lladdr {mac} dev {link} nud permanent");
        host.ip(line).unwrap();
    }
    for host in [&lab.a, &lab.r, &lab.b] {
        host.set("net.ipv6.conf.all.disable_ipv6", "1").unwrap();
    }
}

#[test]
fn what_came_is_what_went_and_what_did_not() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    silence(&lab);
    lab.r.ip("route add blackhole 198.51.100.0/24").unwrap();
    let from = Raw::open(&lab.a, "e0");
    let macs = (mac(&lab.r, "r0"), mac(&lab.a, "e0"));
    let to = |destination, bytes| ipv4(macs, [10, 0, 0, 2], destination, 9, &vec![7; bytes]);
    let b = [10, 1, 0, 2];
    for engine in ["xdp", "xdp-kernel-fib", "tc", "af-xdp", "af-packet"] {
        let router = lab.run(&["r0", "r1"], &["--engine", engine]);
        lab.wait_for_fast_path(&router, &["10.1.0.2"]);
        // A veth does not take what is longer than its peer's MTU; workers are not told.
        let refuses = engine.starts_with("xdp");
        if refuses {
            lab.b.ip("link set e1 mtu 1000").unwrap();
        }
        let before = (device(&lab, "r0"), device(&lab, "r1"));
        let counted_before = (counted(&router, "r0"), counted(&router, "r1"));
        for _ in 0..FRAMES {
            from.send(&to(b, 100));
            from.send(&with(to(b, 100), |ip| ip[8] = 1));
            from.send(&to([198, 51, 100, 9], 100));
            from.send(&to([203, 0, 113, 9], 100));
            let mut broken = to(b, 100);
            broken[24] ^= 1;
            from.send(&broken);
            // A tunnel, which the kernel forwards: at tc nobody needs to know of the sums inside.
            from.send(&with(to(b, 100), |ip| ip[9] = 47));
            if refuses {
                from.send(&to(b, 1200));
            }
        }
        let since = |now: &[u64], then: &[u64]| -> Vec<u64> {
            now.iter().zip(then).map(|(now, then)| now - then).collect()
        };
        let state = || {
            let r0 = since(&device(&lab, "r0"), &before.0);
            let r1 = since(&device(&lab, "r1"), &before.1);
            let came = since(&counted(&router, "r0"), &counted_before.0);
            let back = since(&counted(&router, "r1"), &counted_before.1);
            (r0, r1, came, back)
        };
        let refused = if refuses { FRAMES } else { 0 };
        let tunnels = if engine == "tc" { FRAMES } else { 0 };
        let closes = || {
            let (r0, r1, came, back) = state();
            came[..3] == [6 * FRAMES + refused, FRAMES + tunnels, 0]
                && came[3] == 5 * FRAMES + refused - tunnels
                && r0[0] == came[0]
                && r1 == [back[0], came[1] + FRAMES - tunnels, refused]
                && back == [back[1] + back[3], back[1], refused, back[3]]
        };
        let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while !closes() && std::time::Instant::now() < end {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        assert!(
            closes(),
            "{engine}: {:?}; {:#}",
            state(),
            router.show("drops")
        );
        lab.b.ip("link set e1 mtu 1500").unwrap();
        drop(router);
        wait_for("the kernel", 5, || lab.ping("10.1.0.2"));
    }
}
