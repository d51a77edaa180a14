//! Capture files in every form that exists, also broken ones.

use std::io::Cursor;
use std::time::Duration;

use port::pcap::{Reader, Writer};
use proptest::prelude::*;

fn frames() -> impl Strategy<Value = Vec<(u32, u32, Vec<u8>)>> {
    let frame = (
        any::<u32>(),
        0_u32..1_000_000,
        prop::collection::vec(any::<u8>(), 0..2000),
    );
    prop::collection::vec(frame, 0..40)
}

/// A pcapng file: an Ethernet in microseconds, one in 2^-20 s from 1,000,000 s on, and a loopback
/// that has no frame; a frame of each Ethernet, a block nobody knows and a simple packet.
fn next_generation(big_endian: bool) -> Vec<u8> {
    let word = |value: u32| {
        if big_endian {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    };
    let half = |value: u16| {
        if big_endian {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    };
    let mut file = Vec::new();
    let mut block = |kind: u32, parts: &[&[u8]]| {
        let mut body = parts.concat();
        body.resize(body.len().next_multiple_of(4), 0);
        let length = word(body.len() as u32 + 12);
        file.extend([&word(kind), &length, &body[..], &length].concat());
    };
    let anything = [0xff; 8];
    block(
        0x0a0d_0d0a,
        &[&word(0x1a2b_3c4d), &half(1), &half(0), &anything],
    );
    block(1, &[&half(1), &half(0), &word(0)]);
    let seconds = if big_endian {
        1_000_000_u64.to_be_bytes()
    } else {
        1_000_000_u64.to_le_bytes()
    };
    let resolution = [&half(9)[..], &half(1), &[0x94, 0, 0, 0]].concat();
    let offset = [&half(14)[..], &half(8), &seconds, &[0; 4]].concat();
    block(1, &[&half(1), &half(0), &word(96), &resolution, &offset]);
    block(1, &[&half(0), &half(0), &word(0)]);
    let frame = |interface, stamp: u64, bytes: &[u8], length| {
        let (high, low) = ((stamp >> 32) as u32, stamp as u32);
        let head = [interface, high, low, bytes.len() as u32, length];
        [&head.map(word).concat(), bytes].concat()
    };
    // 2012-06-29 07:28:25.298858, the example of the specification's section 4.6.
    block(6, &[&frame(0, 0x0004_c397_64ca_47aa, &[1; 61], 61)]);
    block(6, &[&frame(1, (5 << 20) | (1 << 19), &[2; 96], 1500)]);
    block(0x0bad_cafe, &[&word(7)]);
    block(3, &[&word(70), &[3; 70]]);
    file
}

#[test]
fn blocks_of_several_interfaces_are_read_in_both_byte_orders() {
    for big_endian in [false, true] {
        // Two sections: the second describes its own interfaces.
        let file = [next_generation(big_endian), next_generation(!big_endian)].concat();
        let mut reader = Reader::new(Cursor::new(&file), "file").expect("a capture");
        for _ in 0..2 {
            for (time, bytes, wire_length) in [
                (Duration::new(1_340_954_905, 298_858_000), vec![1; 61], 61),
                (Duration::new(1_000_005, 500_000_000), vec![2; 96], 1500),
                (Duration::ZERO, vec![3; 70], 70),
            ] {
                let record = reader.next_record().expect("whole").expect("not the end");
                assert_eq!(record.time, time);
                assert_eq!(record.bytes, bytes);
                assert_eq!(record.wire_length, wire_length);
            }
        }
        assert_eq!(reader.next_record().expect("whole"), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// All four forms of pcap.
    #[test]
    fn every_form_is_read(frames in frames()) {
        for big_endian in [false, true] {
            let word = |value: u32| if big_endian {
                value.to_be_bytes()
            } else {
                value.to_le_bytes()
            };
            for (magic, unit) in [(0xa1b2_c3d4, 1), (0xa1b2_3c4d, 1000)] {
                let version = if big_endian { 0x0002_0004 } else { 0x0004_0002 };
                let mut file = [magic, version, 0, 0, 262_144, 1].map(word).concat();
                for (seconds, micros, bytes) in &frames {
                    let length = bytes.len() as u32;
                    file.extend([*seconds, micros * unit, length, length + 7].map(word).concat());
                    file.extend(bytes);
                }
                let mut reader = Reader::new(Cursor::new(&file), "file").expect("a capture");
                for (seconds, micros, bytes) in &frames {
                    let record = reader.next_record().expect("whole").expect("not the end");
                    prop_assert_eq!(record.time, Duration::new(u64::from(*seconds), micros * 1000));
                    prop_assert_eq!(record.bytes, &bytes[..]);
                    prop_assert_eq!(record.wire_length, bytes.len() as u32 + 7);
                }
                prop_assert_eq!(reader.next_record().expect("whole"), None);
            }
        }
    }

    /// Files that we write.
    #[test]
    fn what_is_written_is_read(frames in frames()) {
        let mut file = Vec::new();
        let mut writer = Writer::new(&mut file, "file").expect("a vector");
        for (seconds, micros, bytes) in &frames {
            writer
                .write(Duration::new(u64::from(*seconds), micros * 1000 + 5), bytes)
                .expect("a vector");
        }
        let mut reader = Reader::new(Cursor::new(&file), "file").expect("a capture");
        for (seconds, micros, bytes) in &frames {
            let record = reader.next_record().expect("whole").expect("not the end");
            prop_assert_eq!(record.time, Duration::new(u64::from(*seconds), micros * 1000 + 5));
            prop_assert_eq!(record.bytes, &bytes[..]);
        }
        prop_assert_eq!(reader.next_record().expect("whole"), None);
    }

    /// A damaged pcapng: an error or the end, never a panic.
    #[test]
    fn damaged_blocks_are_survived(
        big_endian in any::<bool>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        end in any::<prop::sample::Index>(),
    ) {
        let mut file = next_generation(big_endian);
        for (place, byte) in damage {
            let at = place.index(file.len());
            file[at] = byte;
        }
        file.truncate(end.index(file.len()) + 1);
        if let Ok(mut reader) = Reader::new(Cursor::new(&file), "file") {
            while let Ok(Some(_)) = reader.next_record() {}
        }
    }

    /// Any bytes behind a right header: an error or the end, never a panic.
    #[test]
    fn any_bytes_are_survived(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        start in any::<bool>(),
    ) {
        let mut file = Vec::new();
        if start {
            Writer::new(&mut file, "file").expect("a vector");
        }
        file.extend(bytes);
        if let Ok(mut reader) = Reader::new(Cursor::new(&file), "file") {
            while let Ok(Some(_)) = reader.next_record() {}
        }
    }
}

#[test]
fn broken_files_are_refused_with_the_place() {
    let mut whole = Vec::new();
    let mut writer = Writer::new(&mut whole, "file").expect("a vector");
    writer.write(Duration::ZERO, &[1; 60]).expect("a vector");
    writer.write(Duration::ZERO, &[2; 60]).expect("a vector");
    let error = |file: &[u8]| {
        let mut reader = match Reader::new(Cursor::new(file), "f.pcap") {
            Ok(reader) => reader,
            Err(error) => return error.to_string(),
        };
        loop {
            match reader.next_record() {
                Ok(Some(_)) => {}
                Ok(None) => return String::from("none"),
                Err(error) => return error.to_string(),
            }
        }
    };
    assert_eq!(error(&whole), "none");
    assert_eq!(
        error(&whole[..whole.len() - 1]),
        "f.pcap: record 2: claims 60 bytes, but the file ends after 59"
    );
    assert_eq!(
        error(&whole[..24 + 76 + 3]),
        "f.pcap: record 2: ends 3 bytes into its header"
    );
    assert!(error(&whole[..23]).contains("not a capture file"));
    let next = next_generation(false);
    assert_eq!(error(&next), "none");
    assert!(error(&next[..next.len() - 1]).contains("record 3: claims"));
    assert!(error(b"\x0a\x0d\x0d\x0a0000000000000000000000").contains("editcap"));
    let mut wireless = whole.clone();
    wireless[20] = 105;
    assert!(error(&wireless).contains("link type 105 is not Ethernet"));
    let mut huge = whole;
    huge[24 + 8..24 + 12].fill(0xff);
    assert!(error(&huge).starts_with("f.pcap: record 1: claims 4294967295 bytes"));
}

#[test]
fn frames_written_with_what_became_of_them_are_read_back() {
    let mut file = Vec::new();
    let mut writer = port::pcapng::Writer::new(&mut file, "test").unwrap();
    let frames: [&[u8]; 3] = [&[7; 60], &[8; 61], &[]];
    for (number, bytes) in frames.iter().enumerate() {
        let name = format!("r{number}");
        let interface = writer.interface(&name, "a port", 61).unwrap();
        let packet = port::pcapng::Packet {
            interface,
            time: Duration::new(1_700_000_000, number as u32),
            bytes,
            wire_length: 100,
            comment: "forwarded",
            verdict: port::pcapng::Verdict::Xdp(4),
            lost: number as u64,
        };
        writer.packet(&packet).unwrap();
    }
    let mut reader = Reader::new(Cursor::new(file), "written").unwrap();
    for (number, bytes) in frames.iter().enumerate() {
        let record = reader.next_record().unwrap().unwrap();
        assert_eq!(record.time, Duration::new(1_700_000_000, number as u32));
        assert_eq!((record.bytes, record.wire_length), (*bytes, 100));
    }
    assert!(reader.next_record().unwrap().is_none());
}
