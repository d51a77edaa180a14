//! VRFs, VLANs, and what is left to the kernel by policy.

use std::collections::HashSet;

use fastpath::forward::ReversePath;
use fib::next_hop::Kind;
use host::netlink::{Message, append};
use router::control_plane::guard::{owners, unfit};
use router::control_plane::model::{Event, Link, LinkKind, Rule, nud};
use router::control_plane::netlink::decode::decode;
use router::engine::MAIN_TABLE;

use super::lab::{Lab, hop, in_table, link, route, way};

#[test]
fn ports_of_a_vrf_look_up_in_its_table() {
    let mut lab = Lab::new();
    lab.feed(Event::Link(Link {
        kind: LinkKind::Vrf { table: 10 },
        ..link(50, "blue")
    }));
    lab.add(in_table(10, "192.0.2.0/24", way(&[hop(2, "10.1.0.9")])));
    assert_eq!(
        lab.entry(10, "192.0.2.1").kind,
        Kind::None,
        "no port uses the table"
    );
    lab.feed(Event::Link(Link {
        master: Some(50),
        ..link(1, "r0")
    }));
    assert_eq!(lab.engine.ports[&1].settings.table, 10);
    assert_eq!(lab.entry(10, "192.0.2.1").port, 2);
    assert_eq!(lab.kind("192.0.2.1"), Kind::None);
    lab.feed(Event::Link(link(1, "r0")));
    assert_eq!(lab.entry(10, "192.0.2.1").kind, Kind::None);
}

#[test]
fn a_port_whose_frames_another_link_takes_is_the_kernels() {
    let mut lab = Lab::new();
    let taker = Link {
        takes_from: Some(1),
        ..link(50, "ipvl0")
    };
    let enabled = |lab: &Lab, port: u32| lab.engine.ports[&port].settings.enabled;
    lab.feed(Event::Link(taker.clone()));
    assert!(!enabled(&lab, 1) && enabled(&lab, 2));
    let found = owners(&lab.mirror);
    assert_eq!(found.len(), 1);
    assert!(found[0].what.contains("ipvl0"), "{found:?}");
    lab.feed(Event::LinkGone(50));
    assert!(enabled(&lab, 1) && owners(&lab.mirror).is_empty());
}

#[test]
fn what_leaves_by_a_tunnel_is_the_kernels() {
    let mut lab = Lab::new();
    lab.add(route("192.0.2.0/24", &[hop(2, "10.1.0.9")]));
    let tunnel = |is_tunnel, master| Link {
        is_tunnel,
        master,
        ..link(50, "vx0")
    };
    lab.feed(Event::Link(tunnel(true, None)));
    assert_eq!(lab.kind("192.0.2.1"), Kind::Adjacency);
    // Of a bridge that a tunnel belongs to, nobody knows by which of its ports a frame leaves.
    for (is_tunnel, kind) in [(true, Kind::Punt), (false, Kind::Adjacency)] {
        lab.feed(Event::Link(tunnel(is_tunnel, Some(2))));
        assert_eq!(lab.kind("192.0.2.1"), kind);
    }
    lab.feed(Event::Link(tunnel(true, Some(2))));
    lab.feed(Event::LinkGone(50));
    assert_eq!(lab.kind("192.0.2.1"), Kind::Adjacency);
    lab.feed(Event::Link(Link {
        is_tunnel: true,
        ..link(2, "r1")
    }));
    assert_eq!(lab.kind("192.0.2.1"), Kind::Punt);
    assert!(lab.engine.ports[&2].settings.enabled);
    // What has no Ethernet header is the kernel's in both directions.
    lab.feed(Event::Link(Link {
        unfit: Some("why"),
        ..link(3, "r2")
    }));
    let found = unfit(&lab.mirror);
    assert_eq!(found.len(), 1);
    assert!(found[0].what.contains("why"), "{found:?}");
}

#[test]
fn vlan_sub_interfaces_tag() {
    let mut lab = Lab::new();
    let vlan = Link {
        kind: LinkKind::Vlan {
            parent: 2,
            vid: 30,
            has_priorities: false,
        },
        mtu: 1496,
        ..link(60, "r1.30")
    };
    lab.feed(Event::Link(vlan.clone()));
    lab.add(route("192.0.2.0/24", &[hop(60, "10.9.0.9")]));
    lab.neighbour(60, "10.9.0.9", nud::REACHABLE);
    let entry = lab.entry(MAIN_TABLE, "192.0.2.1");
    assert_eq!(
        (entry.kind, entry.port, entry.vlan, entry.mtu),
        (Kind::Adjacency, 2, 30, 1496)
    );
    assert_eq!(lab.engine.ports[&2].settings.vlans[0].vid, 30);
    // It is looked at as a port is, and kept by itself, in both directions.
    assert!(lab.mirror.around().receives(60));
    for (kept, kind) in [(&["r1.30"][..], Kind::Punt), (&[], Kind::Adjacency)] {
        lab.mirror
            .keep_links(kept.iter().map(|&name| name.to_owned()).collect());
        lab.flush();
        let port = &lab.engine.ports[&2].settings;
        let accepts = port.vlans[0].accepts.v4;
        assert_eq!((lab.kind("192.0.2.1"), accepts), (kind, kept.is_empty()));
        assert!(port.enabled && port.accepts.v4);
    }
    // Which priority a frame gets is the kernel's to say; what comes in has nothing to do with it.
    let kind = LinkKind::Vlan {
        parent: 2,
        vid: 30,
        has_priorities: true,
    };
    lab.feed(Event::Link(Link { kind, ..vlan }));
    assert_eq!(lab.kind("192.0.2.1"), Kind::Punt);
    assert_eq!(lab.engine.ports[&2].settings.vlans[0].vid, 30);
}

/// As the kernel says it of `r1.30`: its link has the number of `r1`, here or elsewhere.
#[test]
fn a_vlan_on_a_link_of_another_namespace_is_no_ports() {
    for is_elsewhere in [false, true] {
        let mut payload = vec![0; 16];
        (payload[4], payload[8]) = (60, 1);
        append(&mut payload, libc::IFLA_IFNAME, b"r1.30\0");
        append(&mut payload, libc::IFLA_LINK, &2_u32.to_ne_bytes());
        if is_elsewhere {
            append(&mut payload, libc::IFLA_LINK_NETNSID, &[0; 4]);
        }
        let (mut info, mut data) = (Vec::new(), Vec::new());
        append(&mut info, libc::IFLA_INFO_KIND, b"vlan\0");
        append(&mut data, 1, &30_u16.to_ne_bytes());
        append(&mut info, libc::IFLA_INFO_DATA, &data);
        append(&mut payload, libc::IFLA_LINKINFO, &info);
        let message = Message {
            kind: libc::RTM_NEWLINK,
            flags: 0,
            payload: &payload,
            dumped: false,
        };
        let mut lab = Lab::new();
        lab.feed(decode(message, false).unwrap());
        let vlans = &lab.engine.ports[&2].settings.vlans;
        assert_eq!(vlans.is_empty(), is_elsewhere);
    }
}

#[test]
fn only_the_usual_rules_in_their_order_choose_the_table_as_we_do() {
    let rule = |priority, table| Rule {
        family: 4,
        priority,
        table,
        l3mdev: false,
        selective: false,
    };
    let l3mdev = |priority| Rule {
        l3mdev: true,
        ..rule(priority, 0)
    };
    let (local, main, default) = (rule(0, 255), rule(32766, 254), rule(32767, 253));
    let from = |rules: &[&Rule]| {
        let mut lab = Lab::new();
        for rule in rules {
            lab.feed(Event::Rule((*rule).clone()));
        }
        let other = lab.mirror.policy_rules(4).count();
        (other, lab.mirror.has_other_order(4))
    };
    assert_eq!(from(&[]), (0, false), "a kernel without rules");
    assert_eq!(from(&[&local, &main, &default]), (0, false));
    assert_eq!(from(&[&main, &local, &l3mdev(1000)]), (0, false));
    let late = rule(32765, 255);
    assert_eq!(from(&[&l3mdev(1000), &late, &main]), (0, false));
    assert_eq!(from(&[&local, &default]), (0, true), "no main rule");
    assert_eq!(from(&[&main, &default]), (0, true), "no local rule");
    assert_eq!(from(&[&rule(32800, 255), &main]), (0, true), "local behind");
    assert_eq!(from(&[&local, &rule(9, 253), &main]), (0, true));
    assert_eq!(from(&[&local, &main, &l3mdev(32800)]), (0, true));
    let of_some = Rule {
        selective: true,
        ..l3mdev(900)
    };
    assert_eq!(from(&[&local, &of_some, &main]), (1, false));
    let mut lab = Lab::new();
    lab.feed(Event::Rule(main.clone()));
    lab.feed(Event::RuleGone(main));
    assert!(lab.mirror.has_other_order(4), "the last rule is gone");
    assert!(!lab.mirror.has_other_order(6));
    // Once one of IPv4 was added, the kernel looks sources up, for good.
    let validation = |lab: &Lab| lab.engine.ports[&1].settings.accepts.reverse_path;
    let vrfs = l3mdev(1000);
    for rule in [
        local,
        default,
        Rule {
            family: 6,
            ..vrfs.clone()
        },
    ] {
        lab.feed(Event::Rule(rule));
    }
    assert_eq!(validation(&lab), ReversePath::Off);
    lab.feed(Event::Rule(vrfs.clone()));
    lab.feed(Event::RuleGone(vrfs));
    assert_eq!(validation(&lab), ReversePath::Loose);
}

#[test]
fn a_port_kept_by_policy_is_the_kernels_in_both_directions() {
    let mut lab = Lab::new();
    lab.add(route("192.0.2.0/24", &[hop(2, "10.1.0.9")]));
    lab.mirror.keep_links(HashSet::from(["r1".to_owned()]));
    lab.flush();
    assert!(!lab.engine.ports[&2].settings.enabled);
    assert_eq!(lab.kind("192.0.2.1"), Kind::Punt);
    lab.mirror.keep_links(HashSet::new());
    lab.flush();
    assert_eq!(lab.port("192.0.2.1"), Some(2));
    assert_eq!(lab.port("10.1.0.9"), Some(2));
}

#[test]
fn a_family_can_be_left_to_the_kernel() {
    let mut lab = Lab::new();
    lab.add(route("192.0.2.0/24", &[hop(2, "10.1.0.9")]));
    let accepts = |lab: &Lab| {
        let ports = lab.engine.ports.values();
        ports
            .map(|port| (port.settings.accepts.v4, port.settings.accepts.v6))
            .collect::<Vec<_>>()
    };
    lab.mirror.keep_families(true, false);
    lab.flush();
    assert_eq!(accepts(&lab), [(false, true); 3]);
    assert_eq!(lab.port("192.0.2.1"), Some(2), "the table stays as it is");
    lab.mirror.keep_families(false, false);
    lab.flush();
    assert_eq!(accepts(&lab), [(true, true); 3]);
}

#[test]
fn a_table_that_is_filled_again_holds_the_same_and_the_ports_are_told_again() {
    let mut lab = Lab::new();
    lab.add(route("192.0.2.0/24", &[hop(2, "10.1.0.9")]));
    let before = lab.engine.v4.clone();
    lab.engine.ports.clear();
    lab.mirror.fill_again(MAIN_TABLE);
    lab.flush();
    assert_eq!(lab.engine.v4, before);
    assert_eq!(lab.engine.ports.len(), 3);
    assert_eq!(lab.mirror.size(MAIN_TABLE, false), before.len());
    lab.mirror.fill_again(77);
    assert!(lab.mirror.changes().is_empty(), "no port looks up there");
}
