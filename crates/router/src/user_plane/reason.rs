//! Why a frame was not forwarded: exactly one reason each, so that the sums close:
//! *received = forwarded + every reason*.
//!
//! The name is the same in source, statistics, metrics and traces. A reason belongs to the [`Step`]
//! of the packet's way at which the frame left it.

use super::step::Step;

/// Who has the frame after a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Disposition {
    /// Nobody: it was dropped.
    Dropped,
    /// The kernel: it delivers, answers, fragments or drops it as it does without us.
    Kernel,
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $step:ident, $disposition:ident;)*) => {
        /// Why a frame was not forwarded.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Reason {
            $($(#[$doc])* $variant,)*
        }

        impl Reason {
            /// Every reason, in the order of the packet's way.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in statistics, metrics and traces.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The step at which the frame left the way.
            pub const fn step(self) -> Step {
                match self { $(Self::$variant => Step::$step,)* }
            }

            /// Who has the frame now.
            pub const fn disposition(self) -> Disposition {
                match self { $(Self::$variant => Disposition::$disposition,)* }
            }
        }
    };
}

reasons! {
    /// The port is switched off for forwarding.
    PortDisabled = "port-disabled", EthernetInput, Kernel;
    /// Shorter than an Ethernet header, or than the tag it announces.
    Runt = "runt", EthernetInput, Dropped;
    /// For a group or for everybody: ARP, neighbour discovery, routing protocols.
    LinkGroup = "link-group", EthernetInput, Kernel;
    /// For another station on the link.
    OtherStation = "other-station", EthernetInput, Kernel;
    /// Tagged for a VLAN that no table is attached to.
    UnknownVlan = "unknown-vlan", EthernetInput, Kernel;
    /// Neither IPv4 nor IPv6.
    OtherProtocol = "other-protocol", EthernetInput, Kernel;
    /// RFC 1812 §5.2.2 (1): fewer than 20 bytes.
    Ipv4Truncated = "ipv4-truncated", Ipv4Input, Dropped;
    /// RFC 1812 §5.2.2 (3): the version is not 4.
    Ipv4Version = "ipv4-version", Ipv4Input, Dropped;
    /// RFC 1812 §5.2.2 (4): the header length is impossible.
    Ipv4HeaderLength = "ipv4-header-length", Ipv4Input, Dropped;
    /// RFC 1812 §5.2.2 (2): the header checksum is wrong.
    Ipv4Checksum = "ipv4-checksum", Ipv4Input, Dropped;
    /// RFC 1812 §5.2.2 (5): the total length does not hold the header.
    Ipv4TotalLength = "ipv4-total-length", Ipv4Input, Dropped;
    /// RFC 1812 §5.2.2: the total length says more than the link delivered.
    Ipv4Overrun = "ipv4-overrun", Ipv4Input, Dropped;
    /// RFC 1812 §5.3.7: a source nobody can answer.
    Ipv4SourceMartian = "ipv4-source-martian", Ipv4Input, Dropped;
    /// RFC 1812 §5.3.7: a destination no router may forward to.
    Ipv4DestinationMartian = "ipv4-destination-martian", Ipv4Input, Dropped;
    /// Multicast or limited broadcast.
    Ipv4Group = "ipv4-group", Ipv4Input, Kernel;
    /// RFC 1812 §5.2.6: options.
    Ipv4Options = "ipv4-options", Ipv4Input, Kernel;
    /// RFC 1812 §5.3.1: the time to live is used up; the kernel answers "time exceeded".
    Ipv4TimeToLive = "ipv4-time-to-live", Ipv4Input, Kernel;
    /// RFC 8200 §3: fewer than 40 bytes.
    Ipv6Truncated = "ipv6-truncated", Ipv6Input, Dropped;
    /// RFC 8200 §3: the version is not 6.
    Ipv6Version = "ipv6-version", Ipv6Input, Dropped;
    /// RFC 8200 §3: the payload length says more than the link delivered.
    Ipv6Overrun = "ipv6-overrun", Ipv6Input, Dropped;
    /// RFC 4291: a source nobody can answer.
    Ipv6SourceMartian = "ipv6-source-martian", Ipv6Input, Dropped;
    /// RFC 4291: a destination that stays on its link or host.
    Ipv6DestinationMartian = "ipv6-destination-martian", Ipv6Input, Kernel;
    /// Multicast.
    Ipv6Group = "ipv6-group", Ipv6Input, Kernel;
    /// RFC 8200 §4.3: hop-by-hop options.
    Ipv6HopByHop = "ipv6-hop-by-hop", Ipv6Input, Kernel;
    /// RFC 8200 §3: the hop limit is used up; the kernel answers "time exceeded".
    Ipv6HopLimit = "ipv6-hop-limit", Ipv6Input, Kernel;
    /// No route to the destination; the kernel answers.
    NoRoute = "no-route", NextHop, Kernel;
    /// The route says: the kernel's (local delivery, a neighbour not yet resolved).
    Punt = "punt", NextHop, Kernel;
    /// The route says: drop silently.
    Blackhole = "blackhole", NextHop, Dropped;
    /// The route says: unreachable; the kernel answers.
    Unreachable = "unreachable", NextHop, Kernel;
    /// The route says: prohibited; the kernel answers.
    Prohibit = "prohibit", NextHop, Kernel;
    /// A group of next hops without a usable member.
    EmptyGroup = "empty-group", NextHop, Dropped;
    /// The next hop leaves by a port that this worker has not got.
    UnknownPort = "unknown-port", NextHop, Kernel;
    /// Longer than the egress takes; the kernel fragments or answers "too big".
    TooBig = "too-big", NextHop, Kernel;
    /// No room for a tag in front of the frame.
    NoHeadroom = "no-headroom", EthernetOutput, Dropped;
    /// The egress port took no more frames.
    TransmitFull = "transmit-full", Transmit, Dropped;
}

impl Reason {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// Whether the kernel has the frame.
    pub const fn is_punted(self) -> bool {
        matches!(self.disposition(), Disposition::Kernel)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_distinct_and_in_the_order_of_the_way() {
        let names: BTreeSet<_> = Reason::ALL.iter().map(|reason| reason.name()).collect();
        assert_eq!(names.len(), Reason::COUNT);
        assert!(
            Reason::ALL
                .windows(2)
                .all(|pair| pair[0].step() <= pair[1].step())
        );
        assert!(
            Reason::ALL
                .iter()
                .enumerate()
                .all(|(index, &reason)| reason as usize == index)
        );
    }
}
