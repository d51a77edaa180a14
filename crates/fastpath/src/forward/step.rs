//! The steps of a packet's way. In the router's user plane each has a file of its name, and a row
//! of its name in the statistics.

/// One step of the packet's way, in the order in which a frame takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Step {
    /// A burst comes from a port.
    Receive,
    /// Station, tag and protocol.
    EthernetInput,
    /// Header checks of IPv4.
    Ipv4Input,
    /// Header checks of IPv6.
    Ipv6Input,
    /// The tables answer with next hops.
    Lookup,
    /// What the next hop says: group members, exceptions, the egress.
    NextHop,
    /// One hop less, for IPv4.
    Ipv4Forward,
    /// One hop less, for IPv6.
    Ipv6Forward,
    /// The new Ethernet header.
    EthernetOutput,
    /// Bursts go to ports.
    Transmit,
}

impl Step {
    /// Every step.
    pub const ALL: &'static [Self] = &[
        Self::Receive,
        Self::EthernetInput,
        Self::Ipv4Input,
        Self::Ipv6Input,
        Self::Lookup,
        Self::NextHop,
        Self::Ipv4Forward,
        Self::Ipv6Forward,
        Self::EthernetOutput,
        Self::Transmit,
    ];

    /// The name of its file and of its row.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Receive => "receive",
            Self::EthernetInput => "ethernet-input",
            Self::Ipv4Input => "ipv4-input",
            Self::Ipv6Input => "ipv6-input",
            Self::Lookup => "lookup",
            Self::NextHop => "next-hop",
            Self::Ipv4Forward => "ipv4-forward",
            Self::Ipv6Forward => "ipv6-forward",
            Self::EthernetOutput => "ethernet-output",
            Self::Transmit => "transmit",
        }
    }
}
