//! What became of the frames of a case, in one bed and in the other.

use std::collections::{BTreeMap, BTreeSet};

use crate::case::{Case, hex, number};
use crate::cause::Cause;
use crate::half::HOSTS;

const ETHERNET: usize = 14;
/// The shortest frame on a wire, in bytes without FCS (IEEE 802.3, 4.2.3.3).
const SHORTEST: usize = 60;
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
/// IPv4's timestamp option.
const TIMESTAMP: u8 = 68;
/// The fragment header of IPv6.
const FRAGMENT: u8 = 44;

/// The differences that are wanted, each with why. Beside these, two fields of packets that the
/// kernel makes itself are not compared: the identification, which counts or is random, and the
/// flow label of IPv6, which is random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exception {
    /// Of several ways to a destination another was taken: the kernel's hash has a secret key.
    Member,
    /// Bytes behind a packet stay in a frame as short as a wire's shortest, which pads it again;
    /// the kernel cuts them off.
    Padding,
    /// An ICMP redirect, or an IPv4 error about a destination without a way, did not come where its
    /// like came before: the kernel sends these at a limited rate for each host, whatever
    /// `icmp_ratelimit` says.
    Rate,
    /// The time of day that the kernel writes into IPv4's timestamp option.
    Clock,
}

/// A frame that left.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    place: usize,
    frame: Vec<u8>,
    /// The router's kernel made it; it was not sent by a host.
    made: bool,
}

/// Messages of a limited rate that came: their protocol, then nothing more, or whom they went to,
/// or which destination they are about.
pub(crate) type Limited = BTreeSet<Vec<u8>>;

/// What left in one bed, by the numbers of the frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome(BTreeMap<u16, Vec<Seen>>);

/// A frame whose end differs.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Difference {
    /// The frame's number.
    pub number: u16,
    /// Where it left, and how, with the kernel alone.
    pub kernel: Vec<String>,
    /// The same with the router.
    pub router: Vec<String>,
}

/// Takes out of what was seen in a bed (0: the kernel's) what an exception says.
type Forget<'a> = &'a dyn Fn(&mut Vec<Seen>, usize);

/// How the outcomes compare.
#[derive(Clone, Debug, Default)]
pub(crate) struct Comparison {
    pub(crate) differences: Vec<Difference>,
    pub(crate) excused: BTreeMap<Exception, u64>,
    /// What the beds have to say about the differences.
    pub(crate) cause: Option<Cause>,
}

impl Outcome {
    /// Notes a frame that arrived at a host; false for one that is none of ours.
    pub(crate) fn note(&mut self, place: usize, frame: &[u8], case: &Originals) -> bool {
        // What lies behind the packet is no part of it.
        let end = packet_length(frame).map_or(frame.len(), |length| ETHERNET + length);
        let packet = &frame[..end.min(frame.len())];
        let known = number(packet).filter(|number| case.0.contains_key(number));
        let Some(number) = known else {
            return false;
        };
        let mut frame = frame.to_vec();
        let made = is_made_by_kernel(&frame, &case.0[&number]);
        if made {
            forget_chance(&mut frame);
        }
        let seen = self.0.entry(number).or_default();
        seen.push(Seen { place, frame, made });
        true
    }

    /// What came of messages of a limited rate.
    pub(crate) fn limited(&self) -> impl Iterator<Item = Vec<u8>> {
        self.0.values().flatten().flat_map(Seen::limited)
    }

    pub(crate) fn sort(&mut self) {
        self.0.values_mut().for_each(|seen| seen.sort());
    }
}

/// The frames of a case by their numbers.
pub(crate) struct Originals(BTreeMap<u16, Vec<u8>>);

impl Originals {
    pub(crate) fn of(case: &Case) -> Self {
        let numbered = |frame: &Vec<u8>| Some((number(frame)?, frame.clone()));
        Self(case.frames.iter().filter_map(numbered).collect())
    }
}

/// Compares the kernel's outcome with the router's. Both are sorted; `limited` is what has
/// come in each bed, before and now, of messages of a limited rate.
pub(crate) fn compare(
    case: &Case,
    kernel: &Outcome,
    router: &Outcome,
    limited: &[Limited; 2],
) -> Comparison {
    let mut comparison = Comparison::default();
    let several = case.has_several_ways();
    let numbers: BTreeSet<u16> = kernel.0.keys().chain(router.0.keys()).copied().collect();
    for number in numbers {
        let seen = |outcome: &Outcome| outcome.0.get(&number).cloned().unwrap_or_default();
        let (mut one, mut other) = (seen(kernel), seen(router));
        if one == other {
            continue;
        }
        let mut excuses = Vec::new();
        let steps: [(Exception, Forget<'_>, bool); 4] = [
            (Exception::Clock, &|seen, _| forget_clock(seen), true),
            (Exception::Padding, &|seen, _| cut_padding(seen), true),
            (Exception::Member, &|seen, _| forget_way(seen), several),
            (
                Exception::Rate,
                &|seen, bed| seen.retain(|one| !is_repeated(one, &limited[1 - bed])),
                true,
            ),
        ];
        for (exception, forget, applies) in steps {
            if !applies || one == other {
                continue;
            }
            let before = (one.clone(), other.clone());
            forget(&mut one, 0);
            forget(&mut other, 1);
            if before != (one.clone(), other.clone()) {
                excuses.push(exception);
            }
        }
        if one == other {
            for exception in excuses {
                *comparison.excused.entry(exception).or_default() += 1;
            }
        } else {
            let said = |outcome| seen(outcome).iter().map(Seen::said).collect();
            comparison.differences.push(Difference {
                number,
                kernel: said(kernel),
                router: said(router),
            });
        }
    }
    comparison
}

impl Seen {
    fn said(&self) -> String {
        format!("at {}: {}", HOSTS[self.place], hex(&self.frame))
    }

    /// The keys of a message of a limited rate, the most general first; none for other frames.
    fn limited(&self) -> Vec<Vec<u8>> {
        let keys = || {
            let (protocol, at) = upper(&self.frame)?;
            let kind = self.frame.get(at..at + 2)?;
            let (host, destination) = match (protocol, kind) {
                // RFC 792: behind eight bytes the packet, whose destination is at its end.
                (ICMP, [5, _] | [3, 0 | 1 | 13]) => (30..34, at + 24..at + 28),
                // RFC 4861, 4.5.
                (ICMPV6, [137, _]) => (38..54, at + 24..at + 40),
                _ => return None,
            };
            let key = |range| Some([&[protocol][..], self.frame.get(range)?].concat());
            Some(vec![key(0..0)?, key(host)?, key(destination)?])
        };
        keys().filter(|_| self.made).unwrap_or_default()
    }
}

/// The protocol above IP and where it begins; no extension headers.
fn upper(frame: &[u8]) -> Option<(u8, usize)> {
    let words = usize::from(frame.get(ETHERNET)? & 15);
    let at = match frame.get(12..14)? {
        [8, 0] => (*frame.get(23)?, ETHERNET + words * 4),
        [0x86, 0xdd] => (*frame.get(20)?, ETHERNET + 40),
        _ => return None,
    };
    (frame.len() > at.1).then_some(at)
}

/// A message of a limited rate whose like came in the other bed.
fn is_repeated(seen: &Seen, other: &Limited) -> bool {
    seen.limited().iter().any(|key| other.contains(key))
}

/// Takes times out of timestamp options (RFC 791, 3.1), and the checksums over them.
fn forget_clock(seen: &mut [Seen]) {
    for Seen { frame, .. } in seen {
        if frame.get(12..14) == Some(&[8, 0]) {
            forget_times(&mut frame[ETHERNET..]);
        }
    }
}

/// The same in a packet, and in the one that it quotes if it is an ICMP message.
fn forget_times(packet: &mut [u8]) {
    let header = packet
        .first()
        .map_or(0, |first| usize::from(first & 15) * 4);
    if header <= 20 || packet.len() < header {
        return;
    }
    let mut at = 20;
    while at < header {
        let length = match packet[at] {
            0 => break,
            1 => 1,
            _ => usize::from(*packet.get(at + 1).unwrap_or(&0)).max(2),
        };
        let end = (at + length).min(header);
        if packet[at] == TIMESTAMP {
            packet[at + 2..end.max(at + 2)].fill(0);
            packet[10..12].fill(0);
        }
        at = end;
    }
    if packet[9] == ICMP && packet.len() > header + 8 {
        packet[header + 2..header + 4].fill(0);
        forget_times(&mut packet[header + 8..]);
    }
}

fn cut_padding(seen: &mut [Seen]) {
    let short = |seen: &&mut Seen| seen.frame.len() <= SHORTEST;
    for Seen { frame, .. } in seen.iter_mut().filter(short) {
        let length = packet_length(frame).unwrap_or(usize::MAX);
        frame.truncate(length.saturating_add(ETHERNET));
    }
}

/// What an IP packet says its length is.
fn packet_length(frame: &[u8]) -> Option<usize> {
    let number = |at| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
    match frame.get(12..14)? {
        [8, 0] => number(16).map(usize::from),
        [0x86, 0xdd] => number(18).map(|length| usize::from(length) + 40),
        _ => None,
    }
}

fn forget_way(seen: &mut [Seen]) {
    for Seen { place, frame, .. } in seen {
        *place = 0;
        frame[..12].fill(0);
    }
}

/// Whether a packet has another source than the frame that it came of.
fn is_made_by_kernel(frame: &[u8], original: &[u8]) -> bool {
    let source = match frame.get(12..14) {
        Some([8, 0]) => 26..30,
        Some([0x86, 0xdd]) => 22..38,
        _ => return false,
    };
    frame.get(source.clone()) != original.get(source)
}

/// Takes out what the kernel counts or draws in packets of its own.
fn forget_chance(frame: &mut [u8]) {
    if frame[12] == 8 {
        frame[18..20].fill(0);
        frame[24..26].fill(0);
    } else {
        frame[15] &= 0xf0;
        frame[16..18].fill(0);
        if frame[20] == FRAGMENT {
            let identification = frame.iter_mut().skip(ETHERNET + 40 + 4);
            identification.take(4).for_each(|byte| *byte = 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::marker;

    fn outcome(case: &Case, seen: &[(usize, Vec<u8>)]) -> Outcome {
        let mut outcome = Outcome::default();
        for (place, frame) in seen {
            assert!(outcome.note(*place, frame, &Originals::of(case)));
        }
        outcome.sort();
        outcome
    }

    #[test]
    fn only_what_is_wanted_is_excused() {
        // A packet of 36 bytes: a header, twice the number.
        let mut frame = vec![2; 12];
        frame.extend([
            8, 0, 0x45, 0, 0, 36, 0, 1, 0, 0, 64, 253, 0, 0, 10, 0, 0, 2, 10, 1, 0, 2,
        ]);
        frame.extend(marker(7).repeat(2));
        let mut case = Case {
            frames: vec![frame.clone()],
            ..Case::default()
        };
        let here = outcome(&case, &[(1, frame.clone())]);
        let nowhere = outcome(&case, &[]);
        let padded = outcome(&case, &[(1, [&frame[..], &[0; 9]].concat())]);
        let there = outcome(&case, &[(2, frame.clone())]);
        let twice = outcome(&case, &[(1, frame.clone()), (1, frame)]);
        let differ = |case: &Case, other: &Outcome| {
            !compare(case, &here, other, &<[_; 2]>::default())
                .differences
                .is_empty()
        };
        assert!(!differ(&case, &here) && !differ(&case, &padded));
        assert!(differ(&case, &nowhere) && differ(&case, &there) && differ(&case, &twice));
        case.commands
            .push("ip nexthop replace id 11 group 1/2".to_owned());
        assert!(!differ(&case, &there) && differ(&case, &nowhere));
        let excused = compare(&case, &here, &there, &<[_; 2]>::default()).excused;
        assert_eq!(excused, BTreeMap::from([(Exception::Member, 1)]));
    }
}
