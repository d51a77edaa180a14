//! IPv6 (RFC 8200) as a router must treat it: version, lengths, hop limit, and the addresses that
//! RFC 4291 keeps on their link or on their host.
//!
//! [`check`] names the first thing that is wrong.

// Bits instead of branches on purpose: a burst of right headers must not mispredict.
#![allow(clippy::needless_bitwise_bool)]

/// Bytes of the fixed header.
pub const HEADER_LENGTH: usize = 40;
/// Next-header number of hop-by-hop options (RFC 8200 §4.3).
pub const HOP_BY_HOP: u8 = 0;

/// Why a router does not simply forward a packet, in the order in which the checks are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Fewer than 40 bytes came from the link (RFC 8200 §3).
    Truncated,
    /// The version is not 6 (RFC 8200 §3).
    Version,
    /// The payload length says more than came from the link (RFC 8200 §3).
    Overrun,
    /// A source nobody can answer: unspecified, loopback, a group, link-local (RFC 4291 §2.5.2,
    /// §2.5.3, §2.7, §2.5.6), or an IPv4 address in disguise (`::ffff:0:0/96`, §2.5.5.2).
    SourceMartian,
    /// A destination no router may forward to: unspecified, loopback, link-local, IPv4 in disguise.
    DestinationMartian,
    /// The destination is a group (RFC 4291 §2.7): not unicast forwarding.
    Group,
    /// Hop-by-hop options want a slower look (RFC 8200 §4.3).
    HopByHop,
    /// The hop limit is used up (RFC 8200 §3).
    HopLimit,
}

/// The fixed header of a packet.
pub type Header<'a> = crate::Header<'a, HEADER_LENGTH>;

impl Header<'_> {
    /// 6 in a right header.
    #[inline]
    pub fn version(self) -> u8 {
        self.0[0] >> 4
    }

    /// Bytes behind the fixed header as stated.
    #[inline]
    pub fn payload_length(self) -> u16 {
        self.half(4)
    }

    /// What follows the fixed header.
    #[inline]
    pub fn next_header(self) -> u8 {
        self.0[6]
    }

    /// Hops left.
    #[inline]
    pub fn hop_limit(self) -> u8 {
        self.0[7]
    }

    /// Source address in host order.
    #[inline]
    pub fn source(self) -> u128 {
        u128::from_be_bytes(self.field(8))
    }

    /// Destination address in host order.
    #[inline]
    pub fn destination(self) -> u128 {
        u128::from_be_bytes(self.field(24))
    }
}

/// Unspecified or loopback, link-local, or IPv4 in disguise: never beyond its host or link.
#[inline]
const fn stays_here(address: u128) -> bool {
    let high = (address >> 64) as u64;
    let low = address as u64;
    ((high == 0) & ((low <= 1) | (low >> 32 == 0xffff))) | (high >> 54 == 0xfe80 >> 6)
}

/// Whether no packet with this source may be forwarded (RFC 4291).
#[inline]
pub const fn source_is_martian(address: u128) -> bool {
    stays_here(address) | destination_is_group(address)
}

/// Whether no packet to this destination may be forwarded (RFC 4291).
#[inline]
pub const fn destination_is_martian(address: u128) -> bool {
    stays_here(address)
}

/// Whether this destination is a group: `ff00::/8` (RFC 4291 §2.7).
#[inline]
pub const fn destination_is_group(address: u128) -> bool {
    address >> 120 == 0xff
}

/// The header of a packet that a router may forward, or the first thing against it.
///
/// `packet` is what the link delivered behind its own header, padding included.
///
/// # Errors
/// The first [`Fault`] in the order of the enum.
#[inline]
pub fn check(packet: &[u8]) -> Result<Header<'_>, Fault> {
    check_start(packet, packet.len())
}

/// The same of what the link delivered `length` bytes of, if `packet` is where it starts, with the
/// whole header.
///
/// # Errors
/// As [`check`].
#[inline]
pub fn check_start(packet: &[u8], length: usize) -> Result<Header<'_>, Fault> {
    let (header, _) = Header::split(packet).ok_or(Fault::Truncated)?;
    if header.version() != 6 {
        return Err(Fault::Version);
    }
    if HEADER_LENGTH + usize::from(header.payload_length()) > length {
        return Err(Fault::Overrun);
    }
    if source_is_martian(header.source()) {
        return Err(Fault::SourceMartian);
    }
    if destination_is_martian(header.destination()) {
        return Err(Fault::DestinationMartian);
    }
    if destination_is_group(header.destination()) {
        return Err(Fault::Group);
    }
    if header.next_header() == HOP_BY_HOP {
        return Err(Fault::HopByHop);
    }
    if header.hop_limit() <= 1 {
        return Err(Fault::HopLimit);
    }
    Ok(header)
}

/// Takes one hop off the limit (RFC 8200 §3). The caller has checked the header: zero would wrap.
#[inline]
pub fn decrement_hop_limit(header: &mut [u8; HEADER_LENGTH]) {
    header[7] = header[7].wrapping_sub(1);
}

/// What [`write()`] puts into a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Source address in host order.
    pub source: u128,
    /// Destination address in host order.
    pub destination: u128,
    /// What follows the header.
    pub next_header: u8,
    /// Hops that the packet may take.
    pub hop_limit: u8,
    /// Bytes behind the header.
    pub payload_length: u16,
}

/// A fixed header; traffic class and flow label are zero.
pub fn write(fields: &Fields) -> [u8; HEADER_LENGTH] {
    let mut header = [0; HEADER_LENGTH];
    header[0] = 0x60;
    header[4..6].copy_from_slice(&fields.payload_length.to_be_bytes());
    header[6] = fields.next_header;
    header[7] = fields.hop_limit;
    header[8..24].copy_from_slice(&fields.source.to_be_bytes());
    header[24..40].copy_from_slice(&fields.destination.to_be_bytes());
    header
}
