//! Closed-loop load: every core makes new frames when those before are through, so nothing has to
//! be searched for and no queue overflows: the rate at which frames arrive is the highest that the
//! device sustains with the generators beside it.
//!
//! An engine inside the kernel forwards in the very call that sends: it is its own brake
//! ([`Pace::Call`]). One on threads of its own would be outrun, so no more than a window of frames
//! is on the way at any time ([`Pace::Window`]); a generator that has to wait sleeps, for the core
//! is the workers' too. Whether frames were lost all the same is counted, and where.

use std::ops::{Range, RangeInclusive};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use fastpath::generate::{Destinations, Frames, Generator, Look};
use host::clock::Span;
use host::counting::{Counting, Mark, Timer};
use host::{CoreId, Pinned};

use super::ledger::Reading;
use super::{Lanes, Losses, Way};
use crate::disturbance::Watch;
use crate::frame::{DESTINATION_PORT, SOURCE_PORT, TIME_TO_LIVE};
use crate::rig::{Result, RigError};
use crate::sizes::FCS;
use crate::trial::{Counts, Validity, judge};

/// Time after the first frames before counting begins: the caches are cold.
const WARM_UP: Duration = Duration::from_millis(10);
/// Pause between looks for the first frames.
const PATIENCE: Duration = Duration::from_micros(500);
/// Longest wait for the first frames.
const PATIENCE_MAX: Duration = Duration::from_millis(500);
/// Shortest counting.
const LENGTH_MIN: Duration = Duration::from_millis(20);
/// Frames of the first call where a call is the brake, and the most and the least of any other.
const CALL: u32 = 1 << 12;
const CALLS: RangeInclusive<u32> = 1 << 10..=1 << 14;
/// How long such a call shall take: nobody ends it, so a trial goes on for that long after counting.
/// What a call costs by itself is less than a hundredth of it.
const CALL_TIME: Duration = Duration::from_millis(5);
/// Frames of one call where a window is.
const PART: u32 = 256;
/// Sleep of a generator whose window is full.
const NAP: Duration = Duration::from_micros(100);
/// When nothing has arrived for so long, what is still out is taken for lost and the window opens
/// again.
const FORGET: Duration = Duration::from_millis(100);
/// Pause between looks at the sink while frames are still on their way.
const LOOK: Duration = Duration::from_millis(1);
/// When nothing has arrived for so long, what has not come is lost: a device with threads of its
/// own may be kept from its core for a while on a busy machine.
pub(super) const QUIET: Duration = Duration::from_millis(200);
/// The same where the call that sends returns when the frames are through.
const QUIET_AFTER_CALL: Duration = Duration::from_millis(10);

/// What keeps the generators from outrunning the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// The call that sends returns when the frames are through.
    Call,
    /// At most so many frames are on their way for each core; at least 256.
    Window(u32),
}

/// What came of a load.
#[derive(Clone, Debug, PartialEq)]
pub struct Carried {
    /// Frames that arrived a second while they were counted, all cores together; 0 when none
    /// arrived at all.
    pub frames_per_second: f64,
    /// They as they were counted; nothing when none arrived.
    pub counted: Counting,
    /// All frames, those before and after the counting too. The sums close, or the trial is
    /// invalid.
    pub counts: Counts,
    /// Where the lost ones went.
    pub losses: Losses,
    /// Whether the figure counts.
    pub validity: Validity,
}

/// Generators of one kind at a time, for frames of one size, kept from one measurement to the next.
///
/// A core's generator is the same whoever else sends: it sends to all destinations, so what a core
/// keeps in its caches is no smaller when all send than when it sends alone.
#[derive(Default)]
pub struct Load {
    frame_bytes: u32,
    /// Whether they keep a timetable inside the kernel.
    timetable: bool,
    /// The generator of each core of the lanes, where it has been needed.
    by_core: Vec<Option<Generator>>,
}

impl Load {
    /// Sends frames of `frame_bytes` (with FCS) on those of the cores of `lanes` that lie in the
    /// range `cores`, and counts arrivals for `length`, at least 20 ms.
    ///
    /// # Errors
    /// When an interface has vanished, a core or a program is refused, or the user interrupts. A
    /// device that forwards nothing is no error.
    pub fn carry(
        &mut self,
        lanes: &Lanes,
        (frame_bytes, cores): (u32, Range<usize>),
        pace: Pace,
        length: Duration,
    ) -> Result<Carried> {
        let carried = self
            .prepare(lanes, frame_bytes, &cores, false)
            .and_then(|generators| run(lanes, generators, cores, pace, length.max(LENGTH_MIN)));
        if host::interrupted() {
            return Err(RigError::Interrupted);
        }
        // An interface that has gone fails in many ways; this is the one to name.
        if !matches!(&carried, Ok(carried) if carried.counts.received > 0) {
            lanes.check_interfaces()?;
        }
        carried
    }

    /// The generators of a range of cores, warm.
    pub(super) fn prepare(
        &mut self,
        lanes: &Lanes,
        frame_bytes: u32,
        cores: &Range<usize>,
        timetable: bool,
    ) -> Result<Vec<&mut Generator>> {
        if (self.frame_bytes, self.timetable) != (frame_bytes, timetable) {
            self.by_core.clear();
            (self.frame_bytes, self.timetable) = (frame_bytes, timetable);
        }
        if cores.is_empty() || cores.end > lanes.cores.len() {
            return Err(RigError::unable(
                "the rig of all cores",
                &format!("send from cores {cores:?} of {}", lanes.cores.len()),
                "ask for some that it has",
            ));
        }
        self.by_core.resize_with(lanes.cores.len(), || None);
        let (before, mut sent) = (lanes.arrived()?, 0);
        for core in cores.clone() {
            if self.by_core[core].is_none() {
                let mut generator = make(lanes, frame_bytes, core, timetable)?;
                // The first call of a generator takes some 20 ms more.
                generator.pace(0, 1.0, 1);
                sent += u64::from(generator.send(1)?);
                self.by_core[core] = Some(generator);
            }
        }
        settle(lanes, before + sent, QUIET)?;
        Ok(self.by_core[cores.clone()].iter_mut().flatten().collect())
    }
}

/// The generator of one core: it sends to all destinations, both ways by turns.
fn make(lanes: &Lanes, frame_bytes: u32, core: usize, timetable: bool) -> Result<Generator> {
    let of = lanes.cores.len();
    let frames = |way: &Way<'_>| {
        let mut frames = Frames {
            source_mac: way.from.mac,
            destination_mac: way.enters.mac,
            vlan: None,
            source: way.source,
            destinations: match way.destinations {
                Destinations::V4(all) => Destinations::V4(turned(all, core, of)),
                Destinations::V6(all) => Destinations::V6(turned(all, core, of)),
            },
            source_port: SOURCE_PORT,
            source_ports: 1,
            destination_port: DESTINATION_PORT,
            ttl: TIME_TO_LIVE,
            lengths: vec![frame_bytes as u16 - FCS],
            stream: 0,
            stamp_every: 0,
        };
        frames.lengths[0] = frames.lengths[0].max(frames.shortest());
        frames
    };
    let there = lanes.there();
    let (near, index) = (&there.from.namespace, there.from.index);
    let first = frames(&there);
    let Some(back) = lanes.back() else {
        let new = if timetable {
            Generator::with_timetable
        } else {
            Generator::new
        };
        return Ok(near.enter(|| new(index, &first))??);
    };
    let second = frames(&back);
    let made = near.enter(|| Generator::by_turns(index, [&first, &second], timetable))??;
    let (far, index) = (&back.from.namespace, back.from.index);
    far.enter(|| made.second_into(index))??;
    Ok(made)
}

/// All of `all`, begun where the `place`-th of `of` begins: none runs after another.
fn turned<A: Copy>(all: &[A], place: usize, of: usize) -> Vec<A> {
    let mut turned = all.to_vec();
    turned.rotate_left(all.len() / of.max(1) * place % all.len().max(1));
    turned
}

/// What the generators share.
struct Brake<'a> {
    lanes: &'a Lanes,
    /// Most frames on their way; `None`: the call is the brake.
    window: Option<u64>,
    /// Arrivals before the first frame.
    base: u64,
    /// Frames that generators have taken upon themselves to send.
    claimed: AtomicU64,
    /// Frames taken for lost.
    forgotten: AtomicU64,
    stop: AtomicBool,
}

impl Brake<'_> {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || host::interrupted()
    }

    /// Sends until stopped; frames sent.
    fn drive(&self, generator: &mut Generator) -> Result<u64> {
        let mut sent = 0;
        let (mut last, mut since) = (0, Instant::now());
        let mut call = CALL;
        while !self.stopped() {
            let Some(window) = self.window else {
                let begun = Instant::now();
                sent += u64::from(generator.send(call)?);
                call = next_call(call, begun.elapsed());
                continue;
            };
            let arrived = self.lanes.arrived()? - self.base;
            if arrived != last {
                (last, since) = (arrived, Instant::now());
            }
            let forgotten = self.forgotten.load(Ordering::Relaxed);
            let claimed = self.claimed.load(Ordering::Relaxed);
            let out = claimed.saturating_sub(arrived + forgotten);
            if out + u64::from(PART) <= window {
                self.claimed.fetch_add(u64::from(PART), Ordering::Relaxed);
                sent += u64::from(generator.send(PART)?);
            } else if since.elapsed() > FORGET {
                self.forgotten.fetch_max(forgotten + out, Ordering::Relaxed);
                since = Instant::now();
            } else {
                thread::sleep(NAP);
            }
        }
        Ok(sent)
    }
}

/// How many frames the next call sends, when one of so many took so long.
fn next_call(frames: u32, took: Duration) -> u32 {
    let each = took.as_secs_f64() / f64::from(frames);
    let wanted = (CALL_TIME.as_secs_f64() / each.max(1e-9)) as u32;
    wanted.clamp(*CALLS.start(), *CALLS.end())
}

fn run(
    lanes: &Lanes,
    mut generators: Vec<&mut Generator>,
    range: Range<usize>,
    pace: Pace,
    length: Duration,
) -> Result<Carried> {
    let cores = &lanes.cores[range];
    let before = Reading::now(lanes)?;
    let arrived_before = lanes.arrived_per_core(cores)?;
    let base: u64 = arrived_before.iter().sum();
    let watch = Watch::new(cores, &[]);
    let brake = Brake {
        lanes,
        window: match pace {
            Pace::Call => None,
            Pace::Window(each) => Some(u64::from(each.max(PART)) * cores.len() as u64),
        },
        base,
        claimed: AtomicU64::new(0),
        forgotten: AtomicU64::new(0),
        stop: AtomicBool::new(false),
    };
    let start = Barrier::new(cores.len() + 1);
    let (counted, sent) = thread::scope(|scope| {
        let drive = |(generator, &core): (_, &CoreId)| {
            let (brake, start) = (&brake, &start);
            scope.spawn(move || {
                let pinned = Pinned::to(core);
                start.wait();
                let _pinned = pinned.map_err(RigError::from)?;
                brake.drive(generator)
            })
        };
        let threads: Vec<_> = generators
            .iter_mut()
            .map(|one| &mut **one)
            .zip(cores)
            .map(drive)
            .collect();
        start.wait();
        let all = pace == Pace::Call;
        let counted = count(lanes, cores, &arrived_before, all, length, || {
            threads.iter().all(ScopedJoinHandle::is_finished)
        });
        brake.stop.store(true, Ordering::Relaxed);
        let sent: Result<u64> = threads.into_iter().map(join).sum();
        (counted, sent)
    });
    let (mut counted, sent) = (counted?, sent?);
    let disturbance = watch.end();
    let quiet = match pace {
        Pace::Call => QUIET_AFTER_CALL,
        Pace::Window(_) => QUIET,
    };
    let arrived = settle(lanes, base + sent, quiet)? - base;
    let after = Reading::now(lanes)?;
    let received = arrived.min(sent);
    let frames_per_second = counted.per_second();
    if received == 0 {
        counted = Counting::default();
    }
    // Where frames are through when the call that sends them returns, each generator's own are counted
    // on its core.
    if let Some(span) = counted.span()
        && pace == Pace::Call
        && received == sent
    {
        let marks = generators.iter().map(|generator| marks(generator, span));
        let own = Counting::by_cores(Timer::Program, marks.collect());
        counted = own.unwrap_or(counted);
    }
    let counts = Counts {
        intended: sent,
        sent,
        received,
        lost: sent - received,
        stray: arrived - received,
        arrivals: arrived,
        ..Counts::default()
    };
    Ok(Carried {
        frames_per_second: if received > 0 { frames_per_second } else { 0.0 },
        counted,
        counts,
        losses: before.losses(&after, counts.lost),
        validity: judge(&counts, None, &disturbance),
    })
}

/// The pieces of work that a generator timed.
fn marks(generator: &Generator, span: Span) -> Vec<Mark> {
    let looks = generator.looks(span.from_ns..span.to_ns).into_iter();
    let mark = |look: Look| Mark {
        begun_ns: look.begun_ns,
        took_ns: look.took_ns,
        count: look.sent,
    };
    looks.map(mark).collect()
}

pub(super) fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Frames over `length`, counted once they have begun to arrive: on every core when frames arrive
/// where they were sent (`all`), else anywhere. Nothing when none come.
fn count(
    lanes: &Lanes,
    cores: &[CoreId],
    before: &[u64],
    all: bool,
    length: Duration,
    given_up: impl Fn() -> bool,
) -> Result<Counting> {
    let begun = Instant::now();
    loop {
        let now = lanes.arrived_per_core(cores)?;
        let mut pairs = now.iter().zip(before);
        let has_begun = if all {
            pairs.all(|(now, before)| now > before)
        } else {
            pairs.any(|(now, before)| now > before)
        };
        if has_begun {
            break;
        }
        if begun.elapsed() > PATIENCE_MAX || given_up() || host::interrupted() {
            return Ok(Counting::default());
        }
        thread::sleep(PATIENCE);
    }
    thread::sleep(WARM_UP);
    Counting::of(length, || lanes.arrived())
}

/// Waits until `all` have arrived, or nothing has for `quiet`; the count then.
pub(super) fn settle(lanes: &Lanes, all: u64, quiet: Duration) -> Result<u64> {
    let (mut last, mut since) = (lanes.arrived()?, Instant::now());
    while last < all && since.elapsed() < quiet && !host::interrupted() {
        thread::sleep(LOOK);
        let now = lanes.arrived()?;
        if now != last {
            (last, since) = (now, Instant::now());
        }
    }
    Ok(last)
}

#[cfg(test)]
#[path = "../../../tests/unit/veth_lanes_load.rs"]
mod tests;
