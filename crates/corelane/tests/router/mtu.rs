//! What fits the way out: as the kernel alone would have it, whoever limits the size.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::lab::{Lab, is_root, wait_for};
use super::raw::{Wires, ipv4, ipv6};

/// The kernel's look-up for programs does not heed the MTU of IPv4 routes.
const ENGINES: [&str; 3] = ["xdp", "af-xdp", "af-packet"];

/// Where frames go, and by what.
const DESTINATIONS: [(&str, &str); 6] = [
    ("object", "192.0.2.1"),
    ("object, route with an MTU", "198.51.100.1"),
    ("route with an MTU", "203.0.113.1"),
    ("IPv6", "2001:db8:9::1"),
    ("IPv6, object, route with a locked MTU", "2001:db8:8::1"),
    ("IPv6, neighbour", "2001:db8:1::2"),
];
/// How long a setting may take to hold, on a machine however busy.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of the packets.
const SIZES: [usize; 5] = [1280, 1299, 1301, 1400, 1500];
const SETTINGS: [&str; 3] = [
    "net.ipv6.conf.r1.mtu=1500",
    "net.ipv6.conf.r1.mtu=1300",
    "net.ipv6.conf.r1.mtu=1280",
];

/// The destinations and sizes that come through.
fn pass(wires: &Wires) -> BTreeSet<(&'static str, usize)> {
    for (number, (_, destination)) in DESTINATIONS.iter().enumerate() {
        for (size, bytes) in SIZES.iter().enumerate() {
            let v6 = destination.contains(':');
            let mut payload = vec![b'.'; bytes - if v6 { 48 } else { 28 }];
            payload[..5].copy_from_slice(&[b'#', number as u8, size as u8, 0xC0, 0x7E]);
            let frame = if v6 {
                ipv6(wires.macs, "2001:db8::2", destination, &payload)
            } else {
                let octets = destination.parse::<std::net::Ipv4Addr>().unwrap().octets();
                ipv4(wires.macs, [10, 0, 0, 2], octets, 9, &payload)
            };
            wires.a.send(&frame);
        }
    }
    let mut seen = BTreeSet::new();
    while let Some(frame) = wires.b.receive() {
        let mark = frame
            .windows(5)
            .position(|five| five[0] == b'#' && five[3..] == [0xC0, 0x7E]);
        if let Some(at) = mark {
            let (number, size) = (usize::from(frame[at + 1]), usize::from(frame[at + 2]));
            seen.insert((DESTINATIONS[number].0, SIZES[size]));
        }
    }
    seen
}

#[test]
fn what_is_too_big_is_so_by_the_kernels_limits() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    for line in [
        "nexthop add id 7 via 10.1.0.2 dev r1",
        "route add 192.0.2.0/24 nhid 7",
        // The kernel remembers the first route's MTU with an object, so each has its own.
        "nexthop add id 9 via 10.1.0.2 dev r1",
        "route add 198.51.100.0/24 nhid 9 mtu 1300",
        "route add 203.0.113.0/24 via 10.1.0.2 mtu 1300",
        "nexthop add id 8 via 2001:db8:1::2 dev r1",
        "-6 route add 2001:db8:9::/48 nhid 8",
        "nexthop add id 10 via 2001:db8:1::2 dev r1",
        "-6 route add 2001:db8:8::/48 nhid 10 mtu lock 1400",
    ] {
        lab.r.ip(line).unwrap();
    }
    let set = |setting: &str| {
        let mut sysctl = lab.r.command("sysctl");
        assert!(sysctl.args(["-qw", setting]).status().unwrap().success());
    };
    let gateways = ["10.1.0.2", "2001:db8:1::2"];
    for address in gateways {
        wait_for(address, 5, || lab.ping(address));
    }
    let wires = Wires::open(&lab);
    let alone: Vec<_> = SETTINGS
        .iter()
        .map(|setting| {
            set(setting);
            pass(&wires)
        })
        .collect();
    assert!(alone[1].len() < alone[0].len(), "{alone:?}");
    for engine in ENGINES {
        set(SETTINGS[0]);
        let router = lab.run(&["r0", "r1"], &["--engine", engine]);
        lab.wait_for_fast_path(&router, &gateways);
        for (setting, wanted) in SETTINGS.iter().zip(&alone) {
            set(setting);
            // The kernel announces no change of settings; other tests may have the cores.
            let end = Instant::now() + PATIENCE;
            loop {
                std::thread::sleep(Duration::from_millis(250));
                let seen = pass(&wires);
                if seen == *wanted {
                    break;
                }
                assert!(
                    Instant::now() < end,
                    "{engine}, {setting}: {seen:?}, alone {wanted:?}"
                );
            }
            assert_eq!(router.verify()["different"], 0, "{engine}, {setting}");
        }
        assert!(router.forwarded() > 0);
    }
}
