//! One answer of the engine beside what the kernel would do.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::IpAddr;

use fib::next_hop::Kind;
use fib::{NextHop, NextHopEntry};
use wire::ethernet::MacAddress;

use super::kernel::{Expected, is_compared};
use crate::control_plane::routed::Routed;
use crate::control_plane::surroundings::{HopKey, Surroundings, fixed_entry};
use crate::engine::Engine;

/// Differences that are described; beyond, they are only counted.
const DESCRIBED: usize = 50;
/// Addresses that are looked at again when they differed; when there are more, everything is.
pub(super) const REMEMBERED: usize = 100_000;

/// An answer of the engine that is not the kernel's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Table looked up in.
    pub table: u32,
    /// Destination.
    pub address: IpAddr,
    /// What the kernel has.
    pub kernel: String,
    /// What the engine has.
    pub engine: String,
}

/// What comparing found so far.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) compared: u64,
    pub(super) different: u64,
    pub(super) differences: Vec<Difference>,
    /// Where, and what was answered there.
    pub(super) places: Vec<Place>,
}

/// A place where the answers differ.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) table: u32,
    pub(super) address: IpAddr,
    /// Stands for both answers.
    pub(super) answers: u64,
}

impl Found {
    pub(super) fn differs(&mut self, table: u32, address: IpAddr, kernel: String, engine: String) {
        self.different += 1;
        if self.places.len() < REMEMBERED {
            let mut answers = DefaultHasher::new();
            (&kernel, &engine).hash(&mut answers);
            self.places.push(Place {
                table,
                address,
                answers: answers.finish(),
            });
        }
        if self.differences.len() < DESCRIBED {
            self.differences.push(Difference {
                table,
                address,
                kernel,
                engine,
            });
        }
    }
}

/// Compares answers of one domain.
pub(super) struct Judge<'a> {
    pub(super) domain: u32,
    pub(super) expected: &'a [Expected],
    pub(super) around: &'a Surroundings,
    pub(super) engine: &'a dyn Engine,
    /// Were some next hops refused a number, or are some objects the kernel's for an MTU? "Punt" may
    /// stand for these.
    pub(super) punts: bool,
    pub(super) found: &'a mut Found,
}

impl Judge<'_> {
    /// Compares one answer.
    pub(super) fn answer<A: Routed>(&mut self, address: A, expected: u32, answer: NextHop) {
        // Destinations that no engine forwards need no answer.
        if !is_compared(address.to_ip()) {
            return;
        }
        self.found.compared += 1;
        let answers = self.engine.answers();
        if !answers.carries(self.domain, A::V6, answer) {
            return;
        }
        let entries = answers.entries(answer);
        let punt = |entry: &NextHopEntry| entry.kind == Kind::Punt;
        let may_miss = self.punts && entries.values().any(punt);
        let entries: Vec<NextHopEntry> = entries.into_values().map(bare).collect();
        let expected = &self.expected[expected as usize];
        let wanted: Vec<NextHopEntry> = match expected {
            Expected::Kernel | Expected::Special => Vec::new(),
            Expected::Blackhole => vec![fixed_entry(Kind::Blackhole)],
            Expected::Connected(link) => {
                vec![self.around.entry(&HopKey {
                    link: *link,
                    gateway: address.to_ip(),
                    mtu: 0,
                })]
            }
            Expected::Hops(keys) => keys.iter().map(|key| self.around.entry(key)).collect(),
        };
        let decides =
            |entry: &&NextHopEntry| matches!(entry.kind, Kind::Adjacency | Kind::Blackhole);
        let wrong = entries
            .iter()
            .filter(decides)
            .any(|entry| !wanted.contains(entry));
        let missed = !may_miss
            && wanted
                .iter()
                .filter(decides)
                .any(|entry| !entries.contains(entry));
        if wrong || missed {
            let (kernel, engine) = (described(&wanted), described(&entries));
            self.found
                .differs(self.domain, address.to_ip(), kernel, engine);
        }
    }
}

/// An entry without what its engine adds for itself.
fn bare(entry: NextHopEntry) -> NextHopEntry {
    NextHopEntry {
        flags: 0,
        group_size: 0,
        group_first: 0,
        stamp: 0,
        ..entry
    }
}

fn described(entries: &[NextHopEntry]) -> String {
    if entries.is_empty() {
        return "nothing to forward".to_owned();
    }
    entries.iter().map(describe).collect::<Vec<_>>().join(", ")
}

fn describe(entry: &NextHopEntry) -> String {
    if entry.kind != Kind::Adjacency {
        return format!("{:?}", entry.kind).to_lowercase();
    }
    let NextHopEntry {
        port, vlan, mtu, ..
    } = entry;
    let mac = MacAddress(entry.destination_mac);
    format!("port {port} to {mac}, vlan {vlan}, mtu {mtu}")
}
