//! The device between its cables, with the Internet's table: what several benches measure.

use std::net::{Ipv4Addr, Ipv6Addr};

use bpf::attach::Request;
use dut::routes::Routes;
use fastpath::forward::{Accepts, Capacity, Forwarder, Lookup, PortSettings, ReversePath};
use fastpath::generate::Destinations;
use fib::next_hop::Kind;
use fib::{NextHop, NextHopEntry, Prefix};
use host::CoreId;
use router::engine::MAIN_TABLE;
use tester::sizes::Family;
use tester::veth::lanes::{Lanes, MTU, NEXT_HOPS, next_hop_address, next_hop_address_v6};

pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Of everything random.
pub(crate) const SEED: u64 = 1;
/// Routes given to the forwarder at once.
const ROUTES_AT_ONCE: usize = 16 << 10;
/// The next hop of the generator's network; those of the table come before.
const BACK: NextHop = NextHop(NEXT_HOPS + 1);
/// The generator's network.
const SOURCES: (u32, u8) = (0xc612_0000, 24);

/// Cables, and what the kernel needs for the frames that programs leave to it.
pub(crate) fn lay(
    name: &str,
    core: CoreId,
    family: Family,
    destinations: usize,
    routes: &Routes,
) -> Result<Lanes, Failure> {
    let to = match family {
        Family::Ipv4 => {
            let some = routes.destinations.iter().take(destinations);
            Destinations::V4(some.map(|&address| Ipv4Addr::from_bits(address)).collect())
        }
        Family::Ipv6 => {
            let some = routes.destinations_v6(SEED)?.into_iter().take(destinations);
            Destinations::V6(some.map(Ipv6Addr::from_bits).collect())
        }
    };
    let lanes = Lanes::new(name, &[core], to)?;
    lanes.dut().set("net.ipv4.ip_forward", "1")?;
    lanes.dut().set("net.ipv6.conf.all.forwarding", "1")?;
    match family {
        Family::Ipv4 => {
            let hop = next_hop_address(1);
            lanes.dut().ip(format!("route add default via {hop}"))?;
        }
        Family::Ipv6 => {
            let hop = next_hop_address_v6(1);
            lanes.dut().ip(format!("-6 route add default via {hop}"))?;
        }
    }
    Ok(lanes)
}

/// A forwarder on both ports; the first is that of `bpf/ablation.c`'s frames, the second its
/// `EGRESS`.
pub(crate) fn open(lanes: &Lanes, request: Request) -> Result<Forwarder, Failure> {
    let mut forwarder = Forwarder::new(Lookup::Own, Capacity::default())?;
    for end in [lanes.ingress(), lanes.egress()] {
        forwarder.attach(&end.interface, request)?;
        let settings = PortSettings {
            enabled: true,
            accepts: Accepts {
                reverse_path: ReversePath::Strict,
                ..Accepts::default()
            },
            mac: end.mac,
            table: MAIN_TABLE,
            // The tester's frames have none.
            trusts_tags: true,
            ..PortSettings::default()
        };
        forwarder.set_port(end.index, &settings)?;
    }
    Ok(forwarder)
}

/// The table, from next hop 1 on, which is `NUMBER` of `bpf/ablation.c`; and the way back.
pub(crate) fn fill(
    forwarder: &mut Forwarder,
    lanes: &Lanes,
    routes: &Routes,
) -> Result<(), Failure> {
    let adjacency = |port, destination_mac, source_mac| NextHopEntry {
        kind: Kind::Adjacency,
        mtu: MTU,
        port,
        destination_mac,
        source_mac,
        ..NextHopEntry::default()
    };
    let egress = lanes.egress();
    for number in 1..=NEXT_HOPS {
        let entry = adjacency(egress.index, lanes.sink_mac(), egress.mac);
        forwarder.set_next_hop(NextHop(number), entry)?;
    }
    let ingress = lanes.ingress();
    forwarder.set_next_hop(BACK, adjacency(ingress.index, ingress.mac, ingress.mac))?;
    let given = routes.given_out(SEED);
    for part in given.v4.chunks(ROUTES_AT_ONCE) {
        host::cleanup::check()?;
        forwarder.set_routes_v4(MAIN_TABLE, part);
    }
    for part in given.v6.chunks(ROUTES_AT_ONCE) {
        host::cleanup::check()?;
        forwarder.set_routes_v6(MAIN_TABLE, part);
    }
    let sources = Prefix::new(SOURCES.0, SOURCES.1)?;
    forwarder.set_routes_v4(MAIN_TABLE, &[(sources, BACK)]);
    forwarder.settle();
    Ok(())
}
