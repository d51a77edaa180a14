//! What is sent besides plain test frames of one protocol: both protocols by turns, and the
//! modifiers of RFC 2544 §11.
//!
//! A modifier frame takes the place of a test frame in the timetable (§11: the stream as a whole
//! keeps its rate). It is not expected back; it counts as
//! [`Counts::modifiers`](crate::trial::Counts::modifiers), and what the device answers to a
//! management query as [`Counts::answers`](crate::trial::Counts::answers).

use std::net::Ipv4Addr;
use std::sync::Arc;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::capture::Capture;
use crate::frame::{Ends, udp_v4};
use crate::schedule::Schedule;
use crate::sizes::Family;

/// What is sent besides, or instead of, plain test frames.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Traffic {
    /// Both protocols by turns, whatever the order's own.
    pub blend: Option<Blend>,
    /// Other frames in the place of test frames.
    pub modifier: Option<Modifier>,
    /// Every test frame has UDP ports of its own ([`crate::udp_ports`]).
    pub random_ports: bool,
    /// The frames of a capture in the place of test frames.
    pub replay: Option<Arc<Capture>>,
}

impl Traffic {
    /// What is out of the ordinary, in words; `None` for plain test frames.
    pub fn unusual(&self) -> Option<&'static str> {
        if self.replay.is_some() {
            Some("replay a capture")
        } else if self.modifier.is_some() {
            Some("send modifier frames")
        } else if self.blend.is_some() {
            Some("send both protocols at once")
        } else if self.random_ports {
            Some("vary both UDP ports")
        } else {
            None
        }
    }
}

/// Both protocols in one stream (RFC 5180 §5.3 wants 90:10, 50:50 and 10:90), spread as evenly as
/// whole frames allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Blend {
    /// Of every `v4 + v6` frames so many are IPv4.
    pub v4: u32,
    /// And so many IPv6.
    pub v6: u32,
}

impl Blend {
    /// The protocol of frame `slot` (from 0) of the timetable.
    #[inline]
    pub fn family(self, slot: u64) -> Family {
        let (v6, all) = (u64::from(self.v6), u64::from(self.v4 + self.v6));
        // The number of IPv6 frames among the first n is n × v6 / all, rounded down.
        let place = slot % all;
        if (place + 1) * v6 / all > place * v6 / all {
            Family::Ipv6
        } else {
            Family::Ipv4
        }
    }
}

/// Frames that are no test frames (RFC 2544 §11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Modifier {
    /// One frame in a hundred goes to the hardware broadcast address
    ///
    /// Of a type that no router processes (§11.1).
    Broadcast,
    /// The first frame of each second asks the device by SNMP
    ///
    /// For its uptime and the counters of an interface (§11.2).
    Management,
    /// A RIP response at the start and every 30 s
    ///
    /// Two by turns, about networks outside the test (§11.3, C.2.6.2).
    Routing,
}

/// Every so many frames one is a broadcast (§11.1: 1 %).
const BROADCAST_EVERY: u64 = 100;
/// Between two routing updates of RIP, s (C.2.3).
const UPDATES_S: f64 = 30.0;
/// `EtherType` set aside for local experiments (IEEE 802): nobody processes it.
const EXPERIMENTAL: [u8; 2] = [0x88, 0xB5];
const EVERYBODY: [u8; 6] = [0xFF; 6];
/// UDP port of SNMP.
pub(crate) const SNMP: u16 = 161;
/// UDP port of RIP. RFC 2544 prints it as "208", which is hexadecimal.
const RIP: u16 = 520;
/// First network of the updates, 198.18.33.0: set aside for ports that the tests here do not use.
const UPDATED: [u8; 4] = [198, 18, 33, 0];
/// Networks in an update (C.2.6.2).
const NETWORKS: u8 = 6;
/// Metric of networks in the first update (C.2.6.2), and in the second: unreachable (RFC 1058
/// §3.2).
const METRICS: [u8; 2] = [7, 16];

impl Modifier {
    /// Of how many frames of the timetable the first is a modifier's.
    pub fn every(self, schedule: &Schedule) -> u64 {
        let rate = schedule
            .segments()
            .first()
            .map_or(f64::INFINITY, |segment| segment.rate);
        let spaced = |seconds: f64| {
            if rate.is_finite() {
                (rate * seconds).round().max(1.0) as u64
            } else {
                u64::MAX
            }
        };
        match self {
            Self::Broadcast => BROADCAST_EVERY,
            Self::Management => spaced(1.0),
            Self::Routing => spaced(UPDATES_S),
        }
    }

    /// Its frames, sent by turns, for a port with these ends whose device has address `device`
    /// there.
    pub fn frames(self, ends: &Ends, device: Ipv4Addr) -> Vec<Vec<u8>> {
        match self {
            Self::Broadcast => {
                let mut frame = vec![0; 60];
                frame[0..6].copy_from_slice(&EVERYBODY);
                frame[6..12].copy_from_slice(&ends.source_mac);
                frame[12..14].copy_from_slice(&EXPERIMENTAL);
                vec![frame]
            }
            Self::Management => vec![udp_v4(ends, device, (SNMP, SNMP), &snmp_get())],
            Self::Routing => {
                let everybody = Ends {
                    destination_mac: EVERYBODY,
                    ..*ends
                };
                let mut network = device.octets();
                network[3] = 255;
                METRICS
                    .map(|metric| {
                        let response = rip_response(metric);
                        udp_v4(&everybody, network.into(), (RIP, RIP), &response)
                    })
                    .to_vec()
            }
        }
    }
}

/// A RIP version 1 response about networks in a row (RFC 1058 §3.1).
fn rip_response(metric: u8) -> Vec<u8> {
    let mut bytes = vec![2, 1, 0, 0];
    for number in 0..NETWORKS {
        let [a, b, c, d] = UPDATED;
        bytes.extend([0, 2, 0, 0, a, b, c + number, d]);
        bytes.extend([0; 8]);
        bytes.extend([0, 0, 0, metric]);
    }
    bytes
}

/// An SNMP version 1 get request of community `public` (RFC 1157 §4.1.2) for what §11.2 names:
/// sysUpTime, and octets and unicast packets in and out of the first interface.
fn snmp_get() -> Vec<u8> {
    /// Below 1.3.6.1.2.1, the first two numbers as one octet (X.690 §8.19).
    const NAMES: [&[u8]; 5] = [
        &[1, 3, 0],
        &[2, 2, 1, 10, 1],
        &[2, 2, 1, 16, 1],
        &[2, 2, 1, 11, 1],
        &[2, 2, 1, 17, 1],
    ];
    const MIB_2: [u8; 5] = [0x2B, 6, 1, 2, 1];
    let bindings = NAMES.map(|name| {
        let mut value = element(0x06, &[&MIB_2, name].concat());
        value.extend(element(0x05, &[]));
        element(0x30, &value)
    });
    let request = [
        element(0x02, &[1]),
        element(0x02, &[0]),
        element(0x02, &[0]),
        element(0x30, &bindings.concat()),
    ];
    let message = [
        element(0x02, &[0]),
        element(0x04, b"public"),
        element(0xA0, &request.concat()),
    ];
    element(0x30, &message.concat())
}

/// Tag, length and value (X.690); the values here are shorter than 128 bytes.
fn element(tag: u8, value: &[u8]) -> Vec<u8> {
    debug_assert!(value.len() < 128, "a short length");
    let mut bytes = vec![tag, value.len() as u8];
    bytes.extend(value);
    bytes
}

#[cfg(test)]
#[path = "../tests/unit/traffic.rs"]
mod tests;
