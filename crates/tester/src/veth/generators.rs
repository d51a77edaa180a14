//! Generators for an order, made when it differs from the last.

use std::net::IpAddr;

use fastpath::generate::{DESTINATIONS_MAX, Destinations, Frames, Generator, LENGTH_MAX};

use super::end::End;
use crate::addresses;
use crate::frame::{DESTINATION_PORT, SOURCE_PORT, TIME_TO_LIVE};
use crate::rig::{Result, RigError};
use crate::sizes::{FCS, Family};
use crate::trial::{Direction, Order};

/// Every so many frames carry a time when not every frame has to.
const STAMP_SOME: u32 = 16;
/// Below this rate, frames/s, every frame does: a look at the clock costs none of it, and the last
/// time is that of the last frame. A buffer's drain would else be short by up to 15 frames.
const STAMP_ALL_BELOW: f64 = 100_000.0;
/// Sequence numbers that a generator may use up before it is made anew, long before 32 bits are
/// full.
const SEQUENCES: u64 = 1 << 31;

/// What errors call it.
pub(super) const GENERATOR: &str = "the in-kernel generator";

/// What generators were made for.
#[derive(Debug, Clone, PartialEq)]
struct Made {
    lengths: Vec<u16>,
    family: Family,
    destinations: u32,
    direction: Direction,
    stamp_every: u32,
    timetable: bool,
}

/// The generators of the last order.
#[derive(Debug, Default)]
pub(super) struct Generators {
    /// Each with the number of its end.
    pub(super) list: Vec<(usize, Generator)>,
    made: Option<Made>,
}

impl Generators {
    /// Whether the program in the kernel keeps the timetable.
    pub(super) fn keep_timetable(&self) -> bool {
        self.made.as_ref().is_some_and(|made| made.timetable)
    }

    /// Makes the generators for an order, unless those of the last one serve.
    pub(super) fn prepare(&mut self, order: &Order, ends: &[End], seed: u64) -> Result<()> {
        let unable = |what: &str, remedy| Err(RigError::unable(GENERATOR, what, remedy));
        if order.direction == Direction::Mesh {
            return unable("send in a mesh", "send one way or both ways");
        }
        if let Some(what) = order.traffic.unusual() {
            return unable(what, "use --generator packet or af-xdp");
        }
        let mut segments = order.schedule.segments().iter();
        let made = Made {
            lengths: order.sizes.iter().map(|size| size.bytes() - FCS).collect(),
            family: order.family,
            destinations: order.destinations,
            direction: order.direction,
            timetable: order.direction == Direction::OneWay
                && segments.all(|segment| segment.rate.is_finite()),
            stamp_every: stamp_every(order),
        };
        if let Some(&length) = made.lengths.iter().find(|&&length| length > LENGTH_MAX) {
            let what = format!("make frames of {} bytes", length + FCS);
            return unable(&what, "use frames of at most 3404 bytes");
        }
        let fresh = |(_, generator): &(usize, Generator)| generator.sent() < SEQUENCES;
        if self.made.as_ref() == Some(&made) && self.list.iter().all(fresh) {
            return Ok(());
        }
        // Numbers go on: a frame of the last generators is never taken for one of these.
        let last = self
            .list
            .iter()
            .map(|(_, generator)| generator.sent())
            .max();
        let last = last.filter(|&number| number < SEQUENCES).unwrap_or(0);
        self.list.clear();
        for (from, to) in order.direction.streams(2) {
            let end = &ends[usize::from(from)];
            let frames = Frames {
                source_mac: end.macs.tester,
                destination_mac: end.macs.device,
                vlan: None,
                source: match order.family {
                    Family::Ipv4 => IpAddr::V4(addresses::tester_v4(from)),
                    Family::Ipv6 => IpAddr::V6(addresses::tester_v6(from)),
                },
                destinations: destinations(order, to, seed),
                source_port: SOURCE_PORT,
                source_ports: 1,
                destination_port: DESTINATION_PORT,
                ttl: TIME_TO_LIVE,
                lengths: made.lengths.clone(),
                stream: 0,
                stamp_every: made.stamp_every,
            };
            let make = if made.timetable {
                Generator::with_timetable
            } else {
                Generator::new
            };
            let generator = end.enter(|| make(end.index, &frames))??;
            let generator = generator.numbered_after(last);
            self.list.push((usize::from(from), generator));
        }
        self.made = Some(made);
        Ok(())
    }
}

/// Every how many frames carry a time.
fn stamp_every(order: &Order) -> u32 {
    let mut segments = order.schedule.segments().iter();
    let all = order.time_every_frame || segments.all(|part| part.rate < STAMP_ALL_BELOW);
    if all { 1 } else { STAMP_SOME }
}

fn destinations(order: &Order, port: u8, seed: u64) -> Destinations {
    let count = order.destinations.clamp(1, DESTINATIONS_MAX as u32);
    let indices = addresses::shuffled(count, seed);
    let v4 = |index| addresses::destination_v4(port, 2, index, count);
    let v6 = |index| addresses::destination_v6(port, index, count);
    match order.family {
        Family::Ipv4 => Destinations::V4(indices.map(v4).collect()),
        Family::Ipv6 => Destinations::V6(indices.map(v6).collect()),
    }
}
