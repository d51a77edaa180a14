//! Samples of frames: as many as are asked for, discarded frames up to their limit, and beside a capture.

use std::time::{Duration, Instant};

use bpf::attach::Request;
use bpf::map::possible_cpus;
use fastpath::forward::capture::Samples;
use fastpath::forward::{Capacity, Place, Reason};

use super::bench::{ADJACENCY, Bench, frame, frame_short};
use super::capture::{Capture, left};
use crate::common::in_namespace;

const PLACES: [Place; 3] = [
    Place::Xdp(Request::Native),
    Place::Xdp(Request::Generic),
    Place::Tc,
];

/// Begins to take samples, and waits until every port does.
fn sampled(bench: &mut Bench) -> Samples {
    bench.forwarder.take_samples().unwrap();
    settle(bench);
    let [ring, counts] = bench.forwarder.sampled().unwrap();
    let own = |fd: std::os::fd::BorrowedFd<'_>| fd.try_clone_to_owned().unwrap();
    Samples::new(own(ring), own(counts), possible_cpus().unwrap()).unwrap()
}

/// Waits until programs have come.
fn settle(bench: &mut Bench) {
    let end = Instant::now() + Duration::from_mins(5);
    loop {
        let sampling = bench.forwarder.tend_samples().unwrap();
        assert_eq!(sampling.failed, []);
        if !sampling.comes {
            assert_eq!(sampling.ports, [bench.r0, bench.r1]);
            return;
        }
        assert!(Instant::now() < end, "programs never come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn without_a_capture(place: Place) -> (Capture, Samples) {
    let mut bench = Bench::at(place, Capacity::default());
    let samples = sampled(&mut bench);
    (Capture::nothing(bench), samples)
}

#[test]
fn one_frame_in_so_many_is_a_sample_with_what_became_of_it() {
    for place in PLACES {
        in_namespace(move || {
            let (mut wire, mut samples) = without_a_capture(place);
            wire.send_all(&vec![frame_short(); 20]);
            assert!(samples.next_sample().is_none(), "nobody has said how many");
            samples.set_rate(10, 0, || 3);
            wire.send_all(&vec![frame("198.20.1.2", 500, None); 4000]);
            let mut drawn = 0;
            while let Some(sample) = samples.next_sample() {
                assert_eq!(
                    (sample.every, sample.times, sample.is_discard),
                    (10, 1, false)
                );
                assert_eq!((sample.shown.reason, sample.shown.wire), (None, 500));
                assert_eq!((sample.shown.length, sample.shown.bytes.len()), (500, 128));
                drawn += 1;
            }
            // One in ten: 400; six times what chance does to draws that keep their distance.
            assert!((330..470).contains(&drawn), "{place:?}: {drawn}");
            wire.bench.forwarder.end_samples();
            wire.send_all(&vec![frame_short(); 100]);
            assert!(samples.next_sample().is_none(), "{place:?}");
            assert!(wire.bench.forwarder.sampled().is_none());
        });
    }
}

#[test]
fn discarded_frames_are_told_up_to_a_limit_and_those_beyond_are_counted() {
    for place in PLACES {
        in_namespace(move || {
            let (mut wire, mut samples) = without_a_capture(place);
            samples.set_rate(1 << 24, 5, || 1 << 23);
            // To a station that is another's: no discard.
            let mut other = frame_short();
            other[5] ^= 0x7f;
            wire.send_all(&vec![other; 20]);
            assert!(samples.next_sample().is_none());
            wire.send_all(&vec![frame("203.0.113.4", 60, None); 30]);
            let mut told = 0;
            while let Some(sample) = samples.next_sample() {
                assert_eq!(sample.shown.reason, Some(Reason::Blackhole));
                assert_eq!((sample.times, sample.is_discard), (0, true));
                told += 1;
            }
            let withheld = samples.counted().withheld;
            assert_eq!(told + withheld, 30, "{place:?}");
            assert!(told >= 5 && withheld > 0, "{place:?}: {told}");
        });
    }
}

#[test]
fn samples_and_a_capture_do_not_disturb_each_other() {
    in_namespace(|| {
        let (mut wire, mut samples) = without_a_capture(PLACES[0]);
        samples.set_rate(1, 0, || 0);
        let drawn = |samples: &mut Samples| {
            let mut count = 0;
            while let Some(sample) = samples.next_sample() {
                count += sample.times;
            }
            count
        };
        wire.capture(left(&[Reason::NoRoute]));
        wire.send_all(&vec![frame_short(); 10]);
        wire.send_all(&vec![frame("192.0.2.1", 60, None); 7]);
        assert_eq!(drawn(&mut samples), 17);
        let seen = wire.seen();
        assert_eq!(seen.len(), 7);
        assert!(seen.iter().all(|one| one.reason == Some(Reason::NoRoute)));
        // Without samples the capture goes on, and so do samples without it.
        wire.bench.forwarder.end_samples();
        wire.settle();
        wire.send_all(&vec![frame("192.0.2.1", 60, None); 3]);
        assert_eq!((drawn(&mut samples), wire.seen().len()), (0, 3));
        let mut samples = sampled(&mut wire.bench);
        samples.set_rate(1, 0, || 0);
        wire.bench.forwarder.end_capture();
        settle(&mut wire.bench);
        wire.send_all(&vec![frame_short(); 5]);
        assert_eq!((drawn(&mut samples), wire.seen().len()), (5, 0));
        // All was counted once.
        assert_eq!(wire.bench.forwarder.carried(ADJACENCY).frames, 15);
        assert_eq!(wire.bench.count("no-route"), 10);
    });
}

#[test]
fn samples_that_nobody_reads_are_lost_and_counted() {
    in_namespace(|| {
        let (mut wire, mut samples) = without_a_capture(PLACES[0]);
        samples.set_rate(1, 0, || 0);
        let sent = 8000;
        wire.send_all(&vec![frame("198.19.1.2", 500, None); sent]);
        let lost = samples.counted().lost;
        assert!(lost > 0);
        let mut read = 0;
        while samples.next_sample().is_some() {
            read += 1;
        }
        assert_eq!(read + lost, sent as u64);
    });
}
