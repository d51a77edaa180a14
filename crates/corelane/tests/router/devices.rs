//! Devices made of software as ports: what leaves by them and comes in by them, as with the kernel
//! alone; and those whose frames no program can have.
//!
//! Not every kernel has every kind; that of `kernels` has all of these.

use std::collections::BTreeSet;

use host::bed::mac_text;

use super::lab::{Lab, is_root, wait_for};
use super::raw::{Raw, Wires, ipv4, ipv6, mac};

struct Kind {
    name: &'static str,
    /// In the router, over its end of the cable to b: d0.
    near: &'static [&'static str],
    /// In b.
    far: &'static [&'static str],
    /// What b hears it by.
    ear: &'static str,
    ways: Ways,
}

/// What goes past the kernel.
#[derive(PartialEq)]
enum Ways {
    Both,
    /// What comes in by it.
    In,
    /// Nothing: it has no Ethernet header.
    Neither,
}

const KINDS: [Kind; 8] = [
    Kind {
        name: "bridge",
        near: &["link add d0 type bridge", "link set r1 master d0"],
        far: &[],
        ear: "e1",
        ways: Ways::Both,
    },
    Kind {
        name: "bond",
        near: &[
            "link add d0 type bond mode active-backup",
            "link set r1 down",
            "link set r1 master d0",
        ],
        far: &[],
        ear: "e1",
        ways: Ways::Both,
    },
    Kind {
        name: "macvlan",
        near: &["link add d0 link r1 type macvlan mode bridge"],
        far: &[],
        ear: "e1",
        ways: Ways::Both,
    },
    Kind {
        name: "vxlan",
        near: &["link add d0 type vxlan id 5 dstport 4789 remote 10.1.0.2 dev r1"],
        far: &["link add d1 type vxlan id 5 dstport 4789 remote 10.1.0.1 dev e1"],
        ear: "d1",
        ways: Ways::In,
    },
    Kind {
        name: "geneve",
        near: &["link add d0 type geneve id 5 remote 10.1.0.2"],
        far: &["link add d1 type geneve id 5 remote 10.1.0.1"],
        ear: "d1",
        ways: Ways::In,
    },
    Kind {
        name: "gretap",
        near: &["link add d0 type gretap local 10.1.0.1 remote 10.1.0.2"],
        far: &["link add d1 type gretap local 10.1.0.2 remote 10.1.0.1"],
        ear: "d1",
        ways: Ways::In,
    },
    Kind {
        name: "gre",
        near: &["link add d0 type gre local 10.1.0.1 remote 10.1.0.2"],
        far: &["link add d1 type gre local 10.1.0.2 remote 10.1.0.1"],
        ear: "d1",
        ways: Ways::Neither,
    },
    Kind {
        name: "sit",
        near: &["link add d0 type sit local 10.1.0.1 remote 10.1.0.2 mode any"],
        far: &["link add d1 type sit local 10.1.0.2 remote 10.1.0.1 mode any"],
        ear: "d1",
        ways: Ways::Neither,
    },
];

/// Bytes of the packets: tunnels take less than a cable.
const SIZES: [usize; 6] = [64, 1000, 1400, 1440, 1450, 1500];
/// Marks the payload; the size's number is in between.
const MARK: ([u8; 2], [u8; 2]) = ([b'#', 0xD0], [0xC0, 0x7E]);

/// Adds d0, and in b what answers it. False when this kernel has no such kind.
fn lay(lab: &Lab, kind: &Kind) -> bool {
    if lab.r.ip(kind.near[0]).is_err() {
        return false;
    }
    for line in &kind.near[1..] {
        lab.r.ip(line).unwrap();
    }
    for line in kind.far {
        lab.b.ip(line).unwrap();
    }
    for (place, device, last) in [(&lab.r, "d0", 1), (&lab.b, kind.ear, 2)] {
        for line in [
            format!("addr add 10.5.0.{last}/24 dev {device}"),
            format!("addr add 2001:db8:5::{last}/64 dev {device} nodad"),
            format!("link set {device} up"),
        ] {
            place.ip(line).unwrap();
        }
    }
    if kind.ear == "d1" {
        // What the tunnel takes does not fit the way that it goes.
        lab.r.ip("link set r1 mtu 1400").unwrap();
    }
    lab.b.ip("route replace default via 10.5.0.1").unwrap();
    lab.b.ip("route replace default via 2001:db8:5::1").unwrap();
    if kind.ways != Ways::Neither {
        let neighbours = [
            ("r0", mac(&lab.a, "e0"), ["10.0.0.9", "2001:db8::9"]),
            ("d0", mac(&lab.b, kind.ear), ["10.5.0.9", "2001:db8:5::9"]),
        ];
        for (device, mac, addresses) in neighbours {
            let mac = mac_text(mac);
            for address in addresses {
                let words = format!("neigh add {address} lladdr {mac} dev {device}");
                lab.r.ip(words).unwrap();
            }
        }
    }
    true
}

/// Sends packets of every size up to `most` bytes in both families through the router; what is heard
/// of them.
fn heard(
    by: &Raw,
    macs: ([u8; 6], [u8; 6]),
    ends: [(&str, [u8; 4]); 2],
    ears: [&Raw; 2],
    most: usize,
) -> BTreeSet<Vec<u8>> {
    let sizes = SIZES.iter().enumerate().filter(|(_, size)| **size <= most);
    for (number, size) in sizes {
        let payload = |header: usize| {
            let mut payload = vec![b'.'; size - header];
            let mark = [&MARK.0[..], &[number as u8], &MARK.1].concat();
            payload[..5].copy_from_slice(&mark);
            payload
        };
        let [(from6, from4), (to6, to4)] = ends;
        by.send(&ipv4(macs, from4, to4, 9, &payload(28)));
        by.send(&ipv6(macs, from6, to6, &payload(48)));
    }
    let mut all = BTreeSet::new();
    for ear in ears {
        while let Some(frame) = ear.receive() {
            let mark = |five: &[u8]| five[..2] == MARK.0 && five[3..] == MARK.1;
            let Some(at) = frame.windows(5).position(mark) else {
                continue;
            };
            // Of what the kernel answers, which packet it is about and how long it is: its number
            // is drawn. Of others, all from the source's addresses on.
            let is_answer = frame.len() < at + SIZES[usize::from(frame[at + 2])] - 48;
            all.insert(if is_answer {
                vec![frame[at + 2], frame.len() as u8]
            } else {
                frame
            });
        }
    }
    all
}

#[test]
fn devices_of_software_forward_as_with_the_kernel_alone() {
    if !is_root() {
        return;
    }
    let [a, b] = [
        ("2001:db8::2", [10, 0, 0, 2]),
        ("2001:db8:5::2", [10, 5, 0, 2]),
    ];
    // Nobody has these addresses, so nobody answers.
    let [behind_a, behind_b] = [
        ("2001:db8::9", [10, 0, 0, 9]),
        ("2001:db8:5::9", [10, 5, 0, 9]),
    ];
    for kind in &KINDS {
        let name = kind.name;
        let lab = Lab::new();
        if !lay(&lab, kind) {
            println!("this kernel has no {name}");
            continue;
        }
        for address in ["10.5.0.2", "2001:db8:5::2"] {
            wait_for(&format!("{name} {address}"), 10, || lab.ping(address));
        }
        let wires = Wires::open(&lab);
        let ear = Raw::open(&lab.b, kind.ear);
        let back = (kind.ways != Ways::Neither).then(|| (mac(&lab.r, "d0"), mac(&lab.b, kind.ear)));
        // What the cable takes of what b's tunnel sends.
        let most = if kind.ear == "e1" { 1500 } else { 1000 };
        let pass = || {
            let there = heard(&wires.a, wires.macs, [a, behind_b], [&ear, &wires.a], 1500);
            let back = back.map(|macs| heard(&ear, macs, [b, behind_a], [&wires.a, &ear], most));
            (there, back)
        };
        // The kernel notes what the paths of tunnels take.
        pass();
        let alone = pass();
        assert!(alone.0.len() > SIZES.len(), "{name}: {alone:?}");
        let router = lab.run(&["r0", "d0"], &["--engine", "tc"]);
        let least = match kind.ways {
            Ways::Both => 3 * SIZES.len() as u64,
            Ways::In => 4,
            Ways::Neither => 0,
        };
        wait_for(&format!("{name}: the fast path"), 30, || {
            let before = router.forwarded();
            let answered = lab.ping("10.5.0.2") && lab.ping("2001:db8:5::2");
            answered && (least == 0 || router.forwarded() >= before + 2)
        });
        let before = router.forwarded();
        assert_eq!(pass(), alone, "{name}");
        let forwarded = router.forwarded() - before;
        let drops = router.show("drops");
        assert!(forwarded >= least, "{name}: {forwarded}, {drops:#}");
        let left = router.left_to_kernel();
        let is_unfit = left.iter().any(|left| left.contains("no Ethernet header"));
        assert_eq!(is_unfit, kind.ways == Ways::Neither, "{name}: {left:?}");
        println!(
            "{name}: {} and {:?} heard",
            alone.0.len(),
            alone.1.map(|back| back.len())
        );
    }
}
