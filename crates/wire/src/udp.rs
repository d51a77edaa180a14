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
#[path = "../tests/unit/udp.rs"]
mod tests;
