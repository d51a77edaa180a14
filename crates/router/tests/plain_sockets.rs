//! Workers on plain packet sockets between two interfaces of a namespace: frames go in at one cable
//! and come out of the other, byte for byte; checksums left to the card are completed, tags are
//! seen, and an interface that vanishes is an error with its name. Needs root.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use fastpath::forward::PortCount;
use fastpath::forward::Reason;
use fib::next_hop::Kind;
use fib::organisation::{Change, Options, Organisation, Shared};
use fib::{NextHop, NextHopEntry, Prefix};
use host::bed::{Bed, side};
use host::{Namespace, Veth};
use port::packet::PacketPort;
use port::pool::Layout;
use port::{Burst, Pool, Port};
use router::engine::plain_sockets::PlainSockets;

const PATIENCE: Duration = Duration::from_secs(30);

/// Two cables from a namespace of senders to the router's.
struct Network {
    outside: Namespace,
    router: Namespace,
    left: Veth,
    right: Veth,
}

fn network() -> Option<Network> {
    if !needs::root("to make network namespaces") {
        return None;
    }
    // Nothing speaks but the test.
    let bed = Bed::plan()
        .set("ends", "net.ipv6.conf.all.disable_ipv6", "1")
        .set("dut", "net.ipv6.conf.all.disable_ipv6", "1")
        .cable(side("ends", "left"), side("dut", "in"))
        .cable(side("ends", "right"), side("dut", "out"))
        .lay()
        .expect("two cables");
    let [left, right] = [0, 1].map(|cable: usize| bed.cables()[cable].clone());
    Some(Network {
        outside: left.a.namespace.clone(),
        router: left.b.namespace.clone(),
        left,
        right,
    })
}

/// 10.1/16 leaves to the right, 10.2/16 to the left.
fn tables(network: &Network) -> Shared {
    let tables = Shared::new(&Options::for_workers(2)).expect("memory");
    let entry = |out: &host::bed::End, to: &host::bed::End| NextHopEntry {
        kind: Kind::Adjacency,
        mtu: 1500,
        port: out.index,
        destination_mac: to.mac,
        source_mac: out.mac,
        ..NextHopEntry::default()
    };
    let changes = [
        Change::NextHop(NextHop(1), entry(&network.right.b, &network.right.a)),
        Change::NextHop(NextHop(2), entry(&network.left.b, &network.left.a)),
        Change::V4(Prefix::containing(0x0a01_0000, 16), NextHop(1)),
        Change::V4(Prefix::containing(0x0a02_0000, 16), NextHop(2)),
    ];
    tables.apply(&changes).expect("room");
    tables
}

/// Sends frames with one port and receives what comes to the other until `wanted` have come.
fn exchange(network: &Network, frames: &[Vec<u8>], wanted: usize) -> Vec<Vec<u8>> {
    let send_and_receive = || {
        let mut sender = PacketPort::open("left", None).expect("left");
        let mut receiver = PacketPort::open("right", None).expect("right");
        let mut pool = Pool::new(Layout::ordinary(256)).expect("memory");
        let mut burst = Burst::new();
        let mut received = Vec::new();
        for chunk in frames.chunks(Burst::CAPACITY) {
            for bytes in chunk {
                let frame = pool.allocate(bytes.len() as u16).expect("a buffer");
                pool.bytes_mut(&frame).copy_from_slice(bytes);
                burst.push(frame).expect("room");
            }
            assert_eq!(
                sender.transmit(&mut pool, &mut burst).expect("up"),
                chunk.len()
            );
        }
        let begun = Instant::now();
        while received.len() < wanted && begun.elapsed() < PATIENCE {
            receiver.receive(&mut pool, &mut burst).expect("up");
            received.extend(
                burst
                    .frames()
                    .iter()
                    .map(|frame| pool.bytes(frame).to_vec()),
            );
            pool.release_all(&mut burst);
        }
        received
    };
    network
        .outside
        .enter(send_and_receive)
        .expect("the namespace")
}

fn start(network: &Network, tables: &Shared, workers: usize) -> PlainSockets {
    let cores = host::allowed_cores().expect("cores");
    let cores = &cores[..workers.min(cores.len())];
    let started = network
        .router
        .enter(|| PlainSockets::start(tables, &["in", "out"], cores));
    started.expect("the namespace").expect("started")
}

fn total(counts: &[PortCount]) -> PortCount {
    let mut total = PortCount::default();
    for count in counts {
        assert!(count.closes(), "{count:?}");
        total += count;
    }
    total
}

#[test]
fn frames_come_out_rewritten() {
    let Some(network) = network() else {
        return;
    };
    let tables = tables(&network);
    let frames: Vec<Vec<u8>> = (0..500_u32)
        .map(|number| {
            let mut frame =
                crate::support::frame_v4(0x0a01_0001 + number, 60 + number as usize * 2);
            frame[..6].copy_from_slice(&network.left.b.mac);
            frame
        })
        .collect();
    for workers in [1, 2] {
        let engine = start(&network, &tables, workers);
        let mut received = exchange(&network, &frames, frames.len());
        // Two workers keep the order of a flow, not that between flows.
        received.sort_by_key(Vec::len);
        let expected: Vec<Vec<u8>> = frames
            .iter()
            .map(|frame| {
                let mut out = frame.clone();
                out[..6].copy_from_slice(&network.right.a.mac);
                out[6..12].copy_from_slice(&network.right.b.mac);
                let header = out[14..].first_chunk_mut().expect("long enough");
                wire::ipv4::decrement_time_to_live(header);
                out
            })
            .collect();
        assert_eq!(received.len(), expected.len(), "{workers} workers");
        assert!(received == expected, "{workers} workers: bytes differ");
        let total = total(&engine.stop().expect("nothing failed"));
        assert_eq!(
            (total.received, total.forwarded, total.missed),
            (500, 500, 0)
        );
    }
}

#[test]
fn what_is_not_forwarded_has_its_reason_and_tags_are_seen() {
    let Some(network) = network() else {
        return;
    };
    let tables = tables(&network);
    let engine = start(&network, &tables, 1);
    let mut plain = crate::support::frame_v4(0x0a01_0001, 100);
    plain[..6].copy_from_slice(&network.left.b.mac);
    let mut lost = crate::support::frame_v4(0x0a03_0001, 100);
    lost[..6].copy_from_slice(&network.left.b.mac);
    // The kernel takes the tag out of a received frame; the port puts it back.
    let tagged = crate::support::tagged(plain.clone(), 0x6009);
    exchange(&network, &[lost, tagged, plain], 1);
    let total = total(&engine.stop().expect("nothing failed"));
    assert_eq!(
        (
            total.forwarded,
            total.of(Reason::NoRoute),
            total.of(Reason::UnknownVlan)
        ),
        (1, 1, 1)
    );
}

/// A datagram of the kernel's own stack, which leaves its checksum to the card.
#[test]
fn checksums_left_to_the_card_are_completed() {
    let Some(network) = network() else {
        return;
    };
    let tables = tables(&network);
    for (end, address) in [
        (&network.left.a, "10.2.0.1/16"),
        (&network.right.a, "10.1.0.1/16"),
    ] {
        end.namespace
            .ip(format!("addr add {address} dev {}", end.interface))
            .expect("an address");
    }
    let engine = start(&network, &tables, 1);
    let mac = network
        .left
        .b
        .mac
        .map(|byte| format!("{byte:02x}"))
        .join(":");
    let outside = &network.outside;
    outside
        .ip(format!("neigh add 10.2.0.99 lladdr {mac} dev left"))
        .expect("a neighbour");
    outside
        .ip("route add 10.1.7.7/32 via 10.2.0.99")
        .expect("a route");
    let received = outside
        .enter(|| {
            let mut receiver = PacketPort::open("right", None).expect("right");
            let socket = UdpSocket::bind("10.2.0.1:4000").expect("bound");
            socket.send_to(b"corelane", "10.1.7.7:5000").expect("sent");
            let (mut pool, mut burst) = (
                Pool::new(Layout::ordinary(64)).expect("memory"),
                Burst::new(),
            );
            let begun = Instant::now();
            while burst.is_empty() && begun.elapsed() < PATIENCE {
                receiver.receive(&mut pool, &mut burst).expect("up");
            }
            burst
                .frames()
                .first()
                .map(|frame| pool.bytes(frame).to_vec())
        })
        .expect("the namespace")
        .expect("a frame came");
    let sliced = etherparse::SlicedPacket::from_ethernet(&received).expect("whole");
    let (Some(etherparse::NetSlice::Ipv4(ip)), Some(etherparse::TransportSlice::Udp(udp))) =
        (sliced.net, sliced.transport)
    else {
        panic!("not what was sent: {received:02x?}")
    };
    let expected = udp
        .to_header()
        .calc_checksum_ipv4(&ip.header().to_header(), udp.payload());
    assert_eq!(udp.checksum(), expected.expect("fits"));
    assert_eq!(total(&engine.stop().expect("nothing failed")).forwarded, 1);
}

#[test]
fn an_interface_that_vanishes_or_is_missing_is_named() {
    let Some(network) = network() else {
        return;
    };
    let tables = tables(&network);
    let cores = &host::allowed_cores().expect("cores")[..1];
    let missing = network
        .router
        .enter(|| PlainSockets::start(&tables, &["in", "nowhere"], cores).map(drop));
    let error = missing
        .expect("the namespace")
        .expect_err("no such interface")
        .to_string();
    assert!(
        error.contains("nowhere") && error.contains("ip link"),
        "{error}"
    );

    let engine = start(&network, &tables, 1);
    assert!(engine.is_running());
    network.router.ip("link del out").expect("deleted");
    let begun = Instant::now();
    while engine.is_running() && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(10));
    }
    let error = engine
        .stop()
        .expect_err("the interface is gone")
        .to_string();
    assert!(
        error.contains("port out") && error.contains("vanished"),
        "{error}"
    );
}
