//! Does the engine answer what the kernel would? Every answer, now.
//!
//! The kernel's tables are read afresh, past the mirror, and flattened into ranges of addresses
//! that share a route ([`kernel`], in a thread of its own). For each range the engine is asked for
//! the first and the last address, from the same memory that frames are forwarded by; then for the
//! first address of every prefix that the mirror holds, which finds what should not be there; then
//! for addresses at random ([`walk`], [`judge`]). For some the kernel itself is asked too
//! (`ip route get`).
//!
//! Comparing is done by the thread that follows the kernel, because only it may look at the mirror
//! and the engine; but [`SLICE`] answers at a time, between which it takes in what was announced.
//! So a route change never waits for a comparison. Differences that only say that something changed
//! meanwhile go away by comparing again, against tables read again, what differed. What differs
//! [`ATTEMPTS`] times is a difference, if both answers stayed the same and no change of the route
//! was announced during the last attempt. A route that never rests cannot be compared with tables
//! that took half a second to read: it is left to a later comparison.
//!
//! "Punt" is never wrong, since the kernel then decides; it counts as a difference only where the
//! kernel has a way out by one of our ports to a neighbour whose address it knows: then the fast
//! path misses something, unless it is what found no room.

mod judge;
mod kernel;
mod ranges;
mod walk;

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use fib::{Address as _, IpPrefix};

pub use self::judge::Difference;
use self::judge::{Found, REMEMBERED};
use self::kernel::{KernelSide, Request};
pub use self::walk::SLICE;
use self::walk::Walks;
use super::mirror::Mirror;
use super::model::Event;
use crate::engine::{Engine, MAIN_TABLE};

/// Comparisons made before a difference counts.
const ATTEMPTS: u32 = 3;
/// Between them.
const PAUSE: Duration = Duration::from_millis(20);

/// The result of a comparison.
#[derive(Debug, Clone, Default)]
pub struct Verification {
    /// Prefixes that the kernel has a route for in the tables compared, IPv4.
    pub routes_v4: u64,
    /// The same of IPv6.
    pub routes_v6: u64,
    /// Answers compared.
    pub compared: u64,
    /// Answers for which the kernel was asked one by one.
    pub asked: u64,
    /// Answers that differ.
    pub different: u64,
    /// The first of them.
    pub differences: Vec<Difference>,
    /// How long it took.
    pub took: Duration,
}

/// A comparison under way.
#[derive(Debug)]
pub struct Check {
    stage: Stage,
    attempt: u32,
    /// What differed in the attempt before, by which answers, and has not changed since.
    before: BTreeMap<(IpAddr, u32), u64>,
    result: Verification,
    began: Instant,
}

#[derive(Debug)]
enum Stage {
    /// The kernel's tables are being read; then these places are compared, or all.
    Reading(Receiver<io::Result<KernelSide>>, Option<Vec<(u32, IpAddr)>>),
    Comparing(Box<Comparison>),
}

#[derive(Debug)]
struct Comparison {
    walks: Walks,
    found: Found,
    /// Addresses for which the kernel contradicts its own dump.
    contradicted: Vec<IpAddr>,
}

impl Check {
    /// Begins: the kernel's tables are read from now on, in the calling thread's network namespace.
    ///
    /// # Errors
    /// When the system has no thread for it.
    pub fn begin(mirror: &Mirror) -> io::Result<Self> {
        Ok(Self {
            stage: read(Request::new(mirror, None, Duration::ZERO), None)?,
            attempt: 1,
            before: BTreeMap::new(),
            result: Verification::default(),
            began: Instant::now(),
        })
    }

    /// Is there nothing to compare yet, because the kernel's tables are still being read?
    pub fn is_waiting(&self) -> bool {
        matches!(self.stage, Stage::Reading(..))
    }

    /// Takes in what was announced: where a route changes, its answers are not judged in this
    /// attempt.
    pub fn hear(&mut self, event: &Event) {
        let (Event::Route(route, _) | Event::RouteGone(route)) = event else {
            return;
        };
        let (first, last): (IpAddr, IpAddr) = match route.destination {
            IpPrefix::V4(prefix) => (prefix.address().to_ip(), prefix.last().to_ip()),
            IpPrefix::V6(prefix) => (prefix.address().to_ip(), prefix.last().to_ip()),
        };
        let within = self.before.range((first, 0)..=(last, u32::MAX));
        for place in within.map(|(place, _)| *place).collect::<Vec<_>>() {
            self.before.remove(&place);
        }
    }

    /// Does the next step: at most [`SLICE`] answers. What was announced must have been taken in
    /// since the last one. Returns the result at the end, after which the check is over.
    ///
    /// # Errors
    /// When the kernel could not be asked.
    pub fn advance(
        &mut self,
        mirror: &Mirror,
        engine: &dyn Engine,
    ) -> io::Result<Option<Verification>> {
        match &mut self.stage {
            Stage::Reading(reader, only) => {
                let kernel = match reader.try_recv() {
                    Ok(kernel) => kernel?,
                    Err(TryRecvError::Empty) => return Ok(None),
                    Err(TryRecvError::Disconnected) => {
                        return Err(io::Error::other(
                            "the thread that reads the kernel's tables ended",
                        ));
                    }
                };
                let only = only.take();
                self.stage = Stage::Comparing(Box::new(self.compare(kernel, only)));
                Ok(None)
            }
            Stage::Comparing(comparison) => {
                if comparison.walks.step(mirror, engine, &mut comparison.found) {
                    return Ok(None);
                }
                self.conclude(mirror)
            }
        }
    }

    fn compare(&mut self, mut kernel: KernelSide, only: Option<Vec<(u32, IpAddr)>>) -> Comparison {
        let mut found = Found::default();
        let mut contradicted = Vec::new();
        for contradiction in std::mem::take(&mut kernel.contradictions) {
            let kernel::Contradiction {
                address,
                asked,
                dumped,
            } = contradiction;
            found.differs(MAIN_TABLE, address, asked, dumped);
            contradicted.push(address);
        }
        if self.attempt == 1 {
            (self.result.routes_v4, self.result.routes_v6) = kernel.routes;
            self.result.asked = kernel.asked;
        }
        Comparison {
            walks: Walks::new(kernel, only),
            found,
            contradicted,
        }
    }

    fn conclude(&mut self, mirror: &Mirror) -> io::Result<Option<Verification>> {
        let Stage::Comparing(comparison) = &mut self.stage else {
            return Ok(None);
        };
        let found = &mut comparison.found;
        if self.attempt == 1 {
            self.result.compared = found.compared;
        }
        let last = self.attempt == ATTEMPTS;
        if last && found.places.len() < REMEMBERED {
            let before = &self.before;
            found
                .places
                .retain(|at| before.get(&(at.address, at.table)) == Some(&at.answers));
            let steady: HashSet<_> = found
                .places
                .iter()
                .map(|at| (at.table, at.address))
                .collect();
            found.different = found.places.len() as u64;
            found
                .differences
                .retain(|difference| steady.contains(&(difference.table, difference.address)));
        }
        if last || found.different == 0 {
            self.result.different = found.different;
            self.result.differences = std::mem::take(&mut found.differences);
            self.result.took = self.began.elapsed();
            return Ok(Some(self.result.clone()));
        }
        self.attempt += 1;
        let asking = Some(std::mem::take(&mut comparison.contradicted));
        self.before = found
            .places
            .drain(..)
            .map(|at| ((at.address, at.table), at.answers))
            .collect();
        let places = self.before.keys().map(|&(address, table)| (table, address));
        let only = Some(places.collect::<Vec<_>>()).filter(|all| all.len() < REMEMBERED);
        self.stage = read(Request::new(mirror, asking, PAUSE), only)?;
        Ok(None)
    }
}

fn read(request: Request, only: Option<Vec<(u32, IpAddr)>>) -> io::Result<Stage> {
    let (sender, receiver) = sync_channel(1);
    std::thread::Builder::new()
        .name("verify".into())
        // Who asked may have ended meanwhile.
        .spawn(move || drop(sender.send(kernel::read(request))))?;
    Ok(Stage::Reading(receiver, only))
}
