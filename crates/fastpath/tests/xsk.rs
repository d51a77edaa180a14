//! `AF_XDP` ports behind the steering program: bytes, order, sums, and what stays the kernel's.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use bpf::attach::{Request, index_of};
use fastpath::generate::{Destinations, Frames, Generator, Signature};
use fastpath::sink::{Checks, Sink};
use fastpath::steer::Steer;
use port::xsk::{Copying, Memory, Options, XskPort};
use port::{Burst, Pool, Port};

use crate::common::{in_namespace, veth};

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
            let end = Instant::now() + Duration::from_secs(2);
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
        let end = Instant::now() + Duration::from_secs(2);
        let lent = (QUEUES as usize + 1) * options.ring as usize;
        while pool.available() + lent < all && Instant::now() < end {
            output.transmit(&mut pool, &mut burst).unwrap();
        }
        assert_eq!(pool.available() + lent, all);
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
