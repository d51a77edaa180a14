//! Of `tester/src/capture.rs`.

use std::time::Duration;

use port::pcap::Writer;

use super::*;

fn packet(family: Family, payload: &[u8], hops: u8) -> Vec<u8> {
    let builder = etherparse::PacketBuilder::ethernet2([2; 6], [4; 6]);
    let builder = match family {
        Family::Ipv4 => builder.ipv4([10, 0, 0, 1], [10, 1, 0, 1], hops),
        Family::Ipv6 => builder.ipv6([1; 16], [2; 16], hops),
    }
    .udp(1000, 2000);
    let mut bytes = Vec::new();
    builder.write(&mut bytes, payload).unwrap();
    bytes
}

fn capture(frames: &[Vec<u8>]) -> Result<Capture, PortError> {
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, "test").unwrap();
    for frame in frames {
        writer.write(Duration::ZERO, frame).unwrap();
    }
    writer.flush().unwrap();
    Capture::read(&file[..], "test.pcap", 1518)
}

/// What a router does to a frame.
fn routed(mut frame: Vec<u8>) -> Vec<u8> {
    frame[..12].fill(9);
    if frame[12] == 8 {
        frame[22] -= 1;
        frame[24] ^= 1;
    } else {
        frame[21] -= 1;
    }
    frame
}

#[test]
fn frames_are_known_again_even_when_they_are_equal() {
    let one = packet(Family::Ipv4, b"hello", 64);
    let two = packet(Family::Ipv6, b"hello, world", 64);
    let capture = capture(&[one.clone(), one, two]).unwrap();
    let departures = Departures::new();
    let mut sent = Vec::new();
    for sequence in 1..=70_000_u32 {
        let mut frame = vec![0; capture.length(u64::from(sequence - 1))];
        capture.write(&mut frame, sequence, [[6; 6], [8; 6]]);
        departures.note(sequence, u64::from(sequence) * 10);
        if sequence > 69_000 {
            {
                let parsed = etherparse::SlicedPacket::from_ethernet(&frame).unwrap();
                if let Some(etherparse::NetSlice::Ipv4(ip)) = parsed.net {
                    let header = ip.header().to_header();
                    assert_eq!(header.calc_header_checksum(), header.header_checksum);
                }
            }
            sent.push((sequence, routed(frame)));
        }
    }
    for (sequence, frame) in &sent {
        let expected = Signature {
            stream: 7,
            sequence: *sequence,
            sent_ns: u64::from(*sequence) * 10,
        };
        assert_eq!(
            capture.judge(frame, &departures, 7),
            Content::Good(expected)
        );
    }
    let (_, mut frame) = sent.pop().unwrap();
    let last = if frame[12] == 8 { 46 } else { 65 };
    frame[last] ^= 1;
    assert_eq!(capture.judge(&frame, &departures, 7), Content::Corrupt);
    assert_eq!(capture.judge(&[0; 60], &departures, 7), Content::Stray);
    assert_eq!(capture.judge(&[], &departures, 7), Content::Stray);
}

#[test]
fn what_cannot_be_replayed_is_left_out_and_counted() {
    let good = packet(Family::Ipv4, b"x", 64);
    let dying = packet(Family::Ipv4, b"x", 1);
    let mut fragment = good.clone();
    fragment[20] = 0x20;
    let mut group = good.clone();
    group[0] = 1;
    let huge = packet(Family::Ipv4, &[0; 1473], 64);
    let all = [good, dying.clone(), fragment, group, huge, vec![0; 60]];
    let read = capture(&all).unwrap();
    assert!(read.describe().starts_with("1 frames") && read.describe().ends_with("5 left out"));
    assert!((read.mean_size() - 64.0).abs() < 1e-9);
    let error = capture(&[dying]).unwrap_err().to_string();
    assert!(
        error.contains("test.pcap") && error.contains("none of its 1"),
        "{error}"
    );
}
