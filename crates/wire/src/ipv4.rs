//! IPv4 (RFC 791) as a router must treat it (RFC 1812): the checks of the header in §5.2.2, the
//! martian addresses of §5.3.7, time to live and checksum of §5.3.1.
//!
//! [`check`] names the first thing that is wrong. [`is_plain`] answers the same question with one
//! word and nearly no branches, for a burst in which almost every header is right: it is true
//! exactly when `check` finds nothing.

// Bits instead of branches on purpose: a burst of right headers must not mispredict.
#![allow(clippy::needless_bitwise_bool)]

use crate::checksum;

/// Bytes of a header without options.
pub const HEADER_LENGTH: usize = 20;

/// Why a router does not simply forward a packet, in the order in which the checks are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// RFC 1812 §5.2.2 (1): fewer than 20 bytes came from the link.
    Truncated,
    /// RFC 1812 §5.2.2 (3): the version is not 4.
    Version,
    /// RFC 1812 §5.2.2 (4): the header length is below five words or beyond the packet.
    HeaderLength,
    /// RFC 1812 §5.2.2 (2): the header checksum is wrong.
    Checksum,
    /// RFC 1812 §5.2.2 (5): the total length does not even hold the header.
    TotalLength,
    /// RFC 1812 §5.2.2: the total length says more than came from the link.
    Overrun,
    /// RFC 1812 §5.3.7, RFC 1122 §3.2.1.3: a source nobody can answer: 0/8, 127/8, 224/4, 240/4, or
    /// the link-local 169.254/16 (RFC 3927 §7).
    SourceMartian,
    /// RFC 1812 §5.3.7: a destination no router may forward to: 0/8, 127/8, 240/4, 169.254/16.
    DestinationMartian,
    /// The destination is a group or everybody (224/4, 255.255.255.255): not unicast forwarding.
    Group,
    /// RFC 1812 §5.2.6: options want a slower look.
    Options,
    /// RFC 1812 §5.3.1: the time to live is used up.
    TimeToLive,
}

/// The first 20 bytes of a packet.
pub type Header<'a> = crate::Header<'a, HEADER_LENGTH>;

impl Header<'_> {
    /// 4 in a right header.
    #[inline]
    pub fn version(self) -> u8 {
        self.0[0] >> 4
    }

    /// Bytes of header and options as stated: 20 to 60 in a right header.
    #[inline]
    pub fn header_length(self) -> usize {
        usize::from(self.0[0] & 0x0f) * 4
    }

    /// Bytes of header, options and payload as stated.
    #[inline]
    pub fn total_length(self) -> u16 {
        self.half(2)
    }

    /// Whether this is a fragment of a datagram, the first, a later or the last one.
    #[inline]
    pub fn is_fragment(self) -> bool {
        self.half(6) & 0x3fff != 0
    }

    /// Hops left, in the sender's eyes.
    #[inline]
    pub fn time_to_live(self) -> u8 {
        self.0[8]
    }

    /// The protocol of the payload.
    #[inline]
    pub fn protocol(self) -> u8 {
        self.0[9]
    }

    /// The checksum field.
    #[inline]
    pub fn checksum(self) -> u16 {
        self.half(10)
    }

    /// Source address in host order.
    #[inline]
    pub fn source(self) -> u32 {
        self.word(12)
    }

    /// Destination address in host order.
    #[inline]
    pub fn destination(self) -> u32 {
        self.word(16)
    }
}

const LINK_LOCAL: u32 = 0xa9fe;

/// Whether no packet with this source may be forwarded (RFC 1812 §5.3.7; RFC 3927 §7 for
/// 169.254/16).
#[inline]
pub const fn source_is_martian(address: u32) -> bool {
    let first = address >> 24;
    // One comparison for 0/8 and for 224/4 and above: the subtraction wraps for zero.
    (first.wrapping_sub(1) >= 223) | (first == 127) | (address >> 16 == LINK_LOCAL)
}

/// Whether no packet to this destination may be forwarded (RFC 1812 §5.3.7; RFC 3927 §7).
#[inline]
pub const fn destination_is_martian(address: u32) -> bool {
    let first = address >> 24;
    (first == 0)
        | (first == 127)
        | ((first >= 240) & (address != u32::MAX))
        | (address >> 16 == LINK_LOCAL)
}

/// Whether this destination is a group (RFC 1112 §4) or the limited broadcast (RFC 919 §7).
#[inline]
pub const fn destination_is_group(address: u32) -> bool {
    (address >> 28 == 0xe) | (address == u32::MAX)
}

/// The header of a packet that a router may forward, or the first thing against it.
///
/// `packet` is what the link delivered behind its own header, padding included.
///
/// # Errors
/// The first [`Fault`] in the order of the enum.
pub fn check(packet: &[u8]) -> Result<Header<'_>, Fault> {
    check_start(packet, packet.len())
}

/// The same of what the link delivered `length` bytes of, if `packet` is where it starts, with the
/// whole header.
///
/// # Errors
/// As [`check`].
pub fn check_start(packet: &[u8], length: usize) -> Result<Header<'_>, Fault> {
    let (header, _) = Header::split(packet).ok_or(Fault::Truncated)?;
    if header.version() != 4 {
        return Err(Fault::Version);
    }
    let header_length = header.header_length();
    if header_length < HEADER_LENGTH || header_length > packet.len() {
        return Err(Fault::HeaderLength);
    }
    if checksum::fold(checksum::sum(&packet[..header_length])) != 0xffff {
        return Err(Fault::Checksum);
    }
    let total_length = usize::from(header.total_length());
    if total_length < header_length {
        return Err(Fault::TotalLength);
    }
    if total_length > length {
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
    if header_length != HEADER_LENGTH {
        return Err(Fault::Options);
    }
    if header.time_to_live() <= 1 {
        return Err(Fault::TimeToLive);
    }
    Ok(header)
}

/// Whether [`check`] would find nothing in a packet of `available` bytes that begins with `header`.
#[inline]
pub fn is_plain(header: &[u8; HEADER_LENGTH], available: usize) -> bool {
    let view = crate::Header(header);
    let total_length = usize::from(view.total_length());
    (header[0] == 0x45)
        & (total_length >= HEADER_LENGTH)
        & (total_length <= available)
        & (view.time_to_live() > 1)
        & checksum_is_right(header)
        & is_ordinary_unicast(view.source())
        & is_ordinary_unicast(view.destination())
}

/// Neither martian nor a group: for a source and for a destination the same addresses.
#[inline]
const fn is_ordinary_unicast(address: u32) -> bool {
    // One comparison for 0/8 and for 224/4 and above: the subtraction wraps for zero.
    (address.wrapping_sub(1 << 24) < 223 << 24)
        & (address >> 24 != 127)
        & (address >> 16 != LINK_LOCAL)
}

/// Whether the sum over a header without options comes out right.
///
/// Words are added 64 bits at a time and in the machine's order of bytes: the ones' complement sum
/// is indifferent to both (RFC 1071 §2). Adding a number to itself with its halves exchanged leaves
/// the sum of the halves, end-around carry included, in the upper half.
#[inline]
fn checksum_is_right(header: &[u8; HEADER_LENGTH]) -> bool {
    let (halves, _) = header.as_chunks::<4>();
    let word = |at: usize| u64::from(u32::from_ne_bytes(halves[at]));
    let (sum, carry) = (word(0) | word(1) << 32).overflowing_add(word(2) | word(3) << 32);
    // Five words and a carry: the carry of the first addition cannot make the second one wrap
    // twice.
    let (sum, second) = sum.overflowing_add(word(4) + u64::from(carry));
    let sum = sum + u64::from(second);
    let sum = (sum.wrapping_add(sum.rotate_left(32)) >> 32) as u32;
    sum.wrapping_add(sum.rotate_left(16)) >> 16 == 0xffff
}

/// Takes one hop off the time to live and brings the checksum in line (RFC 1812 §5.3.1, RFC 1624).
///
/// The caller has checked the header: a time to live of zero would wrap.
#[inline]
pub fn decrement_time_to_live(header: &mut [u8; HEADER_LENGTH]) {
    // The word loses 0x0100, so `~m + m'` of RFC 1624 is 0xfeff whatever the protocol beside it.
    let sum = u32::from(!u16::from_be_bytes([header[10], header[11]])) + 0xfeff;
    let sum = !(((sum & 0xffff) + (sum >> 16)) as u16);
    header[8] = header[8].wrapping_sub(1);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// What [`write()`] puts into a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Source address in host order.
    pub source: u32,
    /// Destination address in host order.
    pub destination: u32,
    /// Protocol of the payload.
    pub protocol: u8,
    /// Hops that the packet may take.
    pub time_to_live: u8,
    /// Bytes of header and payload.
    pub total_length: u16,
}

/// A header without options, checksum included; don't-fragment is set, the identification is zero
/// (RFC 6864 §4.1).
pub fn write(fields: &Fields) -> [u8; HEADER_LENGTH] {
    let mut header = [0; HEADER_LENGTH];
    header[0] = 0x45;
    header[2..4].copy_from_slice(&fields.total_length.to_be_bytes());
    header[6] = 0x40;
    header[8] = fields.time_to_live;
    header[9] = fields.protocol;
    header[12..16].copy_from_slice(&fields.source.to_be_bytes());
    header[16..20].copy_from_slice(&fields.destination.to_be_bytes());
    let sum = checksum::of(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    header
}
