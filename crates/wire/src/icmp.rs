//! ICMP for IPv4 (RFC 792) and IPv6 (RFC 4443): the eight bytes that every message begins with.

use crate::checksum;

/// Bytes of type, code, checksum and the word that depends on the type.
pub const HEADER_LENGTH: usize = 8;
/// Protocol number of ICMP in IPv4.
pub const PROTOCOL_V4: u8 = 1;
/// Next-header number of `ICMPv6`.
pub const PROTOCOL_V6: u8 = 58;

/// The beginning of a message.
#[derive(Clone, Copy, Debug)]
pub struct Header<'a>(&'a [u8; HEADER_LENGTH]);

impl<'a> Header<'a> {
    /// The beginning and what follows it; `None` when there are fewer than eight bytes.
    #[inline]
    pub fn split(packet: &'a [u8]) -> Option<(Self, &'a [u8])> {
        packet
            .split_first_chunk()
            .map(|(header, rest)| (Self(header), rest))
    }

    /// The type of the message: its meaning depends on the family.
    #[inline]
    pub fn message_type(self) -> u8 {
        self.0[0]
    }

    /// The code within the type.
    #[inline]
    pub fn code(self) -> u8 {
        self.0[1]
    }

    /// The checksum field.
    #[inline]
    pub fn checksum(self) -> u16 {
        u16::from_be_bytes([self.0[2], self.0[3]])
    }
}

/// Writes type, code and the dependent word, then the checksum over `message` and, for IPv6, the
/// given [pseudo-header sum](checksum::pseudo_header) (0 for IPv4). `false`, and nothing written,
/// when the message is shorter than eight bytes.
#[must_use]
pub fn write(
    message: &mut [u8],
    message_type: u8,
    code: u8,
    word: [u8; 4],
    pseudo_header: u64,
) -> bool {
    let Some(header) = message.first_chunk_mut::<HEADER_LENGTH>() else {
        return false;
    };
    *header = [message_type, code, 0, 0, word[0], word[1], word[2], word[3]];
    let sum = !checksum::fold(pseudo_header + checksum::sum(message));
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    true
}

#[cfg(test)]
mod tests {
    use etherparse::{IcmpEchoHeader, Icmpv4Header, Icmpv4Type, Icmpv6Header, Icmpv6Type};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn etherparse_writes_the_same_echo(
            source: [u8; 16],
            destination: [u8; 16],
            id: u16,
            seq: u16,
            payload in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            let [a, b] = id.to_be_bytes();
            let [c, d] = seq.to_be_bytes();
            let echo = IcmpEchoHeader { id, seq };
            let mut message = vec![0; HEADER_LENGTH];
            message.extend(&payload);
            prop_assert!(write(&mut message, 8, 0, [a, b, c, d], 0));
            let expected = Icmpv4Header::with_checksum(Icmpv4Type::EchoRequest(echo), &payload);
            prop_assert_eq!(&message[..8], &expected.to_bytes()[..]);

            let pseudo =
                checksum::pseudo_header(&source, &destination, PROTOCOL_V6, message.len() as u32);
            prop_assert!(write(&mut message, 128, 0, [a, b, c, d], pseudo));
            let expected = Icmpv6Header::with_checksum(
                Icmpv6Type::EchoRequest(echo),
                source,
                destination,
                &payload,
            )
            .expect("fits");
            prop_assert_eq!(&message[..8], &expected.to_bytes()[..]);
            let (header, _) = Header::split(&message).expect("eight bytes");
            prop_assert_eq!(
                (header.message_type(), header.code(), header.checksum()),
                (128, 0, expected.checksum)
            );
        }
    }

    #[test]
    fn short_messages_are_refused() {
        assert!(!write(&mut [0; 7], 8, 0, [0; 4], 0));
        assert!(Header::split(&[0; 7]).is_none());
    }
}
