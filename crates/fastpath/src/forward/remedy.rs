//! What to do when frames are not forwarded for a reason.

use super::Reason;

impl Reason {
    /// What to do when it grows; `None` where nothing is wrong, or only the sender could do it.
    pub const fn remedy(self) -> Option<&'static str> {
        Some(match self {
            Self::PortDisabled => "corelane show engine says why, under left_to_kernel",
            Self::Stale => "the log says since when; look whether the router is stopped or hung",
            Self::UnknownVlan => "ip link add link PORT name PORT.VID type vlan id VID",
            Self::Runt
            | Self::Ipv4Truncated
            | Self::Ipv4Version
            | Self::Ipv4HeaderLength
            | Self::Ipv4Checksum
            | Self::Ipv4TotalLength
            | Self::Ipv4Overrun
            | Self::Ipv6Truncated
            | Self::Ipv6Version
            | Self::Ipv6Overrun => "look for a broken sender or cable: ethtool -S PORT",
            Self::Ipv4TimeToLive | Self::Ipv6HopLimit => "when it grows fast, look for a loop",
            Self::PartialChecksum => "engine tc; or ethtool -K PEER tx off",
            Self::NoRoute | Self::Punt | Self::Blackhole | Self::Unreachable | Self::Prohibit => {
                "corelane show routes ADDRESS"
            }
            Self::Unresolved => {
                "when it stays, is the neighbour there? ip neigh show dev PORT; corelane explain ADDRESS"
            }
            Self::TooBig => "is the way out meant to take less? ip link show dev PORT",
            Self::EmptyGroup => "ip nexthop show: bring a member back",
            Self::NoRedirect => "on a veth: ethtool -K PEER gro on",
            Self::NoWorker => "the log says why the workers ended",
            Self::UnverifiedSource => "mend the way back, or set rp_filter of the port",
            Self::Hairpin => "for IPv4: send_redirects=0, of the port and of all",
            Self::PolicedRouting
            | Self::PolicedNeighbour
            | Self::PolicedLocal
            | Self::PolicedGroup
            | Self::PolicedExpired
            | Self::PolicedNoRoute
            | Self::PolicedUnresolved
            | Self::PolicedOptions
            | Self::PolicedTooBig => "look for who sends it; or raise the class in punt-limits",
            Self::NoHeadroom => "another engine, or a driver that leaves room for a tag",
            Self::TransmitFull => "the way out is the bottleneck",
            Self::EgressRefused => "corelane show ports says which device, under refused",
            Self::LinkGroup
            | Self::OtherStation
            | Self::OtherProtocol
            | Self::Ipv4SourceMartian
            | Self::Ipv4DestinationMartian
            | Self::Ipv4Group
            | Self::Ipv4Options
            | Self::Ipv6SourceMartian
            | Self::Ipv6DestinationMartian
            | Self::Ipv6Group
            | Self::Ipv6HopByHop
            | Self::Ipv6Discovery
            | Self::Segments
            | Self::Local
            | Self::UnknownPort => return None,
        })
    }
}
