//! The program in the kernel and the workers behind it, which read the same tables, must mean the
//! same frames: one that the program gives away and the worker does not forward would be lost. Some
//! ten thousand damaged frames, the same every time, through both. Needs root: the program runs in
//! the kernel, by hand.

use std::sync::{Arc, Mutex};

use bpf::attach::{Request, index_of};
use fastpath::forward::{Accepts, Capacity, FlowFields, Flows, Forwarder, PortSettings, Reason};
use fib::next_hop::Kind;
use fib::organisation::TableReader;
use fib::{NextHop, NextHopEntry, Prefix};
use figures::Random;
use host::bed::{Bed, side};
use port::Pool;
use port::pool::Layout;
use router::user_plane::Worker;

use crate::support::{
    NEIGHBOUR, OTHER, Outside, STATION, TestPort, frame_v4, frame_v6, hops, v4, v6,
};

const FRAMES: usize = 10_000;
const TABLE: u32 = 254;
const LONGEST: u16 = 1400;
/// A frame, in whole or damaged.
fn frame(random: &mut Random) -> Vec<u8> {
    let next_hop = NextHop(random.below(13) as u16);
    let length = 62 + random.below(usize::from(LONGEST) - 62);
    let mut frame = match random.below(2) {
        0 => frame_v4(v4(next_hop), length),
        _ => frame_v6(v6(next_hop), length),
    };
    // A flow of its own, so that groups are decided by the hash.
    let ports = if frame[12] == 0x08 { 34 } else { 54 };
    for byte in &mut frame[ports..ports + 4] {
        *byte = random.next_u64() as u8;
    }
    // What the hash goes past, or looks into.
    if random.below(4) == 0 {
        let (at, some) = if frame[12] == 0x08 {
            (23, [1, 6, 50, 51])
        } else {
            (20, [43, 44, 58, 60])
        };
        frame[at] = some[random.below(4)];
        frame[ports] = random.below(16) as u8;
        frame[ports + 1] = random.below(4) as u8;
    }
    if random.below(2) == 0 {
        let at = 12 + random.below(50);
        frame[at] = random.next_u64() as u8;
    }
    if random.below(8) == 0 {
        frame.truncate(20 + random.below(frame.len() - 20));
    }
    frame
}

fn fill(forwarder: &mut Forwarder, flows: Flows) {
    for (name, mac) in [("r0", STATION), ("r1", OTHER)] {
        forwarder.attach(name, Request::Any).unwrap();
        let settings = PortSettings {
            enabled: true,
            accepts: Accepts::default(),
            mac: mac.0,
            table: TABLE,
            flows,
            ..PortSettings::default()
        };
        forwarder
            .set_port(index_of(name).unwrap(), &settings)
            .unwrap();
    }
    let plain = NextHopEntry {
        kind: Kind::Adjacency,
        mtu: 1300,
        port: index_of("r1").unwrap(),
        destination_mac: NEIGHBOUR.0,
        source_mac: OTHER.0,
        ..NextHopEntry::default()
    };
    let kind = |kind| NextHopEntry {
        kind,
        ..NextHopEntry::default()
    };
    let back = NextHopEntry {
        port: index_of("r0").unwrap(),
        ..plain
    };
    for (id, entry) in [
        (hops::PLAIN, plain),
        (hops::SMALL, NextHopEntry { mtu: 100, ..plain }),
        (hops::TAGGED, NextHopEntry { vlan: 7, ..plain }),
        (hops::PUNT, kind(Kind::Punt)),
        (hops::BLACKHOLE, kind(Kind::Blackhole)),
        (hops::UNREACHABLE, kind(Kind::Unreachable)),
        (hops::PROHIBIT, kind(Kind::Prohibit)),
        (
            hops::NOWHERE,
            NextHopEntry {
                port: 9999,
                ..plain
            },
        ),
        (hops::BACK, back),
    ] {
        forwarder.set_next_hop(id, entry).unwrap();
    }
    let members = [
        hops::PLAIN,
        hops::PUNT,
        hops::BACK,
        hops::SMALL,
        hops::BLACKHOLE,
    ];
    forwarder.set_group(hops::GROUP, &members).unwrap();
    forwarder.set_group(hops::EMPTY, &[]).unwrap();
    for number in 1..=hops::BACK.0 {
        let v4 = Prefix::containing(0x0a00_0000 | u32::from(number) << 16, 16);
        let v6 = Prefix::containing(0x2001_0db8 << 96 | u128::from(number) << 80, 48);
        forwarder.set_routes_v4(TABLE, &[(v4, NextHop(number))]);
        forwarder.set_routes_v6(TABLE, &[(v6, NextHop(number))]);
    }
    forwarder.settle();
}

/// A worker on the forwarder's own tables, and the outside of its ports r0 and r1.
fn worker(
    forwarder: &mut Forwarder,
    flows: Flows,
) -> (Worker<TableReader>, [Arc<Mutex<Outside>>; 2]) {
    let table = forwarder.table_place(TABLE).unwrap();
    let pool = Pool::new(Layout::ordinary(crate::support::BUFFERS)).unwrap();
    let mut worker = Worker::new(forwarder.readers().unwrap(), pool);
    let outside = [(); 2].map(|()| Arc::new(Mutex::new(Outside::default())));
    for ((name, mac), outside) in [("r0", STATION), ("r1", OTHER)].into_iter().zip(&outside) {
        let number = forwarder.place(index_of(name).unwrap()).unwrap();
        let settings = PortSettings {
            enabled: true,
            accepts: Accepts::default(),
            mac: mac.0,
            table,
            flows,
            ..PortSettings::default()
        };
        let port = Box::new(TestPort(Arc::clone(outside)));
        worker.attach(port, number, settings).unwrap();
    }
    (worker, outside)
}

/// Runs the frames through `forwarder` and a worker, who must forward what the program means for
/// it. Returns how many it forwarded.
fn compare(
    mut forwarder: Forwarder,
    flows: Flows,
    means: impl Fn(&Forwarder, &[u8]) -> bool,
) -> usize {
    fill(&mut forwarder, flows);
    let (mut worker, outside) = worker(&mut forwarder, flows);
    let mut random = Random::new(11);
    let mut forwarded = 0;
    for number in 0..FRAMES {
        let frame = frame(&mut random);
        let meant = means(&forwarder, &frame);
        outside[0].lock().unwrap().waiting.push_back(frame.clone());
        while worker.run_burst().unwrap() > 0 {}
        let left = outside
            .iter()
            .map(|port| std::mem::take(&mut port.lock().unwrap().sent).len());
        let left: usize = left.sum();
        assert!(
            !meant || left == 1,
            "frame {number}: the program means the worker: {meant}; frames that left: {left}; \
             {frame:02x?}"
        );
        forwarded += left;
    }
    forwarded
}

#[test]
fn program_and_workers_mean_the_same_frames() {
    if !needs::root("for network namespaces, eBPF") {
        return;
    }
    let bed = Bed::plan()
        .cable(side("agree", "r0"), side("agree", "p0"))
        .cable(side("agree", "r1"), side("agree", "p1"))
        .lay()
        .unwrap();
    bed.namespace("agree")
        .unwrap()
        .enter(|| {
            // AF_XDP: what the program keeps is the kernel's; what it gives away must be forwarded.
            // No socket is there, so that what it would give away is counted as
            // nobody's.
            let given = |forwarder: &Forwarder, frame: &[u8]| {
                let ifindex = index_of("r0").unwrap();
                let count = || {
                    let counters = forwarder.port_counters();
                    let nobodys = counters.values().map(|port| port.of(Reason::NoWorker));
                    nobodys.sum::<u64>()
                };
                let before = count();
                forwarder.run(ifindex, frame, 1).unwrap();
                count() > before
            };
            for (policy, fields) in [(0, 0), (1, 0), (3, 0x3f)] {
                let sockets =
                    Forwarder::for_workers(Capacity::default(), 1, LONGEST, true).unwrap();
                let flows = Flows {
                    v4: FlowFields::v4(policy, fields),
                    v6: FlowFields::v6(policy, fields),
                };
                let forwarded = compare(sockets, flows, given);
                assert!(forwarded > FRAMES / 10, "{forwarded} frames were forwarded");
            }
        })
        .unwrap();
}
