//! Follows the kernel: reads what it announces, feeds the mirror, hands the changes to the engine.
//!
//! One thread owns the mirror and the engine; nobody else writes either. Its socket listens to
//! announcements from before the first dump on. Whatever is announced during the first dump waits
//! and is applied after it. Who asks the kernel for something may have to wait until everybody
//! else's links are changed, so other threads do that.
//!
//! A resynchronisation reads the tables again, a piece at a time, between which announcements are
//! followed ([`super::reread`]). Forwarding never stops for it: it marks what it sees and removes,
//! at the end, only what was not seen. It happens when messages were lost, some time after events
//! upon which the kernel removes things in silence, and when asked for.

mod resync;
mod storm;
mod verification;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use fastpath::forward::{Device, Forwarder, NotCarried, PuntLimits};
use host::netlink::{ROUTE, Received, Socket};

pub use super::health::{Checking, Health};
use super::keep_alive::KeepAlive;
use super::mirror::Mirror;
use super::netlink::GROUPS;
use super::netlink::decode::decode;
use super::reread::Reread;
use super::troubles::Troubles;
use super::verify::{Check, Verification};
use crate::engine::{Change, Engine, EngineError};
use crate::log::{self, log};
use storm::Storm;

/// How long one turn takes announcements in: everything else of the control plane, the watchdog
/// among it, waits no longer for a storm of them.
const TURN: Duration = Duration::from_millis(50);

/// In a storm, changes are handed to the engine so often, or so seldom that it takes a fifth of the
/// time.
const PROMPT: Duration = Duration::from_millis(2);
/// Changes handed to the engine at once, at most.
const BATCH: usize = 16 << 10;
/// After an event that may have removed things in silence, the kernel is read again this much
/// later.
const SUSPICION_DELAY: Duration = Duration::from_secs(2);
/// Such re-reads are this far apart at least: with a full table each costs about a second of one
/// core.
const SUSPICION_INTERVAL: Duration = Duration::from_secs(30);
/// Why the tables must be read again before anybody vouches for the engine's state.
const LOST: &str = "announcements were lost (ENOBUFS)";
const INTERRUPTED: &str = "the kernel's tables changed while they were read for the first time";

/// What may fail, in the words of the log.
const HEARING: &str = "hearing what the kernel announces";
const READING: &str = "reading the kernel's tables again";
const TELLING: &str = "telling the engine what has changed";
const VOUCHING: &str = "vouching for the routes";
/// What follows of it.
const UNVOUCHED: &str = "it is tried again; nobody vouches for the routes, so the kernel forwards \
                         when stale-milliseconds are over";

/// The mirror, the engine, and the sockets between the kernel and both.
pub struct Follower {
    mirror: Mirror,
    engine: Box<dyn Engine>,
    events: Socket,
    storm: Storm,
    health: Health,
    suspicions: u64,
    suspected: Option<Instant>,
    synced: Instant,
    resync_wanted: Option<&'static str>,
    reread: Option<Reread>,
    /// Announcements were lost, and not everything has been read again since.
    lost: bool,
    keep_alive: KeepAlive,
    check: Option<Check>,
    verified: Option<Verification>,
}

impl Follower {
    /// Opens the sockets in the calling thread's network namespace, reads the kernel's tables and
    /// fills the engine.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn start(ports: &[String], engine: Box<dyn Engine>) -> io::Result<Self> {
        Self::start_prepared(ports, engine, |_| {})
    }

    /// As [`Follower::start`]; `prepare` may decide about ports and families before anything is
    /// forwarded.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn start_prepared(
        ports: &[String],
        engine: Box<dyn Engine>,
        prepare: impl FnOnce(&mut Mirror),
    ) -> io::Result<Self> {
        let began = Instant::now();
        let mut mirror = Mirror::new(ports);
        prepare(&mut mirror);
        let mut follower = Self {
            mirror,
            engine,
            events: Socket::open(ROUTE, &GROUPS)?,
            storm: Storm::new(began),
            health: Health::default(),
            suspicions: 0,
            suspected: None,
            synced: began,
            resync_wanted: None,
            reread: None,
            lost: false,
            keep_alive: KeepAlive::new(began),
            check: None,
            verified: None,
        };
        follower.read_all()?;
        follower.health.load = began.elapsed();
        follower.suspicions = follower.mirror.suspicions();
        Ok(follower)
    }

    /// Readable when the kernel has announced something.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }

    /// In a storm of announcements: how long from `now` they are to gather before [`Self::follow`].
    pub fn pause(&self, now: Instant) -> Duration {
        self.storm.pause(now)
    }

    /// The mirror.
    pub fn mirror(&self) -> &Mirror {
        &self.mirror
    }

    /// The engine.
    pub fn engine(&self) -> &dyn Engine {
        &*self.engine
    }

    /// The engine, to be handed over or to take over.
    pub fn engine_mut(&mut self) -> &mut dyn Engine {
        &mut *self.engine
    }

    /// The programs in the kernel and their state, for an engine that has them.
    pub fn forwarder_mut(&mut self) -> Option<&mut Forwarder> {
        self.engine.forwarder_mut()
    }

    /// Is the engine's state the kernel's, as of the latest [`Follower::follow`]? Not while
    /// announcements were lost and the tables have not been read again, not while routes that are
    /// gone are still being removed, and not while the engine refuses a change.
    pub fn is_current(&self) -> bool {
        !self.lost && !self.mirror.has_work() && !self.health.troubles.has(TELLING)
    }

    /// Tells the engine that its state is the kernel's as of now ([`Engine::vouch`]). False when it
    /// refuses.
    pub fn vouch(&mut self, bound: Option<Duration>) -> bool {
        let vouched = self.engine.vouch(bound);
        match &vouched {
            Ok(()) => self.health.troubles.over(VOUCHING),
            Err(error) => self.health.troubles.add(VOUCHING, error, UNVOUCHED),
        }
        vouched.is_ok()
    }

    /// Tells the engine how many punts the kernel gets.
    pub fn set_punt_limits(&mut self, limits: &PuntLimits) {
        self.engine.set_punt_limits(limits);
    }

    /// Has the engine look whether all of it still runs, and mend what does not.
    ///
    /// # Errors
    /// What had gone wrong, and what was done about it.
    pub fn check_engine(&mut self) -> Result<(), EngineError> {
        self.engine.check()
    }

    /// Tells the engine what its ports' devices do, by interface index.
    pub fn set_devices(&mut self, devices: &[(u32, Device)]) {
        for &(ifindex, device) in devices {
            self.engine.set_device(ifindex, device);
        }
    }

    /// How much is the kernel's because it found no room, here or in the engine.
    pub fn not_carried(&self) -> NotCarried {
        let mut all = self.engine.not_carried();
        all.next_hops += self.mirror.next_hops().refused();
        all
    }

    /// How following goes.
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// What has failed, to be added to.
    pub fn troubles(&mut self) -> &mut Troubles {
        &mut self.health.troubles
    }

    /// Changes the mirror from outside (ports, families) and tells the engine.
    pub fn change(&mut self, change: impl FnOnce(&mut Mirror)) {
        change(&mut self.mirror);
        self.flush();
    }

    /// Takes in what was announced so far, for at most [`TURN`].
    pub fn follow(&mut self) {
        let began = Instant::now();
        let before = (self.health.messages, self.health.changes);
        let mut any = false;
        let (mut flushed, mut took) = (began, Duration::ZERO);
        loop {
            let (mirror, check) = (&mut self.mirror, &mut self.check);
            let received = self.events.receive(|message| {
                if let Some(event) = decode(message, false) {
                    if let Some(check) = check {
                        check.hear(&event);
                    }
                    mirror.apply(event);
                }
            });
            match received {
                Ok(Received::Messages(count)) => {
                    any = true;
                    self.health.messages += count as u64;
                    let now = Instant::now();
                    if now - flushed > PROMPT.max(4 * took) {
                        self.flush();
                        flushed = Instant::now();
                        took = flushed - now;
                    } else {
                        self.flush_from(BATCH);
                    }
                    // The rest is there in the next turn, after whoever else waits.
                    if now - began > TURN {
                        break;
                    }
                }
                Ok(Received::Nothing) => {
                    self.health.troubles.over(HEARING);
                    break;
                }
                Ok(Received::Overrun) => {
                    self.health.overruns += 1;
                    self.lost = true;
                    self.resync_wanted = Some(LOST);
                }
                Err(error) => {
                    // What it would have said is not known.
                    self.lost = true;
                    if !self.health.troubles.waits(HEARING) {
                        self.resync_wanted = Some(LOST);
                        self.health.troubles.add(HEARING, &error, UNVOUCHED);
                    }
                    break;
                }
            }
        }
        self.flush();
        if any {
            self.health.lag = began.elapsed();
            self.health.lag_max = self.health.lag_max.max(self.health.lag);
            let messages = self.health.messages - before.0;
            self.storm.took(messages, began);
            let changes = self.health.changes - before.1;
            let seconds = self.health.lag.as_secs_f64();
            log!(log::Level::Detail, "followed", messages, changes, seconds);
        }
        if self.mirror.suspicions() != self.suspicions {
            self.suspicions = self.mirror.suspicions();
            self.suspected.get_or_insert(Instant::now());
        }
    }

    /// Does what is due: a resynchronisation, a look at the neighbours in use.
    pub fn tick(&mut self, now: Instant) {
        let overdue = |since: Instant, wait: Duration| now.saturating_duration_since(since) >= wait;
        if let Some(since) = self.suspected
            && !self.mirror.has_work()
            && overdue(since, SUSPICION_DELAY)
            && (self.health.resyncs == 0 || overdue(self.synced, SUSPICION_INTERVAL))
        {
            self.resync_wanted
                .get_or_insert("a link, an address or a nexthop object went away");
        }
        if let Some(reason) = self.resync_wanted
            && !self.health.troubles.waits(READING)
        {
            self.begin_resync(reason);
        }
        if self.mirror.has_work() {
            self.mirror.work();
            self.flush();
        }
        self.advance_resync();
        if self.keep_alive.is_due(now) {
            self.try_left_again();
            self.flush();
            self.refresh_neighbours();
        }
    }

    /// Tries again what had found no room.
    fn try_left_again(&mut self) {
        if self.health.troubles.has(TELLING) {
            return;
        }
        self.mirror.try_again();
        let size = |table, v6| self.mirror.size(table, v6);
        for table in self.engine.tables_with_room(&size) {
            self.mirror.fill_again(table);
        }
    }

    /// Is there something that [`Follower::tick`] has to do at once?
    pub fn is_busy(&self) -> bool {
        let reads = self.reread.as_ref().is_some_and(|reread| !reread.waits);
        reads || self.mirror.has_work()
    }

    fn flush(&mut self) {
        self.flush_from(1);
    }

    /// Hands the changes to the engine if there are so many. Those that it refuses wait.
    fn flush_from(&mut self, least: usize) {
        // What follows from several announcements together is found out only in the end.
        if (least > 1 && self.mirror.pending() < least) || self.health.troubles.waits(TELLING) {
            return;
        }
        let changes = self.mirror.changes();
        if changes.is_empty() {
            return;
        }
        if !self.engine.keeps_table() {
            changes.retain(|change| {
                matches!(
                    change,
                    Change::Port(_) | Change::PortGone { .. } | Change::OwnAddresses(_)
                )
            });
        }
        let result = self.engine.apply(changes);
        let done = result.as_ref().err().map_or(changes.len(), |no| no.done);
        changes.drain(..done);
        self.health.changes += done as u64;
        match result {
            Ok(()) => self.health.troubles.over(TELLING),
            Err(error) => self.health.troubles.add(TELLING, &error, UNVOUCHED),
        }
    }

    /// Neighbours that routes need are resolved before a packet asks for them, and those that carry
    /// traffic are confirmed: the kernel does not see the frames that go past it, and would let
    /// the entries grow stale.
    fn refresh_neighbours(&mut self) {
        // What is used meanwhile is seen in the next round.
        if !self.keep_alive.is_asking() {
            let carried = |next_hop| self.engine.carried(next_hop);
            let due = self.keep_alive.neighbours(&self.mirror, carried);
            self.health.refreshed += due.len() as u64;
            self.keep_alive.ask(due);
        }
    }
}
