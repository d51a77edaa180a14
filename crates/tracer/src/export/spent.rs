//! Where each thread under study spent its time, by code places: what collapsed stacks and profiles
//! are made of.
//!
//! A thread's time on cores is shared evenly among its samples, its waits have the places at which
//! they began. So all stretches of a thread add up to its time in the window.

use crate::analyse::Analysis;
use crate::analyse::budget::wait_for;
use crate::event::{Kind, Tid};
use crate::fast_map::FastMap;
use crate::timeline::{Doing, Life};
use crate::trace::Trace;
use crate::verdict::what;

/// What a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It ran.
    OnCore,
    /// It waited.
    Waited,
    /// It could run, and others had the cores.
    NoCore,
}

/// A stretch of a thread's time.
#[derive(Clone, Debug, PartialEq)]
pub struct Spent<'a> {
    /// When it began, or was sampled: nanoseconds of `CLOCK_MONOTONIC`.
    pub time: u64,
    /// Nanoseconds.
    pub length: u64,
    /// What the thread did.
    pub state: State,
    /// The code places, innermost first; empty where none was recorded.
    pub frames: &'a [String],
    /// What it waited for.
    pub wait: Option<String>,
}

/// Code places of one thread, by time: indices into the trace's stacks.
#[derive(Default)]
struct Places {
    samples: Vec<(u64, u32)>,
    waits: Vec<(u64, u32)>,
}

/// All threads under study, each with its stretches in the order of time.
pub fn spent<'a>(trace: &'a Trace, analysis: &Analysis) -> Vec<(Tid, Vec<Spent<'a>>)> {
    let places = places(trace);
    let lives = analysis.timeline.targets();
    let lives = lives.filter(|life| !life.segments.is_empty());
    let of = |life: &Life| {
        let none = Places::default();
        let places = places.get(&life.tid).unwrap_or(&none);
        let mut all = on_cores(trace, analysis, life, &places.samples);
        all.extend(off_cores(trace, analysis, life, &places.waits));
        all.sort_by_key(|stretch| stretch.time);
        (life.tid, all)
    };
    lives.map(of).collect()
}

/// The places of samples, and of the beginnings of waits.
fn places(trace: &Trace) -> FastMap<Tid, Places> {
    let mut places: FastMap<Tid, Places> = FastMap::default();
    // A place is that of the event before it on the same core.
    let mut begins_wait: FastMap<u16, bool> = FastMap::default();
    for event in &trace.events {
        let of = places.entry(event.tid).or_default();
        let waits = match event.kind {
            Kind::Sample(stack) => {
                of.samples.push((event.time, stack));
                continue;
            }
            Kind::Stack(stack) if begins_wait.get(&event.cpu) == Some(&true) => {
                of.waits.push((event.time, stack));
                false
            }
            Kind::FutexEnter(call) => call.operation.waits(),
            Kind::LockBegin { .. } => true,
            _ => false,
        };
        begins_wait.insert(event.cpu, waits);
    }
    places
}

fn frames(trace: &Trace, stack: Option<u32>) -> &[String] {
    let frames = stack.and_then(|stack| trace.trailer.stacks.get(stack as usize));
    frames.map_or(&[], Vec::as_slice)
}

/// The time that a thread ran, shared among its samples; without any, one stretch.
fn on_cores<'a>(
    trace: &'a Trace,
    analysis: &Analysis,
    life: &Life,
    samples: &[(u64, u32)],
) -> Vec<Spent<'a>> {
    let timeline = &analysis.timeline;
    let inside = |(time, _): &&(u64, u32)| (timeline.start..=timeline.end).contains(time);
    let samples: Vec<(u64, Option<u32>)> = samples
        .iter()
        .filter(inside)
        .map(|&(time, stack)| (time, Some(stack)))
        .collect();
    let samples = if samples.is_empty() {
        vec![(life.segments[0].start, None)]
    } else {
        samples
    };
    let (ran, count) = (life.ran(), samples.len() as u64);
    let upto = |number: u64| (u128::from(ran) * u128::from(number) / u128::from(count)) as u64;
    let stretch = |(number, (time, stack)): (u64, (u64, Option<u32>))| Spent {
        time,
        length: upto(number + 1) - upto(number),
        state: State::OnCore,
        frames: frames(trace, stack),
        wait: None,
    };
    let stretches = (0..).zip(samples).map(stretch);
    stretches.filter(|stretch| stretch.length > 0).collect()
}

/// The time that a thread waited, or had no core.
fn off_cores<'a>(
    trace: &'a Trace,
    analysis: &Analysis,
    life: &Life,
    waits: &[(u64, u32)],
) -> Vec<Spent<'a>> {
    let mut all = Vec::new();
    let mut before = 0;
    for segment in &life.segments {
        let (state, frames, wait) = match segment.doing {
            Doing::Running(_) => {
                before = segment.start;
                continue;
            }
            Doing::Runnable => (State::NoCore, &[][..], None),
            Doing::Blocked(cause) => {
                let upto = waits.partition_point(|(time, _)| *time <= segment.start);
                let last = waits[..upto].last().filter(|(time, _)| *time >= before);
                let why = what(wait_for(cause, &analysis.classes), analysis);
                (
                    State::Waited,
                    frames(trace, last.map(|(_, stack)| *stack)),
                    Some(why),
                )
            }
        };
        all.push(Spent {
            time: segment.start,
            length: segment.end - segment.start,
            state,
            frames,
            wait,
        });
    }
    all
}
