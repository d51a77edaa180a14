//! Of `twin/src/outcome.rs`.

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
        !compare(case, &here, other, &<[_; 2]>::default(), [false; 2])
            .differences
            .is_empty()
    };
    assert!(!differ(&case, &here) && !differ(&case, &padded));
    assert!(differ(&case, &nowhere) && differ(&case, &there) && differ(&case, &twice));
    case.commands
        .push("ip nexthop replace id 11 group 1/2".to_owned());
    assert!(!differ(&case, &there) && differ(&case, &nowhere));
    let excused = compare(&case, &here, &there, &<[_; 2]>::default(), [false; 2]).excused;
    assert_eq!(excused, BTreeMap::from([(Exception::Member, 1)]));
    // By another way there may be nobody, but only where a neighbour has been given up.
    let by = |case: &Case, other: &Outcome, given_up| {
        let comparison = compare(case, &here, other, &<[_; 2]>::default(), given_up);
        comparison.differences.is_empty()
    };
    assert!(by(&case, &nowhere, [false, true]) && !by(&case, &nowhere, [true, false]));
    assert!(!by(&case, &twice, [true, true]));
    case.commands.clear();
    assert!(!by(&case, &nowhere, [false, true]));
}

/// A packet from the router to host a: this kind of ICMP message about a packet of the host's.
fn error(kind: [u8; 2], about: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([8, 0, 0x45, 0, 0, 28 + about.len() as u8, 0, 0, 0, 0, 64]);
    frame.extend([ICMP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend(kind);
    frame.extend([0; 6]);
    frame.extend(about);
    frame
}

#[test]
fn only_messages_of_a_limited_rate_may_stay_away() {
    let packet = |number: u16, last: u8| {
        let mut packet = vec![0x45, 0, 0, 36, 0, 1, 0, 0, 64, 253, 0, 0];
        packet.extend([10, 0, 0, 2, 10, 1, 0, last]);
        packet.extend(marker(number).repeat(2));
        packet
    };
    let (first, second) = (packet(7, 2), packet(8, 3));
    let frames = [&first, &second].map(|packet| [&[2; 12][..], &[8, 0], &packet[..]].concat());
    let case = Case {
        frames: frames.to_vec(),
        ..Case::default()
    };
    // Both came with the kernel alone; with the router, only the first of a kind.
    let ends = |kind, other| {
        let kernel = outcome(
            &case,
            &[(0, error(kind, &first)), (0, error(kind, &second))],
        );
        let router = outcome(&case, &[(0, error(other, &first))]);
        let limited = [&kernel, &router].map(|bed| bed.limited().collect());
        let compared = compare(&case, &kernel, &router, &limited, [false; 2]);
        (compared.differences.len(), compared.excused)
    };
    let rate = |count| BTreeMap::from([(Exception::Rate, count)]);
    for kind in [[3, 0], [3, 1], [3, 13], [5, 1]] {
        assert_eq!(ends(kind, kind), (0, rate(1)), "{kind:?}");
        // Nothing of its like came with the router.
        assert_eq!(ends(kind, [11, 0]), (2, BTreeMap::new()), "{kind:?}");
    }
    for kind in [[11, 0], [3, 3], [3, 4], [12, 0]] {
        assert_eq!(ends(kind, kind), (1, BTreeMap::new()), "{kind:?}");
    }
    // What a host sent is no message of the router's, whatever it says.
    let sent = [&[2; 12][..], &[8, 0], &packet(7, 2)[..]].concat();
    let kernel = outcome(&case, &[(1, sent)]);
    let limited = [Limited::from([vec![ICMP]]), Limited::from([vec![ICMP]])];
    let compared = compare(&case, &kernel, &Outcome::default(), &limited, [false; 2]);
    assert_eq!(compared.differences.len(), 1);
}

#[test]
fn only_the_time_of_day_may_differ_in_an_option() {
    let frame = |option: u8, time: u8, sum: u8| {
        let mut frame = vec![2; 12];
        frame.extend([8, 0, 0x47, 0, 0, 44, 0, 1, 0, 0, 64, 253, 0, sum]);
        frame.extend([10, 0, 0, 2, 10, 1, 0, 2]);
        frame.extend([option, 8, 9, 0, 0, 0, 0, time]);
        frame.extend(marker(7).repeat(2));
        frame
    };
    let case = Case {
        frames: vec![frame(TIMESTAMP, 0, 0)],
        ..Case::default()
    };
    let compared = |one, other| {
        let [kernel, router] = [one, other].map(|frame| outcome(&case, &[(1, frame)]));
        let compared = compare(&case, &kernel, &router, &<[_; 2]>::default(), [false; 2]);
        (compared.differences.len(), compared.excused)
    };
    let clock = BTreeMap::from([(Exception::Clock, 1)]);
    let (one, other) = (frame(TIMESTAMP, 1, 1), frame(TIMESTAMP, 2, 2));
    assert_eq!(compared(one.clone(), other), (0, clock));
    let mut elsewhere = frame(TIMESTAMP, 2, 2);
    elsewhere[26] = 11;
    assert_eq!(compared(one, elsewhere).0, 1);
    // In a packet of IPv6.
    let inside = |time: u8| {
        let mut frame = frame(TIMESTAMP, time, time);
        let mut header = vec![0x60, 0, 0, 0, 0, 44, IP, 64];
        header.extend([0xfd; 32]);
        frame.splice(12..14, [&[0x86, 0xdd], &header[..]].concat());
        frame
    };
    assert_eq!(compared(inside(1), inside(2)).0, 0);
    // What the kernel had sent to itself, without an Ethernet header.
    let bare = |time: u8| frame(TIMESTAMP, time, time).split_off(14);
    assert_eq!(compared(bare(1), bare(2)).0, 0);
    // The same bytes of an option that records the route.
    assert_eq!(compared(frame(7, 1, 1), frame(7, 2, 2)).0, 1);
}

#[test]
fn only_a_port_that_the_kernel_translated_may_differ() {
    // TCP from this port and to this address, with this checksum.
    let frame = |port: u8, sum: u8, last: u8| {
        let mut frame = vec![2; 12];
        frame.extend([8, 0, 0x45, 0, 0, 48, 0, 1, 0, 0, 64, TCP, 0, 0]);
        frame.extend([10, 0, 0, 2, 10, 1, 0, last]);
        frame.extend([
            9, port, 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 2, 1, 1, 9, sum, 0, 0,
        ]);
        frame.extend(marker(7).repeat(2));
        frame
    };
    // A tag does not hide what the sender's port was.
    let tagged = [
        &frame(1, 1, 2)[..12],
        &[0x81, 0, 0, 0],
        &frame(1, 1, 2)[12..],
    ]
    .concat();
    for sent in [frame(1, 1, 2), tagged] {
        let mut case = Case {
            frames: vec![sent],
            ..Case::default()
        };
        let ends = |case: &Case, one: &[u8], other: &[u8]| {
            let [kernel, router] = [one, other].map(|end| outcome(case, &[(1, end.to_vec())]));
            let compared = compare(case, &kernel, &router, &<[_; 2]>::default(), [false; 2]);
            (compared.differences.len(), compared.excused)
        };
        let (one, other) = (frame(2, 2, 3), frame(3, 3, 3));
        assert_eq!(ends(&case, &one, &other).0, 1, "nothing is translated");
        case.commands
            .push("nft add rule ip t c ip daddr 10.1.0.2 dnat to 10.1.0.3".to_owned());
        let port = BTreeMap::from([(Exception::Port, 1)]);
        assert_eq!(ends(&case, &one, &other), (0, port));
        assert_eq!(ends(&case, &one, &frame(1, 1, 3)).0, 1, "one kept its port");
        assert_eq!(ends(&case, &one, &frame(3, 3, 4)).0, 1, "another address");
        let mut longer = other.clone();
        longer[47] ^= 1;
        assert_eq!(ends(&case, &one, &longer).0, 1, "other flags");
    }
}

#[test]
fn what_the_kernel_draws_is_forgotten_in_its_own_packets_alone() {
    // A packet of IPv4 with this identification and source.
    let inner = |identification: u8, last: u8| {
        let mut packet = vec![0x45, 0, 0, 36, 0, identification, 0, 0, 64, 253, 0, 0];
        packet.extend([10, 0, 0, last, 10, 1, 0, 2]);
        packet.extend(marker(7).repeat(2));
        packet
    };
    // The same behind a routing header and a fragment header.
    let outer = |drawn: u8, offset: u8, inner: &[u8]| {
        let mut packet = vec![0x60, 0, 0, drawn, 0, 16 + inner.len() as u8, 43, 64];
        packet.extend([0xfd; 32]);
        packet.extend([44, 0, 4, 0, 0, 0, 0, 0]);
        packet.extend([IP, 0, 0, offset, 0, 0, 0, drawn]);
        packet.extend(inner);
        packet
    };
    let frame = |packet: &[u8]| {
        let kind = if packet[0] >> 4 == 4 {
            [8, 0]
        } else {
            [0x86, 0xdd]
        };
        [&[2; 12], &kind[..], packet].concat()
    };
    let case = Case {
        frames: vec![frame(&inner(1, 2))],
        ..Case::default()
    };
    let same = |one: &[u8], other: &[u8]| {
        let seen = |packet: &[u8]| outcome(&case, &[(1, frame(packet))]);
        seen(one) == seen(other)
    };
    let (host, own) = (2, 1);
    assert!(same(&inner(1, own), &inner(2, own)));
    assert!(!same(&inner(1, host), &inner(2, host)));
    // An answer from the address that the host had for its own.
    let answer = |identification: u8| {
        let mut packet = inner(identification, host);
        packet[9] = ICMP;
        packet
    };
    assert!(same(&answer(1), &answer(2)));
    // Behind a tag, which may not differ; and without an Ethernet header.
    let tagged = |tag: u8, packet: Vec<u8>| {
        let mut frame = frame(&packet);
        frame.splice(12..12, [0x81, 0, 0, tag]);
        outcome(&case, &[(1, frame)])
    };
    assert_eq!(tagged(5, inner(1, own)), tagged(5, inner(2, own)));
    assert_ne!(tagged(5, inner(1, own)), tagged(6, inner(1, own)));
    let bare = |packet: Vec<u8>| outcome(&case, &[(1, packet)]);
    assert_eq!(bare(inner(1, own)), bare(inner(2, own)));
    assert_ne!(bare(inner(1, host)), bare(inner(2, host)));
    assert!(same(
        &outer(1, 1, &inner(1, own)),
        &outer(2, 1, &inner(2, own))
    ));
    assert!(same(
        &outer(1, 1, &inner(1, host)),
        &outer(2, 1, &inner(1, host))
    ));
    assert!(!same(
        &outer(1, 1, &inner(1, host)),
        &outer(1, 1, &inner(2, host))
    ));
    // A redirect is known behind the headers that the kernel puts before it.
    let mut redirect = outer(1, 1, &[]);
    redirect[40] = ICMPV6;
    assert_eq!(upper(&frame(&redirect)), Some((ICMPV6, ETHERNET + 48)));
    // Behind the first fragment there is no header.
    assert!(!same(
        &outer(1, 8, &inner(1, own)),
        &outer(1, 8, &inner(2, own))
    ));
}
