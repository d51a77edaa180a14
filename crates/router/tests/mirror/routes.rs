//! Which route answers: metrics, order, kinds, neighbours on the link.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use fastpath::forward::ReversePath;
use fib::next_hop::Kind;
use router::control_plane::model::{Event, Placement, RouteKind, Way, nud};
use router::engine::MAIN_TABLE;

use super::lab::{Lab, hop, in_table, ip, mac, route, way};

#[test]
fn a_route_by_a_resolved_gateway_is_an_adjacency() {
    let mut lab = Lab::new();
    lab.add(route("192.0.2.0/24", &[hop(2, "10.1.0.9")]));
    let entry = lab.entry(MAIN_TABLE, "192.0.2.77");
    assert_eq!(
        (entry.kind, entry.port, entry.mtu),
        (Kind::Adjacency, 2, 1500)
    );
    assert_eq!(
        (entry.destination_mac, entry.source_mac),
        (mac(102), mac(2))
    );
    lab.remove(route("192.0.2.0/24", &[hop(2, "10.1.0.9")]));
    assert_eq!(lab.kind("192.0.2.77"), Kind::None);
}

#[test]
fn an_unresolved_or_failed_gateway_is_the_kernels() {
    let mut lab = Lab::new();
    lab.add(route("192.0.2.0/24", &[hop(2, "10.1.0.8")]));
    assert_eq!(lab.kind("192.0.2.1"), Kind::Unresolved);
    for (state, kind) in [
        (nud::REACHABLE, Kind::Adjacency),
        (nud::STALE, Kind::Adjacency),
        (nud::PROBE, Kind::Adjacency),
        (nud::FAILED, Kind::Unresolved),
        (nud::INCOMPLETE, Kind::Unresolved),
        (nud::PERMANENT, Kind::Adjacency),
    ] {
        lab.neighbour(2, "10.1.0.8", state);
        assert_eq!(lab.kind("192.0.2.1"), kind, "state {state:#x}");
    }
    lab.feed(Event::NeighbourGone(2, ip("10.1.0.8")));
    assert_eq!(lab.kind("192.0.2.1"), Kind::Unresolved);
}

#[test]
fn own_addresses_are_the_kernels_and_attached_neighbours_are_hosts() {
    let lab = Lab::new();
    assert_eq!(lab.kind("10.1.0.1"), Kind::Local);
    assert_eq!(lab.kind("10.1.0.77"), Kind::Unresolved, "nobody there yet");
    assert_eq!(lab.port("10.1.0.9"), Some(2));
}

#[test]
fn as_sources_all_of_the_local_table_is_the_kernels() {
    let mut lab = Lab::new();
    let number = |text: &str| u32::from(text.parse::<Ipv4Addr>().unwrap());
    let addresses = ["10.0.0.1", "10.1.0.1", "10.2.0.1"].map(number);
    assert_eq!(lab.engine.own, BTreeSet::from(addresses));
    let local = |prefix: &str| {
        let kernel = RouteKind::Kernel;
        in_table(
            255,
            prefix,
            Way {
                kind: kernel,
                ..way(&[hop(1, "")])
            },
        )
    };
    let mut validation = |prefix: &str| {
        lab.add(local(prefix));
        lab.engine.ports[&1].settings.accepts.reverse_path
    };
    assert_eq!(validation("10.0.0.255/32"), ReversePath::Off);
    assert_eq!(validation("127.0.0.0/8"), ReversePath::Off);
    assert_eq!(validation("10.77.0.0/16"), ReversePath::Loose);
    assert!(lab.engine.own.contains(&number("10.0.0.255")));
    lab.remove(local("10.77.0.0/16"));
    lab.remove(local("10.0.0.255/32"));
    assert_eq!(lab.engine.own, BTreeSet::from(addresses));
    assert_eq!(
        lab.engine.ports[&1].settings.accepts.reverse_path,
        ReversePath::Off
    );
}

#[test]
fn a_more_specific_route_takes_a_neighbour_away_and_gives_it_back() {
    let mut lab = Lab::new();
    lab.add(route("10.1.0.0/28", &[hop(3, "10.2.0.9")]));
    assert_eq!(lab.port("10.1.0.9"), Some(3));
    lab.remove(route("10.1.0.0/28", &[hop(3, "10.2.0.9")]));
    assert_eq!(lab.port("10.1.0.9"), Some(2));
    // A host route onto the link itself is the same neighbour.
    lab.add(route("10.1.0.9/32", &[hop(2, "")]));
    assert_eq!(lab.port("10.1.0.9"), Some(2));
    lab.add(route("10.1.0.9/32", &[hop(2, "")]));
    lab.remove(route("10.1.0.9/32", &[hop(2, "")]));
    assert_eq!(lab.port("10.1.0.9"), Some(2));
}

#[test]
fn the_smaller_metric_wins_and_the_larger_steps_in() {
    let mut lab = Lab::new();
    let backup = in_table(
        MAIN_TABLE,
        "192.0.2.0/24",
        Way {
            metric: 50,
            ..way(&[hop(3, "10.2.0.9")])
        },
    );
    lab.add(backup.clone());
    lab.add(route("192.0.2.0/24", &[hop(2, "10.1.0.9")]));
    assert_eq!(lab.port("192.0.2.1"), Some(2));
    lab.remove(route("192.0.2.0/24", &[hop(2, "10.1.0.9")]));
    assert_eq!(lab.port("192.0.2.1"), Some(3));
    lab.remove(backup);
    assert_eq!(lab.kind("192.0.2.1"), Kind::None);
}

#[test]
fn appended_routes_wait_for_the_first_and_replace_replaces() {
    let mut lab = Lab::new();
    lab.add(route("192.0.2.0/24", &[hop(2, "10.1.0.9")]));
    lab.append(route("192.0.2.0/24", &[hop(3, "10.2.0.9")]));
    assert_eq!(lab.port("192.0.2.1"), Some(2));
    lab.remove(route("192.0.2.0/24", &[hop(2, "10.1.0.9")]));
    assert_eq!(lab.port("192.0.2.1"), Some(3));
    lab.feed(Event::Route(
        route("192.0.2.0/24", &[hop(1, "10.0.0.9")]),
        Placement::Replace,
    ));
    assert_eq!(lab.port("192.0.2.1"), Some(1));
    lab.remove(route("192.0.2.0/24", &[hop(1, "10.0.0.9")]));
    assert_eq!(lab.kind("192.0.2.1"), Kind::None);
}

#[test]
fn blackholes_and_their_like_keep_their_meaning() {
    let mut lab = Lab::new();
    for (kind, expected) in [
        (RouteKind::Blackhole, Kind::Blackhole),
        (RouteKind::Unreachable, Kind::Unreachable),
        (RouteKind::Prohibit, Kind::Prohibit),
        (RouteKind::Local, Kind::Local),
        (RouteKind::Kernel, Kind::Punt),
    ] {
        let special = in_table(MAIN_TABLE, "198.51.100.0/24", Way { kind, ..way(&[]) });
        lab.add(special.clone());
        assert_eq!(lab.kind("198.51.100.1"), expected);
        lab.remove(special);
    }
    let marked = in_table(
        MAIN_TABLE,
        "198.51.100.0/24",
        Way {
            special: true,
            ..way(&[hop(2, "10.1.0.9")])
        },
    );
    lab.add(marked);
    assert_eq!(lab.kind("198.51.100.1"), Kind::Punt);
}
