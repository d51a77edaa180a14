//! Frame sizes, what each family can carry, and the frame rates a medium allows.
//!
//! A size is always that of the Ethernet frame *with* FCS (RFC 2544 §9.1, RFC 2889 §5.1.2). Inside
//! the program frames have no FCS: [`FrameSize::without_fcs`] is the one place that takes the four
//! bytes off.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Bytes of the frame check sequence.
pub const FCS: u16 = 4;
/// Bytes of a frame that its MTU does not count: Ethernet header and FCS.
pub const FRAMING: u16 = 18;
/// Preamble, start delimiter and the smallest gap between two frames, in bytes on the wire.
pub const PREAMBLE_AND_GAP: u16 = 20;
/// Sizes of RFC 2544 §9.1 for Ethernet.
pub const STANDARD: [u16; 7] = [64, 128, 256, 512, 1024, 1280, 1518];
/// Largest size that is no jumbo frame.
pub const STANDARD_MAXIMUM: u16 = 1518;

/// Which Internet Protocol the frames carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
}

/// Both, in the order of their numbers as enum.
pub const FAMILIES: [Family; 2] = [Family::Ipv4, Family::Ipv6];

impl Family {
    /// Smallest frame that carries Ethernet, IP, UDP and our 18 bytes of check and signature, FCS
    /// included.
    ///
    /// RFC 5180 lists 64 for IPv6 although 14 + 40 + 8 + 4 bytes of headers alone are 66; our
    /// minimum is 84, and is printed so.
    pub const fn minimum(self) -> u16 {
        match self {
            Self::Ipv4 => 64,
            Self::Ipv6 => 84,
        }
    }

    /// Bytes of the IP header.
    pub const fn header(self) -> u16 {
        match self {
            Self::Ipv4 => 20,
            Self::Ipv6 => 40,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
        })
    }
}

/// A frame size that the family can carry, in bytes with FCS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct FrameSize(u16);

/// A size that cannot be tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// Headers and signature do not fit.
    #[error(
        "{size} bytes cannot carry {family}: the smallest frame is {} bytes with FCS",
        family.minimum()
    )]
    TooSmall {
        /// What was asked, bytes with FCS.
        size: u32,
        /// For which protocol.
        family: Family,
    },
    /// Larger than the port's MTU allows.
    #[error(
        "{size} bytes do not fit a port with MTU {mtu}: the largest frame is {} bytes with FCS",
        u32::from(*mtu + FRAMING)
    )]
    TooLarge {
        /// What was asked, bytes with FCS.
        size: u32,
        /// The port's MTU, bytes.
        mtu: u16,
    },
}

impl FrameSize {
    /// Checks a size against the family and the port's MTU (bytes above Ethernet).
    ///
    /// # Errors
    /// A size that the family or the port cannot carry.
    pub fn new(size: u32, family: Family, mtu: u16) -> Result<Self, SizeError> {
        if size < u32::from(family.minimum()) {
            return Err(SizeError::TooSmall { size, family });
        }
        if size > u32::from(mtu + FRAMING) {
            return Err(SizeError::TooLarge { size, mtu });
        }
        Ok(Self(size as u16))
    }

    /// Bytes with FCS.
    pub const fn bytes(self) -> u16 {
        self.0
    }

    /// Bytes of the frame as ports see it.
    pub const fn without_fcs(self) -> usize {
        (self.0 - FCS) as usize
    }

    /// The size of the frame whose UDP payload is `payload` bytes.
    ///
    /// # Errors
    /// A payload that leaves no room for the signature, or exceeds the MTU.
    pub fn of_udp_payload(payload: u32, family: Family, mtu: u16) -> Result<Self, SizeError> {
        Self::new(
            14 + u32::from(family.header()) + 8 + payload + u32::from(FCS),
            family,
            mtu,
        )
    }

    /// Most frames per second that a medium of `bits_per_second` carries at this size (RFC 2544
    /// appendix B).
    pub fn theoretical_rate(self, bits_per_second: f64) -> f64 {
        bits_per_second / (8.0 * f64::from(self.0 + PREAMBLE_AND_GAP))
    }
}

impl fmt::Display for FrameSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The standard sizes that a family and MTU allow; for IPv6 its labelled minimum takes the place of
/// 64.
pub fn standard(family: Family, mtu: u16) -> Vec<FrameSize> {
    let mut sizes: Vec<_> = STANDARD
        .iter()
        .map(|&size| u32::from(size.max(family.minimum())))
        .collect();
    sizes.dedup();
    sizes
        .into_iter()
        .filter_map(|size| FrameSize::new(size, family, mtu).ok())
        .collect()
}

#[cfg(test)]
#[path = "../tests/unit/sizes.rs"]
mod tests;
