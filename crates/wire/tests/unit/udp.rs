use etherparse::UdpHeader;
use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn etherparse_writes_the_same_bytes(
        source: [u8; 4],
        destination: [u8; 4],
        ports: (u16, u16),
        payload in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut datagram = vec![0; HEADER_LENGTH];
        datagram.extend(&payload);
        let length = datagram.len() as u32;
        let pseudo = checksum::pseudo_header(&source, &destination, PROTOCOL, length);
        prop_assert!(write(&mut datagram, ports.0, ports.1, pseudo));
        let expected = UdpHeader::with_ipv4_checksum(
            ports.0, ports.1,
            &etherparse::Ipv4Header { source, destination, ..Default::default() },
            &payload,
        )
        .expect("fits");
        prop_assert_eq!(&datagram[..8], &expected.to_bytes()[..]);
        prop_assert_eq!(&datagram[8..], &payload[..]);
    }
}

#[test]
fn short_datagrams_are_refused() {
    assert!(!write(&mut [0; 7], 1, 2, 0));
}
