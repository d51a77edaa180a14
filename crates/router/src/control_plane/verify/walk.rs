//! Which answers a comparison looks at, a slice at a time.

use std::net::IpAddr;

use fib::NextHop;
use figures::Random;

use super::judge::{Found, Judge};
use super::kernel::{Flat, KernelSide};
use super::ranges::before;
use crate::control_plane::family::Family;
use crate::control_plane::mirror::Mirror;
use crate::control_plane::routed::Routed;
use crate::control_plane::slots::PARTS;
use crate::engine::{Engine, MAIN_TABLE};

/// Answers compared at a time: some hundred microseconds' worth.
pub const SLICE: usize = 1024;
/// Addresses chosen at random, for each family and table.
const SAMPLES: usize = 4096;

/// The walks through every domain of both families, or to given places only.
#[derive(Debug)]
pub(super) struct Walks {
    kernel: KernelSide,
    v4: Vec<Walk<u32>>,
    v6: Vec<Walk<u128>>,
    only: Option<Vec<(u32, IpAddr)>>,
}

impl Walks {
    pub(super) fn new(mut kernel: KernelSide, only: Option<Vec<(u32, IpAddr)>>) -> Self {
        Self {
            v4: std::mem::take(&mut kernel.v4)
                .into_iter()
                .map(Walk::new)
                .collect(),
            v6: std::mem::take(&mut kernel.v6)
                .into_iter()
                .map(Walk::new)
                .collect(),
            kernel,
            only,
        }
    }

    /// Compares the next slice; false when nothing is left.
    pub(super) fn step(&mut self, mirror: &Mirror, engine: &dyn Engine, found: &mut Found) -> bool {
        let mut judge = Judge {
            domain: MAIN_TABLE,
            expected: &self.kernel.expected,
            around: &self.kernel.around,
            engine,
            punts: mirror.next_hops().refused() > 0 || mirror.objects().are_some_sized(),
            found,
        };
        if let Some(places) = &mut self.only {
            let slice = places.split_off(places.len().saturating_sub(SLICE));
            for (domain, address) in slice {
                judge.domain = domain;
                match address {
                    IpAddr::V4(address) => look_at(&self.v4, address.into(), &mut judge),
                    IpAddr::V6(address) => look_at(&self.v6, address.into(), &mut judge),
                }
            }
            return !places.is_empty();
        }
        if let Some(walk) = self.v4.iter_mut().find(|walk| !walk.over) {
            judge.domain = walk.flat.domain;
            walk.step(mirror.v4(), &mut judge);
            return true;
        }
        if let Some(walk) = self.v6.iter_mut().find(|walk| !walk.over) {
            judge.domain = walk.flat.domain;
            walk.step(mirror.v6(), &mut judge);
            return true;
        }
        false
    }
}

fn look_at<A: Routed>(walks: &[Walk<A>], address: A, judge: &mut Judge<'_>) {
    if let Some(walk) = walks.iter().find(|walk| walk.flat.domain == judge.domain) {
        judge.answer(
            address,
            walk.flat.expected_at(address),
            lookup(judge, address),
        );
    }
}

fn lookup<A: Routed>(judge: &Judge<'_>, address: A) -> NextHop {
    A::lookup(judge.engine, judge.domain, address)
}

/// The way through one domain and family: the kernel's ranges, the mirror's prefixes part by part,
/// its host routes, addresses at random.
#[derive(Debug)]
struct Walk<A> {
    flat: Flat<A>,
    range: usize,
    part: usize,
    pending: Vec<A>,
    samples: usize,
    random: Random,
    over: bool,
}

impl<A: Routed> Walk<A> {
    fn new(flat: Flat<A>) -> Self {
        Self {
            random: Random::new(flat.ranges.len() as u64 + 1),
            flat,
            range: 0,
            part: 0,
            pending: Vec::new(),
            samples: 0,
            over: false,
        }
    }

    fn step(&mut self, mirrored: &Family<A>, judge: &mut Judge<'_>) {
        for _ in 0..SLICE / 2 {
            if let Some(&(first, expected)) = self.flat.ranges.get(self.range) {
                self.range += 1;
                judge.answer(first, expected, lookup(judge, first));
                let last = self
                    .flat
                    .ranges
                    .get(self.range)
                    .map_or(A::from_left_aligned(u128::MAX), |next| before(next.0));
                if last != first {
                    judge.answer(last, expected, lookup(judge, last));
                }
            } else if let Some(address) = self.pending.pop() {
                self.at(address, judge);
            } else if self.part < PARTS {
                let prefixes = mirrored.part(self.flat.domain, self.part);
                self.pending.extend(prefixes.map(|prefix| prefix.address()));
                self.part += 1;
            } else if self.part == PARTS {
                let hosts = mirrored
                    .hosts()
                    .filter(|host| host.1 == self.flat.domain)
                    .map(|host| host.0);
                self.pending.extend(hosts);
                self.part += 1;
            } else if self.samples < SAMPLES {
                self.samples += 1;
                let address = A::from_left_aligned(self.random.next_u128());
                self.at(address, judge);
            } else {
                self.over = true;
                return;
            }
        }
    }

    fn at(&self, address: A, judge: &mut Judge<'_>) {
        judge.answer(
            address,
            self.flat.expected_at(address),
            lookup(judge, address),
        );
    }
}
