//! A forwarder on veth ports, frames for it, and what they must become.

use std::net::{IpAddr, Ipv4Addr};

use bpf::attach::{Request, index_of};
use fastpath::forward::{
    Accepts, Capacity, Device, Forwarder, Lookup, Place, PortSettings, Reason, VlanSettings,
};
use fastpath::generate::{Destinations, Frames, Generator};
use fib::next_hop::Kind;
use fib::{IpPrefix, NextHop, NextHopEntry, Prefix};
use wire::checksum;

use crate::common::{self, veth};

pub(crate) const DROP: u32 = 1;
pub(crate) const PASS: u32 = 2;
pub(crate) const REDIRECT: u32 = 4;
const TC_PASS: u32 = u32::MAX;
const TC_DROP: u32 = 2;
pub(crate) const TC_REDIRECT: u32 = 7;
pub(crate) const MAIN: u32 = 254;
pub(crate) const STATION: [u8; 6] = [2, 0, 0, 0, 0, 0x10];
pub(crate) const VLAN_STATION: [u8; 6] = [2, 0, 0, 0, 0, 0x20];
pub(crate) const PEER: [u8; 6] = [2, 0, 0, 0, 0, 0x99];

pub(crate) const ADJACENCY: NextHop = NextHop(10);
pub(crate) const TAGGED: NextHop = NextHop(11);

/// A forwarder with port r0 (untagged, and VLAN 100 in a table of its own) and egress r1.
pub(crate) struct Bench {
    pub(crate) forwarder: Forwarder,
    pub(crate) place: Place,
    pub(crate) r0: u32,
    pub(crate) r1: u32,
}

pub(crate) fn adjacency(port: u32, vlan: u16) -> NextHopEntry {
    NextHopEntry {
        kind: Kind::Adjacency,
        mtu: 1500,
        port,
        destination_mac: [2, 0, 0, 0, 1, vlan as u8],
        source_mac: [2, 0, 0, 0, 0, 0x11],
        vlan,
        ..NextHopEntry::default()
    }
}

pub(crate) fn v4(text: &str) -> Prefix<u32> {
    match text.parse().unwrap() {
        IpPrefix::V4(prefix) => prefix,
        IpPrefix::V6(_) => panic!("{text} is not IPv4"),
    }
}

pub(crate) fn v6(text: &str) -> Prefix<u128> {
    match text.parse().unwrap() {
        IpPrefix::V6(prefix) => prefix,
        IpPrefix::V4(_) => panic!("{text} is not IPv6"),
    }
}

/// Of port r0.
pub(crate) fn settings() -> PortSettings {
    PortSettings {
        enabled: true,
        accepts: Accepts::default(),
        mac: STATION,
        table: MAIN,
        vlans: vec![vlan(100, 7)],
        ..PortSettings::default()
    }
}

pub(crate) fn vlan(vid: u16, table: u32) -> VlanSettings {
    VlanSettings {
        vid,
        ifindex: 0,
        table,
        mac: VLAN_STATION,
        accepts: Accepts::default(),
    }
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(Capacity::default())
    }

    /// Waits until VLANs that changed are known again.
    pub(crate) fn rest(&mut self) {
        let waits = |_: &u32| self.forwarder.tend();
        for _ in (0..5000).take_while(waits) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert!(!self.forwarder.tend(), "programs never end");
    }

    /// What r1 takes may have changed.
    pub(crate) fn ask_egress(&mut self) {
        let device = Device::ask("r1", self.r1).unwrap();
        self.forwarder.set_device(self.r1, device);
    }

    pub(crate) fn with(capacity: Capacity) -> Self {
        Self::at(Place::Xdp(Request::Native), capacity)
    }

    pub(crate) fn at(place: Place, capacity: Capacity) -> Self {
        Self::of(Forwarder::new(Lookup::Own, capacity).unwrap(), place)
    }

    pub(crate) fn of(mut forwarder: Forwarder, place: Place) -> Self {
        veth("r0", "p0");
        veth("r1", "p1");
        // r1 takes redirected frames when its peer has GRO.
        common::run("ethtool -K p1 gro on");
        let (r0, r1) = (index_of("r0").unwrap(), index_of("r1").unwrap());
        for port in ["r0", "r1"] {
            forwarder.attach(port, place).unwrap();
        }
        forwarder.set_port(r0, &settings()).unwrap();
        forwarder.set_next_hop(ADJACENCY, adjacency(r1, 0)).unwrap();
        forwarder
            .set_next_hop(TAGGED, adjacency(r1, 0x2003))
            .unwrap();
        for (id, kind) in [
            (3, Kind::Punt),
            (4, Kind::Blackhole),
            (5, Kind::Unreachable),
            (6, Kind::Prohibit),
            (12, Kind::Local),
        ] {
            let entry = NextHopEntry {
                kind,
                ..NextHopEntry::default()
            };
            forwarder.set_next_hop(NextHop(id), entry).unwrap();
        }
        let unresolved = NextHopEntry {
            kind: Kind::Unresolved,
            ..adjacency(r1, 0)
        };
        forwarder.set_next_hop(NextHop(13), unresolved).unwrap();
        let stray = adjacency(9999, 0);
        forwarder.set_next_hop(NextHop(7), stray).unwrap();
        forwarder.set_group(NextHop(8), &[]).unwrap();
        let members = [ADJACENCY, TAGGED, ADJACENCY, TAGGED];
        forwarder.set_group(NextHop(9), &members).unwrap();
        for (text, id) in [
            ("198.19.0.0/16", 10),
            ("198.20.0.0/16", 11),
            ("203.0.113.3/32", 3),
            ("203.0.113.4/32", 4),
            ("203.0.113.5/32", 5),
            ("203.0.113.6/32", 6),
            ("203.0.113.7/32", 7),
            ("203.0.113.8/32", 8),
            ("203.0.113.12/32", 12),
            ("203.0.113.13/32", 13),
            ("203.0.113.16/28", 9),
        ] {
            let route = [(v4(text), NextHop(id))];
            forwarder.set_routes_v4(MAIN, &route);
        }
        let routes = [
            (v6("2001:db8:19::/48"), ADJACENCY),
            (v6("2001:db8:20::/48"), TAGGED),
            (v6("2001:db8:12::/48"), NextHop(12)),
        ];
        forwarder.set_routes_v6(MAIN, &routes);
        forwarder.set_routes_v4(
            7,
            &[
                (v4("198.19.0.0/16"), TAGGED),
                (v4("198.20.0.0/16"), ADJACENCY),
            ],
        );
        forwarder.settle();
        Self {
            forwarder,
            place,
            r0,
            r1,
        }
    }

    pub(crate) fn run(&self, frame: &[u8]) -> (u32, Vec<u8>) {
        let result = self.forwarder.run(self.r0, frame, 1).unwrap();
        (result.verdict, result.frame)
    }

    /// Runs a frame that must leave under this reason, unchanged.
    pub(crate) fn leaves(&self, frame: &[u8], name: &str) {
        let before = self.count(name);
        let (verdict, after) = self.run(frame);
        assert_eq!(self.count(name), before + 1, "{name}: {:?}", self.counts());
        let reason = Reason::ALL
            .iter()
            .find(|reason| reason.name() == name)
            .unwrap();
        let wanted = match (self.place, reason.is_punted()) {
            (Place::Xdp(_), true) => PASS,
            (Place::Xdp(_), false) => DROP,
            (_, true) => TC_PASS,
            (_, false) => TC_DROP,
        };
        assert_eq!(verdict, wanted, "{name}");
        assert_eq!(after, frame, "{name}: changed");
    }

    pub(crate) fn count(&self, name: &str) -> u64 {
        self.forwarder
            .port_counters()
            .values()
            .map(|port| port.reason(name))
            .sum()
    }

    pub(crate) fn counts(&self) -> Vec<(&'static str, u64)> {
        self.forwarder
            .port_counters()
            .values()
            .flat_map(|port| {
                port.reasons()
                    .map(|(reason, frames)| (reason.name(), frames))
                    .collect::<Vec<_>>()
            })
            .collect()
    }
}

/// A frame to the port's station, made by the generator (whose own test shares no code with it).
pub(crate) fn frame(destination: &str, length: u16, vlan: Option<u16>) -> Vec<u8> {
    let destination: IpAddr = destination.parse().unwrap();
    let (source, destinations) = match destination {
        IpAddr::V4(address) => (
            IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1)),
            Destinations::V4(vec![address]),
        ),
        IpAddr::V6(address) => (
            "2001:db8:18::1".parse().unwrap(),
            Destinations::V6(vec![address]),
        ),
    };
    let frames = Frames {
        source_mac: PEER,
        destination_mac: if vlan.is_some() {
            VLAN_STATION
        } else {
            STATION
        },
        vlan,
        source,
        destinations,
        source_port: 1024,
        source_ports: 1,
        destination_port: 9,
        ttl: 64,
        lengths: vec![length],
        stream: 1,
        stamp_every: 0,
    };
    Generator::new(1, &frames).unwrap().preview().unwrap()
}

/// Changes bytes of the IPv4 header behind an untagged Ethernet header and mends its checksum.
pub(crate) fn with_ipv4(mut frame: Vec<u8>, change: impl Fn(&mut [u8])) -> Vec<u8> {
    let length = usize::from(frame[14] & 15) * 4;
    change(&mut frame[14..]);
    frame[24..26].fill(0);
    let sum = !checksum::fold(checksum::sum(&frame[14..14 + length]));
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame
}

/// What the frame must look like when it leaves by `entry`, made with crate wire.
pub(crate) fn expected(frame: &[u8], entry: &NextHopEntry) -> Vec<u8> {
    let tagged = frame[12..14] == [0x81, 0];
    let at = if tagged { 16 } else { 12 };
    let mut out = Vec::new();
    out.extend_from_slice(&entry.destination_mac);
    out.extend_from_slice(&entry.source_mac);
    if entry.vlan != 0 {
        out.extend_from_slice(&[0x81, 0]);
        out.extend_from_slice(&entry.vlan.to_be_bytes());
    }
    let start = out.len() + 2;
    out.extend_from_slice(&frame[at..]);
    if frame[at..at + 2] == [0x08, 0] {
        out[start + 8] -= 1;
        out[start + 10..start + 12].fill(0);
        let sum = !checksum::fold(checksum::sum(&out[start..start + 20]));
        out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
    } else {
        out[start + 7] -= 1;
    }
    out
}

/// The shortest frame by the first route.
pub(crate) fn frame_short() -> Vec<u8> {
    frame("198.19.1.2", 60, None)
}
