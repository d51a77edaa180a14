//! IPv6 input: the header checks of RFC 8200 and the addresses that RFC 4291 keeps at home.

use fastpath::forward::Reason;
use port::{Frame, Pool};
use wire::ethernet::{HEADER_LENGTH as LINK, MINIMUM_FRAME};
use wire::ipv6::{self, Fault};

/// The destination address, or why the packet is not forwarded. Link padding is cut off.
#[inline]
pub(super) fn step(pool: &mut Pool, frame: &mut Frame) -> Result<u128, Reason> {
    let packet = pool.bytes(frame).get(LINK..).unwrap_or_default();
    let length = usize::from(frame.length()).saturating_sub(LINK);
    let header = ipv6::check_start(packet, length).map_err(reason)?;
    let end =
        (LINK + ipv6::HEADER_LENGTH + usize::from(header.payload_length())).max(MINIMUM_FRAME);
    let destination = header.destination();
    // A length beyond 65535 was an overrun: the frame is not that long.
    pool.truncate(frame, end as u16);
    Ok(destination)
}

fn reason(fault: Fault) -> Reason {
    match fault {
        Fault::Truncated => Reason::Ipv6Truncated,
        Fault::Version => Reason::Ipv6Version,
        Fault::Overrun => Reason::Ipv6Overrun,
        Fault::SourceMartian => Reason::Ipv6SourceMartian,
        Fault::DestinationMartian => Reason::Ipv6DestinationMartian,
        Fault::Group => Reason::Ipv6Group,
        Fault::HopByHop => Reason::Ipv6HopByHop,
        Fault::HopLimit => Reason::Ipv6HopLimit,
    }
}
