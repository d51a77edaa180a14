//! Prefixes: an address and how many of its leading bits count.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use crate::address::Address;

/// A prefix of one family, for example `192.0.2.0/24`. Bits after the length are zero:
/// [`Prefix::new`] refuses others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix<A> {
    address: A,
    length: u8,
}

/// Why a prefix was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrefixError {
    /// The length exceeds the family's width.
    #[error("prefix length {length} is longer than the {width} bits of {address}")]
    TooLong {
        /// The address given.
        address: IpAddr,
        /// The length given.
        length: u8,
        /// 32 or 128.
        width: u8,
    },
    /// Bits after the length are set.
    #[error(
        "{address}/{length} has bits set after its length; the prefix is {address_masked}/{length}"
    )]
    HostBits {
        /// The address given.
        address: IpAddr,
        /// The length given.
        length: u8,
        /// The address with those bits cleared.
        address_masked: IpAddr,
    },
    /// The text is no prefix at all.
    #[error(
        "{text:?} is not a prefix; write ADDRESS/LENGTH, such as 192.0.2.0/24 or 2001:db8::/32"
    )]
    NotAPrefix {
        /// The text given, shortened to 64 characters.
        text: String,
    },
}

impl<A: Address> Prefix<A> {
    /// The prefix of all addresses, `0/0`.
    pub fn everything() -> Self {
        Self {
            address: A::default(),
            length: 0,
        }
    }

    /// A prefix from its first address and length.
    ///
    /// # Errors
    /// When the length exceeds the width, or bits after the length are set.
    pub fn new(address: A, length: u8) -> Result<Self, PrefixError> {
        if length > A::BITS {
            return Err(PrefixError::TooLong {
                address: address.to_ip(),
                length,
                width: A::BITS,
            });
        }
        let masked = address.masked(length);
        if masked != address {
            return Err(PrefixError::HostBits {
                address: address.to_ip(),
                length,
                address_masked: masked.to_ip(),
            });
        }
        Ok(Self { address, length })
    }

    /// The prefix of `length` bits that `address` is in; a length beyond the width counts as the
    /// width.
    pub fn containing(address: A, length: u8) -> Self {
        let length = length.min(A::BITS);
        Self {
            address: address.masked(length),
            length,
        }
    }

    /// The first address.
    pub fn address(&self) -> A {
        self.address
    }

    /// How many leading bits count.
    pub fn length(&self) -> u8 {
        self.length
    }

    /// The last address.
    pub fn last(&self) -> A {
        A::from_left_aligned(self.address.left_aligned() | !crate::address::mask(self.length))
    }

    /// Is `address` in this prefix?
    pub fn contains(&self, address: A) -> bool {
        address.masked(self.length) == self.address
    }
}

impl<A: Address> fmt::Display for Prefix<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address.to_ip(), self.length)
    }
}

/// A prefix of either family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IpPrefix {
    /// IPv4.
    V4(Prefix<u32>),
    /// IPv6.
    V6(Prefix<u128>),
}

impl FromStr for IpPrefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let not_a_prefix = || PrefixError::NotAPrefix {
            text: text.chars().take(64).collect(),
        };
        let (address, length) = text.split_once('/').ok_or_else(not_a_prefix)?;
        let plain_digits = !length.is_empty() && length.bytes().all(|b| b.is_ascii_digit());
        let length: u8 = length
            .parse()
            .ok()
            .filter(|_| plain_digits)
            .ok_or_else(not_a_prefix)?;
        match address.parse::<IpAddr>().map_err(|_| not_a_prefix())? {
            IpAddr::V4(address) => Prefix::new(u32::from(address), length).map(Self::V4),
            IpAddr::V6(address) => Prefix::new(u128::from(address), length).map(Self::V6),
        }
    }
}

impl fmt::Display for IpPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(prefix) => prefix.fmt(f),
            Self::V6(prefix) => prefix.fmt(f),
        }
    }
}
