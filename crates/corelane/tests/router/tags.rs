//! VLAN tags that a device keeps beside the frame, where a program does not see them: a frame of a
//! VLAN is never forwarded as one without.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use bpf::attach::Request;
use bpf::sys::{Hook, Instruction, link_create, program_load};
use fastpath::forward::{Accepts, Capacity, Forwarder, Lookup, Place, PortSettings, VlanSettings};
use fib::next_hop::Kind;
use fib::{NextHop, NextHopEntry, Prefix};

use super::lab::{Lab, is_root, wait_for};
use super::raw::{Raw, ipv4, mac};

const FRAMES: usize = 20;
const VID: u16 = 77;

/// As long as it is held, frames of `length` bytes that leave host a by e0 get a tag, which stays
/// beside the frame. Others do not: host a asks for neighbours when it likes.
fn tagging(lab: &Lab, vid: u16, length: usize) -> OwnedFd {
    const SKB_VLAN_PUSH: i32 = 18;
    const TCX_PASS: i32 = 0;
    let one = |code, registers, immediate| Instruction {
        code,
        registers,
        offset: if code == 0x55 { 3 } else { 0 },
        immediate,
    };
    let [load, skip_three_unless, constant, call, exit] = [0x61, 0x55, 0xb7, 0x85, 0x95];
    let program = [
        one(load, 0x14, 0),
        one(skip_three_unless, 4, i32::try_from(length).unwrap()),
        one(constant, 2, i32::from(0x8100_u16.to_be())),
        one(constant, 3, i32::from(vid)),
        one(call, 0, SKB_VLAN_PUSH),
        one(constant, 0, TCX_PASS),
        one(exit, 0, 0),
    ];
    let hook = Hook::TcEgress;
    let attach = || {
        let loaded = program_load(hook, "tag", &program, "Dual MIT/GPL", 0, 0, &mut []).unwrap();
        let index = bpf::attach::index_of("e0").unwrap();
        link_create(hook, loaded.as_fd(), index, 0).unwrap()
    };
    lab.a.enter(attach).unwrap()
}

/// Sends frames for b; returns the Ethernet destinations of those that arrive there.
fn pass(lab: &Lab, vid: Option<u16>) -> Vec<[u8; 6]> {
    let (by, at) = (Raw::open(&lab.a, "e0"), Raw::open(&lab.b, "e1"));
    let macs = (mac(&lab.r, "r0"), mac(&lab.a, "e0"));
    let frame = ipv4(macs, [10, 0, 0, 2], [10, 1, 0, 2], 9, b"#corelane");
    let _tagging = vid.map(|vid| tagging(lab, vid, frame.len()));
    for _ in 0..FRAMES {
        by.send(&frame);
    }
    // On a busy machine a worker may come late.
    let end = Instant::now() + Duration::from_secs(if vid.is_some() { 0 } else { 20 });
    let mut arrived = Vec::new();
    loop {
        match at.receive() {
            Some(frame) if frame.get(42..51) == Some(b"#corelane") => {
                arrived.push(*frame.first_chunk().unwrap());
            }
            Some(_) => {}
            None if arrived.len() < FRAMES && Instant::now() < end => {}
            None => return arrived,
        }
    }
}

#[test]
fn a_vlan_without_a_sub_interface_is_not_forwarded_as_the_port() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    assert_eq!(pass(&lab, Some(VID)).len(), 0, "the kernel alone");
    for words in [
        ["--engine", "xdp", "--require", "native"],
        ["--engine", "xdp", "--require", "generic"],
        ["--engine", "xdp-kernel-fib", "--require", "native"],
        ["--engine", "tc", "--require", "any"],
        ["--engine", "af-xdp", "--require", "native"],
        ["--engine", "af-xdp", "--require", "generic"],
        ["--engine", "af-packet", "--require", "any"],
    ] {
        let router = lab.run(&["r0", "r1"], &words);
        lab.wait_for_fast_path(&router, &["10.1.0.2"]);
        let before = router.forwarded();
        assert_eq!(pass(&lab, None).len(), FRAMES, "{words:?}");
        assert!(router.forwarded() - before >= FRAMES as u64, "{words:?}");
        assert_eq!(pass(&lab, Some(VID)).len(), 0, "{words:?}");
        wait_for("the kernel to have had them", 3, || {
            router.reason("unknown-vlan") == FRAMES as u64
        });
        // A process that another test is just starting may hold the tagging program still.
        wait_for("frames without a tag, and no more", 10, || {
            pass(&lab, None).len() == FRAMES
        });
    }
}

/// What the driver or the kernel tells is as good as a tag in the frame: the VLAN's table answers.
#[test]
fn a_tag_beside_the_frame_chooses_the_vlan() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let stations = [mac(&lab.r, "r0"), mac(&lab.r, "r1")];
    let run = |place: Place| {
        let mut forwarder = Forwarder::new(Lookup::Own, Capacity::default()).unwrap();
        let [r0, r1] = ["r0", "r1"].map(|port| bpf::attach::index_of(port).unwrap());
        for (name, port, mac) in [("r0", r0, stations[0]), ("r1", r1, stations[1])] {
            forwarder.attach(name, place).unwrap();
            assert!(!forwarder.hides_tags(port), "{name}");
            let vlan = VlanSettings {
                vid: VID,
                ifindex: 0,
                table: 7,
                mac,
                accepts: Accepts::default(),
            };
            let settings = PortSettings {
                enabled: true,
                mac,
                table: 254,
                vlans: vec![vlan],
                ..PortSettings::default()
            };
            forwarder.set_port(port, &settings).unwrap();
        }
        for (table, id) in [(254, 10), (7, 11)] {
            let entry = NextHopEntry {
                kind: Kind::Adjacency,
                mtu: 1500,
                port: r1,
                destination_mac: [2, 0, 0, 0, 0, id],
                source_mac: stations[1],
                ..NextHopEntry::default()
            };
            let id = NextHop(id.into());
            forwarder.set_next_hop(id, entry).unwrap();
            let route = [(Prefix::containing(0x0a01_0002, 32), id)];
            forwarder.set_routes_v4(table, &route);
        }
        forwarder.settle();
        forwarder
    };
    for place in [Place::Xdp(Request::Native), Place::Tc] {
        let forwarder = lab.r.enter(|| run(place)).unwrap();
        assert_eq!(pass(&lab, None), [[2, 0, 0, 0, 0, 10]; FRAMES], "{place:?}");
        let tagged = pass(&lab, Some(VID));
        assert_eq!(tagged, [[2, 0, 0, 0, 0, 11]; FRAMES], "{place:?}");
        let counts = forwarder.port_counters();
        let forwarded: u64 = counts.values().map(|count| count.forwarded).sum();
        assert_eq!(forwarded, 2 * FRAMES as u64, "{place:?}");
    }
}
