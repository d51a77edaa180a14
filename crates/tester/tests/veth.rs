//! The in-kernel rig over veth, in namespaces of its own: a cable, and the kernel's forwarding.
//! Needs root.

use host::offload::Offload;
use tester::bench;
use tester::engine::Engine;
use tester::link::ports::Ports;
use tester::profile::Profile;
use tester::result::Details;
use tester::rig::Rig;
use tester::schedule::Schedule;
use tester::sizes::{Family, FrameSize};
use tester::trial::{Direction, LastLoss, Order, Trial, Validity, Waits};
use tester::veth::{End, Testbed};

use crate::support::{root, subject};

fn order(size: u32, family: Family) -> Order {
    crate::support::order(size, family, Schedule::constant(20_000.0, 0.1))
}

/// A trial that the tester conducted as intended and that lost nothing; `None`, aloud, on a machine
/// too busy for one. Only a disturbed trial may lose frames: of those that nobody disturbed, three
/// are the fault of whoever carries them.
fn undisturbed(rig: &mut dyn Rig, order: &Order) -> Option<Trial> {
    let mut lost = Vec::new();
    for _ in 0..20 {
        let trial = rig.run(order, "test", None).unwrap();
        assert!(trial.counts.closes(), "{:?}", trial.counts);
        assert!(trial.counts.received > 0, "{:?}", trial.complaint());
        if trial.passes() {
            return Some(trial);
        }
        if trial.validity == Validity::Valid {
            lost.push(trial.complaint());
        }
        assert!(lost.len() < 3, "undisturbed trials lost frames: {lost:?}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    needs::skipped!("the machine is too busy for a trial of a tenth of a second");
    None
}

#[test]
fn cable_and_kernel_lose_nothing_at_a_low_rate() {
    if !root() {
        return;
    }
    let _alone = needs::cores();
    let mut testbed = Testbed::new(1500, true).unwrap();
    {
        let mut wire = testbed.wire(1).unwrap();
        let Some(trial) = undisturbed(&mut wire, &order(64, Family::Ipv4)) else {
            return;
        };
        assert_eq!(trial.counts.received, 2000);
        assert_eq!(trial.latency.unwrap().samples, 2000);
        let both = Order {
            direction: Direction::BothWays,
            ..order(512, Family::Ipv6)
        };
        if let Some(trial) = undisturbed(&mut wire, &both) {
            assert_eq!(trial.counts.received, 4000);
        }
    }
    testbed.widen().unwrap();
    let mut rig = testbed.rig("the kernel", 1).unwrap();
    for (size, family, destinations) in [
        (64, Family::Ipv4, 1),
        (1518, Family::Ipv4, 256),
        (84, Family::Ipv6, 256),
    ] {
        let order = Order {
            destinations,
            ..order(size, family)
        };
        let Some(trial) = undisturbed(&mut rig, &order) else {
            return;
        };
        assert_eq!(
            (
                trial.counts.received,
                trial.counts.misdirected,
                trial.counts.corrupt
            ),
            (2000, 0, 0)
        );
    }
    let both = Order {
        direction: Direction::BothWays,
        ..order(128, Family::Ipv4)
    };
    if let Some(trial) = undisturbed(&mut rig, &both) {
        assert_eq!(trial.counts.received, 4000);
    }
    let mix = [64, 570, 1518]
        .map(|size| FrameSize::new(size, Family::Ipv4, 1500).unwrap())
        .to_vec();
    let mixed = Order {
        sizes: mix,
        ..order(64, Family::Ipv4)
    };
    if let Some(trial) = undisturbed(&mut rig, &mixed) {
        assert_eq!(trial.counts.received, 2000);
    }
    let mesh = Order {
        direction: Direction::Mesh,
        ..order(64, Family::Ipv4)
    };
    assert!(
        rig.run(&mesh, "test", None)
            .unwrap_err()
            .to_string()
            .contains("mesh")
    );
}

#[test]
fn a_kernel_that_does_not_forward_is_named() {
    if !root() {
        return;
    }
    let _alone = needs::cores();
    let testbed = Testbed::new(1500, false).unwrap();
    let mut rig = testbed.rig("nothing", 1).unwrap();
    let trial = rig.run(&order(64, Family::Ipv4), "test", None).unwrap();
    assert_eq!(trial.complaint().unwrap(), "the device forwards nothing");
    assert_eq!(trial.counts.longest_loss_run, trial.counts.sent);
}

#[test]
fn a_port_that_takes_no_frame_is_not_taken_for_a_device_that_forwards_nothing() {
    if !root() {
        return;
    }
    let _alone = needs::cores();
    let testbed = Testbed::new(1500, true).unwrap();
    let port = &testbed.ports[0];
    let off = || host::offload::switch(port, Offload::GenericReceive, false);
    testbed.device.enter(off).unwrap().unwrap();
    let mut rig = testbed.rig("the kernel", 1).unwrap();
    let error = rig.run(&order(64, Family::Ipv4), "test", None).unwrap_err();
    let (error, end) = (error.to_string(), &testbed.ends[0].interface);
    // All that were made by then, which are fewer than 2000 where others have the core.
    let (_, rest) = error
        .split_once(&format!("send into {end}: it took none of "))
        .unwrap();
    let frames: u64 = rest.split(' ').next().unwrap().parse().unwrap();
    assert!(
        (1..=2000).contains(&frames) && rest.contains("frames") && rest.contains("gro on"),
        "{error}"
    );
}

#[test]
fn a_device_that_stays_dead_is_seen_beyond_what_the_sink_remembers() {
    if !root() {
        return;
    }
    let _alone = needs::cores();
    let testbed = Testbed::new(1500, false).unwrap();
    let mut rig = testbed.rig("nothing", 1).unwrap();
    // More than 2^21 frames, of which the first were lost out of its sight.
    let schedule = Schedule::constant(1_000_000.0, 2.3);
    let order = crate::support::order(64, Family::Ipv4, schedule.clone());
    let trial = rig.run(&order, "test", None).unwrap();
    if trial.counts.sent <= 1 << 21 {
        needs::skipped!(
            "the machine is too busy to send {} frames",
            schedule.frames()
        );
        return;
    }
    let LastLoss::At(last) = trial.last_loss() else {
        panic!("{:?}", trial.last_loss())
    };
    assert!(
        last + 50_000_000 > schedule.duration_ns().unwrap(),
        "{last}"
    );
}

/// A token bucket behind the device's second port: so many frames of 60 bytes (without FCS) a
/// second, and a queue of so many.
fn bucket(testbed: &Testbed, rate: f64, queue: u32) -> bool {
    let line = format!(
        "tc qdisc replace dev {} root tbf rate {:.0}bit burst 1200 limit {}",
        testbed.ports[1],
        rate * 60.0 * 8.0,
        queue * 60
    );
    let words: Vec<&str> = line.split_whitespace().collect();
    let output = testbed.device.command(words[0]).args(&words[1..]).output();
    let made = output.is_ok_and(|output| output.status.success());
    needs::that(made, "tc with the token bucket filter (sch_tbf)")
}

#[test]
fn frames_that_a_queue_holds_from_an_earlier_trial_are_none_of_the_next() {
    if !root() {
        return;
    }
    let _alone = needs::cores();
    let testbed = Testbed::new(1500, true).unwrap();
    if !bucket(&testbed, 10_000.0, 3_000) {
        return;
    }
    let mut rig = testbed.rig("a token bucket", 1).unwrap();
    // Of 2000 frames in a tenth of a second the queue holds 1000, and nobody waits for them.
    let impatient = Order {
        waits: Waits {
            residual_ns: 0,
            settle_ns: 0,
            ..Waits::QUICK
        },
        time_every_frame: false,
        ..order(64, Family::Ipv4)
    };
    rig.run(&impatient, "test", None).unwrap();
    // Another size, so another generator.
    for size in [64, 128] {
        let after = Order {
            waits: Waits {
                learning_ns: 0,
                residual_ns: 5_000_000_000,
                quiet_ns: 200_000_000,
                ..Waits::QUICK
            },
            schedule: Schedule::constant(5_000.0, 0.1),
            time_every_frame: false,
            ..order(size, Family::Ipv4)
        };
        let trial = rig.run(&after, "test", None).unwrap();
        let counts = trial.counts;
        assert!(counts.closes(), "{counts:?}");
        assert!(size == 128 || counts.residual > 100, "{counts:?}");
        assert_eq!((counts.lost, counts.corrupt), (0, 0), "{counts:?}");
        assert_eq!(counts.received, counts.sent, "{counts:?}");
        rig.run(&impatient, "test", None).unwrap();
    }
}

/// Of 150 frames in 50 ms a bucket of 1000 frames/s gives out 50 meanwhile and 20 saved ones.
#[test]
fn a_buffer_that_is_not_full_drains_for_as_long_as_its_last_frame_waited() {
    if !root() {
        return;
    }
    let _alone = needs::cores();
    let testbed = Testbed::new(1500, true).unwrap();
    if !bucket(&testbed, 1_000.0, 200) {
        return;
    }
    let mut rig = testbed.rig("a token bucket", 1).unwrap();
    let order = Order {
        time_every_frame: false,
        waits: Waits {
            settle_ns: 50_000_000,
            ..Waits::QUICK
        },
        ..order(64, Family::Ipv4)
    };
    // Of several lengths at least one ends far from a sixteenth frame.
    for frames in [150, 155, 160, 165] {
        let seconds = f64::from(frames) / 3_000.0;
        let order = order.with(Schedule::constant(3_000.0, seconds));
        let waiting = f64::from(frames - 20) - seconds * 1_000.0;
        // A pause of the bucket's core makes it last longer, up to what a trial may stand still.
        let mut drains = Vec::new();
        for _ in 0..5 {
            let Some(trial) = undisturbed(&mut rig, &order) else {
                return;
            };
            drains.push(trial.drain_ns.unwrap() as f64 / 1e6);
            if drains.iter().any(|drain| (drain - waiting).abs() < 4.0) {
                break;
            }
        }
        let last = drains.last().unwrap();
        assert!((last - waiting).abs() < 4.0, "{drains:?} ms, not {waiting}");
    }
}

#[test]
fn an_interface_set_down_for_a_while_is_a_reset() {
    if !root() {
        return;
    }
    let _alone = needs::cores();
    let testbed = Testbed::new(1500, true).unwrap();
    let mut rig = testbed.rig("the kernel", 1).unwrap();
    let profile = Profile {
        reset_seconds: (0.1, 0.5),
        reset_repeats: 1,
        ..Profile::QUICK
    };
    let switch = |value: &str| {
        testbed.device.set("net.ipv4.ip_forward", value).unwrap();
    };
    let reset = || {
        switch("0");
        std::thread::sleep(std::time::Duration::from_millis(100));
        switch("1");
    };
    let entry = crate::support::session(&mut rig, profile, |session| {
        bench::reset::run(
            session,
            &subject(),
            Some(2_000.0),
            "forwarding off for 100 ms",
            &reset,
        )
    });
    let Details::Reset(found) = entry.details else {
        panic!("{}", entry.because)
    };
    if found.by_loss_ms.is_empty() {
        let counted = entry.trials.iter().any(|trial| trial.validity.counts());
        assert!(!counted, "{}", entry.because);
        needs::skipped!("the machine is too busy: {}", entry.because);
        return;
    }
    assert!((90.0..300.0).contains(&found.average_ms), "{found:?}");
    assert!(
        (found.by_silence_ms[0] - found.by_loss_ms[0]).abs() < 20.0,
        "{found:?}"
    );
}

#[test]
fn packet_sockets_carry_every_byte() {
    if !root() {
        return;
    }
    let _alone = needs::cores();
    let testbed = Testbed::new(1500, true).unwrap();
    let [first, second] = &testbed.ends[..] else {
        panic!("two ends")
    };
    let open = |end: &End| -> Box<dyn port::Port> {
        let opened = end.enter(|| port::packet::PacketPort::open(&end.interface, None));
        Box::new(opened.unwrap().unwrap())
    };
    let link = Ports::new(
        "packet sockets",
        vec![open(first), open(second)],
        "the kernel",
    );
    let mut engine = Engine::new(link, vec![first.macs, second.macs], 1518, 1e6, 1).unwrap();
    for (size, family) in [(64, Family::Ipv4), (1518, Family::Ipv4), (84, Family::Ipv6)] {
        let order = Order {
            direction: Direction::BothWays,
            destinations: 16,
            schedule: Schedule::constant(2_000.0, 0.1),
            ..order(size, family)
        };
        let Some(trial) = undisturbed(&mut engine, &order) else {
            return;
        };
        assert_eq!((trial.counts.received, trial.counts.corrupt), (400, 0));
    }
}
