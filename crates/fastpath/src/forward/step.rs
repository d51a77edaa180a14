//! The steps of a packet's way. In the router's user plane each has a file of its name, and a row
//! of its name in the statistics.

macro_rules! steps {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// One step of the packet's way, in the order in which a frame takes them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Step {
            $($(#[$doc])* $variant,)*
        }

        impl Step {
            /// Every step.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name of its file and of its row.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

steps! {
    /// A burst comes from a port.
    Receive = "receive",
    /// Station, tag and protocol.
    EthernetInput = "ethernet-input",
    /// Header checks of IPv4.
    Ipv4Input = "ipv4-input",
    /// Header checks of IPv6.
    Ipv6Input = "ipv6-input",
    /// The tables answer with next hops.
    Lookup = "lookup",
    /// What the next hop says: group members, exceptions, the egress.
    NextHop = "next-hop",
    /// One hop less, for IPv4.
    Ipv4Forward = "ipv4-forward",
    /// One hop less, for IPv6.
    Ipv6Forward = "ipv6-forward",
    /// The new Ethernet header.
    EthernetOutput = "ethernet-output",
    /// Bursts go to ports.
    Transmit = "transmit",
}
