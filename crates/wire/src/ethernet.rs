//! Ethernet II: addresses, type field, the fixed 14-byte header (IEEE 802.3 clause 3).

use std::fmt;
use std::str::FromStr;

/// Bytes of the header: destination, source, type.
pub const HEADER_LENGTH: usize = 14;
/// Bytes of the frame check sequence that follows every frame on the wire and is never in memory.
pub const FCS_LENGTH: usize = 4;
/// The least frame, without frame check sequence (IEEE 802.3 §3.2.8: 64 with it).
pub const MINIMUM_FRAME: usize = 60;
/// Type field of an IPv4 packet.
pub const TYPE_IPV4: u16 = 0x0800;
/// Type field that starts an 802.1Q tag.
pub const TYPE_VLAN: u16 = 0x8100;
/// Type field of an IPv6 packet.
pub const TYPE_IPV6: u16 = 0x86dd;

/// A 48-bit Ethernet address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// Whether the group bit is set: multicast or broadcast.
    #[inline]
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 != 0
    }

    /// The address in the low 48 bits of a number, first byte lowest: the form in which two
    /// addresses are compared with one instruction.
    #[inline]
    pub const fn as_bits(self) -> u64 {
        let mut bytes = [0; 8];
        bytes.split_at_mut(6).0.copy_from_slice(&self.0);
        u64::from_le_bytes(bytes)
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.map(|byte| format!("{byte:02x}")).join(":"))
    }
}

impl fmt::Debug for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What is wrong with a written address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAMacAddress(String);

impl fmt::Display for NotAMacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is not an Ethernet address; write six hexadecimal bytes, as in 02:00:00:00:00:01",
            self.0
        )
    }
}

impl std::error::Error for NotAMacAddress {}

impl FromStr for MacAddress {
    type Err = NotAMacAddress;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let byte = |part: &str| {
            let digits = part.bytes().all(|digit| digit.is_ascii_hexdigit());
            let byte = u8::from_str_radix(part, 16).ok();
            byte.filter(|_| digits && part.len() <= 2)
        };
        let bytes: Option<Vec<u8>> = text.split(':').map(byte).collect();
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes
            .map(Self)
            .ok_or_else(|| NotAMacAddress(text.to_owned()))
    }
}

/// The header of a frame.
pub type Header<'a> = crate::Header<'a, HEADER_LENGTH>;

impl Header<'_> {
    /// The station the frame is for.
    #[inline]
    pub fn destination(self) -> MacAddress {
        MacAddress(self.field(0))
    }

    /// The station the frame is from.
    #[inline]
    pub fn source(self) -> MacAddress {
        MacAddress(self.field(6))
    }

    /// The type field; below 0x0600 it is an 802.3 length instead.
    #[inline]
    pub fn ethertype(self) -> u16 {
        self.half(12)
    }
}

/// Writes a header over the first 14 bytes of `frame`; `false`, and nothing written, when it is
/// shorter.
#[inline]
#[must_use]
pub fn write(
    frame: &mut [u8],
    destination: MacAddress,
    source: MacAddress,
    ethertype: u16,
) -> bool {
    let Some(header) = frame.first_chunk_mut::<HEADER_LENGTH>() else {
        return false;
    };
    header[0..6].copy_from_slice(&destination.0);
    header[6..12].copy_from_slice(&source.0);
    header[12..14].copy_from_slice(&ethertype.to_be_bytes());
    true
}

#[cfg(test)]
#[path = "../tests/unit/ethernet.rs"]
mod tests;
