//! What a configuration makes interesting: its prefixes, addresses and sizes.

use std::net::IpAddr;

use crate::dice::Dice;

/// Prefixes and sizes that a configuration's commands name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Scene {
    v4: Vec<(u32, u32)>,
    v6: Vec<(u128, u32)>,
    /// MTUs, bytes.
    pub(crate) sizes: Vec<usize>,
}

/// Addresses that have a meaning of their own, whatever is configured.
const SPECIAL_V4: [u32; 12] = [
    0x0000_0000,
    0x0000_0001,
    0x7f00_0001,
    0xa9fe_0101,
    0xe000_0001,
    0xe000_0005,
    0xef01_0203,
    0xf000_0001,
    0xffff_ffff,
    0xc000_0201,
    0x0a00_0102,
    0x0808_0808,
];
const SPECIAL_V6: [u128; 10] = [
    0,
    1,
    0xffff_0a01_0002,
    0x0a01_0002,
    0xfe80 << 112 | 2,
    0xfe80 << 112 | 1,
    0xfec0 << 112 | 1,
    0xff02 << 112 | 1,
    0xff0e << 112 | 5,
    0x2001_0db8 << 96 | 9,
];

/// Which bits of addresses vary inside a prefix: few of the last, because each absent neighbour
/// takes one of the 1024 places that the kernel has on the whole machine.
const SPREAD_V4: u32 = 0xffff_ffc3;
const SPREAD_V6: u128 = 0xffff_ffff_ffff_ffff_8000_0000_0000_0083;

/// An address inside, at the edge of or just outside what is configured; or any other.
macro_rules! near {
    ($family:ty, $dice:ident, $configured:expr, $special:ident, $spread:ident, $random:expr) => {{
        if $configured.is_empty() || $dice.one_in(8) {
            return $dice.of(&$special);
        }
        if $dice.one_in(20) {
            return $random;
        }
        let (address, length) = $dice.of(&$configured);
        let hosts = <$family>::MAX.checked_shr(length).unwrap_or(0);
        let (first, last) = (address & !hosts, address | hosts);
        match $dice.between(0, 10) {
            0 => first,
            1 => last,
            2 => first.wrapping_sub(1),
            3 => last.wrapping_add(1),
            4 => address,
            5 => address ^ 1,
            _ => first | ($random & hosts & $spread),
        }
    }};
}

impl Scene {
    pub(crate) fn of(commands: &[String]) -> Self {
        let mut scene = Self {
            sizes: vec![1500],
            ..Self::default()
        };
        for line in commands {
            let mut before = "";
            for word in line.split([' ', '=']) {
                if before
                    .rsplit('.')
                    .next()
                    .is_some_and(|key| key == "mtu" || key == "lock")
                {
                    scene.sizes.extend(word.parse::<usize>());
                }
                before = word;
                let (address, length) = word.split_once('/').unwrap_or((word, ""));
                match address.parse() {
                    Ok(IpAddr::V4(address)) => {
                        scene
                            .v4
                            .push((address.into(), length.parse().unwrap_or(32)));
                    }
                    Ok(IpAddr::V6(address)) => {
                        scene
                            .v6
                            .push((address.into(), length.parse().unwrap_or(128)));
                    }
                    Err(_) => {}
                }
            }
        }
        scene
    }

    pub(crate) fn v4(&self, dice: &mut Dice) -> u32 {
        near!(
            u32,
            dice,
            self.v4,
            SPECIAL_V4,
            SPREAD_V4,
            dice.bits() as u32
        )
    }

    pub(crate) fn v6(&self, dice: &mut Dice) -> u128 {
        near!(u128, dice, self.v6, SPECIAL_V6, SPREAD_V6, dice.wide())
    }
}

#[cfg(test)]
#[path = "../tests/unit/scene.rs"]
mod tests;
