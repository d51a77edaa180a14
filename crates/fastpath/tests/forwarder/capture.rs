//! Frames shown to who captures: the right ones, whole, with what became of them.

use std::time::{Duration, Instant};

use bpf::attach::Request;
use bpf::classic::{Filter, Instruction};
use bpf::map::possible_cpus;
use fastpath::forward::capture::{Capturing, Counted, Frames, LONGEST_SNAP, RING_BYTES, Wanted};
use fastpath::forward::{Capacity, Place, Reason};
use port::packet::PacketPort;
use port::pool::Layout;
use port::{Burst, Pool, Port as _};

use super::bench::{ADJACENCY, Bench, TAGGED, frame, frame_short};
use crate::common::in_namespace;

const PLACES: [Place; 3] = [
    Place::Xdp(Request::Native),
    Place::Xdp(Request::Generic),
    Place::Tc,
];

/// All that is forwarded.
fn forwarded() -> Wanted {
    Wanted {
        reasons: Vec::new(),
        forwarded: true,
        every: 1,
        snap: 256,
        filter: None,
        ports: Vec::new(),
    }
}

/// A reason, for which a frame is left.
pub(super) fn left(reasons: &[Reason]) -> Wanted {
    Wanted {
        reasons: reasons.to_vec(),
        forwarded: false,
        ..forwarded()
    }
}

/// `ip dst 198.20.1.2`, as `tcpdump -ddd` prints it.
fn towards_198_20_1_2() -> Filter {
    "6\n40 0 0 12\n21 0 3 2048\n32 0 0 30\n21 0 1 3323199746\n6 0 0 262144\n6 0 0 0\n"
        .parse()
        .unwrap()
}

/// What a reader keeps of a frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) bytes: Vec<u8>,
    length: u32,
    pub(super) reason: Option<Reason>,
    way: Option<(usize, u16, Option<u16>)>,
}

pub(super) struct Capture {
    pub(super) bench: Bench,
    frames: Option<Frames>,
    capturing: Capturing,
    pool: Pool,
    burst: Burst,
    from: PacketPort,
}

impl Capture {
    fn new(place: Place, wanted: Wanted) -> Self {
        Self::with(Bench::at(place, Capacity::default()), wanted)
    }

    /// Captures nothing yet.
    pub(super) fn nothing(bench: Bench) -> Self {
        Self {
            bench,
            frames: None,
            capturing: Capturing::default(),
            pool: Pool::new(Layout::holding(256, 1600)).unwrap(),
            burst: Burst::new(),
            from: PacketPort::open("p0", None).unwrap(),
        }
    }

    pub(super) fn with(bench: Bench, wanted: Wanted) -> Self {
        let mut capture = Self::nothing(bench);
        capture.capture(wanted);
        capture
    }

    pub(super) fn capture(&mut self, wanted: Wanted) {
        let only = wanted.ports.clone();
        let wants = |port: &u32| only.is_empty() || only.contains(port);
        let ports = [self.bench.r0, self.bench.r1].into_iter();
        let ports: Vec<u32> = ports.filter(wants).collect();
        self.bench.forwarder.capture(wanted).unwrap();
        self.settle();
        assert_eq!(self.capturing.failed, []);
        assert_eq!(self.capturing.ports, ports);
        let [ring, counts] = self.bench.forwarder.captured().unwrap();
        let own = |fd: std::os::fd::BorrowedFd<'_>| fd.try_clone_to_owned().unwrap();
        let frames = Frames::new(own(ring), own(counts), possible_cpus().unwrap());
        self.frames = Some(frames.unwrap());
    }

    /// Waits until programs have come. One that the kernel refuses at last takes seconds, and much longer
    /// where other tests have the cores.
    pub(super) fn settle(&mut self) {
        let end = Instant::now() + Duration::from_mins(5);
        self.capturing = loop {
            let capturing = self.bench.forwarder.tend_capture().unwrap();
            if !capturing.comes {
                break capturing;
            }
            assert!(Instant::now() < end, "programs never come");
            std::thread::sleep(Duration::from_millis(5));
        };
    }

    fn counted(&self) -> Counted {
        self.frames.as_ref().unwrap().counted()
    }

    fn send(&mut self, frame: &[u8]) {
        let buffer = self.pool.allocate(frame.len() as u16).unwrap();
        self.pool.bytes_mut(&buffer).copy_from_slice(frame);
        self.burst.push(buffer).unwrap();
        let sent = self.from.transmit(&mut self.pool, &mut self.burst);
        assert_eq!(sent.unwrap(), 1);
    }

    /// Frames that came by any port so far.
    fn received(&self) -> u64 {
        let counters = self.bench.forwarder.port_counters();
        counters.values().map(|count| count.received).sum()
    }

    /// Sends frames, and waits until each has been counted.
    pub(super) fn send_all(&mut self, frames: &[Vec<u8>]) {
        let before = self.received();
        for frame in frames {
            self.send(frame);
        }
        let end = Instant::now() + Duration::from_mins(1);
        while self.received() < before + frames.len() as u64 {
            assert!(Instant::now() < end, "frames never come");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(super) fn seen(&mut self) -> Vec<Seen> {
        let mut all = Vec::new();
        let frames = self.frames.as_mut().unwrap();
        while let Some(shown) = frames.next_frame() {
            all.push(Seen {
                bytes: shown.bytes.to_vec(),
                length: shown.length,
                reason: shown.reason,
                way: (shown.next_hop != 0).then_some((shown.egress, shown.next_hop, shown.vlan)),
            });
        }
        all
    }
}

#[test]
fn forwarded_frames_are_shown_as_they_came() {
    for place in PLACES {
        in_namespace(move || {
            let mut capture = Capture::new(place, forwarded());
            let sent = [
                frame_short(),
                frame("198.20.1.2", 1000, None),
                frame("2001:db8:20::1", 90, None),
                frame("192.0.2.1", 60, None),
            ];
            capture.send_all(&sent);
            let seen = capture.seen();
            let shown = |frame: &[u8], next_hop, vlan| Seen {
                bytes: frame[..frame.len().min(256)].to_vec(),
                length: frame.len() as u32,
                reason: None,
                way: Some((1, next_hop, vlan)),
            };
            let tag = Some(0x2003);
            let wanted = [
                shown(&sent[0], ADJACENCY.0, None),
                shown(&sent[1], TAGGED.0, tag),
                shown(&sent[2], TAGGED.0, tag),
            ];
            assert_eq!(seen, wanted, "{place:?}");
            assert_eq!(capture.bench.count("no-route"), 1, "{place:?}");
        });
    }
}

#[test]
fn frames_that_are_left_are_shown_with_their_reason_and_no_others() {
    for place in PLACES {
        in_namespace(move || {
            let mut capture = Capture::new(place, left(&[Reason::NoRoute, Reason::Blackhole]));
            let sent = [
                frame_short(),
                frame("192.0.2.1", 60, None),
                frame("203.0.113.4", 60, None),
                frame("203.0.113.6", 60, None),
            ];
            capture.send_all(&sent);
            let shown = |frame: &[u8], reason| Seen {
                bytes: frame.to_vec(),
                length: frame.len() as u32,
                reason: Some(reason),
                way: None,
            };
            let wanted = [
                shown(&sent[1], Reason::NoRoute),
                shown(&sent[2], Reason::Blackhole),
            ];
            assert_eq!(capture.seen(), wanted, "{place:?}");
        });
    }
}

#[test]
fn a_tag_is_where_it_was_on_the_wire() {
    for place in PLACES {
        in_namespace(move || {
            let mut capture = Capture::new(place, left(&[Reason::UnknownVlan]));
            let sent = frame("198.19.1.2", 64, Some(101));
            capture.send_all(std::slice::from_ref(&sent));
            let seen = capture.seen();
            // In generic mode nobody takes a tag off: the frame is the kernel's before that is asked.
            if place == Place::Xdp(Request::Generic) && seen.is_empty() {
                return;
            }
            assert_eq!(seen.len(), 1, "{place:?}");
            assert_eq!(seen[0].bytes, sent, "{place:?}");
        });
    }
}

#[test]
fn a_filter_runs_in_the_kernel() {
    for place in PLACES {
        in_namespace(move || {
            let wanted = Wanted {
                filter: Some(towards_198_20_1_2()),
                ..forwarded()
            };
            let mut capture = Capture::new(place, wanted);
            assert!(capture.capturing.filtered, "{place:?}");
            let other = frame("198.20.1.2", 80, None);
            capture.send_all(&[frame_short(), other.clone(), frame_short()]);
            let seen = capture.seen();
            assert_eq!(seen.len(), 1, "{place:?}");
            assert_eq!(seen[0].bytes, other, "{place:?}");
            let counted = capture.counted();
            assert_eq!((counted.matched, counted.lost), (1, 0), "{counted:?}");
        });
    }
}

#[test]
fn a_filter_may_ask_how_long_a_frame_is() {
    for place in PLACES {
        in_namespace(move || {
            let long = frame("198.20.1.2", 200, None);
            // Longer than the short one.
            let shorter = frame_short().len();
            let filter = format!("4\n128 0 0 0\n37 0 1 {shorter}\n6 0 0 1\n6 0 0 0\n");
            let wanted = Wanted {
                filter: Some(filter.parse().unwrap()),
                ..forwarded()
            };
            let mut capture = Capture::new(place, wanted);
            assert!(capture.capturing.filtered, "{place:?}");
            capture.send_all(&[frame_short(), long.clone(), frame_short()]);
            let seen = capture.seen();
            assert_eq!(seen.len(), 1, "{place:?}");
            assert_eq!(seen[0].bytes, long, "{place:?}");
        });
    }
}

#[test]
fn a_filter_that_the_kernel_refuses_is_left_to_the_reader() {
    in_namespace(|| {
        // The index may be anything after some steps, and each is another way for the verifier.
        let one = |code, otherwise, k| Instruction {
            code,
            then: 0,
            otherwise,
            k,
        };
        let step = |at: u32| {
            let (load, is_odd, add) = (one(0x50, 0, 0), one(0x45, 3, 1), one(4, 0, 1 << (at % 10)));
            [load, is_odd, one(0x87, 0, 0), add, one(7, 0, 0)]
        };
        let mut instructions: Vec<_> = (0..200).flat_map(step).collect();
        instructions.push(one(6, 0, 1));
        let filter = Filter::new(instructions).unwrap();
        let bench = Bench::new();
        let wanted = Wanted {
            snap: 4096,
            filter: Some(filter),
            ports: vec![bench.r0],
            ..forwarded()
        };
        let mut capture = Capture::with(bench, wanted);
        assert!(!capture.capturing.filtered);
        capture.send_all(&[frame_short()]);
        assert_eq!(capture.seen().len(), 1);
    });
}

#[test]
fn a_part_of_the_frames_is_looked_at() {
    in_namespace(|| {
        let wanted = Wanted {
            every: 10,
            ..forwarded()
        };
        let mut capture = Capture::new(PLACES[0], wanted);
        capture.send_all(&vec![frame_short(); 4000]);
        let seen = capture.seen().len();
        // One in ten: 400, give or take six times what chance does.
        assert!((300..500).contains(&seen), "{seen}");
        assert_eq!(capture.counted().matched, seen as u64);
    });
}

#[test]
fn what_the_reader_does_not_fetch_is_counted_as_lost() {
    in_namespace(|| {
        let wanted = Wanted {
            snap: 1514,
            ..forwarded()
        };
        let mut capture = Capture::new(PLACES[0], wanted);
        let sent = RING_BYTES as usize / 1514 + 500;
        capture.send_all(&vec![frame("198.19.1.2", 1514, None); sent]);
        let counted = capture.counted();
        assert_eq!(counted.matched, sent as u64);
        assert!(counted.lost > 0, "{counted:?}");
        let seen = capture.seen();
        assert_eq!(seen.len() as u64, counted.matched - counted.lost);
        assert!(seen.iter().all(|one| one.bytes.len() == 1514));
        // What was fetched made room.
        capture.send_all(&[frame_short()]);
        assert_eq!(capture.seen().len(), 1);
    });
}

#[test]
fn after_a_capture_everything_is_as_before_and_nothing_was_lost() {
    for place in PLACES {
        in_namespace(move || {
            let mut capture = Capture::new(place, forwarded());
            capture.send_all(&vec![frame_short(); 10]);
            capture.bench.forwarder.end_capture();
            assert_eq!(capture.bench.forwarder.tend_capture(), None);
            capture.send_all(&vec![frame_short(); 10]);
            assert_eq!(capture.seen().len(), 10, "{place:?}");
            let carried = capture.bench.forwarder.carried(ADJACENCY);
            assert_eq!(carried.frames, 20, "{place:?}");
        });
    }
}

#[test]
fn what_cannot_be_captured_is_said() {
    in_namespace(|| {
        let mut bench = Bench::new();
        let refused = |bench: &mut Bench, wanted| {
            let error = bench.forwarder.capture(wanted).unwrap_err();
            error.to_string()
        };
        let said = refused(&mut bench, left(&[Reason::EgressRefused]));
        assert!(said.contains("show drops"), "{said}");
        for snap in [0, 63, LONGEST_SNAP + 1] {
            let wanted = Wanted {
                snap,
                ..forwarded()
            };
            let said = refused(&mut bench, wanted);
            assert!(said.contains("64 to"), "{said}");
        }
        assert_eq!(bench.forwarder.tend_capture(), None);
    });
}
