//! The two address families as plain integers in host byte order.
//!
//! Everything in this crate is written once for both families. What differs is the width, and how
//! many leading bits the root array of a table consumes.

use std::fmt::Debug;
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

mod sealed {
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u128 {}
}

/// An IPv4 (`u32`) or IPv6 (`u128`) address in host byte order: the most significant bit is the
/// first bit on the wire.
pub trait Address:
    sealed::Sealed + Copy + Ord + Hash + Debug + Default + Send + Sync + 'static
{
    /// Width in bits: 32 or 128.
    const BITS: u8;

    /// The address in the upper bits of a `u128`; the rest is zero.
    fn left_aligned(self) -> u128;

    /// The inverse of [`Address::left_aligned`]; bits beyond the width are dropped.
    fn from_left_aligned(bits: u128) -> Self;

    /// The first 64 bits of the left-aligned address.
    fn first_64(self) -> u64;

    /// The standard library's type, for display.
    fn to_ip(self) -> IpAddr;

    /// The address with all bits after the first `length` cleared.
    #[must_use]
    fn masked(self, length: u8) -> Self {
        Self::from_left_aligned(self.left_aligned() & mask(length))
    }
}

/// A left-aligned mask of `length` ones (0 to 128).
pub(crate) const fn mask(length: u8) -> u128 {
    if length == 0 {
        0
    } else {
        u128::MAX << (128 - length as u32)
    }
}

impl Address for u32 {
    const BITS: u8 = 32;

    fn left_aligned(self) -> u128 {
        u128::from(self) << 96
    }

    fn from_left_aligned(bits: u128) -> Self {
        (bits >> 96) as u32
    }

    #[inline]
    fn first_64(self) -> u64 {
        u64::from(self) << 32
    }

    fn to_ip(self) -> IpAddr {
        Ipv4Addr::from(self).into()
    }
}

impl Address for u128 {
    const BITS: u8 = 128;

    fn left_aligned(self) -> u128 {
        self
    }

    fn from_left_aligned(bits: u128) -> Self {
        bits
    }

    #[inline]
    fn first_64(self) -> u64 {
        (self >> 64) as u64
    }

    fn to_ip(self) -> IpAddr {
        Ipv6Addr::from(self).into()
    }
}
