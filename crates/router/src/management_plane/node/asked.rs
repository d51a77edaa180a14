//! What one router is asked about a table of its own, as the path of a request.

use std::str::FromStr;

use super::{Addresses, By, LISTED_AT_ONCE};
use crate::control_plane::digest::RANGES;

/// What somebody wants to know of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub(super) table: u32,
    pub(super) family: Addresses,
    pub(super) what: What,
}

/// What of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    Ranges(By),
    Routes(Vec<usize>),
}

impl Asked {
    /// The digests of the ranges of a table.
    pub fn ranges(table: u32, family: Addresses, by: By) -> Self {
        let what = What::Ranges(by);
        Self {
            table,
            family,
            what,
        }
    }

    /// The routes of these ranges, of which there are [`LISTED_AT_ONCE`] at most.
    pub fn routes(table: u32, family: Addresses, ranges: Vec<usize>) -> Self {
        let what = What::Routes(ranges);
        Self {
            table,
            family,
            what,
        }
    }

    /// As the path of a request.
    pub fn path(&self) -> String {
        let (table, family) = (self.table, self.family.name());
        let what = match &self.what {
            What::Ranges(by) => by.name().to_owned(),
            What::Routes(ranges) => {
                let ranges: Vec<String> = ranges.iter().map(ToString::to_string).collect();
                format!("routes/{}", ranges.join(","))
            }
        };
        format!("/node/{table}/{family}/{what}")
    }
}

impl FromStr for Asked {
    type Err = ();

    /// The other way.
    fn from_str(path: &str) -> Result<Self, ()> {
        let words: Vec<&str> = path.split('/').collect();
        let ["", "node", table, family, what @ ..] = words.as_slice() else {
            return Err(());
        };
        let table = table.parse().map_err(|_| ())?;
        let families = [Addresses::Ipv4, Addresses::Ipv6];
        let family = families.into_iter().find(|known| known.name() == *family);
        let family = family.ok_or(())?;
        match what {
            ["prefixes"] => Ok(Self::ranges(table, family, By::Prefixes)),
            ["ways"] => Ok(Self::ranges(table, family, By::Ways)),
            ["routes", ranges] => {
                let ranges = ranges.split(',').map(str::parse::<usize>);
                let ranges: Vec<usize> = ranges.collect::<Result<_, _>>().map_err(|_| ())?;
                let fits = ranges.len() <= LISTED_AT_ONCE;
                let known = ranges.iter().all(|&range| range < RANGES);
                let asked = Self::routes(table, family, ranges);
                (fits && known).then_some(asked).ok_or(())
            }
            _ => Err(()),
        }
    }
}
