//! What was found, whom it concerns, and what lets it be gone past.

use std::io;

/// Whom a finding concerns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Every packet of IPv4.
    V4,
    /// Every packet of IPv6.
    V6,
    /// Every packet.
    All,
    /// The packets of one port.
    Port(String),
}

/// What kind of treatment it is, which decides what lets it be gone past.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Treatment {
    /// nftables or iptables.
    Netfilter,
    /// xfrm policies.
    Ipsec,
    /// Rules that choose the table.
    PolicyRules,
    /// Queueing disciplines, filters and programs.
    TrafficControl,
    /// VLAN tags that the device takes out of frames.
    VlanOffload,
    /// A setting of an interface, which decides by itself
    /// ([`All::accepts`](crate::control_plane::sysctl::All::accepts)).
    Setting,
}

impl Treatment {
    /// The option that goes past it, if one may.
    pub fn bypass(self) -> Option<&'static str> {
        match self {
            Self::Netfilter => Some("bypass-netfilter"),
            Self::Ipsec => Some("bypass-ipsec"),
            Self::PolicyRules => Some("bypass-policy-rules"),
            Self::TrafficControl => Some("bypass-tc"),
            Self::VlanOffload => Some("bypass-vlan-offload"),
            Self::Setting => None,
        }
    }
}

/// Something that the kernel does to packets on their way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Whom it concerns.
    pub scope: Scope,
    /// What it is, and where to look.
    pub what: String,
    /// What kind it is.
    pub treatment: Treatment,
}

impl Finding {
    pub(super) fn new(scope: Scope, what: String, treatment: Treatment) -> Self {
        Self {
            scope,
            what,
            treatment,
        }
    }
}

/// Nobody knows what there is.
pub(super) fn unread(what: &str, error: &io::Error, treatment: Treatment) -> Finding {
    Finding::new(
        Scope::All,
        format!("{what} could not be read: {error}"),
        treatment,
    )
}
