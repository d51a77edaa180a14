//! Why a frame was not forwarded: exactly one reason each, for all engines, so that the sums close:
//! *received = forwarded + every reason*.
//!
//! This is the one list. `bpf/reasons.h` has the same names in the same order with the same fates,
//! which a test compares; the workers in user space count by the numbers of this one. The name is
//! the same in source, statistics, metrics and traces. A reason belongs to the [`Step`] of the
//! packet's way at which the frame leaves it.
//!
//! Dropped are frames that no host may see again, those that a route says to lose, those above a limit,
//! and those for which the way out has no room. All others are the kernel's: it delivers, answers,
//! fragments, counts or drops them as it would without us.

use super::Step;

macro_rules! reasons {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal, $step:ident, $fate:ident;)*) => {
        /// Why a frame was not forwarded.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Reason {
            $($(#[doc = $doc])* $variant,)*
        }

        impl Reason {
            /// Every reason, in the order of the packet's way.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in statistics, metrics and traces.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it says, with its source.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc,)*),)* }
            }

            /// The step at which the frame left the way.
            pub const fn step(self) -> Step {
                match self { $(Self::$variant => Step::$step,)* }
            }

            /// Whether the kernel has the frame; otherwise it was dropped.
            pub const fn is_punted(self) -> bool {
                match self { $(Self::$variant => reasons!($fate),)* }
            }
        }
    };
    (Kernel) => { true };
    (Dropped) => { false };
}

reasons! {
    /// The port is switched off for forwarding.
    PortDisabled = "port-disabled", EthernetInput, Kernel;
    /// Nobody vouches for the routes any more.
    Stale = "stale", EthernetInput, Kernel;
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
    /// RFC 1812 §5.3.7: a source nobody can answer; the kernel counts it and can log it, and
    /// forwards from 169.254/16.
    Ipv4SourceMartian = "ipv4-source-martian", Ipv4Input, Kernel;
    /// RFC 1812 §5.3.7: a destination no router may forward to; the kernel counts it.
    Ipv4DestinationMartian = "ipv4-destination-martian", Ipv4Input, Kernel;
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
    /// RFC 4291: a source nobody can answer; the kernel counts it, or says that it is beyond the
    /// source's scope.
    Ipv6SourceMartian = "ipv6-source-martian", Ipv6Input, Kernel;
    /// RFC 4291: a destination that stays on its link or host.
    Ipv6DestinationMartian = "ipv6-destination-martian", Ipv6Input, Kernel;
    /// Multicast.
    Ipv6Group = "ipv6-group", Ipv6Input, Kernel;
    /// RFC 8200 §4.3: hop-by-hop options.
    Ipv6HopByHop = "ipv6-hop-by-hop", Ipv6Input, Kernel;
    /// RFC 8200 §3: the hop limit is used up; the kernel answers "time exceeded".
    Ipv6HopLimit = "ipv6-hop-limit", Ipv6Input, Kernel;
    /// RFC 4861: neighbour discovery beyond its link, which the kernel answers for neighbours that
    /// it stands in for.
    Ipv6Discovery = "ipv6-discovery", Ipv6Input, Kernel;
    /// RFC 1071 in part: the sum of the transport header is still to be completed.
    PartialChecksum = "partial-checksum", NextHop, Kernel;
    /// Segments in one frame whose size only the kernel can say: tunnels, BIG TCP (program at tc).
    Segments = "segments", NextHop, Kernel;
    /// No route to the destination; the kernel answers.
    NoRoute = "no-route", NextHop, Kernel;
    /// An address of this machine.
    Local = "local", NextHop, Kernel;
    /// A neighbour whose Ethernet address is not known (yet); the kernel asks for it.
    Unresolved = "unresolved", NextHop, Kernel;
    /// The route says: the kernel's to forward.
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
    /// The egress takes no redirected frames.
    NoRedirect = "no-redirect", NextHop, Kernel;
    /// No worker behind the queue, or not any more.
    NoWorker = "no-worker", NextHop, Kernel;
    /// Longer than the egress takes; the kernel fragments or answers "too big".
    TooBig = "too-big", NextHop, Kernel;
    /// RFC 3704: the source is an address of our own, or its way is not this one (`rp_filter`).
    UnverifiedSource = "unverified-source", NextHop, Kernel;
    /// The way out is the way in; the kernel may tell the sender of a better one (RFC 792, RFC 4861
    /// §8).
    Hairpin = "hairpin", NextHop, Kernel;
    /// Above a limit of `punt-limits`: routing protocols for this machine.
    PolicedRouting = "policed-routing", NextHop, Dropped;
    /// Above a limit: ARP and neighbour discovery.
    PolicedNeighbour = "policed-neighbour", NextHop, Dropped;
    /// Above a limit: anything else for an address of this machine.
    PolicedLocal = "policed-local", NextHop, Dropped;
    /// Above a limit: broadcast, and multicast that stays on its link.
    PolicedGroup = "policed-group", NextHop, Dropped;
    /// Above a limit: time to live or hop limit used up.
    PolicedExpired = "policed-expired", NextHop, Dropped;
    /// Above a limit: no route, or one that says so.
    PolicedNoRoute = "policed-no-route", NextHop, Dropped;
    /// Above a limit: neighbours whose Ethernet address is not known.
    PolicedUnresolved = "policed-unresolved", NextHop, Dropped;
    /// Above a limit: IPv4 options, IPv6 hop-by-hop options.
    PolicedOptions = "policed-options", NextHop, Dropped;
    /// Above a limit: too big, and not to be fragmented.
    PolicedTooBig = "policed-too-big", NextHop, Dropped;
    /// No room for a tag in front of the frame.
    NoHeadroom = "no-headroom", EthernetOutput, Dropped;
    /// The egress port took no more frames of a worker's.
    TransmitFull = "transmit-full", Transmit, Dropped;
    /// The egress device did not take the frame that the program had redirected to it.
    EgressRefused = "egress-refused", Transmit, Dropped;
}

impl Reason {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// Can a program show a frame that is left for it ([`super::capture`])? Not when that is found
    /// out behind the program.
    pub const fn is_shown(self) -> bool {
        !matches!(self, Self::EgressRefused | Self::TransmitFull)
    }

    /// Is it found out by or behind the look-up of the destination?
    pub fn is_looked_up(self) -> bool {
        self >= Self::NoRoute
    }
}
