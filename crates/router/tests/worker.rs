//! The packet's whole way: every reason has its frame, every forwarded byte is checked against
//! `etherparse`, and the sums close over arbitrary bytes.

use etherparse::{Ethernet2Header, Ipv4Header, Ipv6Header};
use fastpath::forward::{PortSettings, Reason, Step};
use fib::NextHop;
use proptest::prelude::*;

use crate::support::{
    Bench, NEIGHBOUR, OTHER, STATION, bench, frame_v4, frame_v6, hops, tagged, v4, v6,
};

/// Runs one frame that must not be forwarded; its reason.
fn reason_of(bench: &mut Bench, frame: Vec<u8>) -> Option<Reason> {
    let before = bench.counted();
    let sent = bench.run([frame]);
    let counted = bench.counted().since(&before);
    assert!(counted.closes());
    assert_eq!(counted.forwarded as usize, sent[0].len() + sent[1].len());
    Reason::ALL
        .iter()
        .copied()
        .find(|&reason| counted.of(reason) == 1)
}

fn changed(mut frame: Vec<u8>, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    change(&mut frame);
    frame
}

/// The frame with its IPv4 header checksum made right again.
fn checksummed(mut frame: Vec<u8>) -> Vec<u8> {
    let end = 14 + usize::from(frame[14] & 15) * 4;
    frame[24..26].fill(0);
    let sum = wire::checksum::of(&frame[14..end]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame
}

fn changed_v4(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    checksummed(changed(frame_v4(v4(hops::PLAIN), 60), change))
}

fn changed_v6(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    changed(frame_v6(v6(hops::PLAIN), 62), change)
}

#[test]
fn every_reason_has_its_frame() {
    let plain = || frame_v4(v4(hops::PLAIN), 60);
    let cases = [
        (vec![0; 13], Reason::Runt),
        (tagged(plain(), 7)[..17].to_vec(), Reason::Runt),
        (changed(plain(), |frame| frame[0] = 0xff), Reason::LinkGroup),
        (changed(plain(), |frame| frame[5] = 2), Reason::OtherStation),
        (tagged(plain(), 8), Reason::UnknownVlan),
        (
            changed(plain(), |frame| frame[13] = 6),
            Reason::OtherProtocol,
        ),
        (
            tagged(changed(plain(), |frame| frame[13] = 6), 7),
            Reason::OtherProtocol,
        ),
        (plain()[..33].to_vec(), Reason::Ipv4Truncated),
        (
            changed(plain(), |frame| frame[14] = 0x65),
            Reason::Ipv4Version,
        ),
        (
            changed(plain(), |frame| frame[14] = 0x44),
            Reason::Ipv4HeaderLength,
        ),
        (
            changed(plain(), |frame| frame[25] ^= 1),
            Reason::Ipv4Checksum,
        ),
        (changed_v4(|frame| frame[17] = 19), Reason::Ipv4TotalLength),
        (changed_v4(|frame| frame[17] = 47), Reason::Ipv4Overrun),
        (
            changed_v4(|frame| frame[26] = 127),
            Reason::Ipv4SourceMartian,
        ),
        (
            changed_v4(|frame| frame[30] = 0),
            Reason::Ipv4DestinationMartian,
        ),
        (changed_v4(|frame| frame[30] = 224), Reason::Ipv4Group),
        (changed_v4(|frame| frame[14] = 0x46), Reason::Ipv4Options),
        (changed_v4(|frame| frame[22] = 1), Reason::Ipv4TimeToLive),
        (changed_v6(|_| {})[..53].to_vec(), Reason::Ipv6Truncated),
        (changed_v6(|frame| frame[14] = 0x45), Reason::Ipv6Version),
        (changed_v6(|frame| frame[19] = 9), Reason::Ipv6Overrun),
        (
            changed_v6(|frame| frame[22] = 0xff),
            Reason::Ipv6SourceMartian,
        ),
        (
            changed_v6(|frame| frame[38..40].copy_from_slice(&[0xfe, 0x80])),
            Reason::Ipv6DestinationMartian,
        ),
        (changed_v6(|frame| frame[38] = 0xff), Reason::Ipv6Group),
        (changed_v6(|frame| frame[20] = 0), Reason::Ipv6HopByHop),
        (changed_v6(|frame| frame[21] = 1), Reason::Ipv6HopLimit),
        (frame_v4(0x0b00_0001, 60), Reason::NoRoute),
        (frame_v6(v6(NextHop(999)), 62), Reason::NoRoute),
        (frame_v4(v4(hops::PUNT), 60), Reason::Punt),
        (frame_v6(v6(hops::PUNT), 62), Reason::Punt),
        (frame_v4(v4(hops::BLACKHOLE), 60), Reason::Blackhole),
        (frame_v4(v4(hops::UNREACHABLE), 60), Reason::Unreachable),
        (frame_v4(v4(hops::PROHIBIT), 60), Reason::Prohibit),
        (frame_v4(v4(hops::EMPTY), 60), Reason::EmptyGroup),
        (frame_v4(v4(hops::NOWHERE), 60), Reason::UnknownPort),
        (frame_v4(v4(hops::SMALL), 115), Reason::TooBig),
        (frame_v6(v6(hops::SMALL), 115), Reason::TooBig),
    ];
    let mut bench = bench();
    for (number, (frame, reason)) in cases.iter().enumerate() {
        assert_eq!(
            reason_of(&mut bench, frame.clone()),
            Some(*reason),
            "case {number}: {frame:02x?}"
        );
    }
    assert_eq!(reason_of(&mut bench, frame_v4(v4(hops::SMALL), 114)), None);

    bench.outside[1].lock().expect("one thread").room = Some(0);
    assert_eq!(reason_of(&mut bench, plain()), Some(Reason::TransmitFull));
    let mut settings = PortSettings {
        mac: STATION.0,
        ..PortSettings::default()
    };
    bench
        .worker
        .set_port(1, settings.clone())
        .expect("attached");
    assert_eq!(reason_of(&mut bench, plain()), Some(Reason::PortDisabled));
    settings.table = 1;
    assert!(bench.worker.set_port(1, settings.clone()).is_err());
    assert!(bench.worker.set_port(3, settings).is_err());

    // All of them at once, in bursts: the same counts.
    let mut bench = crate::support::bench();
    bench.run(cases.iter().map(|(frame, _)| frame.clone()));
    let counted = bench.counted();
    for &reason in Reason::ALL {
        let expected = cases.iter().filter(|case| case.1 == reason).count() as u64;
        assert_eq!(counted.of(reason), expected, "{}", reason.name());
    }
    assert_eq!(counted.received, cases.len() as u64);
    assert!(counted.closes());
}

#[test]
fn damage_is_dropped_and_what_the_kernel_can_answer_is_the_kernels() {
    assert!(!Reason::Ipv4Checksum.is_punted());
    for answered in [
        Reason::Ipv4SourceMartian,
        Reason::Ipv4TimeToLive,
        Reason::Ipv6HopLimit,
        Reason::TooBig,
        Reason::NoRoute,
        Reason::LinkGroup,
    ] {
        assert!(answered.is_punted(), "{}", answered.name());
    }
}

/// What an RFC-abiding router makes of the frame, written by etherparse.
fn expected(frame: &[u8]) -> Vec<u8> {
    let (mut link, rest) = Ethernet2Header::from_slice(frame).expect("a header");
    link.source = OTHER.0;
    link.destination = NEIGHBOUR.0;
    let mut out = link.to_bytes().to_vec();
    if link.ether_type == etherparse::EtherType::IPV4 {
        let (mut header, payload) = Ipv4Header::from_slice(rest).expect("a header");
        header.time_to_live -= 1;
        header.header_checksum = header.calc_header_checksum();
        out.extend(header.to_bytes());
        out.extend(payload);
    } else {
        let (mut header, payload) = Ipv6Header::from_slice(rest).expect("a header");
        header.hop_limit -= 1;
        out.extend(header.to_bytes());
        out.extend(payload);
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_byte_of_a_forwarded_frame_is_right(
        frames in prop::collection::vec(
            (any::<bool>(), 62_usize..1500, any::<[u8; 8]>(), 2_u8.., any::<u8>()),
            1..150,
        ),
    ) {
        let frames: Vec<Vec<u8>> = frames.into_iter().map(|(six, length, noise, hops_left, class)| {
            if six {
                let mut frame = frame_v6(v6(hops::PLAIN), length);
                frame[15..18].copy_from_slice(&noise[..3]);
                frame[21] = hops_left;
                frame[54..62].copy_from_slice(&noise);
                frame
            } else {
                let mut frame = frame_v4(v4(hops::PLAIN), length);
                frame[15] = class;
                frame[18..20].copy_from_slice(&noise[..2]);
                frame[22] = hops_left;
                frame[54..62].copy_from_slice(&noise);
                checksummed(frame)
            }
        }).collect();
        let mut bench = bench();
        let [back, forth] = bench.run(frames.clone());
        prop_assert!(back.is_empty());
        // In the order of arrival.
        let wanted: Vec<Vec<u8>> = frames.iter().map(|frame| expected(frame)).collect();
        prop_assert_eq!(forth, wanted);
        let counted = bench.counted();
        prop_assert_eq!(counted.forwarded, frames.len() as u64);
        prop_assert_eq!(
            counted.forwarded_bytes,
            frames.iter().map(|frame| frame.len() as u64).sum::<u64>()
        );
        prop_assert_eq!(counted.received_bytes, counted.forwarded_bytes);
    }

    /// Arbitrary bytes, and right frames with arbitrary damage: no panic, no lost buffer, sums
    /// close.
    #[test]
    fn the_sums_close_over_anything(
        frames in prop::collection::vec(
            (0_u8..6, prop::collection::vec(any::<u8>(), 1..200), 1_u16..13, any::<(u16, u8)>()),
            1..200,
        ),
        room in prop::option::of(0_usize..100),
    ) {
        let frames: Vec<Vec<u8>> = frames.into_iter().map(|(form, noise, next_hop, (at, value))| {
            let length = 62 + noise.len();
            let mut frame = match form {
                0 => return noise,
                1 | 2 => frame_v4(v4(NextHop(next_hop)), length),
                3 => frame_v6(v6(NextHop(next_hop)), length),
                4 => tagged(frame_v4(v4(NextHop(next_hop)), length), 7),
                _ => tagged(frame_v6(v6(NextHop(next_hop)), length), 0xe007),
            };
            if value % 2 == 0 {
                let at = usize::from(at) % frame.len().min(64);
                frame[at] = value;
            }
            if value % 16 == 1 {
                frame.truncate(usize::from(at) % frame.len());
            }
            frame
        }).filter(|frame| !frame.is_empty()).collect();
        let mut bench = bench();
        bench.outside[1].lock().expect("one thread").room = room;
        let sent = bench.run(frames.clone());
        let counted = bench.counted();
        prop_assert!(counted.closes());
        prop_assert_eq!(counted.received, frames.len() as u64);
        prop_assert_eq!(
            counted.received_bytes,
            frames.iter().map(|frame| frame.len() as u64).sum::<u64>()
        );
        prop_assert_eq!(counted.forwarded, (sent[0].len() + sent[1].len()) as u64);
        let bytes: usize = sent.iter().flatten().map(Vec::len).sum();
        prop_assert_eq!(counted.forwarded_bytes, bytes as u64);
        // The steps' rows agree with the reasons: what entered a step left it forwards or for a
        // reason of that step.
        let left = |step: Step| {
            Reason::ALL
                .iter()
                .filter(|reason| reason.step() == step)
                .map(|&reason| counted.of(reason))
                .sum::<u64>()
        };
        let entered = |step: Step| counted.entered(step);
        prop_assert_eq!(
            entered(Step::EthernetInput) - left(Step::EthernetInput),
            entered(Step::Ipv4Input) + entered(Step::Ipv6Input)
        );
        prop_assert_eq!(
            entered(Step::Ipv4Input) + entered(Step::Ipv6Input)
                - left(Step::Ipv4Input)
                - left(Step::Ipv6Input),
            entered(Step::Lookup));
        prop_assert_eq!(
            entered(Step::NextHop) - left(Step::NextHop),
            entered(Step::EthernetOutput)
        );
        prop_assert_eq!(
            entered(Step::Ipv4Forward) + entered(Step::Ipv6Forward),
            entered(Step::EthernetOutput)
        );
        prop_assert_eq!(
            entered(Step::EthernetOutput) - left(Step::EthernetOutput),
            entered(Step::Transmit)
        );
        prop_assert_eq!(entered(Step::Transmit) - left(Step::Transmit), counted.forwarded);
    }
}

#[test]
fn link_padding_is_cut_off() {
    let mut frame = frame_v4(v4(hops::SMALL), 80);
    frame.resize(1400, 0xaa);
    let mut six = frame_v6(v6(hops::SMALL), 80);
    six.resize(1400, 0xaa);
    let [_, sent] = bench().run([frame, six]);
    assert_eq!(sent.iter().map(Vec::len).collect::<Vec<_>>(), [80, 80]);
    // The shortest frame keeps its padding.
    let mut short = frame_v4(v4(hops::PLAIN), 40);
    short.resize(60, 0);
    let [_, sent] = bench().run([short]);
    assert_eq!(sent[0].len(), 60);
}

#[test]
fn tags_are_taken_out_and_put_in() {
    let plain = frame_v4(v4(hops::TAGGED), 100);
    let [_, sent] = bench().run([
        tagged(plain.clone(), 7),
        plain.clone(),
        tagged(plain.clone(), 0xe000),
    ]);
    let wanted = tagged(expected(&plain), 0x6007);
    assert_eq!(sent, [wanted.clone(), wanted.clone(), wanted]);
    let plain = frame_v6(v6(hops::PLAIN), 100);
    let [_, sent] = bench().run([tagged(plain.clone(), 7)]);
    assert_eq!(sent, [expected(&plain)]);
}

#[test]
fn frames_of_several_buffers_are_tagged_and_cut_like_others() {
    for length in [700, 1100, 1400] {
        for plain in [
            frame_v4(v4(hops::TAGGED), length),
            frame_v6(v6(hops::TAGGED), length),
        ] {
            let mut padded = plain.clone();
            padded.resize(1400, 0xaa);
            let [_, sent] = bench().run([tagged(plain.clone(), 7), tagged(padded, 7)]);
            let wanted = tagged(expected(&plain), 0x6007);
            assert!(sent == [wanted.clone(), wanted], "{length} bytes");
        }
    }
}

#[test]
fn a_group_spreads_flows_and_keeps_each_together() {
    let flow = |port: u16| {
        let mut frame = frame_v4(v4(hops::GROUP), 60);
        frame[34..36].copy_from_slice(&port.to_be_bytes());
        frame
    };
    let mut bench = bench();
    for flows in [(0..1000).map(flow).collect::<Vec<_>>(), vec![flow(5); 100]] {
        let count = flows.len();
        let [back, forth] = bench.run(flows);
        assert_eq!(back.len() + forth.len(), count);
        if count == 1000 {
            assert!(
                (400..600).contains(&forth.len()),
                "{} of 1000 flows went to the first member",
                forth.len()
            );
        } else {
            assert!(
                back.is_empty() || forth.is_empty(),
                "one flow stays together"
            );
        }
    }
    // Fragments show no ports, so all of a datagram go by addresses alone.
    let mut fragments: Vec<_> = (0..100).map(flow).collect();
    for frame in &mut fragments {
        frame[20] = 0x20;
        *frame = checksummed(std::mem::take(frame));
    }
    let [back, forth] = bench.run(fragments);
    assert!(back.is_empty() || forth.is_empty());
}
