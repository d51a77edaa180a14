//! Of `router/src/control_plane/keep_alive.rs`.

use super::*;
use crate::control_plane::model::{
    Event, Hop, Hops, Link, LinkKind, Neighbour, Placement, Route, RouteKind, Way,
};
use crate::engine::MAIN_TABLE;

const GATEWAY: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 1, 0, 9));

fn route(prefix: &str, gateway: IpAddr) -> Route {
    let way = Way {
        kind: RouteKind::Unicast,
        metric: 0,
        object: 0,
        hops: Hops::One(Hop {
            link: 1,
            gateway: Some(gateway),
            weight: 1,
        }),
        source: None,
        mtu: 0,
        special: false,
    };
    Route {
        table: MAIN_TABLE,
        destination: prefix.parse().unwrap(),
        way,
    }
}

fn mirror() -> Mirror {
    let mut mirror = Mirror::new(&["r1".to_owned()]);
    let link = Link {
        index: 1,
        name: "r1".into(),
        up: true,
        carrier: true,
        mac: [2; 6],
        mtu: 1500,
        kind: LinkKind::Plain,
        master: None,
        takes_from: None,
        unfit: None,
        is_tunnel: false,
    };
    mirror.apply(Event::Link(link));
    mirror.apply(Event::Route(
        route("192.0.2.0/24", GATEWAY),
        Placement::Last,
    ));
    mirror
}

fn neighbour(mirror: &mut Mirror, state: u16) {
    let neighbour = Neighbour {
        link: 1,
        address: GATEWAY,
        state,
        mac: Some([4; 6]),
    };
    mirror.apply(Event::Neighbour(neighbour));
}

#[test]
fn stale_neighbours_are_confirmed_when_they_carry_frames_and_others_left_alone() {
    let mut mirror = mirror();
    let mut keep = KeepAlive::new(Instant::now());
    let mut due = |mirror: &Mirror, frames| keep.neighbours(mirror, |_| frames);
    assert_eq!(due(&mirror, 0), [(1, GATEWAY)], "unknown yet");
    neighbour(&mut mirror, nud::INCOMPLETE);
    assert_eq!(due(&mirror, 0), [], "being resolved");
    for state in [nud::REACHABLE, nud::PROBE, nud::PERMANENT] {
        neighbour(&mut mirror, state);
        assert_eq!(due(&mirror, u64::from(state)), [], "the kernel's business");
    }
    neighbour(&mut mirror, nud::STALE);
    assert_eq!(due(&mirror, 1000), [(1, GATEWAY)]);
    assert_eq!(due(&mirror, 1000), [], "nothing went there since");
    neighbour(&mut mirror, nud::FAILED);
    assert_eq!(due(&mirror, 1000), [(1, GATEWAY)]);
}

#[test]
fn many_without_an_answer_are_asked_about_by_turns() {
    let mut mirror = mirror();
    for number in 0..500 {
        let gateway = IpAddr::V4(std::net::Ipv4Addr::from(0x0a02_0000 + number));
        let prefix = format!("10.{}.{}.0/24", 100 + number / 250, number % 250);
        mirror.apply(Event::Route(route(&prefix, gateway), Placement::Last));
    }
    let mut keep = KeepAlive::new(Instant::now());
    let mut asked = std::collections::BTreeSet::new();
    for _ in 0..3 {
        let due = keep.neighbours(&mirror, |_| 0);
        assert_eq!(due.len(), UNRESOLVED_AT_ONCE);
        asked.extend(due);
    }
    assert_eq!(asked.len(), 501, "all, and the first ones again");
}

#[test]
fn it_is_due_once_in_each_interval() {
    let now = Instant::now();
    let mut keep = KeepAlive::new(now);
    assert!(keep.is_due(now) && !keep.is_due(now));
    assert!(keep.is_due(now + INTERVAL) && !keep.is_due(now + INTERVAL));
}
