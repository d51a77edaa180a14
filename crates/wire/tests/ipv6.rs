//! IPv6 against `etherparse`.

use etherparse::Ipv6Header;
use proptest::prelude::*;
use wire::ipv6::{self, Fault, Fields};

const FORWARDABLE: Fields = Fields {
    source: 0x2001_0db8 << 96 | 1,
    destination: 0x2001_0db8 << 96 | 2,
    next_header: 17,
    hop_limit: 64,
    payload_length: 8,
};

proptest! {
    #[test]
    fn etherparse_writes_the_same_header(
        source: u128,
        destination: u128,
        next_header: u8,
        hop_limit: u8,
        payload_length: u16,
    ) {
        let fields = Fields { source, destination, next_header, hop_limit, payload_length };
        let expected = Ipv6Header {
            payload_length,
            next_header: etherparse::IpNumber(next_header),
            hop_limit,
            source: source.to_be_bytes(),
            destination: destination.to_be_bytes(),
            ..Default::default()
        };
        prop_assert_eq!(ipv6::write(&fields), expected.to_bytes());
    }

    #[test]
    fn the_view_reads_what_etherparse_reads(bytes in prop::collection::vec(any::<u8>(), 40)) {
        let mut bytes = bytes;
        bytes[0] = 0x60 | bytes[0] & 0x0f;
        let (expected, _) = Ipv6Header::from_slice(&bytes).expect("a header");
        let (view, _) = ipv6::Header::split(&bytes).expect("long enough");
        prop_assert_eq!(view.version(), 6);
        prop_assert_eq!(view.payload_length(), expected.payload_length);
        prop_assert_eq!(view.next_header(), expected.next_header.0);
        prop_assert_eq!(view.hop_limit(), expected.hop_limit);
        prop_assert_eq!(view.source().to_be_bytes(), expected.source);
        prop_assert_eq!(view.destination().to_be_bytes(), expected.destination);
    }

    #[test]
    fn one_hop_less(bytes: [u8; 40], limit in 2_u8..) {
        let mut header = bytes;
        header[0] = 0x60 | header[0] & 0x0f;
        header[7] = limit;
        let (mut expected, _) = Ipv6Header::from_slice(&header).expect("a header");
        ipv6::decrement_hop_limit(&mut header);
        expected.hop_limit -= 1;
        prop_assert_eq!(header, expected.to_bytes());
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = ipv6::check(&bytes);
    }
}

#[test]
fn each_fault_has_its_packet() {
    let with = |change: &dyn Fn(&mut Fields)| {
        let mut fields = FORWARDABLE;
        change(&mut fields);
        let mut packet = ipv6::write(&fields).to_vec();
        packet.resize(48, 0);
        packet
    };
    let plain = with(&|_| {});
    assert!(ipv6::check(&plain).is_ok());
    assert!(ipv6::check_start(&plain[..40], plain.len()).is_ok());
    let overrun = ipv6::check_start(&plain[..40], plain.len() - 1);
    assert_eq!(overrun.err(), Some(Fault::Overrun));
    let mut old = plain.clone();
    old[0] = 0x45;
    let mut cases = vec![
        (plain[..39].to_vec(), Fault::Truncated),
        (old, Fault::Version),
        (with(&|fields| fields.payload_length = 9), Fault::Overrun),
        (
            with(&|fields| fields.source = 0xff02 << 112 | 1),
            Fault::SourceMartian,
        ),
        (
            with(&|fields| fields.destination = 0xff02 << 112 | 1),
            Fault::Group,
        ),
        (
            with(&|fields| fields.next_header = ipv6::HOP_BY_HOP),
            Fault::HopByHop,
        ),
        (with(&|fields| fields.hop_limit = 1), Fault::HopLimit),
        (with(&|fields| fields.hop_limit = 0), Fault::HopLimit),
    ];
    // Unspecified, loopback, link-local at both ends of fe80::/10, IPv4 in disguise.
    for address in [
        0,
        1,
        0xfe80 << 112 | 5,
        0xfebf << 112 | 5,
        0xffff_0a00_0001_u128,
    ] {
        cases.push((
            with(&|fields| fields.source = address),
            Fault::SourceMartian,
        ));
        cases.push((
            with(&|fields| fields.destination = address),
            Fault::DestinationMartian,
        ));
    }
    for (packet, fault) in cases {
        assert_eq!(ipv6::check(&packet).err(), Some(fault), "{packet:02x?}");
    }
    // The neighbours of those blocks are ordinary.
    for address in [
        2,
        0xfec0 << 112 | 5,
        0xfe7f << 112 | 5,
        1 << 64,
        0x1_0000_0000_0000_u128,
    ] {
        assert!(
            ipv6::check(&with(&|fields| fields.source = address)).is_ok(),
            "{address:x}"
        );
    }
}
