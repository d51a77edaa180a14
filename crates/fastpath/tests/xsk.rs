//! `AF_XDP` ports behind the steering program: bytes, order, sums, and what stays the kernel's.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use bpf::attach::{Request, index_of};
use fastpath::generate::{Destinations, Frames, Generator, Signature};
use fastpath::sink::{Checks, Sink};
use fastpath::steer::Steer;
use port::packet::PacketPort;
use port::pool::Layout;
use port::xsk::{Copying, Memory, Options, XskPort, can_scatter};
use port::{Burst, Pool, Port};

use crate::common::{checksum, in_namespace, ip, veth};

const STATION: [u8; 6] = [2, 0, 0, 0, 0, 0x10];
const QUEUES: u32 = 2;
const PASS: u32 = 2;
const REDIRECT: u32 = 4;

fn frames() -> Frames {
    Frames {
        source_mac: [2, 0, 0, 0, 0, 0x99],
        destination_mac: STATION,
        vlan: None,
        source: IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1)),
        destinations: Destinations::V4(vec![
            Ipv4Addr::new(198, 19, 0, 1),
            Ipv4Addr::new(198, 19, 0, 2),
        ]),
        source_port: 1024,
        source_ports: 1,
        destination_port: 9,
        ttl: 64,
        lengths: vec![60, 1514],
        stream: 3,
        stamp_every: 0,
    }
}

#[test]
fn frames_come_through_sockets_and_go_out_again() {
    in_namespace(|| {
        veth("r0", "p0");
        veth("r1", "p1");
        let options = Options::default();
        let mut pool = Pool::new(options.layout(2 * QUEUES)).unwrap();
        let all = pool.available();
        let mut memory = Memory::default();
        let steer = Steer::attach("r0", Some(STATION), Request::Native).unwrap();
        // r1 needs a program, too, for a socket to be bound in native mode.
        let _other = Steer::attach("r1", None, Request::Native).unwrap();
        let mut inputs = Vec::new();
        for queue in 0..QUEUES {
            let port = XskPort::open("r0", queue, &mut pool, &mut memory, options).unwrap();
            assert!(!port.is_zero_copy(), "a veth copies");
            steer.insert(queue, &port).unwrap();
            inputs.push(port);
        }
        let mut output = XskPort::open("r1", 0, &mut pool, &mut memory, options).unwrap();
        let mut sink = Sink::new(Checks::ALL).unwrap();
        sink.attach("p1", Request::Native).unwrap();

        let mut generator = Generator::new(index_of("p0").unwrap(), &frames()).unwrap();
        let (mut burst, mut received, mut sent) = (Burst::new(), 0, 0);
        for _ in 0..100 {
            generator.send(60).unwrap();
            let end = Instant::now() + Duration::from_secs(20);
            while sent < generator.sent() && Instant::now() < end {
                for input in &mut inputs {
                    received += input.receive(&mut pool, &mut burst).unwrap();
                    for frame in burst.frames() {
                        let bytes = pool.bytes(frame);
                        let signature = Signature::read(bytes).unwrap();
                        let long = signature.sequence.is_multiple_of(2);
                        assert_eq!(bytes.len(), if long { 1514 } else { 60 });
                        assert_eq!(bytes[..6], STATION);
                    }
                    while !burst.is_empty() {
                        sent += output.transmit(&mut pool, &mut burst).unwrap() as u64;
                    }
                }
            }
        }
        assert_eq!((received, sent), (6000, 6000));
        let counts = sink.counts().unwrap();
        assert_eq!(
            (counts.frames, counts.unique(), counts.reordered),
            (6000, 6000, 0)
        );
        assert_eq!(steer.counts().unwrap().steered, 6000);
        for input in &mut inputs {
            assert_eq!(input.missed(), 0);
        }
        // Every buffer is free, or lent to a FILL ring.
        let end = Instant::now() + Duration::from_secs(20);
        let lent = (QUEUES as usize + 1) * options.ring as usize;
        while pool.available() + lent < all && Instant::now() < end {
            output.transmit(&mut pool, &mut burst).unwrap();
        }
        assert_eq!(pool.available() + lent, all);
    });
}

/// A packet of a protocol that nobody knows, in a frame of so many bytes.
fn long_frame(length: usize, number: u8) -> Vec<u8> {
    let mut frame: Vec<u8> = (0..length).map(|at| (at % 251) as u8 ^ number).collect();
    let packet = ((length - 14) as u16).to_be_bytes();
    let header = [
        0x45, 0, packet[0], packet[1], 0, 0, 0, 0, 64, 253, 0, 0, 198, 18, 0, 1, 198, 19, 0, 1,
    ];
    frame[..6].copy_from_slice(&STATION);
    frame[6..14].copy_from_slice(&[2, 0, 0, 0, 0, 0x99, 8, 0]);
    frame[14..34].copy_from_slice(&header);
    let sum = !checksum(&[&header]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame
}

/// The hosts at the far ends of two cables for jumbo frames.
struct Hosts {
    pool: Pool,
    burst: Burst,
    from: PacketPort,
    to: PacketPort,
}

impl Hosts {
    fn new() -> Self {
        for (near, far) in [("r0", "p0"), ("r1", "p1")] {
            veth(near, far);
            ip(&format!("link set {near} mtu 9000"));
            ip(&format!("link set {far} mtu 9000"));
        }
        Self {
            pool: Pool::new(Layout::holding(256, 9018)).unwrap(),
            burst: Burst::new(),
            from: PacketPort::open("p0", None).unwrap(),
            to: PacketPort::open("p1", None).unwrap(),
        }
    }

    fn send(&mut self, frame: &[u8]) {
        let buffer = self.pool.allocate(frame.len() as u16).unwrap();
        self.pool.bytes_mut(&buffer).copy_from_slice(frame);
        self.burst.push(buffer).unwrap();
        let sent = self.from.transmit(&mut self.pool, &mut self.burst);
        assert_eq!(sent.unwrap(), 1);
    }

    fn received(&mut self) -> Vec<Vec<u8>> {
        let pool = &mut self.pool;
        self.to.receive(pool, &mut self.burst).unwrap();
        let frames = self.burst.frames().iter();
        let frames = frames.map(|frame| pool.bytes(frame).to_vec()).collect();
        pool.release_all(&mut self.burst);
        frames
    }
}

#[test]
fn frames_longer_than_a_buffer_come_through_byte_for_byte() {
    if !needs::that(can_scatter(), "Linux 6.6") {
        return;
    }
    in_namespace(|| {
        let mut hosts = Hosts::new();
        let options = Options {
            scattered: true,
            ring: 256,
            ..Options::default()
        };
        let mut pool = Pool::new(options.layout(3)).unwrap();
        let (all, mut memory) = (pool.available(), Memory::default());
        let steer = Steer::attach("r0", Some(STATION), Request::Native).unwrap();
        let _other = Steer::attach("r1", None, Request::Native).unwrap();
        let mut inputs = Vec::new();
        for queue in 0..QUEUES {
            let port = XskPort::open("r0", queue, &mut pool, &mut memory, options).unwrap();
            assert!(port.is_scattered() && !port.is_zero_copy());
            steer.insert(queue, &port).unwrap();
            inputs.push(port);
        }
        let mut output = XskPort::open("r1", 0, &mut pool, &mut memory, options).unwrap();
        assert!(output.is_scattered());

        // Alone, then many at once: more buffers than a burst has room for, more than a ring.
        let lengths = [60, 64, 1500, 1792, 1793, 3000, 4096, 9014];
        let long = [9014; 30];
        let turns = lengths.chunks(1).chain([&lengths[..], &long]);
        let (mut number, mut burst) = (0, Burst::new());
        for turn in turns.cycle().take(4 * (lengths.len() + 2)) {
            let mut wanted = Vec::new();
            for &length in turn {
                number += 1;
                wanted.push(long_frame(length, number));
                hosts.send(&wanted[wanted.len() - 1]);
            }
            let mut seen = Vec::new();
            let end = Instant::now() + Duration::from_secs(20);
            while seen.len() < wanted.len() && Instant::now() < end {
                for input in &mut inputs {
                    input.receive(&mut pool, &mut burst).unwrap();
                    for frame in burst.frames() {
                        let bytes: Vec<u8> = pool.parts(frame).flatten().copied().collect();
                        assert!(wanted.contains(&bytes));
                        assert_eq!(usize::from(frame.length()), bytes.len());
                    }
                    while !burst.is_empty() {
                        output.transmit(&mut pool, &mut burst).unwrap();
                    }
                }
                output.transmit(&mut pool, &mut burst).unwrap();
                seen.extend(hosts.received());
            }
            assert!(
                seen == wanted,
                "{} of {} frames, or others",
                seen.len(),
                wanted.len()
            );
        }
        for input in &mut inputs {
            assert_eq!(input.missed(), 0);
        }
        assert_eq!(output.statistics().unwrap().tx_invalid, 0);
        let lent = (QUEUES + 1) * options.ring;
        assert_eq!(pool.available() + lent as usize, all);
        assert!(!pool.has_scattered());
    });
}

#[test]
fn a_port_that_was_not_told_loses_what_is_longer_than_a_buffer_and_says_so() {
    in_namespace(|| {
        let mut hosts = Hosts::new();
        let options = Options::default();
        let mut pool = Pool::new(options.layout(QUEUES)).unwrap();
        let mut memory = Memory::default();
        let steer = Steer::attach("r0", Some(STATION), Request::Generic).unwrap();
        let mut ports = Vec::new();
        for queue in 0..QUEUES {
            let port = XskPort::open("r0", queue, &mut pool, &mut memory, options).unwrap();
            assert!(!port.is_scattered());
            steer.insert(queue, &port).unwrap();
            ports.push(port);
        }
        hosts.send(&long_frame(1793, 0));
        hosts.send(&long_frame(1792, 0));
        let (mut burst, end) = (Burst::new(), Instant::now() + Duration::from_secs(20));
        let mut missed = 0;
        while (burst.is_empty() || missed == 0) && Instant::now() < end {
            for port in &mut ports {
                port.receive(&mut pool, &mut burst).unwrap();
            }
            missed = ports.iter_mut().map(Port::missed).sum();
        }
        let lengths: Vec<_> = burst.frames().iter().map(port::Frame::length).collect();
        assert_eq!((lengths, missed), (vec![1792], 1));
    });
}

#[test]
fn what_is_the_kernels_stays_with_it() {
    in_namespace(|| {
        veth("r0", "p0");
        let steer = Steer::attach("r0", Some(STATION), Request::Native).unwrap();
        let mut pool = Pool::new(Options::default().layout(1)).unwrap();
        let mut memory = Memory::default();
        let port = XskPort::open("r0", 0, &mut pool, &mut memory, Options::default()).unwrap();
        let verdict = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut frame = Generator::new(1, &frames()).unwrap().preview().unwrap();
            change(&mut frame);
            steer.program().run(&frame, 0, 1).unwrap().verdict
        };
        assert_eq!(verdict(&|_| {}), PASS, "nobody listens yet");
        steer.insert(0, &port).unwrap();
        assert_eq!(verdict(&|_| {}), REDIRECT);
        assert_eq!(verdict(&|frame| frame[0] = 0xff), PASS, "another station");
        assert_eq!(verdict(&|frame| frame[13] = 6), PASS, "ARP");
        assert_eq!(verdict(&|frame| frame[14] = 0x46), PASS, "options");
        assert_eq!(verdict(&|frame| frame[22] = 1), PASS, "the last hop");
        assert_eq!(verdict(&|frame| frame[30] = 224), PASS, "a group");
        let own = IpAddr::V4(Ipv4Addr::new(198, 19, 0, 1));
        steer.set_local(own, true).unwrap();
        assert_eq!(verdict(&|_| {}), PASS, "this host's own");
        steer.set_local(own, false).unwrap();
        assert_eq!(verdict(&|_| {}), REDIRECT);
        steer.remove(0).unwrap();
        assert_eq!(verdict(&|_| {}), PASS);
    });
}

#[test]
fn what_cannot_be_opened_says_why() {
    in_namespace(|| {
        veth("r0", "p0");
        let mut pool = Pool::new(Options::default().layout(2)).unwrap();
        let mut open = |interface: &str, queue, options| {
            XskPort::open(interface, queue, &mut pool, &mut Memory::default(), options)
                .unwrap_err()
                .to_string()
        };
        let options = Options::default();
        assert!(open("none", 0, options).contains("none queue 0: cannot find the interface"));
        assert!(open("r0", 99, options).contains("r0 queue 99: cannot bind to the queue"));
        let required = Options {
            copying: Copying::Never,
            ..options
        };
        assert!(open("r0", 0, required).contains("cannot bind to the queue"));
    });
}
