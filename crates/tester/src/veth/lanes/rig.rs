//! Lanes as a rig: trials at a rate, open loop, for the searches that a closed loop needs none of.
//!
//! Each core in use offers its share of the timetable, whatever the device does with it. For a
//! device in the kernel ([`Pace::Call`]) the timetable is kept inside the kernel; the same call
//! carries the frames through, so a device that cannot keep up keeps the generator from sending in
//! time, and nothing overflows. For one on threads of its own ([`Pace::Window`]) the generator
//! hands over some frames together and sleeps in between, for the core is the workers' too; it is
//! favoured, so a device that cannot keep up does not slow it down, and its rings overflow.
//!
//! So there is one rule for both: what could not be handed over by the end of the timetable was
//! refused by the device, and counts as sent and lost. Whatever the generator's share of the core
//! is, it is a cost of every rate that is found, as it is in the closed loop. Up to a thousandth of
//! the frames ([`TOLERANCE`]) may be late before it is held against anybody; that much is the
//! rate's own inaccuracy, ten times what the rig with a core of its own for the generator allows
//! itself.

use std::ops::Range;
use std::sync::{Barrier, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use fastpath::generate::Generator;
use host::clock::now_ns;
use host::tasks;
use host::{CoreId, Favoured, Pinned};

use super::load::{Load, QUIET, join, settle};
use super::{Lanes, MTU, Pace};
use crate::clock::wait_until;
use crate::disturbance::{Disturbance, Watch};
use crate::rig::{Event, Result, Rig, RigError};
use crate::schedule::{Pacer, Schedule, Segment, TOLERANCE};
use crate::sizes::{Family, FrameSize, SizeError};
use crate::traffic::Traffic;
use crate::trial::{Counts, Direction, Order, Trial, Waits, judge};
use crate::veth::timetable::{Timetable, hand_over};

/// From the moment when all generators are ready to the first frame, ns.
const LEAD_NS: u64 = 400_000;
/// Who else runs on their cores is looked at from so long before it, ns: until then it may be who made
/// them ready.
const WATCH_NS: u64 = 50_000;
/// How long one call keeps the timetable, ns: a look at what is owed comes this often.
const SLICE_NS: u64 = 5_000_000;
/// Frames that the kernel handles together, as in the closed loop.
const BATCH: u32 = 64;
/// Frames that a generator which sleeps in between hands over together.
const COMPANY: u64 = 128;
/// Most of them at once after a delay.
const AT_ONCE: u32 = 256;
/// Shortest sleep worth the calls, ns.
const NAP_MIN_NS: u64 = 20_000;

/// A range of the cores of some lanes; its rates are those of all these cores together, in each
/// direction.
pub struct LanesRig<'a> {
    lanes: &'a Lanes,
    load: &'a mut Load,
    cores: Range<usize>,
    pace: Pace,
    ceiling: f64,
    until: Option<Instant>,
    number: u32,
}

impl<'a> LanesRig<'a> {
    /// A rig of a range of the lanes' cores. `pace` says what the device is, as for the closed
    /// loop; no rate above `ceiling`, frames/s in each direction, is worth asking for.
    pub fn new(
        lanes: &'a Lanes,
        load: &'a mut Load,
        cores: Range<usize>,
        pace: Pace,
        ceiling: f64,
    ) -> Self {
        Self {
            lanes,
            load,
            cores,
            pace,
            ceiling,
            until: None,
            number: 0,
        }
    }

    /// The order that a session of such a rig begins with; family and direction are its lanes'.
    ///
    /// # Errors
    /// A frame size that the cables do not carry.
    pub fn order(
        frame_bytes: u32,
        family: Family,
        direction: Direction,
    ) -> Result<Order, SizeError> {
        Ok(Order {
            sizes: vec![FrameSize::new(frame_bytes, family, MTU)?],
            family,
            schedule: Schedule::burst(1),
            direction,
            destinations: 1,
            traffic: Traffic::default(),
            time_every_frame: false,
            waits: Waits::QUICK,
        })
    }

    /// Refuses trials from `moment` on, if there is one: whoever searches keeps what is known by
    /// then.
    #[must_use]
    pub fn until(mut self, moment: Option<Instant>) -> Self {
        self.until = moment;
        self
    }

    /// How many ends send.
    fn senders(&self) -> usize {
        1 + usize::from(self.lanes.back().is_some())
    }

    /// Offers frames; beside that, what had arrived by each core before.
    fn offer(&mut self, frame_bytes: u32, segment: Segment) -> Result<(Offer, Vec<u64>)> {
        let in_calls = self.pace == Pace::Call;
        let senders = self.senders() as u64;
        let generators = self
            .load
            .prepare(self.lanes, frame_bytes, &self.cores, in_calls)?;
        let cores = &self.lanes.cores[self.cores.clone()];
        let before = self.lanes.sink.frames_per_cpu()?;
        let ready = Barrier::new(cores.len());
        let start = OnceLock::new();
        // Those of a device with threads of its own: no others of this process are bound to a core.
        let workers = |core| match self.pace {
            Pace::Call => Vec::new(),
            Pace::Window(_) => tasks::own_on(core),
        };
        let offers = thread::scope(|scope| {
            let offer = |((generator, &core), place): ((_, &CoreId), u64)| {
                let (ready, start) = (&ready, &start);
                let share = share(segment, place, cores.len() as u64, senders);
                let workers = workers(core);
                scope.spawn(move || {
                    let pinned = Pinned::to(core);
                    let _favoured = Favoured::now();
                    ready.wait();
                    let _pinned = pinned.map_err(RigError::from)?;
                    let start = *start.get_or_init(|| now_ns() + LEAD_NS);
                    wait_until(start - WATCH_NS, host::interrupted);
                    let watch = Watch::new(&[core], &[]).with_workers(&workers);
                    let offer = if in_calls {
                        Offer::by_calls(generator, share, start)
                    } else {
                        Offer::by_company(generator, share, start)
                    };
                    Ok(Offer {
                        disturbance: watch.end(),
                        ..offer?
                    })
                })
            };
            let threads: Vec<_> = generators
                .into_iter()
                .zip(cores)
                .zip(0..)
                .map(offer)
                .collect();
            let offers: Result<Vec<Offer>> = threads.into_iter().map(join).collect();
            offers
        })?;
        Ok((offers.iter().fold(Offer::default(), Offer::and), before))
    }
}

/// The part of a stretch that lane `place` of `lanes` has, with no frame forgotten: of so many
/// senders together, which take turns.
fn share(segment: Segment, place: u64, lanes: u64, senders: u64) -> Segment {
    let frames = segment.frames / lanes + u64::from(place < segment.frames % lanes);
    Segment {
        frames: frames.max(1) * senders,
        rate: segment.rate * senders as f64 / lanes as f64,
        ..segment
    }
}

/// What one core offered, or several together.
#[derive(Clone, Debug, Default)]
struct Offer {
    intended: u64,
    /// Handed over, late ones too.
    sent: u64,
    /// Handed over after the timetable's end.
    late: u64,
    worst_lateness_ns: u64,
    elapsed_ns: u64,
    disturbance: Disturbance,
}

impl Offer {
    /// By the timetable in the kernel.
    fn by_calls(generator: &mut Generator, segment: Segment, start_ns: u64) -> Result<Self> {
        let timetable = Timetable {
            start_ns,
            interval_ns: 1e9 / segment.rate,
            frames: segment.frames,
            batch: BATCH,
            slice_ns: SLICE_NS,
        };
        let before = generator.sent();
        let worst = timetable.keep(generator, |_, _, _| ())?;
        let sent = generator.sent() - before;
        // The program's last look at the clock was for the last frame.
        let end_ns = generator.last_look_ns().max(start_ns);
        let planned_ns = timetable.end_ns() - start_ns;
        let elapsed_ns = end_ns - start_ns;
        Ok(Self::new(
            segment.frames,
            sent,
            planned_ns,
            elapsed_ns,
            worst,
        ))
    }

    /// In small company, asleep in between.
    fn by_company(generator: &mut Generator, segment: Segment, start_ns: u64) -> Result<Self> {
        let schedule = Schedule::constant(segment.rate, segment.frames as f64 / segment.rate);
        let mut pacer = Pacer::new(&schedule, AT_ONCE);
        let interval_ns = 1e9 / segment.rate;
        let before = generator.sent();
        let mut last = 0;
        wait_until(start_ns, host::interrupted);
        while !pacer.finished() {
            if host::interrupted() {
                return Err(RigError::Interrupted);
            }
            let now = now_ns().saturating_sub(start_ns);
            let due = pacer.allowed(now);
            let wanted = pacer.left().min(COMPANY);
            if due < wanted {
                let nap = ((wanted - due) as f64 * interval_ns) as u64;
                if pacer.left() <= COMPANY {
                    wait_until(now_ns() + nap, host::interrupted);
                } else {
                    thread::sleep(Duration::from_nanos(nap.max(NAP_MIN_NS)));
                }
                continue;
            }
            let made = hand_over(generator, due as u32)?;
            pacer.went(u64::from(made), now);
            last = now;
        }
        let sent = generator.sent() - before;
        let planned_ns = schedule.duration_ns().unwrap_or(0);
        let worst = pacer.worst_lateness_ns();
        Ok(Self::new(schedule.frames(), sent, planned_ns, last, worst))
    }

    /// Of `sent` frames evenly handed over in `elapsed_ns` instead of `planned_ns`.
    fn new(intended: u64, sent: u64, planned_ns: u64, elapsed_ns: u64, worst: u64) -> Self {
        let over = elapsed_ns.saturating_sub(planned_ns) as f64 / elapsed_ns.max(1) as f64;
        Self {
            intended,
            sent,
            late: (sent as f64 * over) as u64,
            worst_lateness_ns: worst,
            elapsed_ns: elapsed_ns.max(planned_ns),
            disturbance: Disturbance::default(),
        }
    }

    /// What two offered at the same time.
    fn and(self, other: &Self) -> Self {
        Self {
            intended: self.intended + other.intended,
            sent: self.sent + other.sent,
            late: self.late + other.late,
            worst_lateness_ns: self.worst_lateness_ns.max(other.worst_lateness_ns),
            elapsed_ns: self.elapsed_ns.max(other.elapsed_ns),
            disturbance: self.disturbance.worse(other.disturbance),
        }
    }

    /// The counts when `arrived` frames came in all.
    fn counts(&self, arrived: u64) -> Counts {
        let came = arrived.min(self.sent);
        let unsent = self.intended - self.sent;
        let common = Counts {
            intended: self.intended,
            stray: arrived - came,
            arrivals: arrived,
            ..Counts::default()
        };
        if (unsent + self.late) as f64 <= TOLERANCE * self.intended as f64 {
            return Counts {
                sent: self.sent,
                unsent,
                received: came,
                lost: self.sent - came,
                ..common
            };
        }
        let late = self.late.min(came);
        Counts {
            sent: self.intended,
            received: came - late,
            late,
            lost: self.intended - (came - late),
            ..common
        }
    }
}

impl Rig for LanesRig<'_> {
    /// A trial of one size at one rate, that of all cores together. Where the frames go and how
    /// long to wait around them is the lanes' own, whatever the order says.
    fn run(&mut self, order: &Order, purpose: &str, event: Option<Event<'_>>) -> Result<Trial> {
        let unable = |what, remedy| RigError::unable("the rig of all cores", what, remedy);
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return Err(unable("go on: its time is over", "allow it more"));
        }
        let (&[size], &[segment]) = (order.sizes.as_slice(), order.schedule.segments()) else {
            return Err(unable("send by turns", "ask for one size at one rate"));
        };
        if event.is_some() || !segment.rate.is_normal() || segment.rate < 0.0 {
            return Err(unable("do more than keep a rate", "use the in-kernel rig"));
        }
        self.number += 1;
        let offered = self.offer(u32::from(size.bytes()), segment);
        if host::interrupted() {
            return Err(RigError::Interrupted);
        }
        if offered.is_err() {
            // An interface that has gone fails in many ways; this is the one to name.
            self.lanes.check_interfaces()?;
        }
        let (offer, before) = offered?;
        let base: u64 = before.iter().sum();
        // On a busy machine the kernel's own threads may have to carry the last ones, and wait for
        // a core.
        let arrived = settle(self.lanes, base + offer.sent, QUIET / 4)? - base;
        if arrived == 0 {
            self.lanes.check_interfaces()?;
        }
        let counts = offer.counts(arrived);
        let seconds = segment.frames as f64 / segment.rate;
        let senders = self.senders();
        let offered = offer.sent as f64 * 1e9 / offer.elapsed_ns.max(1) as f64;
        let noise = offer.disturbance;
        Ok(Trial {
            intended_rate: Some(segment.rate),
            offered_rate: offered / senders as f64,
            worst_lateness_ns: offer.worst_lateness_ns,
            largest_burst: BATCH,
            batch: BATCH,
            arrivals_by_core: self.lanes.arrived_since(&before)?,
            // Being late is in the counts already.
            validity: judge(&counts, None, &noise),
            ..Trial::new(
                (self.number, purpose),
                order,
                senders,
                seconds,
                counts,
                &noise,
            )
        })
    }

    fn describe(&self) -> String {
        format!(
            "in-kernel generators on {} cores, which the device and the sink share",
            self.cores.len()
        )
    }

    fn ceiling(&self) -> f64 {
        self.ceiling
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/veth_lanes_rig.rs"]
mod tests;
