//! Generators for an order, made when it differs from the last.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fastpath::generate::{Destinations, Frames, Generator, LENGTH_MAX};
use host::Namespace;

use super::rig::{XdpRig, within};
use crate::addresses;
use crate::frame::{DESTINATION_PORT, SOURCE_PORT, TIME_TO_LIVE};
use crate::rig::RigError;
use crate::sizes::{FCS, Family};
use crate::trial::{Direction, Order};

/// Every so many frames carry a time when not every frame has to.
const STAMP_SOME: u32 = 16;
/// Sequence numbers that a generator may use up before it is made anew, long before 32 bits are
/// full.
const SEQUENCES: u64 = 1 << 31;

/// Interfaces of the attic.
const PARKING: [&str; 2] = ["park0", "park1"];

/// What a generator was made for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Made {
    lengths: Vec<u16>,
    family: Family,
    destinations: u32,
    direction: Direction,
    stamp_every: u32,
    pub(super) timetable: bool,
}

impl XdpRig {
    /// Makes the generators for an order, unless those of the last one serve.
    pub(super) fn prepare(&mut self, order: &Order) -> Result<(), RigError> {
        if order.direction == Direction::Mesh {
            return Err(RigError::Unable {
                rig: "the in-kernel generator",
                what: "send in a mesh".to_owned(),
                remedy: "send one way or both ways",
            });
        }
        if let Some(what) = order.traffic.unusual() {
            return Err(RigError::Unable {
                rig: "the in-kernel generator",
                what: what.to_owned(),
                remedy: "use --generator packet or af-xdp",
            });
        }
        let made = Made {
            lengths: order.sizes.iter().map(|size| size.bytes() - FCS).collect(),
            family: order.family,
            destinations: order.destinations,
            direction: order.direction,
            timetable: order.direction == Direction::OneWay
                && order
                    .schedule
                    .segments()
                    .iter()
                    .all(|segment| segment.rate.is_finite()),
            stamp_every: if order.time_every_frame {
                1
            } else {
                STAMP_SOME
            },
        };
        if let Some(&length) = made.lengths.iter().find(|&&length| length > LENGTH_MAX) {
            return Err(RigError::Unable {
                rig: "the in-kernel generator",
                what: format!("make frames of {} bytes", length + FCS),
                remedy: "use frames of at most 3404 bytes",
            });
        }
        let used = self
            .generators
            .iter()
            .map(|(_, generator)| generator.sent())
            .max()
            .unwrap_or(0);
        if self.made.as_ref() == Some(&made) && used < SEQUENCES {
            return Ok(());
        }
        self.parked.clear();
        self.generators.clear();
        for (from, to) in order.direction.streams(2) {
            let end = &self.ends[usize::from(from)];
            let frames = Frames {
                source_mac: end.macs.tester,
                destination_mac: end.macs.device,
                vlan: None,
                source: match order.family {
                    Family::Ipv4 => IpAddr::V4(addresses::tester_v4(from)),
                    Family::Ipv6 => IpAddr::V6(addresses::tester_v6(from)),
                },
                destinations: self.destinations(order, to),
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
            let generator = within(end, || make(end.index, &frames))??;
            let place = PARKING[self.parked.len() % PARKING.len()];
            self.parked
                .push(self.attic.enter(|| generator.park(place))??);
            self.generators.push((usize::from(from), generator));
        }
        self.made = Some(made);
        Ok(())
    }

    fn destinations(&self, order: &Order, port: u8) -> Destinations {
        let count = order
            .destinations
            .clamp(1, fastpath::generate::DESTINATIONS_MAX as u32);
        let indices = addresses::shuffled(count, self.seed);
        match order.family {
            Family::Ipv4 => Destinations::V4(
                indices
                    .map(|index| addresses::destination_v4(port, 2, index, count))
                    .collect::<Vec<Ipv4Addr>>(),
            ),
            Family::Ipv6 => Destinations::V6(
                indices
                    .map(|index| addresses::destination_v6(port, index, count))
                    .collect::<Vec<Ipv6Addr>>(),
            ),
        }
    }
}

/// A namespace with a cable that nothing is ever sent through.
pub(super) fn attic() -> Result<Namespace, RigError> {
    let attic = Namespace::new("attic")?;
    attic.ip(format!(
        "link add {} type veth peer name {}",
        PARKING[0], PARKING[1]
    ))?;
    Ok(attic)
}
