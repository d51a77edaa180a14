//! The program at tc: frames that stand for many, and those that do not.

use bpf::sys::SocketBuffer;
use fastpath::forward::{Capacity, Place, PortCount};

use super::bench::{
    ADJACENCY, Bench, PEER, STATION, TAGGED, TC_REDIRECT, expected, frame, with_ipv4,
};
use crate::common::in_namespace;

/// Ethernet, IPv4 and TCP without options.
const FRONT: usize = 14 + 20 + 20;

fn bench() -> Bench {
    Bench::at(Place::Tc, Capacity::default())
}

/// A frame to 198.19.1.2 with this protocol and so many bytes behind the IPv4 header.
fn packet(protocol: u8, inside: &[u8]) -> Vec<u8> {
    let mut frame = [&STATION[..], &PEER, &[8, 0]].concat();
    let length = (20 + inside.len()) as u16;
    frame.extend([0x45, 0]);
    frame.extend(length.to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, protocol, 0, 0, 198, 18, 0, 1]);
    frame.extend([198, 19, 1, 2]);
    frame.extend(inside);
    with_ipv4(frame, |_| {})
}

/// TCP with its header and so many bytes of data.
fn tcp(data: usize) -> Vec<u8> {
    let mut inside = vec![0; 20 + data];
    inside[12] = 5 << 4;
    packet(6, &inside)
}

fn udp(data: &[u8]) -> Vec<u8> {
    let mut inside = vec![0, 9, 0, 9, 0, 0, 0, 0];
    inside[4..6].copy_from_slice(&u16::to_be_bytes((8 + data.len()) as u16));
    inside.extend(data);
    packet(17, &inside)
}

fn many(segments: u32, segment_size: u32) -> SocketBuffer {
    let mut buffer = SocketBuffer::default();
    (buffer.segments, buffer.segment_size) = (segments, segment_size);
    buffer
}

impl Bench {
    /// Runs a frame that must go on, and gives what was counted.
    fn goes(&self, frame: &[u8], buffer: &mut SocketBuffer) -> PortCount {
        let before = self.port();
        let result = self.forwarder.run_buffer(self.r0, frame, buffer).unwrap();
        assert_eq!(result.verdict, TC_REDIRECT, "{:?}", self.counts());
        let entry = self.forwarder.next_hop(ADJACENCY);
        assert_eq!(result.frame, expected(frame, &entry));
        self.port().since(&before)
    }

    /// Runs one that must leave under this reason, unchanged, as so many frames.
    fn stays(&self, frame: &[u8], mut buffer: SocketBuffer, name: &str, frames: u64) {
        let before = self.port();
        let result = self.forwarder.run_buffer(self.r0, frame, &mut buffer);
        let result = result.unwrap();
        let count = self.port().since(&before);
        assert_eq!(count.reason(name), frames, "{name}: {:?}", self.counts());
        assert_eq!((result.verdict, count.received), (u32::MAX, frames));
        assert!(result.frame == frame && self.port().closes());
    }

    fn port(&self) -> PortCount {
        let mut sum = PortCount::default();
        for ((ifindex, _), count) in self.forwarder.port_counters() {
            if ifindex == self.r0 {
                sum += &count;
            }
        }
        sum
    }
}

#[test]
fn frames_at_tc_are_rewritten_byte_for_byte() {
    in_namespace(|| {
        let bench = bench();
        for (destination, next_hop) in [
            ("198.19.1.2", ADJACENCY),
            ("198.20.1.2", TAGGED),
            ("2001:db8:19::2", ADJACENCY),
            ("2001:db8:20::2", TAGGED),
        ] {
            for length in [78, 79, 1514] {
                let frame = frame(destination, length, None);
                let (verdict, after) = bench.run(&frame);
                assert_eq!(verdict, TC_REDIRECT, "{destination}: {:?}", bench.counts());
                // The kernel keeps a tag beside the frame.
                let mut entry = bench.forwarder.next_hop(next_hop);
                entry.vlan = 0;
                assert_eq!(after, expected(&frame, &entry), "{destination}");
            }
        }
        for (frame, reason) in [
            (frame("203.0.113.3", 60, None), "punt"),
            (frame("203.0.113.4", 60, None), "blackhole"),
            (frame("203.0.113.7", 60, None), "unknown-port"),
            (frame("203.0.113.12", 60, None), "local"),
            (frame("192.0.2.1", 60, None), "no-route"),
            (
                with_ipv4(frame("198.19.1.2", 60, None), |ip| ip[8] = 1),
                "ipv4-time-to-live",
            ),
            (
                with_ipv4(frame("198.19.1.2", 60, None), |ip| ip[3] = 200),
                "ipv4-overrun",
            ),
        ] {
            bench.leaves(&frame, reason);
        }
        // What lies behind the packet is cut off, as far as Ethernet lets.
        let mut long = frame("198.19.1.2", 100, None);
        let whole = expected(&long, &bench.forwarder.next_hop(ADJACENCY));
        long.extend([7; 30]);
        assert_eq!(bench.run(&long).1, whole);
        assert!(bench.port().closes());
    });
}

#[test]
fn segments_go_on_whole_and_count_as_frames_on_a_wire() {
    in_namespace(|| {
        let bench = bench();
        let frame = tcp(2600);
        // Three on the wire: two of 1000 bytes of data, and one of 600.
        let wire = (2600 + 3 * FRONT) as u64;
        // Told by the sender, and counted here when nobody vouches for that.
        for told in [3, 0] {
            let count = bench.goes(&frame, &mut many(told, 1000));
            assert_eq!((count.received, count.forwarded), (3, 3));
            assert_eq!((count.received_bytes, count.forwarded_bytes), (wire, wire));
        }
        let carried = bench.forwarder.carried(ADJACENCY);
        assert_eq!((carried.frames, carried.bytes), (6, 2 * wire));
        let count = bench.goes(&udp(&[7; 2600]), &mut many(2, 1400));
        assert_eq!((count.forwarded, count.forwarded_bytes), (2, 2600 + 2 * 42));
    });
}

#[test]
fn the_mtu_is_that_of_the_largest_segment() {
    in_namespace(|| {
        let bench = bench();
        bench.goes(&tcp(2920), &mut many(2, 1460));
        bench.stays(&tcp(2922), many(2, 1461), "too-big", 2);
        bench.goes(&udp(&[7; 2944]), &mut many(2, 1472));
        bench.stays(&udp(&[7; 2946]), many(2, 1473), "too-big", 2);
        // One frame of many bytes is one frame.
        bench.stays(&tcp(2920), many(0, 0), "too-big", 1);
        bench.goes(&tcp(1460), &mut many(1, 1461));
    });
}

#[test]
fn segments_that_only_the_kernel_can_size_are_its_own() {
    in_namespace(|| {
        let bench = bench();
        // VXLAN, IP in UDP, and IP in IP: the segments are those of the packet inside.
        let mut vxlan = udp(&[7; 2600]);
        vxlan[36..38].copy_from_slice(&4789_u16.to_be_bytes());
        bench.stays(&vxlan, many(2, 1400), "segments", 2);
        let inside = tcp(2000).split_off(14);
        bench.stays(&udp(&inside), many(2, 1400), "segments", 2);
        bench.stays(&packet(4, &inside), many(2, 1400), "segments", 2);
        // Too long for the header to say how long (BIG TCP).
        let big = with_ipv4(tcp(2600), |ip| ip[2..4].fill(0));
        bench.stays(&big, many(2, 1400), "segments", 2);
    });
}

#[test]
fn the_type_of_service_says_the_priority_for_queueing() {
    in_namespace(|| {
        let bench = bench();
        // As ip_forward: best effort, bulk, interactive, interactive bulk.
        for (service, priority) in [
            (0x00, 0),
            (0x08, 2),
            (0x10, 6),
            (0x18, 4),
            (0xb8, 4),
            (3, 0),
        ] {
            let frame = with_ipv4(tcp(60), |ip| ip[1] = service);
            let mut buffer = many(0, 0);
            buffer.priority = 1;
            bench.goes(&frame, &mut buffer);
            assert_eq!(buffer.priority, priority, "type of service {service:#x}");
        }
        // Of IPv6 the kernel leaves it as it was.
        let mut buffer = many(0, 0);
        buffer.priority = 1;
        bench.goes(&frame("2001:db8:19::2", 100, None), &mut buffer);
        assert_eq!(buffer.priority, 1);
    });
}
