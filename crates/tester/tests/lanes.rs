//! Load on every core at once, closed loop and at a rate, with the kernel between the cables: what
//! arrives, and where the rest went. Needs root.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use fastpath::generate::Destinations;
use host::CoreId;
use host::counting::Timer;
use tester::bench::{Subject, throughput};
use tester::profile::Profile;
use tester::result::Entry;
use tester::rig::Rig;
use tester::schedule::Schedule;
use tester::session::Session;
use tester::sizes::Family;
use tester::trial::{Direction, Trial, Validity};
use tester::veth::lanes::{
    Lanes, LanesRig, Load, Losses, Pace, next_hop_address, next_hop_address_v6, next_hop_back,
    next_hop_back_v6,
};

/// Trials of a kind, where others have a core at one end for longer than one takes.
const LOOKS: usize = 5;
const LENGTH: Duration = Duration::from_millis(50);
/// 10.0.0.0/9 and the half above it.
const LOWER: u32 = 0x0a00_0000;
const UPPER: u32 = 0x0a80_0000;

/// Longest search: on a machine whose cores others have it would go on for long.
const SEARCH: Duration = Duration::from_secs(5);
/// Searches at most, when others have the cores.
const SEARCHES: usize = 3;
/// What the token bucket lets through, frames/s.
const RATE: f64 = 100_000.0;

/// Two cores at most, a kernel that forwards 10/9, and destinations by turns in both halves of 10/8
/// or in the lower alone.
fn lanes(name: &str, both_halves: bool) -> Option<(Lanes, usize, needs::Cores)> {
    if !needs::root("for network namespaces and eBPF") {
        return None;
    }
    let guard = needs::cores();
    let mut cores: Vec<CoreId> = host::allowed_cores().unwrap();
    cores.truncate(2);
    let destinations: Vec<Ipv4Addr> = (0..1000)
        .map(|number| {
            let half = if both_halves && number % 2 == 1 {
                UPPER
            } else {
                LOWER
            };
            Ipv4Addr::from_bits(half + 1 + number)
        })
        .collect();
    let lanes = Lanes::new(name, &cores, Destinations::V4(destinations)).unwrap();
    let dut = lanes.dut();
    dut.set("net.ipv4.ip_forward", "1").unwrap();
    let hop = next_hop_address(1).to_string();
    dut.ip(format!("route add 10.0.0.0/9 via {hop}")).unwrap();
    dut.ip("route add blackhole 10.128.0.0/9").unwrap();
    Some((lanes, cores.len(), guard))
}

#[test]
fn what_is_sent_arrives_whichever_the_brake_is() {
    let Some((lanes, cores, _guard)) = lanes("lanes", false) else {
        return;
    };
    let mut load = Load::default();
    for cores in [0..1, 0..cores, cores - 1..cores] {
        for frame_bytes in [64, 1518] {
            for pace in [Pace::Call, Pace::Window(1024)] {
                let mut ratios = Vec::new();
                let near = |ratio: &f64| (0.5..2.0).contains(ratio);
                while ratios.len() < LOOKS && !ratios.last().is_some_and(near) {
                    let carried = load.carry(&lanes, (frame_bytes, cores.clone()), pace, LENGTH);
                    let carried = carried.unwrap();
                    let what =
                        format!("cores {cores:?}, {frame_bytes} bytes, {pace:?}: {carried:?}");
                    assert!(
                        carried.counts.closes() && carried.counts.received > 1000,
                        "{what}"
                    );
                    assert!(carried.frames_per_second > 0.0, "{what}");
                    assert_eq!(carried.counts.lost, sum(carried.losses), "{what}");
                    assert!(!matches!(carried.validity, Validity::Invalid(_)), "{what}");
                    // Each generator times pieces of work, where its frames are through when its call is.
                    let own = carried.counted.own();
                    let is_own = pace == Pace::Call && carried.counts.lost == 0;
                    assert_eq!(own.is_some(), is_own, "{what}");
                    let Some((timer, marks)) = own else {
                        ratios.clear();
                        break;
                    };
                    assert_eq!((timer, marks.len()), (Timer::Program, cores.len()));
                    // Both are of the same stretch of time, but for its ends and the pieces of work.
                    ratios.push(carried.counted.per_second() / carried.frames_per_second);
                }
                assert!(ratios.last().is_none_or(near), "{ratios:?}");
            }
        }
    }
}

/// The kernel would choose a queue by the frame, and two cores would share its lock.
#[test]
fn what_a_core_forwards_leaves_by_the_queue_of_its_core() {
    let Some((lanes, cores, _guard)) = lanes("apart", false) else {
        return;
    };
    let numbers = host::allowed_cores().unwrap();
    for (core, number) in numbers.iter().enumerate().take(cores) {
        let before = by_queue(&lanes);
        let only = core..core + 1;
        let carried = Load::default()
            .carry(&lanes, (64, only), Pace::Call, LENGTH)
            .unwrap();
        let own = number.0 as usize;
        for (queue, (before, after)) in before.into_iter().zip(by_queue(&lanes)).enumerate() {
            let came = after - before;
            // A frame or two in a trial are the kernel's own, of neighbours and groups.
            let most = if queue == own { u64::MAX } else { 16 };
            assert!(came <= most, "queue {queue} of core {own}: {came}");
            if queue == own {
                assert!(came + 16 >= carried.counts.received, "{came}, {carried:?}");
            }
        }
    }
}

/// Frames that came to the sink by each of its receive queues; those are its sender's.
fn by_queue(lanes: &Lanes) -> Vec<u64> {
    let sink = lanes.dut().name().replace("-dut", "-sink");
    let output = std::process::Command::new("ip")
        .args(["netns", "exec", &sink, "ethtool", "-S", "in"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let count = |line: &str| {
        let (name, number) = line.trim().split_once(": ")?;
        let queue = name.strip_prefix("rx_queue_")?;
        queue.strip_suffix("_xdp_packets")?;
        number.parse().ok()
    };
    text.lines().filter_map(count).collect()
}

fn sum(losses: Losses) -> u64 {
    losses.to_device + losses.in_device + losses.from_device
}

#[test]
fn what_the_device_drops_is_counted_as_its_own() {
    let Some((lanes, cores, _guard)) = lanes("holed", true) else {
        return;
    };
    // A window that lost frames fill opens again only after a tenth of a second.
    for (pace, length) in [(Pace::Call, LENGTH), (Pace::Window(1024), 10 * LENGTH)] {
        let carried = Load::default()
            .carry(&lanes, (64, 0..cores), pace, length)
            .unwrap();
        let (sent, losses) = (carried.counts.sent, carried.losses);
        assert!(carried.counts.closes());
        assert_eq!(carried.counts.lost, sum(losses));
        // Every second destination is in the hole.
        let expected = sent as f64 / 2.0;
        assert!(
            (losses.in_device as f64 / expected - 1.0).abs() < 0.02,
            "{pace:?}: {carried:?}"
        );
        assert!(carried.frames_per_second > 0.0, "{carried:?}");
    }
}

#[test]
fn a_device_that_forwards_nothing_is_no_error() {
    let Some((lanes, cores, _guard)) = lanes("idle", false) else {
        return;
    };
    lanes.dut().set("net.ipv4.ip_forward", "0").unwrap();
    for pace in [Pace::Call, Pace::Window(1024)] {
        let carried = Load::default()
            .carry(&lanes, (64, 0..cores), pace, LENGTH)
            .unwrap();
        assert!(carried.counts.sent > 0 && carried.counts.received == 0);
        assert_eq!(carried.losses.in_device, carried.counts.sent);
        assert!(carried.frames_per_second.abs() < f64::EPSILON);
    }
}

#[test]
fn an_interface_that_vanishes_is_named() {
    let Some((lanes, cores, _guard)) = lanes("vanish", false) else {
        return;
    };
    lanes.dut().ip("link delete out").unwrap();
    let error = Load::default()
        .carry(&lanes, (64, 0..cores), Pace::Call, LENGTH)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("out") && error.contains("vanished"),
        "{error}"
    );
}

/// A search over these lanes, as the study makes it.
fn searched(lanes: &Lanes, cores: usize, pace: Pace, ceiling: f64) -> Entry {
    let mut load = Load::default();
    let until = Instant::now() + SEARCH;
    let mut rig = LanesRig::new(lanes, &mut load, 0..cores, pace, ceiling).until(Some(until));
    let order = LanesRig::order(64, Family::Ipv4, Direction::OneWay).unwrap();
    let profile = Profile {
        resolution: 0.02,
        tries: 3,
        passes: 2,
        retries: 1,
        ..Profile::QUICK
    };
    let mut silent = |_: &str| ();
    let session = Session::new(&mut rig, profile, order, &mut silent);
    throughput::run(session, &Subject::default(), &[])
}

fn in_short(trial: &Trial) -> String {
    let counts = &trial.counts;
    format!(
        "{:.0} frames/s for {:.2} s, {}: lost {} (late {}) of {}, unsent {}, lateness {} us, \
         waited {:.4}, {:?}",
        trial.intended_rate.unwrap_or(0.0),
        trial.seconds,
        trial.purpose,
        counts.lost,
        counts.late,
        counts.intended,
        counts.unsent,
        trial.worst_lateness_ns / 1000,
        trial.waited,
        trial.validity
    )
}

#[test]
fn a_search_finds_what_a_bucket_lets_through() {
    let Some((lanes, cores, _guard)) = lanes("bucket", false) else {
        return;
    };
    // Tokens for 60 bytes, the frame without FCS. Bucket and queue hold 500 frames, so that a
    // generator which was held up for some milliseconds may repay what it owes; by that a trial
    // of 10,000 frames may pass above the rate.
    let bucket = format!(
        "qdisc add dev out root tbf rate {}bit burst 6000 limit 24000",
        RATE * 60.0 * 8.0
    );
    let made = lanes
        .dut()
        .command("tc")
        .args(bucket.split_whitespace())
        .output();
    let refused = match &made {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Some(error.to_string()),
    };
    if let Some(why) = refused {
        needs::skipped!("no token bucket here: {why}");
        return;
    }
    for (cores, pace) in [(1, Pace::Call), (cores, Pace::Window(1024))] {
        let (mut less, mut disturbed) = (Vec::new(), true);
        // Others who have the cores for a while can only make it find less.
        let is_found = (0..SEARCHES).any(|_| {
            let entry = searched(&lanes, cores, pace, 3.0 * RATE);
            let found = entry.frames_per_second.unwrap_or(0.0) / RATE;
            let trials: Vec<String> = entry.trials.iter().map(in_short).collect();
            let what = format!(
                "{cores} cores, {pace:?}: {found} of the rate found; {}\n{}",
                entry.because,
                trials.join("\n")
            );
            assert!(found < 1.07, "{what}");
            less.push(what);
            disturbed &= is_disturbed(&entry);
            found > 0.85
        });
        let less = less.join("\n");
        assert!(is_found || disturbed, "{less}");
        if !is_found {
            needs::skipped!("others have the cores; {less}");
        }
    }
}

/// Did most of the trials that failed well below the rate fail because others had the core, or
/// because they kept the tester from sending?
fn is_disturbed(entry: &Entry) -> bool {
    let below = |trial: &&Trial| {
        let rate = trial.intended_rate.unwrap_or(0.0);
        rate < 0.95 * RATE && !trial.passes()
    };
    let failed: Vec<&Trial> = entry.trials.iter().filter(below).collect();
    let valid = failed
        .iter()
        .filter(|trial| trial.validity == Validity::Valid);
    2 * valid.count() < failed.len()
}

#[test]
fn a_search_where_nothing_comes_through_has_no_rate_and_a_reason() {
    let Some((lanes, cores, _guard)) = lanes("closed", false) else {
        return;
    };
    lanes.dut().set("net.ipv4.ip_forward", "0").unwrap();
    let entry = searched(&lanes, cores, Pace::Call, 1e5);
    assert_eq!(entry.frames_per_second, None);
    assert!(
        entry.because.contains("forwards nothing"),
        "{}",
        entry.because
    );
}

/// By the sink's own counters, and by the record of each trial.
#[test]
fn a_trial_says_by_which_cores_its_frames_came() {
    let Some((lanes, cores, _guard)) = lanes("by-core", false) else {
        return;
    };
    let numbers = host::allowed_cores().unwrap();
    let mut load = Load::default();
    for places in [0..1, cores - 1..cores, 0..cores] {
        let mut rig = LanesRig::new(&lanes, &mut load, places.clone(), Pace::Call, 1e5);
        let order = LanesRig::order(64, Family::Ipv4, Direction::OneWay).unwrap();
        let order = order.with(Schedule::constant(10_000.0, 0.1));
        let trial = rig.run(&order, "test", None).unwrap();
        let came: u64 = trial.arrivals_by_core.iter().map(|one| one.frames).sum();
        assert_eq!(came, trial.counts.arrivals, "{trial:?}");
        for (place, number) in numbers.iter().enumerate() {
            let mut all = trial.arrivals_by_core.iter();
            let own = all.find(|one| one.core == number.0);
            let own = own.map_or(0, |one| one.frames);
            // A frame or two in a trial are the kernel's own, of neighbours and groups.
            let is_right = if places.contains(&place) {
                own * (places.len() as u64) * 10 >= trial.counts.received * 9
            } else {
                own <= 16
            };
            assert!(is_right, "{own} on core {number} of {places:?}: {trial:?}");
        }
    }
}

/// What the device has sent out of its entrance and of its exit, by the kernel's own counters.
fn sent_out(lanes: &Lanes) -> [u64; 2] {
    let mut command = lanes.dut().command("cat");
    let output = command.arg("/proc/net/dev").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let packets = |interface: &str| {
        let mut lines = text.lines().map(|line| line.trim().split(':'));
        let mut line = lines.find(|words| words.clone().next() == Some(interface));
        let counters = line.as_mut().and_then(|words| words.nth(1)).unwrap();
        counters.split_whitespace().nth(9).unwrap().parse().unwrap()
    };
    ["in", "out"].map(packets)
}

#[test]
fn as_many_frames_come_back_as_go_there_and_all_are_counted() {
    if !needs::root("for network namespaces and eBPF") {
        return;
    }
    let _guard = needs::cores();
    let mut cores: Vec<CoreId> = host::allowed_cores().unwrap();
    cores.truncate(2);
    let numbers = || 1..=1000_u32;
    let v4 = |half: u32| Destinations::V4(numbers().map(|n| (half + n).into()).collect());
    let v6 = |half: u16| {
        let address = |n: u32| Ipv6Addr::new(0x2001, 2, half, 0, 0, 0, 0, n as u16);
        Destinations::V6(numbers().map(address).collect())
    };
    for (name, there, back) in [
        ("both", v4(LOWER), v4(UPPER)),
        ("both-v6", v6(0), v6(0x8000)),
    ] {
        let lanes = Lanes::both_ways(name, &cores, there, back).unwrap();
        let dut = lanes.dut();
        for (key, routes) in [
            (
                "net.ipv4.ip_forward",
                [
                    format!("10.0.0.0/9 via {}", next_hop_address(1)),
                    format!("10.128.0.0/9 via {}", next_hop_back(1)),
                ],
            ),
            (
                "net.ipv6.conf.all.forwarding",
                [
                    format!("2001:2:0::/48 via {}", next_hop_address_v6(1)),
                    format!("2001:2:8000::/48 via {}", next_hop_back_v6(1)),
                ],
            ),
        ] {
            dut.set(key, "1").unwrap();
            if key.contains("ipv6") == (lanes.family() == Family::Ipv6) {
                for route in routes {
                    dut.ip(format!("route add {route}")).unwrap();
                }
            }
        }
        assert_eq!(lanes.direction(), Direction::BothWays);
        let mut load = Load::default();
        for cores in [0..1, 0..cores.len()] {
            let before = sent_out(&lanes);
            let carried = load
                .carry(&lanes, (84, cores.clone()), Pace::Call, LENGTH)
                .unwrap();
            let after = sent_out(&lanes);
            let [back, there] = [0, 1].map(|way| after[way] - before[way]);
            let what = format!("{name} on {cores:?}: {there} there, {back} back, {carried:?}");
            assert!(carried.counts.received > 1000, "{what}");
            assert_eq!(carried.counts.lost, sum(carried.losses), "{what}");
            // All that left the device has arrived; a frame or two are the kernel's own.
            assert!(there + back <= carried.counts.arrivals + 16, "{what}");
            assert!(carried.counts.received <= there + back, "{what}");
            // A queue that overflowed for others on the core may have cost one way more.
            let most = carried.counts.lost + 16;
            assert!(there.abs_diff(back) <= most, "{what}");
        }
        // At a rate, which is that of each way.
        let mut rig = LanesRig::new(&lanes, &mut load, 0..cores.len(), Pace::Call, 1e5);
        let order = LanesRig::order(84, lanes.family(), lanes.direction()).unwrap();
        let trial = rig
            .run(&order.with(Schedule::constant(10_000.0, 0.1)), "test", None)
            .unwrap();
        assert_eq!(
            (trial.senders, trial.counts.intended),
            (2, 2000),
            "{trial:?}"
        );
        assert!(trial.counts.closes(), "{trial:?}");
        assert!(
            trial.counts.arrivals > 1000,
            "both ways' are counted: {trial:?}"
        );
        assert_eq!(trial.intended_rate, Some(10_000.0));
    }
}

/// The device would drop half of them.
#[test]
fn at_the_entrance_frames_end_before_the_device() {
    let Some((mut lanes, cores, _guard)) = lanes("entrance", true) else {
        return;
    };
    let mut load = Load::default();
    let mut carry = |lanes: &Lanes| load.carry(lanes, (64, 0..cores), Pace::Call, LENGTH);
    let through = carry(&lanes).unwrap();
    assert!(through.losses.in_device > 0, "{through:?}");
    lanes.end_at_entrance().unwrap();
    let bare = carry(&lanes).unwrap();
    assert!(bare.counts.received > 0, "{bare:?}");
    assert_eq!(bare.counts.lost, 0, "{bare:?}");
}
