//! A mirror with three ports, and a recording engine that checks what it is told.

use std::net::IpAddr;

use fib::next_hop::Kind;
use fib::{IpPrefix, NextHopEntry};
use router::control_plane::mirror::Mirror;
use router::control_plane::model::{
    Event, Hop, Hops, Link, LinkAddress, LinkKind, Neighbour, NextHopObject, ObjectKind, Placement,
    Route, RouteKind, Way, nud,
};
use router::engine::{Answers, Engine, MAIN_TABLE};

use crate::recording::Recording;

pub(crate) struct Lab {
    pub(crate) mirror: Mirror,
    pub(crate) engine: Recording,
}

pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

pub(crate) fn mac(last: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, last]
}

pub(crate) fn link(index: u32, name: &str) -> Link {
    Link {
        index,
        name: name.into(),
        up: true,
        carrier: true,
        mac: mac(index as u8),
        mtu: 1500,
        kind: LinkKind::Plain,
        master: None,
        takes_from: None,
        unfit: None,
        is_tunnel: false,
    }
}

pub(crate) fn hop(link: u32, gateway: &str) -> Hop {
    Hop {
        link,
        gateway: (!gateway.is_empty()).then(|| ip(gateway)),
        weight: 1,
    }
}

pub(crate) fn way(hops: &[Hop]) -> Way {
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

pub(crate) fn in_table(table: u32, destination: &str, way: Way) -> Route {
    Route {
        table,
        destination: destination.parse::<IpPrefix>().unwrap(),
        way,
    }
}

pub(crate) fn route(destination: &str, hops: &[Hop]) -> Route {
    in_table(MAIN_TABLE, destination, way(hops))
}

pub(crate) fn by_object(destination: &str, object: u32) -> Route {
    in_table(MAIN_TABLE, destination, Way { object, ..way(&[]) })
}

impl Lab {
    /// Ports r0 (index 1, 10.0.0.0/24) and r1 (index 2, 10.1.0.0/24), r2 (index 3, 10.2.0.0/24),
    /// with a neighbour .9 each.
    pub(crate) fn new() -> Self {
        let mirror = Mirror::new(&["r0".into(), "r1".into(), "r2".into()]);
        let mut lab = Self {
            mirror,
            engine: Recording::new(),
        };
        for index in 1..=3 {
            lab.feed(Event::Link(link(index, &format!("r{}", index - 1))));
            let net = index - 1;
            lab.feed(Event::Address(LinkAddress {
                link: index,
                address: ip(&format!("10.{net}.0.1")),
            }));
            let local = Way {
                kind: RouteKind::Local,
                ..way(&[hop(index, "")])
            };
            lab.add(in_table(255, &format!("10.{net}.0.1/32"), local));
            lab.add(route(&format!("10.{net}.0.0/24"), &[hop(index, "")]));
            lab.neighbour(index, &format!("10.{net}.0.9"), nud::REACHABLE);
        }
        lab
    }

    pub(crate) fn feed(&mut self, event: Event) {
        self.mirror.apply(event);
        self.flush();
    }

    /// An event of a dump, not an announcement.
    pub(crate) fn dumped(&mut self, event: Event) {
        self.mirror.apply_dumped(event);
        self.flush();
    }

    pub(crate) fn flush(&mut self) {
        self.engine.apply(self.mirror.changes()).unwrap();
        self.mirror.changes().clear();
    }

    /// Sweeps the routes, a part at a time; says how many prefixes that touched.
    pub(crate) fn sweep_routes(&mut self) -> usize {
        let (mut part, mut swept) = (0, 0);
        while let Some(some) = self.mirror.sweep_routes(part) {
            self.flush();
            part += 1;
            swept += some;
        }
        swept
    }

    pub(crate) fn add(&mut self, route: Route) {
        self.feed(Event::Route(route, Placement::First));
    }

    pub(crate) fn append(&mut self, route: Route) {
        self.feed(Event::Route(route, Placement::Last));
    }

    pub(crate) fn remove(&mut self, route: Route) {
        self.feed(Event::RouteGone(route));
    }

    pub(crate) fn neighbour(&mut self, link: u32, address: &str, state: u16) {
        let mac = Some(mac(100 + link as u8));
        self.feed(Event::Neighbour(Neighbour {
            link,
            address: ip(address),
            state,
            mac,
        }));
    }

    pub(crate) fn object(&mut self, id: u32, kind: ObjectKind) {
        self.feed(Event::Object(NextHopObject { id, kind }));
    }

    /// The entry that a packet gets; for a group that of its first bucket.
    pub(crate) fn entry(&self, table: u32, address: &str) -> NextHopEntry {
        let id = match ip(address) {
            IpAddr::V4(address) => self.engine.lookup_v4(table, address.into()),
            IpAddr::V6(address) => self.engine.lookup_v6(table, address.into()),
        };
        let first = self.engine.buckets(id).first().copied().unwrap_or(id);
        self.engine.next_hop(first)
    }

    pub(crate) fn kind(&self, address: &str) -> Kind {
        self.entry(MAIN_TABLE, address).kind
    }

    pub(crate) fn port(&self, address: &str) -> Option<u32> {
        let entry = self.entry(MAIN_TABLE, address);
        (entry.kind == Kind::Adjacency).then_some(entry.port)
    }

    /// The ports that the buckets of a group lead to, in bucket order.
    pub(crate) fn spread(&self, address: &str) -> Vec<u32> {
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
