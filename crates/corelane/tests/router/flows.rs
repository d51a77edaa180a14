//! Flows over several ways: what the kernel's multipath hash policy keeps together goes one way
//! with the router, too, and what it splits is split. Only the way that a flow takes may be
//! another.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use super::lab::{Lab, is_root, wait_for};
use super::raw::{Raw, checksum, mac};

const ENGINES: [&str; 5] = ["xdp", "xdp-kernel-fib", "tc", "af-xdp", "af-packet"];

/// Policy and fields.
const POLICIES: [(u8, u16); 13] = [
    (0, 7),
    (1, 7),
    (2, 7),
    (3, 0x07),
    (3, 0x01),
    (3, 0x02),
    (3, 0x04),
    (3, 0x08),
    (3, 0x10),
    (3, 0x20),
    (3, 0x37),
    (3, 0x33),
    (3, 0x47),
];
/// Frames that differ in something, or pairs of them.
const VARIANTS: u8 = 20;

type Macs = ([u8; 6], [u8; 6]);

/// Frames, of which those with the same number are one flow or are not.
struct Question {
    name: &'static str,
    frames: Vec<(u8, Vec<u8>)>,
}

fn v4(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, last)
}

fn far(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(198, 51, 100, last)
}

fn near(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, last)
}

fn v6(network: u16, last: u8) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, network, 0, 0, 0, 0, last.into())
}

fn header4(from: Ipv4Addr, to: Ipv4Addr, protocol: u8, fragment: u16, length: usize) -> Vec<u8> {
    let mut header = vec![0x45, 0];
    header.extend((20 + length as u16).to_be_bytes());
    header.extend([0x12, 0x34]);
    header.extend(fragment.to_be_bytes());
    header.extend([57, protocol, 0, 0]);
    header.extend(from.octets());
    header.extend(to.octets());
    let sum = checksum(&header);
    header[10..12].copy_from_slice(&sum);
    header
}

fn header6(from: Ipv6Addr, to: Ipv6Addr, next: u8, label: u32, length: usize) -> Vec<u8> {
    let mut header = (6 << 28 | label).to_be_bytes().to_vec();
    header.extend((length as u16).to_be_bytes());
    header.extend([next, 57]);
    header.extend(from.octets());
    header.extend(to.octets());
    header
}

/// Room for the mark by which a frame is known again.
const MARK: usize = 5;

fn packet4(from: Ipv4Addr, to: Ipv4Addr, protocol: u8, fragment: u16, inside: &[u8]) -> Vec<u8> {
    let header = header4(from, to, protocol, fragment, inside.len() + MARK);
    [&header, inside].concat()
}

fn packet6(from: Ipv6Addr, to: Ipv6Addr, next: u8, label: u32, inside: &[u8]) -> Vec<u8> {
    [&header6(from, to, next, label, inside.len() + MARK), inside].concat()
}

/// The beginning of UDP, without a sum; other protocols with ports begin the same.
fn udp(from: u16, to: u16) -> Vec<u8> {
    [from.to_be_bytes(), to.to_be_bytes(), [0, 13], [0, 0]].concat()
}

fn error(kind: u8, quoted: &[u8]) -> Vec<u8> {
    [&[kind, 0, 9, 9, 0, 0, 0, 0], quoted].concat()
}

/// All variants in one flow?
fn one(name: &'static str, packet: impl Fn(u8) -> Vec<u8>) -> Question {
    Question {
        name,
        frames: (0..VARIANTS).map(|at| (0, packet(at))).collect(),
    }
}

/// Both packets of a variant in one flow?
fn pair(name: &'static str, packets: impl Fn(u8) -> [Vec<u8>; 2]) -> Question {
    let numbered = |at| packets(at).map(|packet| (at, packet));
    Question {
        name,
        frames: (0..VARIANTS).flat_map(numbered).collect(),
    }
}

fn questions4() -> Vec<Question> {
    let port = |at: u8| 7000 + u16::from(at);
    let plain = |protocol, inside: Vec<u8>| packet4(near(9), v4(1), protocol, 0, inside.as_slice());
    vec![
        one("source", |at| {
            packet4(near(10 + at), v4(1), 17, 0, &udp(7, 9))
        }),
        one("destination", |at| {
            packet4(near(9), v4(1 + at), 17, 0, &udp(7, 9))
        }),
        one("protocol", |at| plain(100 + at, udp(7, 9))),
        one("source port", |at| plain(17, udp(port(at), 9))),
        one("destination port", |at| plain(17, udp(7, port(at)))),
        one("ports of SCTP", |at| {
            plain(132, [udp(port(at), 9), vec![1; 8]].concat())
        }),
        one("ports of DCCP", |at| plain(33, udp(port(at), 9))),
        one("ports of UDP-Lite", |at| plain(136, udp(7, port(at)))),
        one("ports of fragments", |at| {
            packet4(near(9), v4(1), 17, 0x2000, &udp(7, port(at)))
        }),
        one("index of ESP", |at| {
            plain(50, vec![1, 2, at, 3, 0, 0, 0, 1])
        }),
        one("index of AH", |at| {
            plain(51, vec![17, 4, 0, 0, 1, at, 2, 3, 0, 0, 0, 1])
        }),
        one("identifier of echoes", |at| {
            plain(1, vec![8, 0, 9, 9, at, at, 0, 1])
        }),
        one("what errors quote", |at| {
            plain(
                1,
                error(3, &[header4(v4(1), far(at), 17, 0, 8), udp(7, 9)].concat()),
            )
        }),
        one("what later fragments of errors seem to quote", |at| {
            let quoted = error(3, &header4(v4(1), far(at), 17, 0, 8));
            packet4(near(9), v4(1), 1, 1, &quoted)
        }),
        pair("both directions", |at| {
            [
                packet4(v4(at), far(7), 17, 0, &udp(port(at), 9)),
                packet4(far(7), v4(at), 17, 0, &udp(9, port(at))),
            ]
        }),
        pair("ports the other way round", |at| {
            [udp(port(at), 9), udp(9, port(at))].map(|ports| plain(17, ports))
        }),
        pair("an error and its flow", |at| {
            let quoted = [header4(v4(at), far(7), 17, 0, 8), udp(port(at), 9)].concat();
            [
                packet4(far(7), v4(at), 17, 0, &udp(9, port(at))),
                packet4(near(9), v4(at), 1, 0, &error(11, &quoted)),
            ]
        }),
        pair("fragments of a datagram", |at| {
            [
                packet4(near(9), v4(at), 17, 0x2000, &udp(port(at), 9)),
                packet4(near(9), v4(at), 17, 1, &[at; 8]),
            ]
        }),
    ]
}

fn questions6() -> Vec<Question> {
    let port = |at: u8| 7000 + u16::from(at);
    let (here, there) = (v6(0, 9), v6(9, 1));
    let plain = |next, inside: Vec<u8>| packet6(here, there, next, 5, &inside);
    let behind = |next, inside: Vec<u8>| [vec![next, 0, 1, 4, 0, 0, 0, 0], inside].concat();
    let fragment = |next, offset: u8| vec![next, 0, 0, offset, 0, 0, 0, 7];
    vec![
        one("source", |at| {
            packet6(v6(0, 10 + at), there, 17, 5, &udp(7, 9))
        }),
        one("destination", |at| {
            packet6(here, v6(9, 1 + at), 17, 5, &udp(7, 9))
        }),
        one("flow label", |at| {
            packet6(here, there, 17, at.into(), &udp(7, 9))
        }),
        one("protocol", |at| plain(100 + at, udp(7, 9))),
        one("source port", |at| plain(17, udp(port(at), 9))),
        one("destination port", |at| plain(17, udp(7, port(at)))),
        one("ports behind options", |at| {
            plain(60, behind(17, udp(port(at), 9)))
        }),
        one("ports behind three headers", |at| {
            plain(60, behind(60, behind(60, behind(17, udp(port(at), 9)))))
        }),
        one("ports behind many headers", |at| {
            let seven = (0..6).fold(udp(port(at), 9), |inside, level| {
                behind(if level == 0 { 17 } else { 60 }, inside)
            });
            plain(60, seven)
        }),
        one("protocol of fragments", |at| {
            plain(44, [fragment(100 + at, 1), udp(7, 9)].concat())
        }),
        one("ports of fragments", |at| {
            plain(44, [fragment(17, 1), udp(7, port(at))].concat())
        }),
        one("index of ESP", |at| {
            plain(50, vec![1, 2, at, 3, 0, 0, 0, 1])
        }),
        one("what errors quote", |at| {
            plain(58, error(1, &header6(there, v6(8, at), 17, 5, 8)))
        }),
        one("label that errors quote", |at| {
            plain(58, error(1, &header6(there, v6(8, 7), 17, at.into(), 8)))
        }),
        pair("both directions", |at| {
            [
                packet6(v6(9, at), v6(8, 7), 17, 5, &udp(port(at), 9)),
                packet6(v6(8, 7), v6(9, at), 17, 5, &udp(9, port(at))),
            ]
        }),
        pair("an error and its flow", |at| {
            let quoted = [header6(v6(9, at), v6(8, 7), 17, 5, 8), udp(port(at), 9)].concat();
            [
                packet6(v6(8, 7), v6(9, at), 17, 5, &udp(9, port(at))),
                packet6(here, v6(9, at), 58, 0, &error(3, &quoted)),
            ]
        }),
        pair("with options and without", |at| {
            let to = v6(9, at);
            [
                packet6(here, to, 17, 5, &udp(port(at), 9)),
                packet6(here, to, 60, 5, &behind(17, udp(port(at), 9))),
            ]
        }),
    ]
}

/// How long frames, and settings, may take on a machine however busy.
const PATIENCE: Duration = Duration::from_secs(30);
/// After how long frames that have not come are sent again.
const AGAIN: Duration = Duration::from_secs(3);

/// Names of questions, with family.
type Answers = BTreeSet<(u16, &'static str)>;

struct Wires {
    from: Raw,
    to: [Raw; 2],
    macs: Macs,
    questions: Vec<(u16, Question)>,
}

impl Wires {
    /// Sends the frames of one question that have not come, each with a mark at its end.
    fn send(&self, number: usize, came: &[(u8, usize)]) {
        let (family, question) = &self.questions[number];
        for (at, (_, packet)) in question.frames.iter().enumerate() {
            if came.iter().any(|(one, _)| usize::from(*one) == at) {
                continue;
            }
            let (to, from) = self.macs;
            let mark = [b'#', number as u8, at as u8, 0xC0, 0x7E];
            let kind = family.to_be_bytes();
            self.from
                .send(&[&to[..], &from, &kind, packet, &mark].concat());
        }
    }

    /// Notes which frames have come and by which way, by question. Have any?
    fn hear(&self, ways: &mut [Vec<(u8, usize)>]) -> bool {
        let mut heard = false;
        for (way, wire) in self.to.iter().enumerate() {
            while let Some(frame) = wire.waiting() {
                heard = true;
                let mark = frame
                    .windows(MARK)
                    .rposition(|five| five[0] == b'#' && five[3..] == [0xC0, 0x7E]);
                if let Some(at) = mark {
                    let came = &mut ways[usize::from(frame[at + 1])];
                    // One that was only late comes twice.
                    if came.iter().all(|(one, _)| *one != frame[at + 2]) {
                        came.push((frame[at + 2], way));
                    }
                }
            }
        }
        heard
    }

    /// The questions, with family, to which the answer is yes. No frame may be lost for good: a
    /// queue of the kernel that other tests fill, too, may have had no room for it.
    fn together(&self, (policy, fields): (u8, u16)) -> Answers {
        let nothing = || vec![Vec::new(); self.questions.len()];
        // What was late under the policy before.
        self.hear(&mut nothing());
        let mut ways = nothing();
        for (number, (_, question)) in self.questions.iter().enumerate() {
            let end = Instant::now() + PATIENCE;
            let is_over = |ways: &[Vec<_>]| {
                ways[number].len() >= question.frames.len() || Instant::now() >= end
            };
            while !is_over(&ways) {
                self.send(number, &ways[number]);
                let again = Instant::now() + AGAIN;
                while !is_over(&ways) && Instant::now() < again {
                    if !self.hear(&mut ways) {
                        std::thread::sleep(Duration::from_micros(200));
                    }
                }
            }
        }
        let mut yes = BTreeSet::new();
        for ((family, question), ways) in self.questions.iter().zip(ways) {
            let name = question.name;
            assert_eq!(ways.len(), question.frames.len(), "{family:x} {name}");
            let flows: BTreeSet<_> = ways
                .iter()
                .map(|(at, way)| (question.frames[usize::from(*at)].0, way))
                .collect();
            let keys: BTreeSet<_> = flows.iter().map(|(key, _)| key).collect();
            // Pairs that differ in nothing that counts from others would agree by luck.
            let by_luck = keys.len() > 1 && policy == 3 && fields & 3 != 3;
            if keys.len() == flows.len() && !by_luck {
                yes.insert((*family, name));
            }
        }
        yes
    }
}

fn set(lab: &Lab, (policy, fields): (u8, u16)) {
    for family in ["ipv4", "ipv6"] {
        let name = format!("net.{family}.fib_multipath_hash");
        let set = |what, value: u16| lab.r.set(&format!("{name}_{what}"), &value.to_string());
        set("policy", policy.into()).unwrap();
        set("fields", fields).unwrap();
    }
}

#[test]
fn flows_split_and_stay_together_as_the_kernels_policy_says() {
    if !is_root() {
        return;
    }
    let mut lab = Lab::new();
    lab.link("b", 2);
    for line in [
        "route add 192.0.2.0/24 nexthop via 10.1.0.2 nexthop via 10.2.0.2",
        "route add 198.51.100.0/24 nexthop via 10.1.0.2 nexthop via 10.2.0.2",
        "-6 route add 2001:db8:9::/48 nexthop via 2001:db8:1::2 nexthop via 2001:db8:2::2",
        "-6 route add 2001:db8:8::/48 nexthop via 2001:db8:1::2 nexthop via 2001:db8:2::2",
    ] {
        lab.r.ip(line).unwrap();
    }
    for place in ["all", "r0"] {
        let name = format!("net.ipv4.conf.{place}.rp_filter");
        lab.r.set(&name, "0").unwrap();
    }
    let gateways = ["10.1.0.2", "10.2.0.2", "2001:db8:1::2", "2001:db8:2::2"];
    let of = |family, questions: Vec<Question>| {
        questions
            .into_iter()
            .map(move |question| (family, question))
    };
    let wires = Wires {
        from: Raw::open(&lab.a, "e0"),
        to: ["e1", "e2"].map(|link| Raw::open(&lab.b, link)),
        macs: (mac(&lab.r, "r0"), mac(&lab.a, "e0")),
        questions: of(0x0800, questions4())
            .chain(of(0x86dd, questions6()))
            .collect(),
    };
    for address in gateways {
        wait_for(address, 5, || lab.ping(address));
    }
    let alone: Vec<_> = POLICIES
        .iter()
        .map(|&policy| {
            set(&lab, policy);
            wires.together(policy)
        })
        .collect();
    assert!(alone[0].len() > alone[1].len(), "ports split more");
    for engine in ENGINES {
        set(&lab, POLICIES[0]);
        let router = lab.run(&["r0", "r1", "r2"], &["--engine", engine]);
        lab.wait_for_fast_path(&router, &gateways);
        for (&policy, wanted) in POLICIES.iter().zip(&alone) {
            set(&lab, policy);
            // The kernel announces no change of settings; other tests may have the cores.
            let end = Instant::now() + PATIENCE;
            let before = loop {
                std::thread::sleep(Duration::from_millis(250));
                let before = router.forwarded();
                let together = wires.together(policy);
                if together == *wanted {
                    break before;
                }
                let differ = &together ^ wanted;
                assert!(Instant::now() < end, "{engine}, {policy:x?}: {differ:x?}");
            };
            let frames: usize = wires.questions.iter().map(|one| one.1.frames.len()).sum();
            let forwarded = router.forwarded() - before;
            let known = match engine {
                "xdp-kernel-fib" => policy.0 < 2,
                _ => policy.0 != 2 && policy.1 < 0x40,
            };
            assert!(
                forwarded >= if known { frames as u64 / 2 } else { 0 },
                "{engine}, {policy:x?}: {forwarded} of {frames} by the fast path: {:#}",
                router.show("drops")
            );
        }
    }
}
