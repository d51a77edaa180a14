//! What became of the frames of a case, in one bed and in the other.

use std::collections::{BTreeMap, BTreeSet};

use crate::case::{Case, hex, number};
use crate::cause::Cause;
use crate::hands::HOSTS;
use crate::headers::{
    DESTINATION, ETHERNET, FRAGMENT, HOP_BY_HOP, ICMP, ICMPV6, ROUTING, TCP, UDP, untagged, upper,
};

/// The shortest frame on a wire, in bytes without FCS (IEEE 802.3, 4.2.3.3).
const SHORTEST: usize = 60;
/// IPv4's timestamp option.
const TIMESTAMP: u8 = 68;
/// Packets in packets.
const IP: u8 = 4;
const IPV6: u8 = 41;

/// The differences that are wanted, each with why. Beside these, two fields of packets that the
/// kernel makes itself are not compared: the identification, which counts or is random, and the
/// flow label of IPv6, which is random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Exception {
    /// Of several ways to a destination another was taken: the kernel's hash has a secret key. By
    /// one whose neighbour had been given up nothing leaves, or the kernel says host unreachable.
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
    /// The source port, or the number of an echo, that the kernel's address translation drew
    /// because the sender's was taken (`net/netfilter/nf_nat_core.c`,
    /// `nf_nat_l4proto_unique_tuple`).
    Port,
}

/// A frame that left.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    place: usize,
    tags: Vec<u8>,
    /// Without tags.
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
        let Some((tags, mut frame)) = untagged(frame) else {
            return false;
        };
        // What lies behind the packet is no part of it.
        let end = packet_length(&frame).map_or(frame.len(), |length| ETHERNET + length);
        let packet = &frame[..end.min(frame.len())];
        let known = number(packet).filter(|number| case.0.contains_key(number));
        let Some(number) = known else {
            return false;
        };
        let tags = tags.to_vec();
        let original = case.0[&number].get(ETHERNET..).unwrap_or_default();
        let is_whole = packet_length(&frame).is_some();
        let is_bare = is_bare(&frame);
        let begin = if is_bare { 0 } else { ETHERNET };
        let packet = frame.get_mut(begin..).unwrap_or_default();
        let made = (is_whole || is_bare) && forget_chance(packet, original);
        let seen = self.0.entry(number).or_default();
        let seen_here = Seen {
            place,
            tags,
            frame,
            made,
        };
        seen.push(seen_here);
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

/// The frames of a case by their numbers, without tags.
pub(crate) struct Originals(BTreeMap<u16, Vec<u8>>);

impl Originals {
    pub(crate) fn of(case: &Case) -> Self {
        let numbered = |frame: &Vec<u8>| Some((number(frame)?, untagged(frame)?.1));
        Self(case.frames.iter().filter_map(numbered).collect())
    }
}

/// Compares the kernel's outcome with the router's. Both are sorted; `limited` is what has
/// come in each bed, before and now, of messages of a limited rate; `given_up`, whether the bed's
/// kernel has given up a neighbour.
pub(crate) fn compare(
    case: &Case,
    kernel: &Outcome,
    router: &Outcome,
    limited: &[Limited; 2],
    given_up: [bool; 2],
) -> Comparison {
    let mut comparison = Comparison::default();
    let several = case.has_several_ways();
    let translated = case.has_translation();
    let originals = Originals::of(case);
    let numbers: BTreeSet<u16> = kernel.0.keys().chain(router.0.keys()).copied().collect();
    for number in numbers {
        let seen = |outcome: &Outcome| outcome.0.get(&number).cloned().unwrap_or_default();
        let (mut one, mut other) = (seen(kernel), seen(router));
        if one == other {
            continue;
        }
        let mut excuses = Vec::new();
        let port = originals.0.get(&number).and_then(|frame| drawn(frame));
        let steps: [(Exception, Forget<'_>, bool); 5] = [
            (Exception::Clock, &|seen, _| forget_clock(seen), true),
            (Exception::Padding, &|seen, _| cut_padding(seen), true),
            (Exception::Member, &|seen, _| forget_way(seen), several),
            (
                Exception::Port,
                &|seen, _| forget_drawn(seen, port.as_ref().map(|(_, _, port)| *port)),
                translated,
            ),
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
        // By the way that was taken here there was nobody.
        let lost = |seen: &[Seen], bed: usize| given_up[bed] && seen.iter().all(Seen::is_lost);
        if one != other && several && (lost(&one, 0) || lost(&other, 1)) {
            excuses.push(Exception::Member);
            other.clone_from(&one);
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
        let (addresses, rest) = self.frame.split_at(12);
        let frame = [addresses, &self.tags, rest].concat();
        format!("at {}: {}", HOSTS[self.place], hex(&frame))
    }

    /// Does it say that a neighbour does not answer?
    fn is_lost(&self) -> bool {
        let kind = upper(&self.frame).map(|(protocol, at)| (protocol, self.frame.get(at..at + 2)));
        // RFC 792 and RFC 4443, 3.1.
        let unreachable = [(ICMP, Some(&[3, 1][..])), (ICMPV6, Some(&[1, 3][..]))];
        self.made && kind.is_some_and(|kind| unreachable.contains(&kind))
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

/// Where a frame has its source port, or its number of an echo, where the checksum over it, and
/// that port.
fn drawn(frame: &[u8]) -> Option<(usize, usize, [u8; 2])> {
    let (protocol, at) = upper(frame)?;
    let (port, sum) = match protocol {
        TCP => (at, at + 16),
        UDP => (at, at + 6),
        ICMP => (at + 4, at + 2),
        _ => return None,
    };
    frame.get(sum..sum + 2)?;
    Some((port, sum, [*frame.get(port)?, *frame.get(port + 1)?]))
}

/// Takes out ports that are not the sender's, and the checksums over them.
fn forget_drawn(seen: &mut [Seen], senders: Option<[u8; 2]>) {
    for Seen { frame, made, .. } in seen {
        if let Some((port, sum, found)) = drawn(frame)
            && !*made
            && senders.is_some_and(|senders| senders != found)
        {
            frame[port..port + 2].fill(0);
            frame[sum..sum + 2].fill(0);
        }
    }
}

/// A message of a limited rate whose like came in the other bed.
fn is_repeated(seen: &Seen, other: &Limited) -> bool {
    seen.limited().iter().any(|key| other.contains(key))
}

/// Takes times out of timestamp options (RFC 791, 3.1), and the checksums over them; in packets in
/// packets too.
fn forget_clock(seen: &mut [Seen]) {
    for Seen { frame, .. } in seen {
        if is_bare(frame) {
            forget_times(frame);
        } else if frame.get(12..14) == Some(&[8, 0]) {
            forget_times(&mut frame[ETHERNET..]);
        } else if let Some((IP, at)) = upper(frame) {
            forget_times(frame.get_mut(at..).unwrap_or_default());
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

/// Is it an IPv4 packet without an Ethernet header? What the kernel has sent to itself, and a filter
/// sends out, has none.
fn is_bare(frame: &[u8]) -> bool {
    packet_length(frame).is_none() && frame.first().is_some_and(|first| first >> 4 == 4)
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

/// Takes out what the kernel counts or draws in a packet of its own: one that has another source
/// than the packet that it came of. Says whether this is one. So may be what it carries, when the
/// kernel sends its own packets into a tunnel.
fn forget_chance(packet: &mut [u8], original: &[u8]) -> bool {
    let version = packet.first().map(|first| first >> 4);
    let (source, header, protocol) = match version {
        Some(4) => (12..16, 20, 9),
        Some(6) => (8..24, 40, 6),
        _ => return false,
    };
    // A host may have sent in the router's name, which the router answers in its own. Of IPv6, only who
    // makes a packet makes fragments of it.
    let answers = matches!(packet.get(protocol), Some(&(ICMP | ICMPV6 | FRAGMENT)))
        && packet.get(protocol) != original.get(protocol);
    let same = version == original.first().map(|first| first >> 4)
        && packet.get(source.clone()) == original.get(source)
        && !answers;
    if same || packet.len() < header {
        return false;
    }
    if version == Some(4) {
        packet[4..6].fill(0);
        packet[10..12].fill(0);
        return true;
    }
    packet[1] &= 0xf0;
    packet[2..4].fill(0);
    let (mut next, mut at) = (packet[6], header);
    while let Some(rest) = packet.get_mut(at..).filter(|rest| rest.len() >= 8) {
        let length = match next {
            HOP_BY_HOP | ROUTING | DESTINATION => usize::from(rest[1]) * 8 + 8,
            FRAGMENT => {
                rest[4..8].fill(0);
                let is_first = rest[2] == 0 && rest[3] & !7 == 0;
                if is_first { 8 } else { break }
            }
            IP | IPV6 => {
                forget_chance(rest, original);
                break;
            }
            _ => break,
        };
        (next, at) = (rest[0], at + length);
    }
    true
}

#[cfg(test)]
#[path = "../tests/unit/outcome.rs"]
mod tests;
