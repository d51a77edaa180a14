//! What a reason is called by collectors of sFlow: the codes of the sFlow Dropped Packet Notification
//! Structures (`sflow.org/sflow_drops.txt`), of which 0 to 15 are those of ICMP "unreachable".

use super::Reason;

impl Reason {
    /// The code of a frame that is discarded for it, by us or at once by the kernel; `None` where
    /// the kernel may deliver, answer or forward it.
    pub const fn discard(self) -> Option<u16> {
        Some(match self {
            Self::NoRoute => 6,                               // dst_net_unknown
            Self::Unreachable => 1,                           // host_unreachable
            Self::Prohibit => 13,                             // comm_admin_prohibited
            Self::Ipv4TimeToLive | Self::Ipv6HopLimit => 257, // ttl_exceeded
            Self::PolicedRouting
            | Self::PolicedNeighbour
            | Self::PolicedLocal
            | Self::PolicedGroup
            | Self::PolicedExpired
            | Self::PolicedNoRoute
            | Self::PolicedUnresolved
            | Self::PolicedOptions
            | Self::PolicedTooBig => 261, // traffic_shaping
            Self::Blackhole => 269,                           // blackhole_route
            Self::Ipv4Truncated
            | Self::Ipv4Version
            | Self::Ipv4HeaderLength
            | Self::Ipv4Checksum
            | Self::Ipv4TotalLength
            | Self::Ipv4Overrun
            | Self::Ipv6Truncated
            | Self::Ipv6Version
            | Self::Ipv6Overrun => 275, // ip_header_corrupted
            Self::Runt => 284,                                // unknown_l2
            Self::EmptyGroup | Self::Ipv6SourceMartian => 285, // unknown_l3
            Self::Ipv4DestinationMartian | Self::Ipv6DestinationMartian => 281, // non_routable_packet
            Self::NoHeadroom => 287,                                            // unknown_buffer
            Self::TransmitFull | Self::EgressRefused => 259,                    // no_buffer_space
            Self::PortDisabled
            | Self::Stale
            | Self::LinkGroup
            | Self::OtherStation
            | Self::UnknownVlan
            | Self::OtherProtocol
            | Self::Ipv4SourceMartian
            | Self::Ipv4Group
            | Self::Ipv4Options
            | Self::Ipv6Group
            | Self::Ipv6HopByHop
            | Self::Ipv6Discovery
            | Self::PartialChecksum
            | Self::Segments
            | Self::Local
            | Self::Unresolved
            | Self::Punt
            | Self::UnknownPort
            | Self::NoRedirect
            | Self::NoWorker
            | Self::TooBig
            | Self::UnverifiedSource
            | Self::Hairpin => return None,
        })
    }
}
