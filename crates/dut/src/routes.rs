//! The routing table of a study: read from a file, or generated with the Internet's size and shape.

use std::ffi::OsStr;
use std::fs::File;
use std::net::Ipv4Addr;
use std::path::Path;

use fib::prefix_file::{LineError, Prefixes};
use fib::{Address, Prefix};
use router::user_plane::memory_engine::Routes as GivenOut;
use tester::addresses;
use tester::veth::lanes::NEXT_HOPS;

use crate::error::Error;

/// Distinct destinations that the frames go to; each hits the table.
pub const DESTINATIONS: usize = 1 << 20;
/// 198.18.0.0/15, for benchmarks (RFC 2544 appendix C, RFC 6890).
const BENCH_NETWORK: u32 = 0xc612_0000;
/// The port that destinations lie behind, of how many.
const BEHIND: u8 = 1;
const PORTS: u8 = 2;

/// A table with destinations that hit it.
pub struct Routes {
    /// The prefixes of both families, sorted, each once.
    pub prefixes: Prefixes,
    /// IPv4 destinations, each inside a random prefix.
    pub destinations: Vec<u32>,
    /// IPv6 destinations; none: they are drawn where they are needed.
    pub destinations_v6: Vec<u128>,
    /// Where the table came from, in words.
    pub from: String,
}

impl Routes {
    /// Every route of both families, next hops given out at random from `seed`.
    pub fn given_out(&self, seed: u64) -> GivenOut {
        let Prefixes { v4, v6 } = &self.prefixes;
        let hops = fib::generated::next_hops(seed, v4.len() + v6.len(), NEXT_HOPS);
        let (hops_v4, hops_v6) = hops.split_at(v4.len());
        GivenOut {
            v4: v4.iter().copied().zip(hops_v4.iter().copied()).collect(),
            v6: v6.iter().copied().zip(hops_v6.iter().copied()).collect(),
            next_hops: NEXT_HOPS,
        }
    }

    /// IPv6 destinations: those it has, else each inside a random prefix.
    ///
    /// # Errors
    /// When the table has no IPv6 prefix.
    pub fn destinations_v6(&self, seed: u64) -> Result<Vec<u128>, Error> {
        if !self.destinations_v6.is_empty() {
            return Ok(self.destinations_v6.clone());
        }
        if self.prefixes.v6.is_empty() {
            return Err(format!("{} has no IPv6 prefix; give at least one", self.from).into());
        }
        Ok(fib::generated::addresses_hitting(
            seed,
            &self.prefixes.v6,
            DESTINATIONS,
        ))
    }
}

/// Reads `file`, or generates a table from `seed`: at most `most` routes of each family, drawn from
/// all of the Internet's.
///
/// # Errors
/// When the file cannot be read or a line is no prefix (with file, line and what is wrong; nothing
/// is half loaded), or when it has no IPv4 prefix.
pub fn load(file: Option<&Path>, most: usize, seed: u64) -> Result<Routes, Error> {
    let (mut prefixes, mut source) = match file {
        None => (
            fib::generated::internet(seed),
            "generated with the Internet's size and shape".to_owned(),
        ),
        Some(path) => (
            read(path)?,
            path.file_name()
                .unwrap_or(path.as_os_str())
                .to_string_lossy()
                .into_owned(),
        ),
    };
    prefixes.v4.sort_unstable();
    prefixes.v4.dedup();
    prefixes.v6.sort_unstable();
    prefixes.v6.dedup();
    if file.is_none() && prefixes.v4.len().max(prefixes.v6.len()) > most {
        draw(&mut prefixes.v4, most, seed);
        draw(&mut prefixes.v6, most, seed);
        source.push_str(", of which some are drawn");
    }
    if prefixes.v4.is_empty() {
        return Err(format!(
            "{source} has no IPv4 prefix; the study forwards IPv4 frames, so give at least one"
        )
        .into());
    }
    let grouped = |count: usize| report::units::grouped(count as u64);
    let from = format!(
        "{source}, {} IPv4 and {} IPv6 prefixes",
        grouped(prefixes.v4.len()),
        grouped(prefixes.v6.len())
    );
    let mut destinations = fib::generated::addresses_hitting(seed, &prefixes.v4, 2 * DESTINATIONS);
    destinations.retain(|&address| is_forwarded(address));
    destinations.truncate(DESTINATIONS);
    if destinations.is_empty() {
        return Err(format!(
            "no prefix of {source} has an address that routers forward to; give one outside 0/8, \
             127/8, 169.254/16, 224/3 and 198.18/15"
        )
        .into());
    }
    Ok(Routes {
        prefixes,
        destinations,
        destinations_v6: Vec::new(),
        from,
    })
}

/// Leaves at most `most` of sorted prefixes, sorted.
fn draw<T: Ord>(prefixes: &mut Vec<T>, most: usize, seed: u64) {
    figures::Random::new(seed).shuffle(prefixes);
    prefixes.truncate(most);
    prefixes.sort_unstable();
}

/// The networks of RFC 2544 and RFC 5180 behind a device's second port, and `count` destinations of
/// each protocol there in an order from `seed`.
///
/// # Errors
/// When one of the networks is no prefix.
pub fn of_benchmarks(count: u32, seed: u64) -> Result<Routes, Error> {
    behind(BEHIND, count, seed)
}

/// As [`of_benchmarks`], behind the first port: for frames that come back.
///
/// # Errors
/// As [`of_benchmarks`].
pub fn of_benchmarks_back(count: u32, seed: u64) -> Result<Routes, Error> {
    behind(1 - BEHIND, count, seed)
}

fn behind(port: u8, count: u32, seed: u64) -> Result<Routes, Error> {
    let networks: Vec<(Ipv4Addr, u8)> = if count > addresses::NETWORKS {
        addresses::wide_networks_v4(port, PORTS).collect()
    } else {
        addresses::behind_v4(port, PORTS)
    };
    let networks = networks.into_iter();
    let prefixes = networks.map(|(network, length)| Prefix::new(network.to_bits(), length));
    let (network, length) = addresses::behind_v6(port);
    let v4 = |index| addresses::destination_v4(port, PORTS, index, count).to_bits();
    let v6 = |index| addresses::destination_v6(port, index, count).to_bits();
    let order: Vec<u32> = addresses::shuffled(count, seed).collect();
    Ok(Routes {
        prefixes: Prefixes {
            v4: prefixes.collect::<Result<_, _>>()?,
            v6: vec![Prefix::new(network.to_bits().masked(length), length)?],
        },
        destinations: order.iter().copied().map(v4).collect(),
        destinations_v6: order.iter().copied().map(v6).collect(),
        from: "networks for benchmarks (RFC 2544 §12)".to_owned(),
    })
}

/// Whether routers forward to `address`, by the rule that ours keeps too; 198.18/15 is the bench's
/// own (RFC 2544 appendix C).
fn is_forwarded(address: u32) -> bool {
    !wire::ipv4::destination_is_martian(address)
        && !wire::ipv4::destination_is_group(address)
        && address >> 17 != BENCH_NETWORK >> 17
}

fn read(path: &Path) -> Result<Prefixes, Error> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| {
        format!(
            "cannot read the routes file {name}: {error}; name a text file with a prefix a line"
        )
    })?;
    if path.extension() != Some(OsStr::new("gz")) {
        return Ok(fib::prefix_file::read(file, &name)?);
    }
    let text = flate2::read::MultiGzDecoder::new(file);
    fib::prefix_file::read(text, &name).map_err(|error| match error.what {
        LineError::Read(reason) => {
            format!("cannot unpack {name}: {reason}; the file is damaged or no gzip file").into()
        }
        _ => error.into(),
    })
}

#[cfg(test)]
#[path = "../tests/unit/routes.rs"]
mod tests;
