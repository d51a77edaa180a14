//! The Internet checksum (RFC 1071) and its incremental update (RFC 1624).
//!
//! All functions take and return the 16-bit words as numbers in host order, read from the frame as
//! big endian; the ones' complement sum does not care which order is used as long as it is one.

/// Folds a sum of 16-bit words into 16 bits with end-around carries (RFC 1071 §2).
#[inline]
pub const fn fold(sum: u64) -> u16 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + ((sum >> 16) & 0xffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    sum as u16
}

/// The unfolded ones' complement sum of `bytes` taken as big-endian 16-bit words; an odd last byte
/// is padded with zero (RFC 1071 §1).
#[inline]
pub fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<2>();
    let mut sum: u64 = words
        .iter()
        .map(|&word| u64::from(u16::from_be_bytes(word)))
        .sum();
    if let [last] = rest {
        sum += u64::from(*last) << 8;
    }
    sum
}

/// The checksum to store for `bytes` whose checksum field holds zero.
#[inline]
pub fn of(bytes: &[u8]) -> u16 {
    !fold(sum(bytes))
}

/// The checksum after one 16-bit word of the covered data changed from `old` to `new`
/// (RFC 1624, equation 3: `HC' = ~(~HC + ~m + m')`).
///
/// Equation 3 and not RFC 1141's shorter form, because that one yields 0xffff where the full
/// computation yields 0x0000 (RFC 1624 §3).
#[inline]
pub const fn update(checksum: u16, old: u16, new: u16) -> u16 {
    let sum = (!checksum) as u64 + (!old) as u64 + new as u64;
    !fold(sum)
}

/// The sum of the pseudo-header that UDP, TCP and `ICMPv6` include, unfolded: addresses, protocol
/// and length of the upper-layer packet (RFC 768, RFC 9293 §3.1, RFC 8200 §8.1).
#[inline]
pub fn pseudo_header(source: &[u8], destination: &[u8], protocol: u8, length: u32) -> u64 {
    sum(source)
        + sum(destination)
        + u64::from(protocol)
        + u64::from(length >> 16)
        + u64::from(length & 0xffff)
}
