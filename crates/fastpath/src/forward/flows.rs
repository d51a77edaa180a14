//! What makes a flow: which fields of a packet decide by which member of a group it goes on.
//!
//! It is a setting of the kernel's, `fib_multipath_hash_policy` and `fib_multipath_hash_fields`
//! (Documentation/networking/ip-sysctl.rst). `bpf/flow.h` reads it.

/// Fields of one family: bits `FLOW_…` of `bpf/flow.h`, of which the lower six are the kernel's
/// (`FIB_MULTIPATH_HASH_FIELD_…`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowFields(u16);

impl FlowFields {
    /// Source address.
    pub const SOURCE: Self = Self(1);
    /// Destination address.
    pub const DESTINATION: Self = Self(2);
    /// Protocol: of IPv6 the last header's, or with [`FlowFields::QUOTED`] the first's.
    pub const PROTOCOL: Self = Self(4);
    /// Flow label of IPv6.
    pub const LABEL: Self = Self(8);
    /// Source port.
    pub const SOURCE_PORT: Self = Self(16);
    /// Destination port.
    pub const DESTINATION_PORT: Self = Self(32);
    /// An ICMP error goes with the packet that it quotes.
    pub const QUOTED: Self = Self(64);
    /// What we cannot read decides, such as headers inside a tunnel: groups are the kernel's.
    pub const KERNEL: Self = Self(128);

    /// Policy 3, under which the kernel's look-up for programs finds another member than its own.
    pub const CUSTOM: Self = Self(256);

    /// Those that we can read of policy 3.
    const OUTER: u32 = 63;
    const LAYER_4: Self = Self(1 | 2 | 4 | 16 | 32);

    /// What the kernel takes for IPv4 under this policy; `fields` are those of policy 3.
    pub fn v4(policy: u32, fields: u32) -> Self {
        Self::of(policy, fields, Self(1 | 2 | 64))
    }

    /// The same for IPv6.
    pub fn v6(policy: u32, fields: u32) -> Self {
        Self::of(policy, fields, Self(1 | 2 | 4 | 8 | 64))
    }

    fn of(policy: u32, fields: u32, layer_3: Self) -> Self {
        match policy {
            0 => layer_3,
            1 => Self::LAYER_4,
            3 if fields & !Self::OUTER == 0 => Self(fields as u16 | Self::CUSTOM.0),
            _ => Self::KERNEL,
        }
    }

    /// Is `field` among them?
    pub fn has(self, field: Self) -> bool {
        self.0 & field.0 != 0
    }
}

/// What makes a flow, by family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flows {
    /// Of IPv4.
    pub v4: FlowFields,
    /// Of IPv6.
    pub v6: FlowFields,
}

impl Default for Flows {
    /// Addresses, protocol and ports.
    fn default() -> Self {
        Self {
            v4: FlowFields::LAYER_4,
            v6: FlowFields::LAYER_4,
        }
    }
}

impl Flows {
    /// `flows` of `bpf/ports.h`.
    pub(super) fn bits(self) -> u64 {
        u64::from(self.v4.0) | u64::from(self.v6.0) << 16
    }
}
