//! The outside of a worker in tests: ports that deliver given frames and keep what is transmitted,
//! and a small table.

#![allow(
    unreachable_pub,
    dead_code,
    reason = "every test file compiles its own copy of this module and uses a part of it"
)]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use fastpath::forward::{Accepts, PortCount, PortSettings, VlanSettings};
use fib::next_hop::Kind;
use fib::organisation::{Change, Options, Organisation, Shared, SnapshotReader};
use fib::{NextHop, NextHopEntry, Prefix};
use port::pool::{LINE, Layout};
use port::{Burst, Frame, Pool, Port, PortError};
use router::user_plane::{PortCounters, Worker};
use wire::ethernet::MacAddress;

/// The station of port 1, and of its VLAN 7.
pub const STATION: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
/// The station of port 2.
pub const OTHER: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
/// The neighbour behind port 2.
pub const NEIGHBOUR: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);
/// Buffers of the test worker's pool.
pub const BUFFERS: u32 = 256;

/// Bytes from one to the next: the longest frames of the tests have three.
const STRIDE: u32 = 9 * LINE as u32;

/// What a test port delivers and keeps.
#[derive(Debug, Default)]
pub struct Outside {
    /// Frames still to deliver.
    pub waiting: VecDeque<Vec<u8>>,
    /// Frames transmitted.
    pub sent: Vec<Vec<u8>>,
    /// Frames that the port still accepts; `None`: any number.
    pub room: Option<usize>,
}

/// A port of the test.
pub struct TestPort(pub Arc<Mutex<Outside>>);

impl Port for TestPort {
    fn name(&self) -> &'static str {
        "test"
    }

    fn receive(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<usize, PortError> {
        let mut outside = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut count = 0;
        while burst.room() > 0 {
            let Some(bytes) = outside.waiting.pop_front() else {
                break;
            };
            let mut whole: Option<Frame> = None;
            for bytes in bytes.chunks(usize::from(pool.capacity())) {
                let piece = pool.allocate(bytes.len() as u16).expect("a buffer");
                pool.bytes_mut(&piece).copy_from_slice(bytes);
                match &mut whole {
                    None => whole = Some(piece),
                    Some(frame) => pool.join(frame, piece).expect("short enough"),
                }
            }
            let frame = whole.expect("no frame is empty");
            burst.push(frame).expect("room");
            count += 1;
        }
        Ok(count)
    }

    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<usize, PortError> {
        let mut outside = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = outside.room.unwrap_or(usize::MAX).min(burst.len());
        outside.room = outside.room.map(|room| room - count);
        burst.take_front(count, |frame| {
            outside
                .sent
                .push(pool.parts(&frame).flatten().copied().collect());
            pool.release(frame);
        });
        Ok(count)
    }
}

/// A worker with two ports, its outside and its counters.
pub struct Bench {
    /// Under test.
    pub worker: Worker<SnapshotReader>,
    /// What it reads.
    pub tables: Shared,
    /// Ports 1 and 2.
    pub outside: [Arc<Mutex<Outside>>; 2],
    /// Their cells.
    pub counters: [Arc<PortCounters>; 2],
}

/// Next hops of the test table: a neighbour, the same with a small MTU, on VLAN 7, one for each
/// kind, a group of the first two, an empty group, and one behind a port that is not there.
pub mod hops {
    use fib::NextHop;

    pub const PLAIN: NextHop = NextHop(1);
    pub const SMALL: NextHop = NextHop(2);
    pub const TAGGED: NextHop = NextHop(3);
    pub const PUNT: NextHop = NextHop(4);
    pub const BLACKHOLE: NextHop = NextHop(5);
    pub const UNREACHABLE: NextHop = NextHop(6);
    pub const PROHIBIT: NextHop = NextHop(7);
    pub const GROUP: NextHop = NextHop(8);
    pub const EMPTY: NextHop = NextHop(9);
    pub const NOWHERE: NextHop = NextHop(10);
    pub const BACK: NextHop = NextHop(11);
}

/// A fresh bench. 10.N/16 and `2001:db8:N::/48` go to next hop N.
pub fn bench() -> Bench {
    let tables = Shared::new(&Options::for_workers(1)).expect("memory");
    let plain = NextHopEntry {
        kind: Kind::Adjacency,
        mtu: 1500,
        port: 2,
        destination_mac: NEIGHBOUR.0,
        source_mac: OTHER.0,
        ..NextHopEntry::default()
    };
    let kind = |kind| NextHopEntry {
        kind,
        ..NextHopEntry::default()
    };
    let mut changes = vec![
        Change::NextHop(hops::PLAIN, plain),
        Change::NextHop(hops::SMALL, NextHopEntry { mtu: 100, ..plain }),
        Change::NextHop(
            hops::TAGGED,
            NextHopEntry {
                vlan: 0x6007,
                ..plain
            },
        ),
        Change::NextHop(hops::PUNT, kind(Kind::Punt)),
        Change::NextHop(hops::BLACKHOLE, kind(Kind::Blackhole)),
        Change::NextHop(hops::UNREACHABLE, kind(Kind::Unreachable)),
        Change::NextHop(hops::PROHIBIT, kind(Kind::Prohibit)),
        Change::Group(
            hops::GROUP,
            NextHopEntry::default(),
            [hops::PLAIN, hops::BACK].into(),
        ),
        Change::Group(hops::EMPTY, NextHopEntry::default(), [].into()),
        Change::NextHop(hops::NOWHERE, NextHopEntry { port: 77, ..plain }),
        Change::NextHop(
            hops::BACK,
            NextHopEntry {
                port: 1,
                source_mac: STATION.0,
                ..plain
            },
        ),
    ];
    for number in 1..=hops::BACK.0 {
        let v4 = Prefix::containing(0x0a00_0000 | u32::from(number) << 16, 16);
        let v6 = Prefix::containing(0x2001_0db8 << 96 | u128::from(number) << 80, 48);
        changes.push(Change::V4(v4, NextHop(number)));
        changes.push(Change::V6(v6, NextHop(number)));
    }
    tables.apply(&changes).expect("room");
    let pool = Pool::new(Layout::chunks(BUFFERS, STRIDE, LINE as u16)).expect("memory");
    let mut worker = Worker::new(vec![tables.reader(0).expect("one worker")], pool);
    let outside = [(); 2].map(|()| Arc::new(Mutex::new(Outside::default())));
    let settings = |mac: MacAddress, vlans| PortSettings {
        enabled: true,
        accepts: Accepts::default(),
        mac: mac.0,
        table: 0,
        vlans,
        ..PortSettings::default()
    };
    let vlans = vec![VlanSettings {
        vid: 7,
        ifindex: 0,
        mac: STATION.0,
        table: 0,
        accepts: Accepts::default(),
    }];
    let port = |place: usize| Box::new(TestPort(Arc::clone(&outside[place])));
    let first = worker.attach(port(0), 1, settings(STATION, vlans));
    let second = worker.attach(port(1), 2, settings(OTHER, vec![]));
    let counters = [first.expect("room"), second.expect("room")];
    Bench {
        worker,
        tables,
        outside,
        counters,
    }
}

impl Bench {
    /// Delivers frames to port 1 and runs until all are through; what left by each port.
    pub fn run(&mut self, frames: impl IntoIterator<Item = Vec<u8>>) -> [Vec<Vec<u8>>; 2] {
        self.outside[0]
            .lock()
            .expect("one thread")
            .waiting
            .extend(frames);
        while self.worker.run_burst().expect("test ports do not fail") > 0 {}
        assert_eq!(
            self.worker.free_buffers(),
            BUFFERS as usize,
            "every buffer came back"
        );
        [0, 1].map(|port| std::mem::take(&mut self.outside[port].lock().expect("one thread").sent))
    }

    /// The counts of port 1.
    pub fn counted(&self) -> PortCount {
        self.counters[0].read()
    }
}

/// Destination 10.N.0.1.
pub fn v4(next_hop: NextHop) -> u32 {
    0x0a00_0001 | u32::from(next_hop.0) << 16
}

/// Destination `2001:db8:N::1`.
pub fn v6(next_hop: NextHop) -> u128 {
    0x2001_0db8 << 96 | u128::from(next_hop.0) << 80 | 1
}

/// A right IPv4/UDP frame for port 1 of `length` bytes.
pub fn frame_v4(destination: u32, length: usize) -> Vec<u8> {
    let mut frame = vec![0; length];
    assert!(wire::ethernet::write(
        &mut frame,
        STATION,
        NEIGHBOUR,
        wire::ethernet::TYPE_IPV4
    ));
    let fields = wire::ipv4::Fields {
        source: 0x0aff_0001,
        destination,
        protocol: wire::udp::PROTOCOL,
        time_to_live: 64,
        total_length: (length - 14) as u16,
    };
    frame[14..34].copy_from_slice(&wire::ipv4::write(&fields));
    frame
}

/// A right IPv6/UDP frame for port 1 of `length` bytes.
pub fn frame_v6(destination: u128, length: usize) -> Vec<u8> {
    let mut frame = vec![0; length];
    assert!(wire::ethernet::write(
        &mut frame,
        STATION,
        NEIGHBOUR,
        wire::ethernet::TYPE_IPV6
    ));
    let fields = wire::ipv6::Fields {
        source: 0x2001_0db8 << 96 | 0xffff << 80 | 1,
        destination,
        next_header: wire::udp::PROTOCOL,
        hop_limit: 64,
        payload_length: (length - 54) as u16,
    };
    frame[14..54].copy_from_slice(&wire::ipv6::write(&fields));
    frame
}

/// The frame with a tag behind its addresses.
pub fn tagged(mut frame: Vec<u8>, control: u16) -> Vec<u8> {
    let [high, low] = control.to_be_bytes();
    frame.splice(12..12, [0x81, 0x00, high, low]);
    frame
}
