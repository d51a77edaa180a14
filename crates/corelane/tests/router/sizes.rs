//! The keys that say how much room there is: each, made too small, leaves what does not fit to the
//! kernel, with a gauge and one line of the log, whether it is there at the start or comes later.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, TcpStream};

use host::namespace::OnFailure;

use super::lab::{Lab, Router, is_root, wait_for};

/// Starts a router with these keys between three ports; host b is behind two.
fn with(lab: &Lab, keys: &str) -> Router {
    let file = lab.path("router.toml");
    std::fs::write(&file, format!("ports = [\"r0\", \"r1\", \"r2\"]\n{keys}\n")).unwrap();
    lab.run_words(&["run".to_owned(), file.to_str().unwrap().to_owned()])
}

fn lab() -> Lab {
    let mut lab = Lab::new();
    lab.link("b", 2);
    lab.b.ip("route add local 192.168.0.0/16 dev lo").unwrap();
    lab
}

/// The value of a line of the metrics.
fn gauge(lab: &Lab, line: &str) -> Option<u64> {
    let ask = || -> io::Result<String> {
        let mut stream = TcpStream::connect("127.0.0.1:9470")?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
        io::read_to_string(stream)
    };
    let page = lab.r.enter(ask).unwrap().ok()?;
    page.lines()
        .find_map(|row| row.strip_prefix(line)?.trim().parse().ok())
}

/// What is left to the kernel of a kind is `count`, said in all places, and in one line.
fn left(lab: &Lab, router: &mut Router, what: &str, count: u64) {
    wait_for(what, 10, || {
        router.show("engine")["not_carried"][what] == count
    });
    let line = format!("corelane_not_carried{{what=\"{what}\"}}");
    // Who asks often gets the same page.
    wait_for(&line, 5, || gauge(lab, &line) == Some(count));
    let said = |router: &mut Router| router.log().matches("event=not-carried").count();
    wait_for("the log", 5, || said(router) == 1);
    assert_eq!(router.verify()["different"], 0);
    assert_eq!(said(router), 1);
    assert!(!router.ended());
}

/// So many networks far from each other.
fn networks(count: u64) -> String {
    (0..count).fold(String::new(), |mut lines, number| {
        let bits = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 4 | 1 << 61;
        let address = Ipv6Addr::from(u128::from(bits) << 64);
        writeln!(lines, "route add {address}/64 via 2001:db8:1::2").unwrap();
        lines
    })
}

#[test]
fn a_table_that_is_too_small_leaves_its_family_to_the_kernel() {
    if !is_root() {
        return;
    }
    let lab = lab();
    lab.r.batch(&networks(3000), OnFailure::Stop).unwrap();
    let mut router = with(&lab, "table-words = 4096");
    left(&lab, &mut router, "tables", 1);
    assert!(lab.ping("2001:db8:1::2"), "the kernel carries it");
    lab.wait_for_fast_path(&router, &["10.1.0.2"]);
    let fewer = networks(2990).replace("route add", "route del");
    lab.r.batch(&fewer, OnFailure::Stop).unwrap();
    wait_for("room", 20, || {
        router.show("engine")["not_carried"]["tables"] == 0
    });
    lab.wait_for_fast_path(&router, &["2001:db8:1::2"]);
}

#[test]
fn buckets_that_are_too_few_leave_groups_to_the_kernel() {
    if !is_root() {
        return;
    }
    let lab = lab();
    lab.r.ip("nexthop add id 1 via 10.1.0.2 dev r1").unwrap();
    lab.r.ip("nexthop add id 2 via 10.2.0.2 dev r2").unwrap();
    for number in 3..6 {
        lab.r
            .ip(format!("nexthop add id {number} group 1,{number}/2"))
            .unwrap();
        lab.r
            .ip(format!("route add 192.168.{number}.0/24 nhid {number}"))
            .unwrap();
    }
    let mut router = with(&lab, "group-buckets = 64");
    left(&lab, &mut router, "groups", 2);
    for number in 3..6 {
        let address = format!("192.168.{number}.1");
        wait_for("an answer", 5, || lab.ping(&address));
    }
}

#[test]
fn tables_that_are_too_few_or_too_small_leave_a_vrf_to_the_kernel() {
    if !is_root() {
        return;
    }
    let lab = lab();
    if lab.r.ip("link add blue type vrf table 10").is_err() {
        needs::skipped!("this kernel has no VRF devices");
        return;
    }
    let lines = "link set blue up\nlink set r0 master blue\nlink set r1 master blue\n";
    lab.r.batch(lines, OnFailure::Stop).unwrap();
    let in_vrf = (0..3000_u32).fold(String::new(), |mut lines, number| {
        let bits = (number + 1).wrapping_mul(0x9E37_79B9) >> 4 & 0x0FFF_FF00 | 0x4000_0000;
        let network = Ipv4Addr::from(bits);
        writeln!(lines, "route add {network}/24 vrf blue via 10.1.0.2").unwrap();
        lines
    });
    // Some come out alike.
    lab.r.batch(&in_vrf, OnFailure::Continue).unwrap();
    for (keys, families) in [("vrfs = 0", 2), ("vrf-words = 256", 1)] {
        let mut router = with(&lab, keys);
        left(&lab, &mut router, "tables", families);
        wait_for("the kernel", 5, || lab.ping("10.1.0.2"));
    }
}

#[test]
fn vlans_that_are_too_few_leave_others_to_the_kernel() {
    if !is_root() {
        return;
    }
    let lab = lab();
    let line = |vid| format!("link add link r1 name r1.{vid} up type vlan id {vid}\n");
    let lines = [30, 31, 32].map(line).concat();
    if lab.r.batch(&lines, OnFailure::Stop).is_err() {
        needs::skipped!("this kernel has no VLAN devices");
        return;
    }
    let mut router = with(&lab, "vlans = 1");
    left(&lab, &mut router, "vlans", 2);
    wait_for("an answer", 5, || lab.ping("10.1.0.2"));
}

/// What a file says is what the forwarding state is made for.
#[test]
fn the_room_that_is_shown_is_that_of_the_file() {
    if !is_root() {
        return;
    }
    let lab = lab();
    let router = with(
        &lab,
        "table-words = 8192\nvrfs = 3\nvrf-words = 512\ngroup-buckets = 128\nvlans = 9",
    );
    let room = &router.show("engine")["room"];
    let of = |what: &str| room[what][1].as_u64().unwrap();
    let all = ["tables", "group-buckets", "vlans"].map(of);
    assert_eq!(all, [1 + 3, 128, 9], "{room:#}");
}
