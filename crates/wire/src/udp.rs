//! UDP (RFC 768): the header, and the checksum over the pseudo-header.

use crate::checksum;

/// Bytes of the header.
pub const HEADER_LENGTH: usize = 8;
/// Protocol number of UDP in IPv4 and IPv6.
pub const PROTOCOL: u8 = 17;

/// A header of a datagram of `length` bytes, itself included; `sum` is that of the
/// [pseudo-header](checksum::pseudo_header) and of the payload. A checksum of zero is stored as
/// 0xffff (RFC 768).
pub fn header(
    length: u16,
    source_port: u16,
    destination_port: u16,
    sum: u64,
) -> [u8; HEADER_LENGTH] {
    let mut header = [0; HEADER_LENGTH];
    header[0..2].copy_from_slice(&source_port.to_be_bytes());
    header[2..4].copy_from_slice(&destination_port.to_be_bytes());
    header[4..6].copy_from_slice(&length.to_be_bytes());
    let sum = !checksum::fold(sum + checksum::sum(&header));
    let stored = if sum == 0 { 0xffff } else { sum };
    header[6..8].copy_from_slice(&stored.to_be_bytes());
    header
}

/// Writes a header with its length over the first eight bytes of `datagram` and computes the
/// checksum with the given [pseudo-header sum](checksum::pseudo_header). `false`, and nothing
/// written, when the datagram is shorter than a header or longer than the length field can say.
#[must_use]
pub fn write(
    datagram: &mut [u8],
    source_port: u16,
    destination_port: u16,
    pseudo_header: u64,
) -> bool {
    let Ok(length) = u16::try_from(datagram.len()) else {
        return false;
    };
    let Some((place, payload)) = datagram.split_first_chunk_mut::<HEADER_LENGTH>() else {
        return false;
    };
    let sum = pseudo_header + checksum::sum(payload);
    *place = header(length, source_port, destination_port, sum);
    true
}

#[cfg(test)]
mod tests {
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
}
