//! IPv4 input: the header checks of RFC 1812 §5.2.2 and the martians of §5.3.7.

// Bits instead of branches on purpose: a burst of right headers must not mispredict.
#![allow(clippy::needless_bitwise_bool)]

use fastpath::forward::Reason;
use port::pool::LINE;
use port::{Frame, Pool};
use wire::ethernet::{HEADER_LENGTH as LINK, MINIMUM_FRAME};
use wire::ipv4::{self, Fault};

/// Where the destination address is in a line.
const DESTINATION: usize = LINK + 16;
/// Where the total length is in a line.
const TOTAL_LENGTH: usize = LINK + 2;

/// The destination address behind an untagged Ethernet header.
#[inline]
pub(super) fn destination(line: &[u8; LINE]) -> u32 {
    let mut address = [0; 4];
    address.copy_from_slice(&line[DESTINATION..DESTINATION + 4]);
    u32::from_be_bytes(address)
}

/// Whether the packet passes every check and its frame ends where the packet does, or is as short
/// as Ethernet allows: the ordinary case, answered without branches.
#[inline]
pub(super) fn is_plain(line: &[u8; LINE], length: u16) -> bool {
    let length = usize::from(length);
    let Some(header) = line[LINK..].first_chunk() else {
        return false;
    };
    let total_length = usize::from(u16::from_be_bytes([
        line[TOTAL_LENGTH],
        line[TOTAL_LENGTH + 1],
    ]));
    // For a frame too short for the headers the other terms mean nothing, and the first says no.
    (length >= LINK + ipv4::HEADER_LENGTH)
        & ((length == LINK + total_length) | (length <= MINIMUM_FRAME))
        & ipv4::is_plain(header, length.wrapping_sub(LINK))
}

/// The destination address, or why the packet is not forwarded. Link padding is cut off.
pub(super) fn step(pool: &mut Pool, frame: &mut Frame) -> Result<u32, Reason> {
    let packet = pool.bytes(frame).get(LINK..).unwrap_or_default();
    let length = usize::from(frame.length()).saturating_sub(LINK);
    let header = ipv4::check_start(packet, length).map_err(reason)?;
    let end = (LINK + usize::from(header.total_length())).max(MINIMUM_FRAME);
    let destination = header.destination();
    pool.truncate(frame, end as u16);
    Ok(destination)
}

fn reason(fault: Fault) -> Reason {
    match fault {
        Fault::Truncated => Reason::Ipv4Truncated,
        Fault::Version => Reason::Ipv4Version,
        Fault::HeaderLength => Reason::Ipv4HeaderLength,
        Fault::Checksum => Reason::Ipv4Checksum,
        Fault::TotalLength => Reason::Ipv4TotalLength,
        Fault::Overrun => Reason::Ipv4Overrun,
        Fault::SourceMartian => Reason::Ipv4SourceMartian,
        Fault::DestinationMartian => Reason::Ipv4DestinationMartian,
        Fault::Group => Reason::Ipv4Group,
        Fault::Options => Reason::Ipv4Options,
        Fault::TimeToLive => Reason::Ipv4TimeToLive,
    }
}
