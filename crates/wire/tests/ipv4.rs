//! IPv4 against `etherparse`, and the quick answer against the slow one.

use etherparse::Ipv4Header;
use proptest::prelude::*;
use wire::ipv4::{self, Fault, Fields};

const FORWARDABLE: Fields = Fields {
    source: 0x0a00_0001,
    destination: 0xc000_0201,
    protocol: 17,
    time_to_live: 64,
    total_length: 46,
};

/// A packet of 46 bytes whose header has the fields, options of that many words, a right checksum.
fn packet(fields: &Fields, option_words: usize) -> Vec<u8> {
    let mut packet = ipv4::write(fields).to_vec();
    packet[0] += option_words as u8;
    packet.resize(20 + option_words * 4, 1);
    packet[10..12].fill(0);
    let sum = wire::checksum::of(&packet);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.resize(packet.len().max(46), 0);
    packet
}

fn fields() -> impl Strategy<Value = Fields> {
    // Addresses near the borders of the special blocks as often as anywhere.
    let address = prop_oneof![
        any::<u32>(),
        prop::sample::select(vec![0_u32, 10, 126, 127, 128, 169, 223, 224, 239, 240, 255])
            .prop_flat_map(|first| (0_u32..1 << 24).prop_map(move |rest| first << 24 | rest)),
        Just(u32::MAX),
        (0_u32..1 << 16).prop_map(|rest| 0xa9fe_0000 | rest),
    ];
    (
        address.clone(),
        address,
        any::<u8>(),
        prop_oneof![any::<u8>(), 0_u8..3],
        prop_oneof![0_u16..70, any::<u16>()],
    )
        .prop_map(
            |(source, destination, protocol, time_to_live, total_length)| Fields {
                source,
                destination,
                protocol,
                time_to_live,
                total_length,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn etherparse_writes_the_same_header(fields in fields()) {
        let mut expected = Ipv4Header {
            total_len: fields.total_length,
            dont_fragment: true,
            time_to_live: fields.time_to_live,
            protocol: etherparse::IpNumber(fields.protocol),
            source: fields.source.to_be_bytes(),
            destination: fields.destination.to_be_bytes(),
            ..Default::default()
        };
        expected.header_checksum = expected.calc_header_checksum();
        prop_assert_eq!(&ipv4::write(&fields)[..], &expected.to_bytes()[..]);
    }

    #[test]
    fn the_view_reads_what_etherparse_reads(bytes in prop::collection::vec(any::<u8>(), 60)) {
        let mut bytes = bytes;
        bytes[0] = 0x45 + bytes[0] % 11;
        let (expected, _) = Ipv4Header::from_slice(&bytes).expect("a header");
        let (view, _) = ipv4::Header::split(&bytes).expect("long enough");
        prop_assert_eq!(view.version(), 4);
        prop_assert_eq!(view.header_length(), expected.header_len());
        prop_assert_eq!(view.total_length(), expected.total_len);
        prop_assert_eq!(view.is_fragment(), expected.is_fragmenting_payload());
        prop_assert_eq!(view.time_to_live(), expected.time_to_live);
        prop_assert_eq!(view.protocol(), expected.protocol.0);
        prop_assert_eq!(view.checksum(), expected.header_checksum);
        prop_assert_eq!(view.source().to_be_bytes(), expected.source);
        prop_assert_eq!(view.destination().to_be_bytes(), expected.destination);
    }

    /// One hop later every byte is what etherparse writes for a header with one hop less.
    #[test]
    fn one_hop_less(bytes in prop::collection::vec(any::<u8>(), 20)) {
        let mut bytes = bytes;
        bytes[0] = 0x45;
        bytes[8] |= 1;
        let (mut expected, _) = Ipv4Header::from_slice(&bytes).expect("a header");
        expected.header_checksum = expected.calc_header_checksum();
        let mut header = [0; 20];
        header.copy_from_slice(&expected.to_bytes());
        ipv4::decrement_time_to_live(&mut header);
        expected.time_to_live -= 1;
        expected.header_checksum = expected.calc_header_checksum();
        prop_assert_eq!(&header[..], &expected.to_bytes()[..]);
    }

    #[test]
    fn the_quick_answer_is_the_slow_one(
        fields in fields(), options in prop_oneof![3 => Just(0_usize), 1 => 0_usize..11],
        damage in prop::option::of((0_usize..20, any::<u8>())),
        cut in prop_oneof![Just(46_usize), 20_usize..60],
    ) {
        let mut packet = packet(&fields, options);
        if let Some((at, value)) = damage {
            packet[at] = value;
        }
        packet.truncate(cut);
        let header = packet.first_chunk::<20>().expect("at least 20 bytes");
        prop_assert_eq!(
            ipv4::check_start(&packet[..20], packet.len()).is_ok(),
            ipv4::check(&packet).is_ok()
        );
        prop_assert_eq!(
            ipv4::is_plain(header, packet.len()),
            ipv4::check(&packet).is_ok(),
            "{:?}",
            ipv4::check(&packet)
        );
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = ipv4::check(&bytes);
    }
}

#[test]
fn each_fault_has_its_packet() {
    let with = |change: fn(&mut Fields)| {
        let mut fields = FORWARDABLE;
        change(&mut fields);
        packet(&fields, 0)
    };
    let damaged = |at: usize, value: u8| {
        let mut packet = packet(&FORWARDABLE, 0);
        packet[at] = value;
        packet
    };
    let cases = [
        (packet(&FORWARDABLE, 0)[..19].to_vec(), Fault::Truncated),
        (damaged(0, 0x65), Fault::Version),
        (damaged(0, 0x44), Fault::HeaderLength),
        (damaged(0, 0x4f), Fault::HeaderLength),
        (damaged(10, 0), Fault::Checksum),
        (with(|fields| fields.total_length = 19), Fault::TotalLength),
        (with(|fields| fields.total_length = 47), Fault::Overrun),
        (
            with(|fields| fields.source = 0x7f00_0001),
            Fault::SourceMartian,
        ),
        (
            with(|fields| fields.source = 0x0000_0001),
            Fault::SourceMartian,
        ),
        (
            with(|fields| fields.source = 0xe000_0001),
            Fault::SourceMartian,
        ),
        (
            with(|fields| fields.source = 0xf000_0001),
            Fault::SourceMartian,
        ),
        (
            with(|fields| fields.source = u32::MAX),
            Fault::SourceMartian,
        ),
        (
            with(|fields| fields.source = 0xa9fe_0101),
            Fault::SourceMartian,
        ),
        (
            with(|fields| fields.destination = 0),
            Fault::DestinationMartian,
        ),
        (
            with(|fields| fields.destination = 0x7fff_ffff),
            Fault::DestinationMartian,
        ),
        (
            with(|fields| fields.destination = 0xf000_0000),
            Fault::DestinationMartian,
        ),
        (
            with(|fields| fields.destination = 0xa9fe_ffff),
            Fault::DestinationMartian,
        ),
        (
            with(|fields| fields.destination = 0xe000_0005),
            Fault::Group,
        ),
        (with(|fields| fields.destination = u32::MAX), Fault::Group),
        (packet(&FORWARDABLE, 1), Fault::Options),
        (with(|fields| fields.time_to_live = 1), Fault::TimeToLive),
        (with(|fields| fields.time_to_live = 0), Fault::TimeToLive),
    ];
    for (packet, fault) in cases {
        if fault == Fault::Options {
            // 46 bytes of total length hold the longer header as well.
            assert!(packet.len() >= 24);
        }
        assert_eq!(ipv4::check(&packet).err(), Some(fault), "{packet:02x?}");
    }
    assert!(ipv4::check(&packet(&FORWARDABLE, 0)).is_ok());
}
