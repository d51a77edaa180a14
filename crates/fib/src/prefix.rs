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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        for text in [
            "0.0.0.0/0",
            "10.0.0.0/8",
            "192.0.2.1/32",
            "::/0",
            "2001:db8::/32",
            "::1/128",
        ] {
            assert_eq!(text.parse::<IpPrefix>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn bad_text_is_refused_with_the_reason() {
        for text in [
            "",
            "10.0.0.0",
            "10.0.0.0/",
            "10.0.0/8",
            "x/8",
            "10.0.0.0/+8",
            "10.0.0.0/8/8",
            "::/999",
        ] {
            assert!(
                matches!(
                    text.parse::<IpPrefix>(),
                    Err(PrefixError::NotAPrefix { .. })
                ),
                "{text}"
            );
        }
        assert!(matches!(
            "10.0.0.0/33".parse::<IpPrefix>(),
            Err(PrefixError::TooLong { width: 32, .. })
        ));
        assert!(matches!(
            "::/129".parse::<IpPrefix>(),
            Err(PrefixError::TooLong { width: 128, .. })
        ));
        let error = "10.0.0.1/8".parse::<IpPrefix>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "10.0.0.1/8 has bits set after its length; the prefix is 10.0.0.0/8"
        );
    }

    #[test]
    fn a_prefix_contains_its_first_and_last_address_only_up_to_there() {
        let prefix = Prefix::<u32>::containing(0xC000_02FF, 24);
        assert_eq!(
            (prefix.address(), prefix.last()),
            (0xC000_0200, 0xC000_02FF)
        );
        assert!(prefix.contains(prefix.address()) && prefix.contains(prefix.last()));
        assert!(!prefix.contains(0xC000_0300) && !prefix.contains(0xC000_01FF));
        assert!(Prefix::<u128>::everything().contains(u128::MAX));
    }
}
