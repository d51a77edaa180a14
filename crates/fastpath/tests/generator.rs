//! The generator's frames byte by byte, and the whole way over a veth into the sink.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use bpf::attach::{Request, index_of};
use fastpath::generate::{Destinations, Frames, Generator, Signature};
use fastpath::sink::{Checks, Counts, Sink};

use crate::common::{checksum, in_namespace, veth};

fn frames_v4() -> Frames {
    Frames {
        source_mac: [2, 0, 0, 0, 0, 1],
        destination_mac: [2, 0, 0, 0, 0, 2],
        vlan: None,
        source: IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1)),
        destinations: Destinations::V4(vec![
            Ipv4Addr::new(198, 19, 0, 1),
            Ipv4Addr::new(255, 254, 253, 252),
            Ipv4Addr::new(1, 0, 255, 255),
        ]),
        source_port: 65_534,
        source_ports: 3,
        destination_port: 9,
        ttl: 64,
        lengths: vec![60],
        stream: 7,
        stamp_every: 1,
    }
}

fn frames_v6() -> Frames {
    Frames {
        source: IpAddr::V6("2001:db8::1".parse().unwrap()),
        destinations: Destinations::V6(vec![
            "2001:db8:1::ffff".parse().unwrap(),
            Ipv6Addr::from([0xff; 16]),
        ]),
        lengths: vec![78],
        ..frames_v4()
    }
}

/// Takes a frame apart with code that shares nothing with the program.
fn check(frame: &[u8], frames: &Frames, number: u32) {
    let length = usize::from(frames.lengths[(number as usize - 1) % frames.lengths.len()]);
    assert_eq!(frame.len(), length);
    assert_eq!(frame[..6], frames.destination_mac);
    assert_eq!(frame[6..12], frames.source_mac);
    let mut at = 12;
    if let Some(tag) = frames.vlan {
        assert_eq!(frame[12..14], [0x81, 0]);
        assert_eq!(frame[14..16], tag.to_be_bytes());
        at = 16;
    }
    let ether_type = u16::from_be_bytes([frame[at], frame[at + 1]]);
    let ip = &frame[at + 2..];
    let turn = (number as usize - 1) % frames.destinations.len();
    let (addresses, udp) = match &frames.destinations {
        Destinations::V4(list) => {
            assert_eq!(ether_type, 0x0800);
            assert_eq!(ip[0], 0x45);
            assert_eq!(usize::from(u16::from_be_bytes([ip[2], ip[3]])), ip.len());
            assert_eq!(ip[8], frames.ttl);
            assert_eq!(checksum(&[&ip[..20]]), 0xffff);
            assert_eq!(ip[16..20], list[turn].octets());
            (&ip[12..20], &ip[20..])
        }
        Destinations::V6(list) => {
            assert_eq!(ether_type, 0x86dd);
            assert_eq!(ip[0] >> 4, 6);
            assert_eq!(
                usize::from(u16::from_be_bytes([ip[4], ip[5]])),
                ip.len() - 40
            );
            assert_eq!(ip[6..8], [17, frames.ttl]);
            assert_eq!(ip[24..40], list[turn].octets());
            (&ip[8..40], &ip[40..])
        }
    };
    let port = u16::from_be_bytes([udp[0], udp[1]]);
    let turn = (number - 1) % u32::from(frames.source_ports);
    assert_eq!(port, frames.source_port.wrapping_add(turn as u16));
    assert_eq!(
        u16::from_be_bytes([udp[2], udp[3]]),
        frames.destination_port
    );
    assert_eq!(usize::from(u16::from_be_bytes([udp[4], udp[5]])), udp.len());
    let pseudo = [0, 17, udp[4], udp[5]];
    assert_eq!(checksum(&[addresses, &pseudo, udp]), 0xffff, "UDP checksum");
    let signature = Signature::read(frame).unwrap();
    assert_eq!(
        (signature.stream, signature.sequence),
        (frames.stream, number)
    );
    assert_eq!(
        signature.sent_ns != 0,
        number.is_multiple_of(frames.stamp_every)
    );
    assert!(udp[8..udp.len() - 16].iter().all(|&byte| byte == 0));
}

#[test]
fn every_byte_of_a_frame_is_right() {
    in_namespace(|| {
        let mut kinds = Vec::new();
        for base in [frames_v4(), frames_v6()] {
            for vlan in [None, Some(0x2064)] {
                let shortest = Frames {
                    vlan,
                    ..base.clone()
                }
                .shortest();
                for lengths in [
                    vec![shortest],
                    vec![shortest + 1],
                    vec![1514],
                    vec![3400, 570, shortest, 571],
                ] {
                    kinds.push(Frames {
                        vlan,
                        lengths,
                        stamp_every: 2,
                        ..base.clone()
                    });
                }
            }
        }
        for frames in kinds {
            let mut generator = Generator::new(1, &frames).unwrap();
            for number in 1..=7 {
                check(&generator.preview().unwrap(), &frames, number);
            }
            assert_eq!(generator.sent(), 7);
        }
    });
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    in_namespace(|| {
        let wrong = |change: &dyn Fn(&mut Frames)| {
            let mut frames = frames_v4();
            change(&mut frames);
            Generator::new(1, &frames).unwrap_err().to_string()
        };
        assert!(wrong(&|f| f.lengths = vec![57]).contains("57; these headers allow 60 to 3400"));
        assert!(wrong(&|f| f.lengths = vec![9000]).contains("9000"));
        assert!(
            wrong(&|f| f.destinations = Destinations::V4(vec![]))
                .contains("number of destinations")
        );
        assert!(wrong(&|f| f.source = IpAddr::V6(Ipv6Addr::LOCALHOST)).contains("source address"));
        assert!(wrong(&|f| f.stamp_every = 3).contains("power of two"));
        assert!(wrong(&|f| f.source_ports = 0).contains("source ports"));
    });
}

/// Waits until the sink has seen `frames`, or twenty seconds.
fn wait_for(sink: &Sink, frames: u64) {
    let end = Instant::now() + Duration::from_secs(20);
    while sink.counts().unwrap().frames < frames && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn frames_cross_a_veth_and_are_all_accounted_for() {
    in_namespace(|| {
        // Each core has its own variation, so one core sees all frames.
        let one = host::cores::allowed_to(0).unwrap()[0];
        host::cores::bind(0, &[one]).unwrap();
        veth("a", "b");
        let mut sink = Sink::new(Checks::ALL).unwrap();
        sink.attach("b", Request::Native).unwrap();
        let mut generator = Generator::new(index_of("a").unwrap(), &frames_v4()).unwrap();
        assert_eq!(generator.send(10_000).unwrap(), 10_000);
        wait_for(&sink, 10_000);
        let counts = sink.counts().unwrap();
        assert_eq!(counts.frames, 10_000);
        assert_eq!(counts.bytes, 600_000);
        assert_eq!(counts.unique(), 10_000);
        assert_eq!((counts.reordered, counts.late, counts.duplicate), (0, 0, 0));
        assert_eq!(counts.stamped, 10_000);
        let latencies = sink.latencies().unwrap();
        assert_eq!(latencies.total(), 10_000);
        assert!(latencies.quantile(0.5).unwrap() >= counts.latency_min_ns);
        assert!(latencies.quantile(0.0).unwrap() < 1_000_000_000);
        assert_eq!(sink.variations().unwrap().total(), 9_999);

        sink.clear().unwrap();
        assert_eq!(sink.counts().unwrap(), Counts::default());
    });
}

#[test]
fn pieces_of_work_are_timed_as_frames_are_made() {
    in_namespace(|| {
        veth("a", "b");
        let mut sink = Sink::new(Checks::ALL).unwrap();
        sink.attach("b", Request::Native).unwrap();
        let index = index_of("a").unwrap();
        let mut generator = Generator::new(index, &frames_v4()).unwrap();
        let before = host::clock::now_ns();
        // More pieces than are kept would take longer than this.
        for _ in 0..20 {
            generator.send(5_000).unwrap();
        }
        let after = host::clock::now_ns();
        let looks = generator.looks(before..after);
        assert!(looks.len() >= 2, "{} in {} ns", looks.len(), after - before);
        assert!(looks.is_sorted_by(|one, next| one.begun_ns + 100_000 <= next.begun_ns));
        assert!(
            looks
                .iter()
                .all(|look| look.took_ns > 0 && look.sent % 64 == 0)
        );
        let last = looks.last().unwrap();
        assert!(last.sent <= generator.sent() && last.begun_ns + last.took_ns <= after);
        assert_eq!(generator.looks(after..u64::MAX).len(), 0);

        let mut paced = Generator::with_timetable(index, &frames_v4()).unwrap();
        paced.pace(host::clock::now_ns(), 1_000.0, 1_000);
        while paced.remaining() > 0 {
            paced.send(5_000).unwrap();
        }
        assert_eq!(paced.looks(0..u64::MAX).len(), 0);
    });
}

/// The other way: other addresses, the rest the same.
fn frames_back() -> Frames {
    Frames {
        source_mac: [2, 0, 0, 0, 0, 3],
        destination_mac: [2, 0, 0, 0, 0, 4],
        source: IpAddr::V4(Ipv4Addr::new(198, 19, 0, 9)),
        destinations: Destinations::V4(vec![
            Ipv4Addr::new(198, 18, 0, 1),
            Ipv4Addr::new(1, 2, 3, 4),
            Ipv4Addr::new(128, 0, 0, 255),
        ]),
        ..frames_v4()
    }
}

/// Frame `n` of a kind is frame `2 n` or `2 n - 1` of the generator, by which its ports and its
/// signature go.
#[test]
fn frames_of_two_kinds_leave_by_turns_each_into_its_device() {
    in_namespace(|| {
        let one_port = |frames: Frames| Frames {
            source_ports: 1,
            ..frames
        };
        let kinds = [one_port(frames_v4()), one_port(frames_back())];
        let mut sinks = Vec::new();
        for (near, far) in [("a", "b"), ("c", "d")] {
            veth(near, far);
            let mut sink = Sink::new(Checks::ALL).unwrap();
            sink.attach(far, Request::Native).unwrap();
            sinks.push(sink);
        }
        let into = index_of("a").unwrap();
        let mut generator = Generator::by_turns(into, [&kinds[0], &kinds[1]], false).unwrap();
        for number in 1..=12_usize {
            let frame = generator.preview().unwrap();
            let frames = &kinds[(number + 1) % 2];
            assert_eq!(frame[..6], frames.destination_mac, "frame {number}");
            assert_eq!(frame[6..12], frames.source_mac);
            let Destinations::V4(list) = &frames.destinations else {
                panic!("IPv4 was asked for");
            };
            assert_eq!(frame[30..34], list[(number - 1) / 2 % 3].octets());
            assert_eq!(checksum(&[&frame[14..34]]), 0xffff, "IPv4 checksum");
            let (udp, addresses) = (&frame[34..], &frame[26..34]);
            let pseudo = [0, 17, udp[4], udp[5]];
            assert_eq!(checksum(&[addresses, &pseudo, udp]), 0xffff, "UDP checksum");
            let signature = Signature::read(&frame).unwrap();
            assert_eq!(signature.sequence as usize, number);
        }
        generator.second_into(index_of("c").unwrap()).unwrap();
        assert_eq!(generator.send(10_001).unwrap(), 10_001);
        for (sink, frames) in sinks.iter().zip([5_001, 5_000]) {
            wait_for(sink, frames);
            assert_eq!(sink.counts().unwrap().frames, frames);
        }
    });
}

#[test]
fn kinds_that_cannot_leave_by_turns_are_refused() {
    let refused = |other: Frames| {
        let one = frames_v4();
        let error = Generator::by_turns(1, [&one, &other], true).unwrap_err();
        error.to_string().contains("by turns")
    };
    let fewer = Destinations::V4(vec![Ipv4Addr::new(1, 2, 3, 4)]);
    for other in [
        frames_v6(),
        Frames {
            lengths: vec![61],
            ..frames_back()
        },
        Frames {
            destinations: fewer,
            ..frames_back()
        },
    ] {
        assert!(refused(other));
    }
}

/// A queue between generator and sink may hold frames from one trial to the next.
#[test]
fn frames_that_left_before_the_restart_are_counted_apart() {
    in_namespace(|| {
        let sink = Sink::new(Checks::ALL).unwrap();
        let mut generator = Generator::new(1, &frames_v4()).unwrap();
        let made: Vec<_> = (0..5).map(|_| generator.preview().unwrap()).collect();
        let left = |frame: &[u8]| Signature::read(frame).unwrap().sent_ns;
        assert_eq!(sink.run(&made[0]).unwrap().verdict, 1, "dropped");
        sink.restart(left(&made[3])).unwrap();
        for frame in &made[1..] {
            assert_eq!(sink.run(frame).unwrap().verdict, 1, "dropped");
        }
        let counts = sink.counts().unwrap();
        assert_eq!((counts.before, counts.frames, counts.unique()), (2, 2, 2));
        assert_eq!((counts.stamped, counts.reordered), (2, 0));
        assert_eq!(sink.latencies().unwrap().total(), 2);
        assert_eq!(sink.largest(7), 5);
        sink.clear().unwrap();
        assert_eq!(sink.run(&made[0]).unwrap().verdict, 1, "dropped");
        assert_eq!(sink.counts().unwrap().frames, 1, "of any age");
    });
}

#[test]
fn gaps_are_looked_for_as_far_back_as_the_window_remembers() {
    in_namespace(|| {
        let sink = Sink::new(Checks {
            streams: 1,
            window: 16,
            ..Checks::ALL
        })
        .unwrap();
        let mut generator = Generator::new(1, &frames_v4()).unwrap();
        let made: Vec<_> = (0..40).map(|_| generator.preview().unwrap()).collect();
        for number in (1..=40).filter(|number| ![5, 30, 31].contains(number)) {
            assert_eq!(sink.run(&made[number - 1]).unwrap().verdict, 1, "dropped");
        }
        let gaps = sink.gaps(0, 1, 40);
        assert_eq!((gaps.from, gaps.missing, gaps.runs), (25, 2, 1));
        assert_eq!((gaps.longest, gaps.last), (2, Some(31)));
        let silent = sink.gaps(0, 1, 60);
        assert_eq!((silent.from, silent.last), (45, Some(60)), "nothing since");
    });
}

#[test]
fn the_sink_tells_duplicates_and_reordering_apart() {
    in_namespace(|| {
        let sink = Sink::new(Checks {
            window: 16,
            ..Checks::ALL
        })
        .unwrap();
        let frames = Frames {
            stamp_every: 0,
            ..frames_v4()
        };
        let mut generator = Generator::new(1, &frames).unwrap();
        let made: Vec<_> = (0..40).map(|_| generator.preview().unwrap()).collect();
        // 1 2 3 5 4 4 6, then 40, then 10: older than the window of 16.
        for number in [1, 2, 3, 5, 4, 4, 6, 26, 10] {
            assert_eq!(sink.run(&made[number - 1]).unwrap().verdict, 1, "dropped");
        }
        assert_eq!(
            sink.run(&[0; 60]).unwrap().verdict,
            2,
            "passed to the kernel"
        );
        let counts = sink.counts().unwrap();
        assert_eq!(counts.frames, 9);
        assert_eq!(counts.duplicate, 1);
        assert_eq!(counts.late, 1);
        assert_eq!(counts.reordered, 2);
        assert_eq!((counts.other, counts.other_bytes), (1, 60));
        assert_eq!(counts.stamped, 0);
    });
}

#[test]
fn a_second_program_on_an_interface_is_a_clear_error() {
    in_namespace(|| {
        veth("a", "b");
        let mut first = Sink::new(Checks::COUNT).unwrap();
        first.attach("b", Request::Any).unwrap();
        let mut second = Sink::new(Checks::COUNT).unwrap();
        for request in [Request::Any, Request::Native, Request::Generic] {
            let error = second.attach("b", request).unwrap_err().to_string();
            assert!(
                error.contains("interface b: another XDP program is attached"),
                "{error}"
            );
        }
        drop(first);
        second.attach("b", Request::Any).unwrap();
        let error = second.attach("none", Request::Any).unwrap_err().to_string();
        assert!(error.contains("no interface `none`"), "{error}");
    });
}

#[test]
fn generic_mode_is_said_and_native_can_be_required() {
    in_namespace(|| {
        let mut sink = Sink::new(Checks::COUNT).unwrap();
        // Loopback has no native XDP.
        let error = sink.attach("lo", Request::Native).unwrap_err().to_string();
        assert!(error.contains("native XDP was required"), "{error}");
        assert_eq!(
            sink.attach("lo", Request::Any).unwrap(),
            bpf::attach::Mode::Generic
        );
    });
}
