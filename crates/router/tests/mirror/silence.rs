//! What the kernel removes without a word, and what only a re-read finds.

use fib::next_hop::Kind;
use router::control_plane::model::{
    Event, Link, LinkAddress, Neighbour, NextHopObject, ObjectKind, Placement, Way, nud,
};
use router::engine::MAIN_TABLE;

use super::lab::{Lab, by_object, hop, in_table, ip, link, mac, route, way};

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
    assert_eq!(
        lab.kind("10.1.0.1"),
        Kind::Local,
        "the address itself stays"
    );
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

/// So many routes by one link are not removed at once: announcements are taken in between, no frame
/// takes the dead way meanwhile, and whatever would make it right again waits.
#[test]
fn many_routes_of_a_dead_link_are_removed_a_piece_at_a_time() {
    const ROUTES: u32 = 20_000;
    let address = |number: u32| format!("100.{}.{}.1", number >> 8, number & 255);
    let down = || Link {
        up: false,
        carrier: false,
        ..link(2, "r1")
    };
    for comes_back_early in [false, true] {
        let mut lab = Lab::new();
        for number in 0..ROUTES {
            let prefix = format!("100.{}.{}.0/24", number >> 8, number & 255);
            lab.add(route(&prefix, &[hop(2, "10.1.0.9")]));
        }
        lab.feed(Event::Link(down()));
        assert!(lab.mirror.has_work());
        for number in (0..ROUTES).step_by(501) {
            let kind = lab.kind(&address(number));
            assert!(matches!(kind, Kind::Punt | Kind::None), "{kind:?}");
        }
        // The kernel repeats itself when a link goes down.
        lab.feed(Event::Link(down()));
        lab.add(route("192.0.2.0/24", &[hop(3, "10.2.0.9")]));
        assert!(lab.mirror.has_work());
        assert_eq!(lab.port("192.0.2.1"), Some(3));
        let mut pieces = 0;
        while lab.mirror.has_work() && !(comes_back_early && pieces == 3) {
            lab.mirror.work();
            let changes = lab.mirror.changes().len();
            assert!(changes < ROUTES as usize / 16, "{changes}");
            lab.flush();
            pieces += 1;
        }
        if comes_back_early {
            lab.feed(Event::Link(link(2, "r1")));
            assert!(!lab.mirror.has_work());
        }
        for number in 0..ROUTES {
            assert_eq!(lab.kind(&address(number)), Kind::None);
        }
        lab.add(route("198.51.100.0/24", &[hop(3, "10.2.0.9")]));
        assert_eq!(lab.port("198.51.100.1"), Some(3));
    }
}

#[test]
fn an_interface_may_go_and_come_back() {
    let mut lab = Lab::new();
    lab.add(route("192.0.2.0/24", &[hop(2, "10.1.0.9")]));
    lab.feed(Event::LinkGone(2));
    assert_eq!(lab.kind("192.0.2.1"), Kind::None);
    assert!(!lab.engine.ports[&2].settings.enabled);
    lab.feed(Event::Link(link(9, "r1")));
    assert!(lab.engine.ports[&9].settings.enabled);
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
        lab.dumped(Event::Link(link(index, &format!("r{}", index - 1))));
    }
    lab.dumped(Event::Address(LinkAddress {
        link: 2,
        address: ip("10.1.0.1"),
    }));
    lab.dumped(Event::Neighbour(Neighbour {
        link: 2,
        address: ip("10.1.0.9"),
        state: nud::STALE,
        mac: Some(mac(102)),
    }));
    for dumped in [
        route("10.1.0.0/24", &[hop(2, "")]),
        route("192.0.2.0/24", &[hop(2, "10.1.0.9")]),
    ] {
        lab.dumped(Event::Route(dumped, Placement::Last));
    }
    assert_eq!(
        lab.port("198.51.100.1"),
        Some(3),
        "forwarding goes on meanwhile"
    );
    assert!(lab.mirror.sweep_surroundings() > 0);
    lab.flush();
    assert!(lab.sweep_routes() > 0);
    assert_eq!(lab.kind("198.51.100.1"), Kind::None);
    assert_eq!(lab.port("192.0.2.1"), Some(2));
    assert_eq!(lab.port("10.1.0.9"), Some(2));
}

/// A re-read: `dumped` before the routes, then what is announced, then the routes of the dump and
/// the sweep, a part at a time.
fn read_again(lab: &mut Lab, dumped: Vec<Event>, announced: Vec<Event>, more: &[Event]) {
    lab.mirror.begin_round();
    for event in dumped {
        lab.dumped(event);
    }
    lab.mirror.sweep_surroundings();
    lab.flush();
    for event in announced {
        lab.feed(event);
    }
    for event in more {
        lab.dumped(event.clone());
    }
    lab.sweep_routes();
}

/// The dump had read a route, or not yet, when it changed; the change is announced before the dump
/// comes to it. The announcement wins.
#[test]
fn what_is_announced_during_a_resynchronisation_is_newer_than_what_the_dump_says() {
    let mut lab = Lab::new();
    let mut surroundings = Vec::new();
    for index in 1..=3 {
        let net = index - 1;
        surroundings.push(Event::Link(link(index, &format!("r{net}"))));
        surroundings.push(Event::Address(LinkAddress {
            link: index,
            address: ip(&format!("10.{net}.0.1")),
        }));
        surroundings.push(Event::Neighbour(Neighbour {
            link: index,
            address: ip(&format!("10.{net}.0.9")),
            state: nud::REACHABLE,
            mac: Some(mac(100 + index as u8)),
        }));
    }
    let by = |destination: &str, port: u32| {
        let gateway = format!("10.{}.0.9", port - 1);
        route(destination, &[hop(port, &gateway)])
    };
    let connected = [0, 1, 2].map(|net| route(&format!("10.{net}.0.0/24"), &[hop(net + 1, "")]));
    lab.add(by("192.0.2.0/24", 2));
    lab.add(by("198.51.100.0/24", 2));
    lab.add(by("203.0.113.0/24", 2));
    let two = |metric| {
        let mut other = by("172.16.0.0/16", 3);
        other.way.metric = metric;
        other
    };
    lab.append(two(10));
    lab.append(two(20));
    let dumped = |route| Event::Route(route, Placement::Last);
    let mut more: Vec<Event> = connected.map(dumped).to_vec();
    // As the dump saw them before they changed.
    more.extend([by("192.0.2.0/24", 2), by("198.51.100.0/24", 2)].map(dumped));
    more.extend([two(10), two(20)].map(dumped));
    let announced = vec![
        Event::Route(by("192.0.2.0/24", 3), Placement::Replace),
        Event::RouteGone(by("198.51.100.0/24", 2)),
        Event::Route(by("100.64.0.0/10", 3), Placement::First),
        Event::RouteGone(two(10)),
    ];
    read_again(&mut lab, surroundings, announced, &more);
    assert_eq!(lab.port("192.0.2.1"), Some(3), "it was replaced");
    assert_eq!(lab.kind("198.51.100.1"), Kind::None, "it was removed");
    assert_eq!(lab.port("100.64.0.1"), Some(3), "the dump was past it");
    assert_eq!(lab.kind("203.0.113.1"), Kind::None, "gone in silence");
    assert_eq!(lab.port("172.16.0.1"), Some(3), "another metric");
    assert_eq!(lab.mirror.v4().routes_in(MAIN_TABLE), 6);
}

/// The dump was read before these went, and is taken in after that was announced.
#[test]
fn what_goes_during_a_resynchronisation_does_not_come_back_by_an_older_dump() {
    let mut lab = Lab::new();
    lab.add(route("192.0.2.0/24", &[hop(2, "10.1.0.9")]));
    let neighbour = Neighbour {
        link: 2,
        address: ip("10.1.0.9"),
        state: nud::REACHABLE,
        mac: Some(mac(102)),
    };
    lab.mirror.begin_round();
    lab.feed(Event::NeighbourGone(2, neighbour.address));
    lab.feed(Event::LinkGone(3));
    for index in 1..=3 {
        lab.dumped(Event::Link(link(index, &format!("r{}", index - 1))));
    }
    lab.dumped(Event::Neighbour(neighbour));
    assert_eq!(lab.kind("192.0.2.1"), Kind::Unresolved);
    assert!(lab.mirror.around().links.contains_key(&2));
    assert!(!lab.mirror.around().links.contains_key(&3));
    lab.mirror.sweep_surroundings();
    lab.flush();
    assert!(!lab.mirror.around().links.contains_key(&3));
}

/// A dump that is older than what was announced does not bring back what the kernel has removed in
/// silence since; a later one, from a round of its own, does if it is there again.
#[test]
fn what_went_in_silence_during_a_resynchronisation_is_not_brought_back_by_an_older_dump() {
    let address = LinkAddress {
        link: 2,
        address: ip("10.1.0.1"),
    };
    let down = Event::Link(Link {
        up: false,
        ..link(2, "r1")
    });
    let of_link = route("192.0.2.0/24", &[hop(2, "10.1.0.9")]);
    let of_object = by_object("192.0.2.0/24", 7);
    let mut object = Lab::new();
    object.object(7, ObjectKind::Hop(hop(2, "10.1.0.9")));
    for (mut lab, dumped, cause, again) in [
        (
            Lab::new(),
            of_link.clone(),
            down,
            Event::Link(link(2, "r1")),
        ),
        (
            Lab::new(),
            of_link,
            Event::AddressGone(address),
            Event::Address(address),
        ),
        (
            object,
            of_object,
            Event::ObjectGone(7),
            Event::Object(NextHopObject {
                id: 7,
                kind: ObjectKind::Hop(hop(2, "10.1.0.9")),
            }),
        ),
    ] {
        lab.add(dumped.clone());
        assert_eq!(lab.port("192.0.2.1"), Some(2));
        let surroundings: Vec<Event> = (1..=3)
            .map(|index| Event::Link(link(index, &format!("r{}", index - 1))))
            .collect();
        let before = lab.mirror.suspicions();
        lab.mirror.begin_round();
        for event in &surroundings {
            lab.dumped(event.clone());
        }
        lab.feed(cause.clone());
        lab.feed(again);
        let dumped = Event::Route(dumped, Placement::Last);
        lab.dumped(dumped.clone());
        assert_eq!(lab.kind("192.0.2.1"), Kind::None, "{cause:?}");
        assert!(lab.mirror.suspicions() > before, "it is read once more");
        lab.sweep_routes();
        lab.mirror.begin_round();
        lab.dumped(dumped);
        assert_eq!(lab.port("192.0.2.1"), Some(2), "{cause:?}");
    }
}
