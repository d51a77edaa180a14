//! Multipath routes, nexthop objects, and the numbers behind them.

use fib::next_hop::Kind;
use router::control_plane::model::{Event, Hop, Link, ObjectKind, Placement, Way, nud};
use router::engine::{Answers, MAIN_TABLE, fixed};

use super::lab::{Lab, by_object, hop, in_table, link, route, way};

#[test]
fn multipath_loses_only_the_flows_of_the_dead_member_and_gives_them_back() {
    let mut lab = Lab::new();
    lab.add(route(
        "192.0.2.0/24",
        &[hop(1, "10.0.0.9"), hop(2, "10.1.0.9"), hop(3, "10.2.0.9")],
    ));
    let before = lab.spread("192.0.2.1");
    assert!((1..=3).all(|port| before.contains(&port)));
    lab.feed(Event::Link(Link {
        up: false,
        carrier: false,
        ..link(2, "r1")
    }));
    let during = lab.spread("192.0.2.1");
    for (old, new) in before.iter().zip(&during) {
        assert!(if *old == 2 { *new != 2 } else { old == new });
    }
    lab.feed(Event::Link(link(2, "r1")));
    lab.neighbour(2, "10.1.0.9", nud::REACHABLE);
    let after = lab.spread("192.0.2.1");
    assert_eq!(
        after.iter().filter(|&&port| port == 2).count(),
        before.iter().filter(|&&port| port == 2).count()
    );
}

#[test]
fn a_multipath_route_that_is_replaced_by_a_smaller_one_keeps_its_flows() {
    let mut lab = Lab::new();
    lab.add(route(
        "192.0.2.0/24",
        &[hop(1, "10.0.0.9"), hop(2, "10.1.0.9"), hop(3, "10.2.0.9")],
    ));
    let before = lab.spread("192.0.2.1");
    let smaller = route("192.0.2.0/24", &[hop(1, "10.0.0.9"), hop(3, "10.2.0.9")]);
    lab.feed(Event::Route(smaller, Placement::Replace));
    for (old, new) in before.iter().zip(lab.spread("192.0.2.1")) {
        assert!(*old == 2 || *old == new);
    }
}

#[test]
fn replacing_an_object_moves_all_its_routes_with_one_change() {
    let mut lab = Lab::new();
    lab.object(7, ObjectKind::Hop(hop(2, "10.1.0.9")));
    for third in 0..100 {
        lab.add(by_object(&format!("172.16.{third}.0/24"), 7));
    }
    assert_eq!(lab.port("172.16.50.1"), Some(2));
    let before = lab.engine.applied;
    lab.object(7, ObjectKind::Hop(hop(3, "10.2.0.9")));
    assert_eq!(lab.engine.applied, before + 1);
    assert_eq!(lab.port("172.16.50.1"), Some(3));
}

#[test]
fn routes_may_come_before_their_object() {
    let mut lab = Lab::new();
    lab.add(by_object("172.16.1.0/24", 7));
    assert_eq!(lab.kind("172.16.1.1"), Kind::Punt);
    lab.object(7, ObjectKind::Hop(hop(2, "10.1.0.9")));
    assert_eq!(lab.port("172.16.1.1"), Some(2));
}

#[test]
fn ipv6_multipath_grows_and_shrinks_by_single_members() {
    let mut lab = Lab::new();
    for link in 1..=3 {
        lab.neighbour(link, "fe80::9", nud::REACHABLE);
    }
    let metric = |hops: &[Hop]| {
        in_table(
            MAIN_TABLE,
            "2001:db8::/32",
            Way {
                metric: 1024,
                ..way(hops)
            },
        )
    };
    lab.append(metric(&[hop(1, "fe80::9")]));
    lab.append(metric(&[hop(1, "fe80::9"), hop(2, "fe80::9")]));
    lab.append(metric(&[
        hop(1, "fe80::9"),
        hop(2, "fe80::9"),
        hop(3, "fe80::9"),
    ]));
    let id = lab.engine.lookup_v6(MAIN_TABLE, 0x2001_0db8 << 96);
    assert_eq!(lab.engine.buckets(id).len(), 64);
    lab.remove(metric(&[hop(1, "fe80::9")]));
    lab.remove(metric(&[hop(3, "fe80::9")]));
    assert_eq!(lab.port("2001:db8::1"), Some(2));
    lab.remove(metric(&[hop(2, "fe80::9")]));
    assert_eq!(lab.kind("2001:db8::1"), Kind::None);
}

#[test]
fn numbers_of_next_hops_do_not_leak() {
    let mut lab = Lab::new();
    let base = lab.mirror.next_hops().in_use();
    for round in 0..200 {
        let a = format!("10.1.0.{}", 20 + round % 50);
        lab.add(route("192.0.2.0/24", &[hop(2, &a), hop(3, "10.2.0.9")]));
        lab.add(route("198.51.100.0/24", &[hop(2, &a)]));
        lab.object(7, ObjectKind::Hop(hop(2, &a)));
        lab.add(by_object("172.16.1.0/24", 7));
        lab.feed(Event::ObjectGone(7));
        lab.remove(route("192.0.2.0/24", &[hop(2, &a), hop(3, "10.2.0.9")]));
        lab.remove(route("198.51.100.0/24", &[hop(2, &a)]));
    }
    assert_eq!(lab.mirror.next_hops().in_use(), base);
}

#[test]
fn what_was_refused_a_number_gets_one_when_others_go() {
    const OBJECTS: u32 = 66_000;
    let mut lab = Lab::new();
    for number in 1..=OBJECTS {
        lab.object(number, ObjectKind::Hop(hop(2, "10.1.0.9")));
    }
    assert!(lab.mirror.next_hops().refused() > 400);
    // By an object, by a group of objects, by gateways of their own, and a neighbour.
    lab.object(70_000, ObjectKind::Group(vec![(1, 1), (OBJECTS, 1)]));
    lab.add(route("172.16.0.0/12", &[hop(1, "10.0.0.9")]));
    lab.add(by_object("172.16.1.0/24", OBJECTS));
    lab.add(by_object("172.16.2.0/24", 70_000));
    lab.add(route("172.16.3.0/24", &[hop(3, "10.2.0.77")]));
    let several = [hop(2, "10.1.0.9"), hop(3, "10.2.0.78")];
    lab.add(route("172.16.4.0/24", &several));
    for last in [77, 78] {
        lab.neighbour(3, &format!("10.2.0.{last}"), nud::REACHABLE);
    }
    let places = ["172.16.1.1", "172.16.3.1", "10.2.0.77"];
    for place in places {
        assert_eq!(lab.kind(place), Kind::Punt, "{place}");
    }
    for number in 2..2000 {
        lab.feed(Event::ObjectGone(number));
    }
    lab.mirror.try_again();
    lab.flush();
    assert_eq!(lab.mirror.next_hops().refused(), 0);
    assert_eq!(
        places.map(|place| lab.port(place)),
        [Some(2), Some(3), Some(3)]
    );
    assert!(lab.spread("172.16.2.1").iter().all(|&port| port == 2));
    let spread = lab.spread("172.16.4.1");
    assert!(spread.contains(&2) && spread.contains(&3) && !spread.contains(&0));
}

#[test]
fn a_group_object_takes_buckets_only_while_it_is_used() {
    let mut lab = Lab::new();
    lab.object(7, ObjectKind::Hop(hop(2, "10.1.0.9")));
    lab.object(8, ObjectKind::Hop(hop(3, "10.2.0.9")));
    lab.object(20, ObjectKind::Group(vec![(7, 1), (8, 1)]));
    assert!(lab.engine.groups.is_empty());
    for _ in 0..2 {
        lab.add(by_object("172.16.1.0/24", 20));
        assert_eq!(lab.spread("172.16.1.1").len(), 64);
        lab.remove(by_object("172.16.1.0/24", 20));
        assert!(lab.engine.groups.is_empty());
    }
}

#[test]
fn an_mtu_of_one_route_leaves_all_by_its_object_to_the_kernel() {
    let mut lab = Lab::new();
    for (number, link) in [(7, 2), (8, 3), (9, 3)] {
        lab.object(
            number,
            ObjectKind::Hop(hop(link, &format!("10.{}.0.9", link - 1))),
        );
        lab.add(by_object(&format!("172.16.{number}.0/24"), number));
    }
    lab.object(20, ObjectKind::Group(vec![(7, 1)]));
    let mut sized = by_object("172.16.20.0/24", 20);
    sized.way.mtu = 1400;
    lab.add(sized);
    let kinds = |lab: &Lab| [7, 8, 9].map(|number| lab.kind(&format!("172.16.{number}.1")));
    assert_eq!(kinds(&lab), [Kind::Punt, Kind::Adjacency, Kind::Adjacency]);
    // Who enters the group later, too.
    lab.object(20, ObjectKind::Group(vec![(7, 1), (8, 1)]));
    assert_eq!(kinds(&lab), [Kind::Punt, Kind::Punt, Kind::Adjacency]);
}

/// The kernel allows none, but a dump that is cut by changes can show an object as it was in a
/// group and as the group that it is now.
#[test]
fn a_group_in_a_group_is_the_kernels() {
    let mut lab = Lab::new();
    lab.object(7, ObjectKind::Hop(hop(2, "10.1.0.9")));
    lab.object(8, ObjectKind::Hop(hop(3, "10.2.0.9")));
    lab.object(20, ObjectKind::Group(vec![(7, 1), (8, 1)]));
    lab.add(by_object("172.16.1.0/24", 20));
    lab.add(by_object("172.16.2.0/24", 8));
    let whole = lab.engine.groups.clone();
    for members in [vec![(7, 1)], vec![(7, 1), (8, 1)], vec![(20, 1)]] {
        lab.object(8, ObjectKind::Group(members));
        let buckets = lab.engine.groups.values().flatten();
        let punted = buckets.filter(|&&bucket| bucket == fixed::PUNT).count();
        assert!(punted >= 32, "{:?}", lab.engine.groups);
        lab.object(8, ObjectKind::Hop(hop(3, "10.2.0.9")));
        assert_eq!(lab.engine.groups, whole);
    }
}
