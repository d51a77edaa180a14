//! The mirror fed with events by hand: what the engine must answer afterwards. The recording engine checks on the way
//! that no change points to a next hop that is not there, and none in use is released.

use std::net::IpAddr;

use fib::next_hop::Kind;
use fib::{IpPrefix, NextHopEntry};
use router::control_plane::mirror::Mirror;
use router::control_plane::model::{
    Event, Hop, Hops, Link, LinkAddress, LinkKind, Neighbour, NextHopObject, ObjectKind, Placement,
    Route, RouteKind, Way, nud,
};
use router::engine::recording::Recording;
use router::engine::{Change, Engine, MAIN_TABLE};

struct Lab {
    mirror: Mirror,
    engine: Recording,
    out: Vec<Change>,
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn mac(last: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, last]
}

fn link(index: u32, name: &str) -> Link {
    Link {
        index,
        name: name.into(),
        up: true,
        carrier: true,
        mac: mac(index as u8),
        mtu: 1500,
        kind: LinkKind::Plain,
        master: None,
    }
}

fn hop(link: u32, gateway: &str) -> Hop {
    Hop {
        link,
        gateway: (!gateway.is_empty()).then(|| ip(gateway)),
        weight: 1,
    }
}

fn way(hops: &[Hop]) -> Way {
    let mut all = Hops::None;
    for hop in hops {
        all.push(*hop);
    }
    Way {
        kind: RouteKind::Unicast,
        metric: 0,
        object: 0,
        hops: all,
        source: None,
        mtu: 0,
        special: false,
    }
}

fn in_table(table: u32, destination: &str, way: Way) -> Route {
    Route {
        table,
        destination: destination.parse::<IpPrefix>().unwrap(),
        way,
    }
}

fn route(destination: &str, hops: &[Hop]) -> Route {
    in_table(MAIN_TABLE, destination, way(hops))
}

fn by_object(destination: &str, object: u32) -> Route {
    in_table(MAIN_TABLE, destination, Way { object, ..way(&[]) })
}

impl Lab {
    /// Ports r0 (index 1, 10.0.0.0/24) and r1 (index 2, 10.1.0.0/24), r2 (index 3, 10.2.0.0/24), with a neighbour .9 each.
    fn new() -> Self {
        let mut out = Vec::new();
        let mirror = Mirror::new(&["r0".into(), "r1".into(), "r2".into()], &mut out);
        let mut lab = Self {
            mirror,
            engine: Recording::new(),
            out,
        };
        for index in 1..=3 {
            lab.feed(Event::Link(link(index, &format!("r{}", index - 1))));
            let net = index - 1;
            lab.feed(Event::Address(LinkAddress {
                link: index,
                address: ip(&format!("10.{net}.0.1")),
            }));
            let local = Way {
                kind: RouteKind::Kernel,
                ..way(&[hop(index, "")])
            };
            lab.add(in_table(255, &format!("10.{net}.0.1/32"), local));
            lab.add(route(&format!("10.{net}.0.0/24"), &[hop(index, "")]));
            lab.neighbour(index, &format!("10.{net}.0.9"), nud::REACHABLE);
        }
        lab
    }

    fn feed(&mut self, event: Event) {
        self.mirror.apply(event, &mut self.out);
        self.flush();
    }

    fn flush(&mut self) {
        self.engine.apply(&self.out).unwrap();
        self.out.clear();
    }

    fn add(&mut self, route: Route) {
        self.feed(Event::Route(route, Placement::First));
    }

    fn append(&mut self, route: Route) {
        self.feed(Event::Route(route, Placement::Last));
    }

    fn remove(&mut self, route: Route) {
        self.feed(Event::RouteGone(route));
    }

    fn neighbour(&mut self, link: u32, address: &str, state: u16) {
        let mac = Some(mac(100 + link as u8));
        self.feed(Event::Neighbour(Neighbour {
            link,
            address: ip(address),
            state,
            mac,
        }));
    }

    fn object(&mut self, id: u32, kind: ObjectKind) {
        self.feed(Event::Object(NextHopObject { id, kind }));
    }

    /// The entry that a packet gets; for a group that of its first bucket.
    fn entry(&self, table: u32, address: &str) -> NextHopEntry {
        let id = match ip(address) {
            IpAddr::V4(address) => self.engine.lookup_v4(table, address.into()),
            IpAddr::V6(address) => self.engine.lookup_v6(table, address.into()),
        };
        let first = self.engine.buckets(id).first().copied().unwrap_or(id);
        self.engine.next_hop(first)
    }

    fn kind(&self, address: &str) -> Kind {
        self.entry(MAIN_TABLE, address).kind
    }

    fn port(&self, address: &str) -> Option<u32> {
        let entry = self.entry(MAIN_TABLE, address);
        (entry.kind == Kind::Adjacency).then_some(entry.port)
    }

    /// The ports that the buckets of a group lead to, in bucket order.
    fn spread(&self, address: &str) -> Vec<u32> {
        let IpAddr::V4(address) = ip(address) else {
            panic!("IPv4 only")
        };
        let id = self.engine.lookup_v4(MAIN_TABLE, address.into());
        self.engine
            .buckets(id)
            .into_iter()
            .map(|member| self.engine.next_hop(member).port)
            .collect()
    }
}

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
    assert_eq!(lab.kind("192.0.2.1"), Kind::Punt);
    for (state, kind) in [
        (nud::REACHABLE, Kind::Adjacency),
        (nud::STALE, Kind::Adjacency),
        (nud::PROBE, Kind::Adjacency),
        (nud::FAILED, Kind::Punt),
        (nud::INCOMPLETE, Kind::Punt),
        (nud::PERMANENT, Kind::Adjacency),
    ] {
        lab.neighbour(2, "10.1.0.8", state);
        assert_eq!(lab.kind("192.0.2.1"), kind, "state {state:#x}");
    }
    lab.feed(Event::NeighbourGone(2, ip("10.1.0.8")));
    assert_eq!(lab.kind("192.0.2.1"), Kind::Punt);
}

#[test]
fn own_addresses_are_the_kernels_and_attached_neighbours_are_hosts() {
    let lab = Lab::new();
    assert_eq!(lab.kind("10.1.0.1"), Kind::Punt);
    assert_eq!(lab.kind("10.1.0.77"), Kind::Punt, "nobody there yet");
    assert_eq!(lab.port("10.1.0.9"), Some(2));
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

#[test]
fn link_down_removes_routes_that_the_kernel_removed_in_silence() {
    let mut lab = Lab::new();
    let backup = in_table(
        MAIN_TABLE,
        "192.0.2.0/24",
        Way {
            metric: 50,
            ..way(&[hop(3, "10.2.0.9")])
        },
    );
    lab.add(backup);
    lab.add(route("192.0.2.0/24", &[hop(2, "10.1.0.9")]));
    lab.add(route("203.0.113.0/24", &[hop(2, "10.1.0.9")]));
    lab.feed(Event::Link(Link {
        up: false,
        carrier: false,
        ..link(2, "r1")
    }));
    assert_eq!(lab.port("192.0.2.1"), Some(3), "the backup takes over");
    assert_eq!(lab.kind("203.0.113.1"), Kind::None);
    assert_eq!(lab.kind("10.1.0.9"), Kind::None);
    assert_eq!(lab.kind("10.1.0.1"), Kind::Punt, "the address itself stays");
    assert!(lab.mirror.suspicions() > 0);
}

#[test]
fn carrier_loss_hands_frames_to_the_kernel_and_back() {
    let mut lab = Lab::new();
    lab.add(route("192.0.2.0/24", &[hop(2, "10.1.0.9")]));
    lab.feed(Event::Link(Link {
        carrier: false,
        ..link(2, "r1")
    }));
    assert_eq!(lab.kind("192.0.2.1"), Kind::Punt);
    lab.feed(Event::Link(link(2, "r1")));
    assert_eq!(lab.port("192.0.2.1"), Some(2));
    assert_eq!(lab.port("10.1.0.9"), Some(2));
}

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
fn deleting_an_object_removes_its_routes_and_empty_groups() {
    let mut lab = Lab::new();
    lab.object(7, ObjectKind::Hop(hop(2, "10.1.0.9")));
    lab.object(8, ObjectKind::Hop(hop(3, "10.2.0.9")));
    lab.object(20, ObjectKind::Group(vec![(7, 1), (8, 1)]));
    lab.object(21, ObjectKind::Group(vec![(7, 1)]));
    lab.add(by_object("172.16.1.0/24", 7));
    lab.add(by_object("172.16.2.0/24", 20));
    lab.add(by_object("172.16.3.0/24", 21));
    assert!(lab.spread("172.16.2.1").contains(&2));
    lab.feed(Event::ObjectGone(7));
    assert_eq!(lab.kind("172.16.1.1"), Kind::None);
    assert_eq!(lab.kind("172.16.3.1"), Kind::None);
    assert!(lab.spread("172.16.2.1").iter().all(|&port| port == 3));
    assert_eq!(lab.mirror.objects().len(), 2);
}

#[test]
fn objects_on_a_link_without_carrier_are_gone_with_their_routes() {
    let mut lab = Lab::new();
    lab.object(7, ObjectKind::Hop(hop(2, "10.1.0.9")));
    lab.add(by_object("172.16.1.0/24", 7));
    lab.feed(Event::Link(Link {
        carrier: false,
        ..link(2, "r1")
    }));
    assert_eq!(lab.kind("172.16.1.1"), Kind::None);
    assert!(lab.mirror.objects().is_empty());
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
fn addresses_take_their_routes_along() {
    let mut lab = Lab::new();
    let sourced = Way {
        source: Some(ip("10.0.0.1")),
        ..way(&[hop(2, "10.1.0.9")])
    };
    lab.add(in_table(MAIN_TABLE, "192.0.2.0/24", sourced));
    lab.add(route("198.51.100.0/24", &[hop(1, "10.0.0.9")]));
    lab.feed(Event::AddressGone(LinkAddress {
        link: 1,
        address: ip("10.0.0.1"),
    }));
    assert_eq!(
        lab.kind("192.0.2.1"),
        Kind::None,
        "its preferred source is gone"
    );
    assert_eq!(
        lab.kind("198.51.100.1"),
        Kind::None,
        "the link has no IPv4 address left"
    );
}

#[test]
fn an_interface_may_go_and_come_back() {
    let mut lab = Lab::new();
    lab.add(route("192.0.2.0/24", &[hop(2, "10.1.0.9")]));
    lab.feed(Event::LinkGone(2));
    assert_eq!(lab.kind("192.0.2.1"), Kind::None);
    assert!(!lab.engine.ports[&2].enabled);
    lab.feed(Event::Link(link(9, "r1")));
    assert!(lab.engine.ports[&9].enabled);
    lab.feed(Event::Address(LinkAddress {
        link: 9,
        address: ip("10.1.0.1"),
    }));
    lab.add(route("10.1.0.0/24", &[hop(9, "")]));
    lab.add(route("192.0.2.0/24", &[hop(9, "10.1.0.9")]));
    lab.neighbour(9, "10.1.0.9", nud::REACHABLE);
    assert_eq!(lab.port("192.0.2.1"), Some(9));
    assert_eq!(lab.port("10.1.0.9"), Some(9));
}

#[test]
fn a_resynchronisation_sweeps_what_is_gone_and_keeps_the_rest() {
    let mut lab = Lab::new();
    lab.add(route("192.0.2.0/24", &[hop(2, "10.1.0.9")]));
    lab.add(route("198.51.100.0/24", &[hop(3, "10.2.0.9")]));
    lab.mirror.begin_round();
    for index in 1..=3 {
        lab.feed(Event::Link(link(index, &format!("r{}", index - 1))));
    }
    lab.feed(Event::Address(LinkAddress {
        link: 2,
        address: ip("10.1.0.1"),
    }));
    lab.neighbour(2, "10.1.0.9", nud::STALE);
    lab.append(route("10.1.0.0/24", &[hop(2, "")]));
    lab.append(route("192.0.2.0/24", &[hop(2, "10.1.0.9")]));
    assert_eq!(
        lab.port("198.51.100.1"),
        Some(3),
        "forwarding goes on meanwhile"
    );
    let swept = lab.mirror.end_round(&mut lab.out);
    lab.flush();
    assert!(swept.routes > 0 && swept.others > 0);
    assert_eq!(lab.kind("198.51.100.1"), Kind::None);
    assert_eq!(lab.port("192.0.2.1"), Some(2));
    assert_eq!(lab.port("10.1.0.9"), Some(2));
}

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
    assert_eq!(lab.engine.ports[&1].table, 10);
    assert_eq!(lab.entry(10, "192.0.2.1").port, 2);
    assert_eq!(lab.kind("192.0.2.1"), Kind::None);
    lab.feed(Event::Link(link(1, "r0")));
    assert_eq!(lab.entry(10, "192.0.2.1").kind, Kind::None);
}

#[test]
fn vlan_sub_interfaces_tag() {
    let mut lab = Lab::new();
    let vlan = Link {
        kind: LinkKind::Vlan { parent: 2, vid: 30 },
        mtu: 1496,
        ..link(60, "r1.30")
    };
    lab.feed(Event::Link(vlan));
    lab.add(route("192.0.2.0/24", &[hop(60, "10.9.0.9")]));
    lab.neighbour(60, "10.9.0.9", nud::REACHABLE);
    let entry = lab.entry(MAIN_TABLE, "192.0.2.1");
    assert_eq!(
        (entry.kind, entry.port, entry.vlan, entry.mtu),
        (Kind::Adjacency, 2, 30, 1496)
    );
    assert_eq!(lab.engine.ports[&2].vlans[0].vid, 30);
}

#[test]
fn a_port_kept_by_policy_is_the_kernels_in_both_directions() {
    let mut lab = Lab::new();
    lab.add(route("192.0.2.0/24", &[hop(2, "10.1.0.9")]));
    lab.mirror.keep_port("r1", true, &mut lab.out);
    lab.flush();
    assert!(!lab.engine.ports[&2].enabled);
    assert_eq!(lab.kind("192.0.2.1"), Kind::Punt);
    lab.mirror.keep_port("r1", false, &mut lab.out);
    lab.flush();
    assert_eq!(lab.port("192.0.2.1"), Some(2));
    assert_eq!(lab.port("10.1.0.9"), Some(2));
}

#[test]
fn a_family_can_be_left_to_the_kernel() {
    let mut lab = Lab::new();
    lab.add(route("192.0.2.0/24", &[hop(2, "10.1.0.9")]));
    lab.mirror.enable_families(false, true, &mut lab.out);
    lab.flush();
    assert_eq!(lab.kind("192.0.2.1"), Kind::None);
    lab.mirror.enable_families(true, true, &mut lab.out);
    lab.flush();
    assert_eq!(lab.port("192.0.2.1"), Some(2));
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
