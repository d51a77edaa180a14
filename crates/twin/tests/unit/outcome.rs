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
