//! Every deployment forwards for real, takes routes over its link, and gives back what it took.

use std::time::{Duration, Instant};

use agent::protocol::UserPlaneMode;
use host::Namespace;
use host::process::{Signal, signal};
use icc::Peer;
use planes::deployment::{Cores, Deployment, Means, Running, Variant};
use planes::guest::{self, Kind};
use planes::load::{Load, Observed};
use planes::routes::{self, Changes, Origin};
use planes::site::{Site, flows};
use planes::{channel, control, iperf};

fn pings(from: &Namespace, to: &str, bytes: &str) -> bool {
    from.command("ping")
        .args(["-q", "-c", "3", "-i", "0.05", "-W", "1", "-s", bytes, to])
        .output()
        .unwrap()
        .status
        .success()
}

/// What a running deployment is put on, for one test at a time.
struct Place {
    running: Running,
    site: Site,
    cores: Cores,
    _alone: needs::Cores,
}

/// Starts `deployment`; `None`, with a word why, where this machine cannot have it.
fn start(deployment: Deployment, mode: UserPlaneMode) -> Option<Place> {
    let alone = needs::cores();
    let skipped = |why: &str| {
        needs::skipped!("{}: {why}", deployment.name());
        None
    };
    if !host::process::is_root() {
        return skipped("needs root");
    }
    let Some(cores) = Cores::divide(host::allowed_cores().unwrap()) else {
        return skipped("needs two cores");
    };
    let Some(program) = guest::program() else {
        return skipped("no static guest program; build it with \"make guest\"");
    };
    let site = Site::new(deployment.user_planes()).unwrap();
    let means = Means {
        program: &program,
        guests: Kind::UserModeLinux,
    };
    match Running::start(Variant { deployment, mode }, &site, &cores, means) {
        Err(error)
            if ["not installed", "no cpuset controller"]
                .iter()
                .any(|missing| error.to_string().contains(missing)) =>
        {
            skipped(&error.to_string())
        }
        started => Some(Place {
            running: started.unwrap(),
            site,
            cores,
            _alone: alone,
        }),
    }
}

/// A load of the smallest packets, and nothing to change yet.
fn load(place: &mut Place) -> (Load, Changes) {
    let Place {
        running,
        site,
        cores,
        ..
    } = place;
    (
        Load::new(site, running, 64, cores.all[0]).unwrap(),
        Changes::new(Origin::Generated, &site.pairs, None).unwrap(),
    )
}

fn end_to_end(deployment: Deployment, mode: UserPlaneMode) {
    let Some(place) = start(deployment, mode) else {
        return;
    };
    let Place {
        mut running, site, ..
    } = place;
    for (pair, plane) in site.pairs.iter().zip(running.planes()) {
        assert_eq!(plane.peer(), Peer::Alive);
        let receiver = pair.receiver().to_string();
        assert!(
            pings(&site.sender, &receiver, "56"),
            "{deployment:?} does not forward"
        );
        assert!(
            pings(&site.sender, &receiver, "3000"),
            "{deployment:?} does not take jumbo frames in {mode:?}"
        );

        control::conform(plane.link()).unwrap();
        let channel = channel::measure(plane.link(), true).unwrap();
        println!("{}: {channel:?}", deployment.name());
        assert!(channel.round_trip_ns > 0.0 && channel.packets_per_second > 0.0);
    }
    // BIRD does not know how packets are moved.
    let origins: &[Origin] = match mode {
        UserPlaneMode::Kernel => &[Origin::Generated, Origin::Bird],
        UserPlaneMode::UserSpace => &[Origin::Generated],
    };
    for &origin in origins {
        if let (Origin::Bird, Err(missing)) = (origin, routes::installed()) {
            needs::skipped!("{missing}");
            continue;
        }
        route_changes(deployment, &site, &mut running, origin);
    }
}

/// Changes reach every user plane, and its forwarding.
fn route_changes(deployment: Deployment, site: &Site, running: &mut Running, origin: Origin) {
    const COUNT: usize = 1_000;
    let taken = |running: &mut Running| -> Vec<(u64, u64)> {
        let planes = running.planes().iter_mut();
        let counters = planes.map(|plane| plane.read_counters().unwrap());
        counters
            .map(|of| (of.routes_applied, of.routes_refused))
            .collect()
    };
    // What was sent before has been counted.
    std::thread::sleep(Duration::from_millis(300));
    let before = taken(running);
    let mut changes = Changes::new(origin, &site.pairs, None).unwrap();
    let mut made = 0;
    let since = Instant::now();
    let all = |running: &mut Running| {
        let now = taken(running);
        let mut both = now.iter().zip(&before);
        both.all(|(now, before)| now.0 >= before.0 + COUNT as u64)
    };
    while !all(running) {
        assert!(
            since.elapsed() < Duration::from_mins(1),
            "{deployment:?}: of {COUNT} routes {origin:?} {:?} were taken, {before:?} before",
            taken(running)
        );
        made += changes
            .send(running.planes(), (COUNT - made).min(50))
            .unwrap();
        std::thread::sleep(Duration::from_millis(2));
    }
    for (now, before) in taken(running).iter().zip(&before) {
        assert_eq!(now.1, before.1, "{deployment:?} refused routes {origin:?}");
    }
}

#[test]
fn smp_free() {
    end_to_end(Deployment::SmpFree, UserPlaneMode::Kernel);
    end_to_end(Deployment::SmpFree, UserPlaneMode::UserSpace);
}

#[test]
fn smp_bound() {
    end_to_end(Deployment::SmpBound, UserPlaneMode::Kernel);
    end_to_end(Deployment::SmpBound, UserPlaneMode::UserSpace);
}

#[test]
fn a_partition() {
    end_to_end(Deployment::Partitioned, UserPlaneMode::Kernel);
    end_to_end(Deployment::Partitioned, UserPlaneMode::UserSpace);
}

#[test]
fn amp() {
    end_to_end(Deployment::Amp, UserPlaneMode::Kernel);
    end_to_end(Deployment::Amp, UserPlaneMode::UserSpace);
}

#[test]
fn amp_spread() {
    end_to_end(Deployment::AmpSpread, UserPlaneMode::Kernel);
    end_to_end(Deployment::AmpSpread, UserPlaneMode::UserSpace);
}

/// Flows are hashed between guests: each stays on its own, all arrive, and those of a guest that
/// lives do not suffer from another's death.
#[test]
fn every_flow_stays_on_its_guest_and_one_guests_death_is_its_own() {
    let Some(mut place) = start(Deployment::AmpSpread, UserPlaneMode::Kernel) else {
        return;
    };
    let (mut load, mut changes) = load(&mut place);
    let running = &mut place.running;
    let mut trial = |running: &mut Running| {
        let duration = Duration::from_millis(300);
        let seen = load
            .trial(running, &mut changes, 0, 2_000.0, duration)
            .unwrap();
        assert!(
            !load.strayed(),
            "a frame came through another guest than its flow's"
        );
        (seen, load.carried().unwrap())
    };
    // A guest that waits for its core may lose some, so it is tried again.
    let (seen, carried) = (0..5)
        .map(|_| trial(running))
        .find(|(seen, _)| seen.received == seen.sent)
        .expect("a trial of five without loss");
    let flows = |guest| flows().filter(|flow| flow.user_plane(2) == guest).count() as u64;
    let fair = |seen: &Observed, guest| seen.sent * flows(guest) / (flows(0) + flows(1));
    for guest in 0..2 {
        let fair = fair(&seen, guest);
        assert!(
            carried[guest].abs_diff(fair) <= 2,
            "{carried:?}, fair {fair}"
        );
    }

    signal(running.planes()[1].process(), Signal::KILL).unwrap();
    let since = Instant::now();
    while running.planes()[1].peer() != Peer::Closed && since.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(5));
    }
    // A sender that was held up sends less, so each trial is held against its own frames.
    let whole = (0..5).any(|_| {
        let (seen, after) = trial(running);
        assert_eq!(after[1], 0, "a dead guest carries nothing");
        after[0].abs_diff(fair(&seen, 0)) <= 2
    });
    assert!(whole, "the living guest carries its share in none of five");
    assert_eq!(running.planes()[0].peer(), Peer::Alive);
}

/// A kernel of one's own joins segments to frames that a user plane's buffers do not hold, unless
/// it is told not to: then a connection of jumbo frames crawls from one timeout to the next, at
/// half a megabit a second.
#[test]
fn a_guests_user_plane_takes_jumbo_segments_one_by_one() {
    let Some(place) = start(Deployment::Amp, UserPlaneMode::UserSpace) else {
        return;
    };
    let site = &place.site;
    let to = site.pairs[0].receiver().to_string();
    let load = iperf::Load::Connection { segment: 3_446 };
    let second = Duration::from_secs(1);
    let mut rates = Vec::new();
    // A guest that waits for its core is slow too, but not always.
    while rates.len() < 5 && rates.iter().all(|&rate| rate <= 10e6) {
        match iperf::measure(&site.sender, &site.receiver, &to, load, second) {
            Err(error @ planes::Error::Host { .. }) => needs::skipped!("{error}"),
            seen => rates.push(seen.unwrap().bits_per_second),
        }
    }
    assert!(rates.iter().any(|&rate| rate > 10e6), "{rates:?} bit/s");
}

/// Few frames leave through a socket, many are made in the kernel: all arrive, and are told apart,
/// in either way and after a change.
#[test]
fn few_frames_and_many_arrive_alike() {
    let Some(mut place) = start(Deployment::SmpFree, UserPlaneMode::Kernel) else {
        return;
    };
    let (mut load, mut changes) = load(&mut place);
    for (rate, frames) in [(4_000.0, 800), (240_000.0, 24_000), (4_000.0, 800)] {
        let duration = Duration::from_secs_f64(frames as f64 / rate);
        let seen = load
            .trial(&mut place.running, &mut changes, 0, rate, duration)
            .unwrap();
        println!("{rate} a second: {seen:?}");
        assert!(seen.intended.abs_diff(frames) <= 1, "{seen:?}");
        assert!(seen.received <= seen.sent);
        assert!(seen.received as f64 > seen.sent as f64 * 0.9, "{seen:?}");
        assert!(seen.delay_p50_ns.is_some_and(|ns| ns > 0));
    }
}

/// A user plane that is held up keeps frames in its queues and sends them on when the next trial
/// runs: they are not that trial's.
#[test]
fn frames_of_the_trial_before_are_not_counted_again() {
    let Some(mut place) = start(Deployment::SmpFree, UserPlaneMode::UserSpace) else {
        return;
    };
    let (mut load, mut changes) = load(&mut place);
    let running = &mut place.running;
    let process = running.planes()[0].process();
    let mut trial = |then: Signal| {
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(150));
                signal(process, then).unwrap();
            });
            let duration = Duration::from_millis(300);
            load.trial(running, &mut changes, 0, 2_000.0, duration)
                .unwrap()
        })
    };
    let held = trial(Signal::STOP);
    assert!(held.received < held.sent, "nothing was held up: {held:?}");
    let next = trial(Signal::CONT);
    println!("held {held:?}, then {next:?}");
    assert!(
        next.before > 0 && next.received + next.before > next.sent,
        "no more came than without the frames of before: {next:?}"
    );
    assert!(next.received <= next.sent, "{next:?}");
}

/// Where a group of processes may run, and where its threads ran last, by core (`proc_pid_stat(5)`,
/// fields 5 and 39).
fn cores_of(group: u32) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        for thread in std::fs::read_dir(process.path().join("task"))
            .into_iter()
            .flatten()
            .flatten()
        {
            let read = |file| std::fs::read_to_string(thread.path().join(file)).unwrap_or_default();
            let (stat, status) = (read("stat"), read("status"));
            let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or("").split(' ').collect();
            let number = |field: usize| fields.get(field - 3).and_then(|text| text.parse().ok());
            if number(5) != Some(group) {
                continue;
            }
            let allowed = status
                .lines()
                .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
            if let (Some(allowed), Some(core)) = (allowed, number(39)) {
                found.push((allowed.trim().to_owned(), core));
            }
        }
    }
    found
}

/// The isolation claimed is the isolation measured: with packets to carry and the other cores busy,
/// everything of the user plane may run on its core only and is seen on no other.
fn is_seen_on_its_core_only(deployment: Deployment) {
    let Some(mut place) = start(deployment, UserPlaneMode::UserSpace) else {
        return;
    };
    let (mut load, mut changes) = load(&mut place);
    let user = place.cores.user;
    let running = &mut place.running;
    let group = running.planes()[0].process();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut seen = Vec::new();
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                seen.extend(cores_of(group));
                std::thread::sleep(Duration::from_millis(5));
            }
            seen
        });
        let duration = Duration::from_millis(400);
        load.trial(running, &mut changes, 500, 5_000.0, duration)
            .unwrap();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        watching.join().unwrap()
    });
    assert!(!seen.is_empty(), "{deployment:?}: nothing of it was seen");
    for (allowed, core) in seen {
        assert_eq!(
            (allowed.as_str(), core),
            (user.0.to_string().as_str(), user.0),
            "{deployment:?}"
        );
    }
}

/// Frames that each core has received because another steered them to it (`received_rps`).
fn steered() -> Vec<u64> {
    let text = std::fs::read_to_string("/proc/net/softnet_stat").unwrap();
    let word = |line: &str| line.split_whitespace().nth(9).map(str::to_owned);
    let words = text.lines().filter_map(word);
    words
        .map(|word| u64::from_str_radix(&word, 16).unwrap())
        .collect()
}

/// The sender keeps to one core, and its frames arrive there: without steering the other core would
/// receive none of the 254 flows.
#[test]
fn divided_interrupts_are_worked_on_by_every_core() {
    end_to_end(Deployment::SmpDivided, UserPlaneMode::UserSpace);
    let Some(mut place) = start(Deployment::SmpDivided, UserPlaneMode::Kernel) else {
        return;
    };
    let (mut load, mut changes) = load(&mut place);
    let length = Duration::from_millis(300);
    // What is counted are interrupts between the cores; while the machine is busy one brings many frames.
    let mut trials = Vec::new();
    for _ in 0..5 {
        let before = steered();
        let seen = load.trial(&mut place.running, &mut changes, 0, 10_000.0, length);
        let received = seen.unwrap().received;
        let now = steered();
        let by_core = now.iter().zip(&before).map(|(now, before)| now - before);
        let most = by_core.max().unwrap();
        if received > 0 && most > received / 4 {
            return;
        }
        trials.push((most, received));
    }
    panic!("steered, of received: {trials:?}");
}

#[test]
fn a_bound_user_plane_is_seen_on_its_core_only() {
    is_seen_on_its_core_only(Deployment::SmpBound);
    is_seen_on_its_core_only(Deployment::Amp);
}

/// To a partition's core nobody else's tasks come.
#[test]
fn a_partitions_user_plane_is_seen_on_its_core_only() {
    is_seen_on_its_core_only(Deployment::Partitioned);
}
