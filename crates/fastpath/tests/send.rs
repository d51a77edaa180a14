//! Bursts that leave by one run of a program: byte for byte, in their order, and each with its fate.

use std::time::{Duration, Instant};

use bpf::attach::{Request, index_of};
use fastpath::forward::{Capacity, Forwarder, Sender, Sent};
use port::packet::PacketPort;
use port::pool::Layout;
use port::{Burst, Pool, Port};

use crate::common::{in_namespace, ip, run, veth};

/// Forwarder and a worker's way out of r0, at whose other end GRO is on.
fn bed() -> (Forwarder, Sender) {
    veth("r0", "p0");
    run("ethtool -K p0 gro on");
    let mut forwarder = Forwarder::for_workers(Capacity::default(), 2, 1792, false).unwrap();
    forwarder.attach("r0", Request::Native).unwrap();
    let way = forwarder.way(index_of("r0").unwrap()).unwrap();
    let desk = way.desk().unwrap();
    assert!(way.desk().is_some() && way.desk().is_some(), "given back");
    let other = way.desk().unwrap();
    assert!(way.desk().is_none(), "as many as workers");
    drop(other);
    (forwarder, way.sender(&desk))
}

/// Frames of a protocol that nobody knows, each with bytes of its own.
fn frames(lengths: &[usize]) -> Vec<Vec<u8>> {
    let frame = |(number, &length): (usize, &usize)| {
        let mut frame: Vec<u8> = (0..length).map(|at| (at + 7 * number) as u8).collect();
        frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
        frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 2]);
        frame[12..14].copy_from_slice(&[0x88, 0xb5]);
        frame
    };
    lengths.iter().enumerate().map(frame).collect()
}

fn send(sender: &mut Sender, frames: &[Vec<u8>]) -> Sent {
    sender.send(frames.iter().map(Vec::as_slice))
}

fn all(given: usize) -> Sent {
    Sent { given, refused: 0 }
}

/// What comes at p0, until there are so many frames.
fn received(port: &mut PacketPort, pool: &mut Pool, count: usize) -> Vec<Vec<u8>> {
    let (mut burst, mut received) = (Burst::new(), Vec::new());
    let end = Instant::now() + Duration::from_secs(10);
    while received.len() < count && Instant::now() < end {
        port.receive(pool, &mut burst).unwrap();
        for frame in burst.drain() {
            let bytes = pool.bytes(&frame).to_vec();
            if bytes.windows(2).any(|two| two == [0x88, 0xb5]) {
                received.push(bytes);
            }
            pool.release(frame);
        }
    }
    received
}

#[test]
fn bursts_of_any_length_arrive_as_they_are() {
    in_namespace(|| {
        let (_forwarder, mut sender) = bed();
        let mut pool = Pool::new(Layout::ordinary(4096)).unwrap();
        let mut port = PacketPort::open("p0", None).unwrap();
        for count in 1..=64 {
            let lengths: Vec<_> = (0..count)
                .map(|at| 34 + (at * 97 + count * 31) % 700)
                .collect();
            let sent = frames(&lengths);
            assert_eq!(send(&mut sender, &sent), all(count));
            let came = received(&mut port, &mut pool, count);
            assert!(came == sent, "{count} frames");
        }
        // What does not fit in one run, and what is too long for any.
        let long = frames(&[1514; 64]);
        let Sent { given, refused } = send(&mut sender, &long);
        assert!((40..64).contains(&given) && refused == 0, "{given}");
        assert!(received(&mut port, &mut pool, given) == long[..given]);
        assert_eq!(send(&mut sender, &frames(&[100, 2049, 100])), all(1));
        assert_eq!(send(&mut sender, &[]), Sent::default());
    });
}

#[test]
fn a_frame_that_the_device_does_not_take_is_told() {
    in_namespace(|| {
        let (_forwarder, mut sender) = bed();
        ip("link set dev p0 mtu 500");
        let mut lengths = [60; 30];
        lengths[5] = 1000;
        // Three copies come before the first frame, and the first bulk of 16 ends at the frame.
        let sent = send(&mut sender, &frames(&lengths));
        let refused = 0b1_1111_1110_0000;
        assert_eq!(sent, Sent { given: 30, refused });
        ip("link set dev p0 down");
        let sent = send(&mut sender, &frames(&[60; 30]));
        assert_eq!(sent.refused.count_ones() as usize, sent.given);
    });
}

#[test]
fn a_device_that_takes_no_redirected_frame_is_not_asked() {
    in_namespace(|| {
        let (mut forwarder, mut sender) = bed();
        run("ethtool -K p0 gro off");
        assert_eq!(send(&mut sender, &frames(&[60; 30])), Sent::default());
        run("ethtool -K p0 gro on");
        assert_eq!(send(&mut sender, &frames(&[60; 30])), all(30));
        ip("link set dev r0 down");
        assert_eq!(send(&mut sender, &frames(&[60; 30])), Sent::default());
        forwarder.detach(index_of("r0").unwrap());
        ip("link del dev r0");
        assert_eq!(send(&mut sender, &frames(&[60; 30])), Sent::default());
    });
}

#[test]
fn what_does_not_listen_at_tracepoints_does_not_know_until_it_does_again() {
    in_namespace(|| {
        let (forwarder, mut sender) = bed();
        let burst = frames(&[60; 4]);
        assert_eq!(send(&mut sender, &burst), all(4));
        forwarder.listen(false).unwrap();
        let untold = Sent {
            given: 4,
            refused: 0b1111,
        };
        // What another test starts has our descriptors until it is another program.
        let end = Instant::now() + Duration::from_secs(10);
        let mut sent = send(&mut sender, &burst);
        while sent != untold && Instant::now() < end {
            sent = send(&mut sender, &burst);
        }
        assert_eq!(sent, untold);
        forwarder.listen(true).unwrap();
        forwarder.listen(true).unwrap();
        assert_eq!(send(&mut sender, &burst), all(4));
    });
}
