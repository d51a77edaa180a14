//! Both protocols at once, modifier frames, captures and bursts, over memory and in simulated time.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use port::pcap::Writer;
use port::{Burst, Pool};
use tester::bench::{self, Subject};
use tester::capture::Capture;
use tester::clock::Simulated;
use tester::engine::{Engine, Macs};
use tester::link::calibrated::{Calibrated, Settings};
use tester::link::wire::Wire;
use tester::link::{Link, Moved};
use tester::profile::Profile;
use tester::result::{Details, Test};
use tester::rig::Rig;
use tester::schedule::Schedule;
use tester::session::Session;
use tester::sizes::{Family, FrameSize};
use tester::traffic::{Blend, Modifier, Traffic};
use tester::trial::{Direction, Order, Trial, Waits};

fn order(traffic: Traffic) -> Order {
    Order {
        sizes: vec![FrameSize::new(128, Family::Ipv6, 1500).unwrap()],
        family: Family::Ipv4,
        schedule: Schedule::constant(10_000.0, 0.5),
        direction: Direction::OneWay,
        destinations: 4,
        traffic,
        time_every_frame: true,
        waits: Waits::QUICK,
    }
}

fn engine(settings: Settings) -> Engine<Calibrated, Simulated> {
    let macs = vec![
        Macs {
            tester: [2, 0, 0, 0, 0, 1],
            device: [2, 0, 0, 0, 0, 2]
        };
        2
    ];
    let device = Calibrated::new(settings, 2);
    Engine::with_clock(device, Simulated::new(1000), macs, 1518, 1e6, 1).unwrap()
}

fn run(settings: Settings, order: &Order) -> Trial {
    let trial = engine(settings).run(order, "test", None).unwrap();
    assert!(trial.counts.closes(), "{:?}", trial.counts);
    trial
}

#[test]
fn both_protocols_at_once() {
    let blend = Some(Blend { v4: 90, v6: 10 });
    let sizes = [84, 512]
        .map(|size| FrameSize::new(size, Family::Ipv6, 1500).unwrap())
        .to_vec();
    let order = Order {
        sizes,
        ..order(Traffic {
            blend,
            ..Traffic::default()
        })
    };
    let trial = run(Settings::default(), &order);
    assert!(trial.passes(), "{:?}", trial.counts);
    assert_eq!((trial.counts.received, trial.counts.stray), (5_000, 0));
}

#[test]
fn modifier_frames_take_the_place_of_test_frames() {
    for (modifier, expected) in [
        (Modifier::Broadcast, 50),
        (Modifier::Management, 1),
        (Modifier::Routing, 1),
    ] {
        let order = order(Traffic {
            modifier: Some(modifier),
            ..Traffic::default()
        });
        let trial = run(Settings::default(), &order);
        let counts = trial.counts;
        assert_eq!(
            (counts.modifiers, counts.sent),
            (expected, 5_000 - expected)
        );
        assert_eq!((counts.received, counts.unsent), (counts.sent, 0));
        assert!(trial.passes(), "{counts:?}");
        // The device in memory passes everything on: queries come out as strangers, or look like
        // answers.
        assert_eq!(counts.stray + counts.answers, expected);
        assert!(trial.rate_error().unwrap().abs() < 0.001);
    }
}

#[test]
fn the_last_lost_frame_is_found_among_modifier_frames() {
    let order = order(Traffic {
        modifier: Some(Modifier::Broadcast),
        ..Traffic::default()
    });
    let settings = Settings {
        loss: 1.0,
        ..Settings::default()
    };
    let trial = run(settings, &order);
    assert_eq!(trial.counts.lost, 4_950);
    let last = trial.last_lost_ns.unwrap();
    assert_eq!(last, order.schedule.departure_ns(5_000));
}

/// A capture of datagrams of both protocols and many lengths, some of them equal.
fn capture() -> Arc<Capture> {
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, "memory").unwrap();
    for number in 0..100_usize {
        let builder = etherparse::PacketBuilder::ethernet2([2; 6], [4; 6]);
        let builder = if number % 3 == 0 {
            builder.ipv6([1; 16], [2; 16], 64)
        } else {
            builder.ipv4([10, 0, 0, 1], [10, 1, 0, 1], 64)
        };
        let mut frame = Vec::new();
        let payload = vec![7; number / 2 * 20];
        builder.udp(1, 2).write(&mut frame, &payload).unwrap();
        writer.write(Duration::ZERO, &frame).unwrap();
    }
    writer.flush().unwrap();
    Arc::new(Capture::read(&file[..], "memory", 1518).unwrap())
}

#[test]
fn a_capture_is_replayed_and_every_frame_known_again() {
    let order = order(Traffic {
        replay: Some(capture()),
        ..Traffic::default()
    });
    let late = Settings {
        delay_ns: 30_000,
        ..Settings::default()
    };
    let trial = run(late, &order);
    assert!(trial.passes(), "{:?}", trial.counts);
    assert_eq!(trial.counts.received, 5_000);
    let latency = trial.latency.unwrap();
    assert!((30_000..40_000).contains(&latency.min_ns), "{latency:?}");
    assert!(latency.max_ns < 60_000, "{latency:?}");
    for (settings, count) in [
        (
            Settings {
                loss: 0.1,
                ..Settings::default()
            },
            (|trial: &Trial| trial.counts.lost) as fn(&Trial) -> u64,
        ),
        (
            Settings {
                duplicate: 0.1,
                ..Settings::default()
            },
            |trial| trial.counts.duplicate,
        ),
        (
            Settings {
                corrupt: 0.1,
                ..Settings::default()
            },
            |trial| trial.counts.corrupt + trial.counts.stray,
        ),
        (
            Settings {
                misdirect: 0.1,
                ..Settings::default()
            },
            |trial| trial.counts.misdirected,
        ),
        (
            Settings {
                reorder: 0.1,
                hold_ns: 300_000,
                ..Settings::default()
            },
            |trial| trial.counts.reordered,
        ),
    ] {
        let trial = run(settings.clone(), &order);
        let share = count(&trial) as f64 / 5_000.0;
        assert!((0.099..0.101).contains(&share), "{settings:?}: {share}");
    }
}

#[test]
fn the_smallest_interval_between_bursts_is_that_of_the_device() {
    // It serves 100 000 frames/s and holds 500: bursts up to 256 pass at its rate, those of 1024 at
    // none.
    let settings = Settings {
        rate: 100_000.0,
        buffer: 500,
        ..Settings::default()
    };
    let mut rig = engine(settings);
    let mut silent = |_: &str| {};
    let session = Session::new(
        &mut rig,
        // What the buffer holds is a fiftieth of what passes in this time.
        Profile {
            final_seconds: 0.25,
            ..Profile::QUICK
        },
        order(Traffic::default()),
        &mut silent,
    );
    let subject = Subject {
        label: "128".to_owned(),
        selftest: Some(400_000.0),
    };
    let entry = bench::bursts::run(session, &subject);
    assert_eq!(entry.test, Test::Bursts);
    let Details::Bursts { points } = entry.details else {
        panic!("{}", entry.because)
    };
    for point in &points[..3] {
        let interval = point.interval_ns.unwrap() as f64;
        let expected = point.frames as f64 * 10_000.0;
        assert!((0.96..1.05).contains(&(interval / expected)), "{point:?}");
    }
    assert_eq!(points[3].interval_ns, None);
    assert_eq!(entry.frames_per_second, None);
}

/// A wire that notes the UDP ports of the IPv6 frames that are sent.
struct Noting {
    wire: Wire,
    seen: Arc<Mutex<Vec<(u16, u16)>>>,
}

impl Link for Noting {
    fn ports(&self) -> u8 {
        self.wire.ports()
    }

    fn transmit(&mut self, port: u8, pool: &mut Pool, burst: &mut Burst, now_ns: u64) -> Moved {
        let word = |bytes: &[u8], at| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let sent = burst.frames().iter().map(|frame| pool.bytes(frame));
        let sent: Vec<_> = sent
            .map(|bytes| (word(bytes, 54), word(bytes, 56)))
            .collect();
        let taken = self.wire.transmit(port, pool, burst, now_ns)?;
        self.seen.lock().unwrap().extend(&sent[..taken]);
        Ok(taken)
    }

    fn receive(&mut self, port: u8, pool: &mut Pool, burst: &mut Burst, now_ns: u64) -> Moved {
        self.wire.receive(port, pool, burst, now_ns)
    }

    fn describe(&self) -> String {
        self.wire.describe()
    }
}

/// Source and destination ports of the test frames of a trial with this seed.
fn ports_sent(random_ports: bool, seed: u64) -> Vec<(u16, u16)> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let link = Noting {
        wire: Wire::new(2),
        seen: Arc::clone(&seen),
    };
    let clock = Simulated::new(1000);
    let mut engine = Engine::with_clock(link, clock, vec![], 1518, 1e6, seed).unwrap();
    let order = Order {
        family: Family::Ipv6,
        ..order(Traffic {
            random_ports,
            ..Traffic::default()
        })
    };
    let trial = engine.run(&order, "test", None).unwrap();
    assert!(trial.passes(), "{:?}", trial.counts);
    assert_eq!((trial.counts.received, trial.counts.stray), (5_000, 0));
    let seen = seen.lock().unwrap();
    // The first is the learning frame.
    seen[1..].to_vec()
}

#[test]
fn ports_are_random_within_their_ranges_by_the_seed_and_only_if_asked() {
    let ports = ports_sent(true, 5);
    assert_eq!(ports.len(), 5_000);
    assert_eq!(ports_sent(true, 5), ports);
    assert_ne!(ports_sent(true, 6), ports);
    for (source, destination) in &ports {
        assert!((1024..=65_535).contains(source), "{source}");
        assert!((1..=49_151).contains(destination), "{destination}");
    }
    let different: BTreeSet<_> = ports.iter().collect();
    assert!(different.len() > 4_990, "{}", different.len());
    assert_eq!(ports_sent(false, 5), vec![(0xC020, 7); 5_000]);
}
