//! Frames rehearsed: the same end as in the program in use, and nothing counted there.

use std::net::UdpSocket;
use std::process::Command;

use bpf::attach::Request;
use bpf::sys::SocketBuffer;
use fastpath::forward::{Capacity, Place, PuntLimits, Reason};
use fib::NextHop;
use figures::Random;

use super::bench::{ADJACENCY, Bench, PEER, TAGGED, expected, frame, frame_short};
use super::capture::Capture;
use super::punts::forward;
use crate::common::in_namespace;

const HOPS: [NextHop; 2] = [ADJACENCY, TAGGED];

impl Bench {
    /// The reason under which the program in use counts a frame, and the frame behind it.
    fn happens(&self, frame: &[u8]) -> (Option<Reason>, Vec<u8>) {
        let before = self.counts();
        let after = match self.place {
            Place::Tc => {
                let mut buffer = SocketBuffer::default();
                self.forwarder
                    .run_buffer(self.r0, frame, &mut buffer)
                    .unwrap()
                    .frame
            }
            _ => self.run(frame).1,
        };
        let count = |name, counts: &[(&str, u64)]| {
            let of = counts.iter().filter(|(other, _)| *other == name);
            of.map(|(_, frames)| frames).sum::<u64>()
        };
        let counts = self.counts();
        let moved =
            |reason: &&Reason| count(reason.name(), &counts) != count(reason.name(), &before);
        (Reason::ALL.iter().find(moved).copied(), after)
    }

    /// The same where others' frames say nothing. In generic mode a tag is told of the last frame that the
    /// kernel took in on this CPU. None is taken in where a program is run by hand, so it may be that of
    /// another test: then one without a tag is sent to this host, and the program runs again.
    fn happens_undisturbed(&self, frame: &[u8]) -> (Option<Reason>, Vec<u8>) {
        let is_untagged = frame.get(12..14) != Some(&[0x81, 0]);
        let is_told = self.place == Place::Xdp(Request::Generic) && is_untagged;
        for _ in 0..100 {
            let happened = self.happens(frame);
            if !is_told || happened.0 != Some(Reason::UnknownVlan) {
                return happened;
            }
            take_in_a_frame();
        }
        panic!("a tag is told of a frame without one: {frame:02x?}");
    }

    fn is_rehearsed(&mut self, frame: &[u8]) -> Option<Reason> {
        let before = (self.forwarder.port_counters(), self.carried());
        let told = self.forwarder.rehearse(self.r0, frame, &HOPS).unwrap();
        let after = (self.forwarder.port_counters(), self.carried());
        assert_eq!(before, after, "{frame:02x?}");
        let (left, changed) = self.happens_undisturbed(frame);
        let mut shown = told.frame;
        if self.place == Place::Tc && told.next_hop == Some(TAGGED) {
            // The kernel keeps it beside the frame.
            assert_eq!(shown.drain(12..16).as_slice(), [0x81, 0, 0x20, 0x03]);
        }
        assert_eq!((told.left, shown), (left, changed), "{frame:02x?}");
        assert_eq!(left.is_none(), told.next_hop.is_some(), "{frame:02x?}");
        if let Some(next_hop) = told.next_hop {
            let place = HOPS.iter().position(|hop| *hop == next_hop).unwrap();
            assert_eq!(self.carried()[place], after.1[place] + 1, "{frame:02x?}");
        }
        left
    }

    fn carried(&self) -> [u64; 2] {
        HOPS.map(|hop| self.forwarder.carried(hop).frames)
    }
}

/// Has the kernel take in a frame without a tag, on this CPU.
fn take_in_a_frame() {
    let up = Command::new("ip")
        .args(["link", "set", "lo", "up"])
        .status();
    assert!(up.unwrap().success());
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let own = socket.local_addr().unwrap();
    socket.send_to(&[0], own).unwrap();
}

/// Frames of every kind that the bench knows, then the same with bytes changed.
fn drawn(random: &mut Random, tagged: bool) -> Vec<u8> {
    const TO: [&str; 14] = [
        "198.19.1.2",
        "198.20.1.2",
        "203.0.113.3",
        "203.0.113.4",
        "203.0.113.5",
        "203.0.113.6",
        "203.0.113.7",
        "203.0.113.12",
        "203.0.113.13",
        "203.0.113.17",
        "192.0.2.1",
        "2001:db8:19::1",
        "2001:db8:12::1",
        "2001:db8:99::1",
    ];
    let mut below = |bound: usize| (random.next_u128() % bound as u128) as usize;
    let vlan = (tagged && below(4) == 0).then(|| 100 + below(2) as u16);
    let length = [82, 90, 200, 1514, 1600][below(5)];
    let mut frame = frame(TO[below(TO.len())], length, vlan);
    for _ in 0..below(3) {
        let (at, bit) = (below(60), below(8));
        frame[at] ^= 1 << bit;
    }
    if !tagged && frame[12..14] == [0x81, 0] {
        frame[12] = 8;
    }
    frame
}

fn thousands_end_as_rehearsed(place: Place, tagged: bool) {
    let mut bench = Bench::at(place, Capacity::default());
    let mut random = Random::new(20);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..2000 {
        let left = bench.is_rehearsed(&drawn(&mut random, tagged));
        seen.insert(left);
    }
    assert!(seen.len() > 15, "{seen:?}");
}

#[test]
fn frames_end_as_rehearsed_at_xdp() {
    in_namespace(|| thousands_end_as_rehearsed(Place::Xdp(Request::Native), true));
}

#[test]
fn frames_end_as_rehearsed_in_generic_mode() {
    in_namespace(|| thousands_end_as_rehearsed(Place::Xdp(Request::Generic), false));
}

#[test]
fn frames_end_as_rehearsed_at_tc() {
    in_namespace(|| {
        thousands_end_as_rehearsed(Place::Tc, false);
    });
}

#[test]
fn what_is_above_a_limit_is_so_in_a_rehearsal_which_takes_nobodys_place() {
    in_namespace(|| {
        forward();
        let mut bench = Bench::new();
        let limits: PuntLimits = "no-route=2, unresolved=16".parse().unwrap();
        bench.forwarder.set_punt_limits(&limits);
        let stray = frame("192.0.2.1", 60, None);
        for _ in 0..10 {
            let told = bench.forwarder.rehearse(bench.r0, &stray, &[]).unwrap();
            assert_eq!(told.left, Some(Reason::NoRoute));
        }
        for reason in ["no-route", "no-route", "policed-no-route"] {
            bench.leaves(&stray, reason);
        }
        let told = bench.forwarder.rehearse(bench.r0, &stray, &[]).unwrap();
        assert_eq!(told.left, Some(Reason::PolicedNoRoute));
        // One destination has a share of this limit.
        let silent = frame("203.0.113.13", 60, None);
        bench.leaves(&silent, "unresolved");
        bench.leaves(&silent, "unresolved");
        bench.leaves(&silent, "policed-unresolved");
        let told = bench.forwarder.rehearse(bench.r0, &silent, &[]).unwrap();
        assert_eq!(told.left, Some(Reason::PolicedUnresolved));
    });
}

/// At tc a tag lies beside the frame: what is told is what becomes of a frame that is sent.
#[test]
fn frames_with_a_tag_end_as_rehearsed_at_tc() {
    in_namespace(|| {
        let bench = Bench::at(Place::Tc, Capacity::default());
        let mut capture = Capture::nothing(bench);
        let r0 = capture.bench.r0;
        for (to, vlan, next_hop) in [
            ("198.19.1.2", 100, Ok(TAGGED)),
            ("198.20.1.2", 100, Ok(ADJACENCY)),
            ("192.0.2.1", 100, Err(Reason::NoRoute)),
            ("198.19.1.2", 101, Err(Reason::UnknownVlan)),
        ] {
            let frame = frame(to, 90, Some(vlan));
            let told = capture.bench.forwarder.rehearse(r0, &frame, &HOPS);
            let told = told.unwrap();
            assert_eq!(told.next_hop.ok_or(told.left), next_hop.map_err(Some));
            let before = (capture.bench.carried(), capture.bench.counts());
            capture.send_all(std::slice::from_ref(&frame));
            match next_hop {
                Ok(next_hop) => {
                    let entry = capture.bench.forwarder.next_hop(next_hop);
                    assert_eq!(told.frame, expected(&frame, &entry), "{to}");
                    let place = HOPS.iter().position(|hop| *hop == next_hop).unwrap();
                    let carried = capture.bench.carried()[place];
                    assert_eq!(carried, before.0[place] + 1, "{to}");
                }
                Err(reason) => {
                    assert_eq!(told.frame, frame, "{to}");
                    let of = |counts: &[(&str, u64)]| {
                        let of = counts.iter().find(|(name, _)| *name == reason.name());
                        of.map_or(0, |(_, frames)| *frames)
                    };
                    let now = of(&capture.bench.counts());
                    assert_eq!(now, of(&before.1) + 1, "{to}");
                }
            }
        }
        // The kernel cannot take this one out, and drops the frame.
        let short = &frame("198.19.1.2", 64, Some(100))[..18];
        let told = capture.bench.forwarder.rehearse(r0, short, &HOPS);
        let error = told.unwrap_err().to_string();
        assert!(error.contains("20 bytes"), "{error}");
        let mut other = frame_short();
        other[..6].copy_from_slice(&PEER);
        assert_eq!(
            capture.bench.is_rehearsed(&other),
            Some(Reason::OtherStation)
        );
    });
}
