//! Capture files in every form that exists, also broken ones.

use std::io::Cursor;
use std::time::Duration;

use pcap_file::pcap::{PcapHeader, PcapPacket, PcapReader, PcapWriter};
use pcap_file::{Endianness, TsResolution};
use port::pcap::{PcapPort, Reader, Writer};
use port::pool::Layout;
use port::{Burst, Pool, Port, PortError};
use proptest::prelude::*;

fn frames() -> impl Strategy<Value = Vec<(u32, u32, Vec<u8>)>> {
    let frame = (
        any::<u32>(),
        0_u32..1_000_000,
        prop::collection::vec(any::<u8>(), 0..2000),
    );
    prop::collection::vec(frame, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Files that another implementation wrote, in all four forms.
    #[test]
    fn every_form_is_read(frames in frames()) {
        for endianness in [Endianness::Big, Endianness::Little] {
            for ts_resolution in [TsResolution::MicroSecond, TsResolution::NanoSecond] {
                let header = PcapHeader {
                    endianness,
                    ts_resolution,
                    snaplen: 262_144,
                    ..PcapHeader::default()
                };
                let mut writer = PcapWriter::with_header(Vec::new(), header).expect("a vector");
                for (seconds, micros, bytes) in &frames {
                    let time = Duration::new(u64::from(*seconds), micros * 1000);
                    writer
                        .write_packet(&PcapPacket::new(time, bytes.len() as u32 + 7, bytes))
                        .expect("a vector");
                }
                let file = writer.into_writer();
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

    /// Files that we write, read by another implementation.
    #[test]
    fn what_is_written_is_read(frames in frames()) {
        let mut file = Vec::new();
        let mut writer = Writer::new(&mut file, "file").expect("a vector");
        for (seconds, micros, bytes) in &frames {
            writer
                .write(Duration::new(u64::from(*seconds), micros * 1000 + 5), bytes)
                .expect("a vector");
        }
        let mut reader = PcapReader::new(Cursor::new(&file)).expect("a capture");
        for (seconds, micros, bytes) in &frames {
            let packet = reader.next_packet().expect("not the end").expect("whole");
            prop_assert_eq!(
                packet.timestamp,
                Duration::new(u64::from(*seconds), micros * 1000 + 5)
            );
            prop_assert_eq!(&packet.data[..], &bytes[..]);
        }
        prop_assert!(reader.next_packet().is_none());
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
    assert!(error(&whole[..23]).contains("not a classic capture file"));
    assert!(error(b"\x0a\x0d\x0d\x0a0000000000000000000000").contains("editcap"));
    let mut wireless = whole.clone();
    wireless[20] = 105;
    assert!(error(&wireless).contains("link type 105 is not Ethernet"));
    let mut huge = whole;
    huge[24 + 8..24 + 12].fill(0xff);
    assert!(error(&huge).starts_with("f.pcap: record 1: claims 4294967295 bytes"));
}

#[test]
fn a_port_copies_one_file_into_another() {
    let directory = tempfile::tempdir().expect("a directory");
    let (input, output) = (
        directory.path().join("in.pcap"),
        directory.path().join("out.pcap"),
    );
    let mut writer =
        Writer::new(std::fs::File::create(&input).expect("a file"), "in").expect("a file");
    for number in 0..200_u8 {
        writer
            .write(Duration::ZERO, &vec![number; usize::from(number) + 1])
            .expect("a file");
    }
    writer.write(Duration::ZERO, &[0; 4000]).expect("a file");
    let mut pool = Pool::new(Layout::ordinary(64)).expect("a little memory");
    let mut port = PcapPort::open("p", Some(&input), Some(&output)).expect("files");
    let mut burst = Burst::new();
    while port.receive(&mut pool, &mut burst).expect("whole") > 0 {
        port.transmit(&mut pool, &mut burst)
            .expect("room on the disk");
    }
    assert_eq!((port.missed(), pool.available()), (1, 64));
    port.flush().expect("room on the disk");
    let mut reader =
        Reader::new(std::fs::File::open(&output).expect("written"), "out").expect("a capture");
    for number in 0..200_u8 {
        let record = reader.next_record().expect("whole").expect("not the end");
        assert_eq!(record.bytes, vec![number; usize::from(number) + 1]);
    }
    assert!(reader.next_record().expect("whole").is_none());
    let missing =
        PcapPort::open("p", Some(&directory.path().join("none")), None).expect_err("not there");
    assert!(matches!(missing, PortError::File { .. }));
}
