//! Every deployment forwards for real, takes routes over its link, and gives back what it took.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use host::Namespace;
use icc::Peer;
use planes::{
    channel,
    control::{self, Changes},
    deployment::{Cores, Deployment, Running},
    guest,
    load::Load,
    protocol::{Counters, UserPlaneMode},
    site::{Site, flows},
};

fn pings(from: &Namespace, to: &str, bytes: &str) -> bool {
    from.command("ping")
        .args(["-q", "-c", "3", "-i", "0.05", "-W", "1", "-s", bytes, to])
        .output()
        .unwrap()
        .status
        .success()
}

/// One site at a time: its namespaces are named after this process.
static SITE: Mutex<()> = Mutex::new(());

fn end_to_end(deployment: Deployment, mode: UserPlaneMode) {
    let _alone = SITE.lock().unwrap_or_else(PoisonError::into_inner);
    if !host::process::is_root() {
        println!("skipped: deployments need root");
        return;
    }
    let Some(cores) = Cores::divide(host::allowed_cores().unwrap()) else {
        println!("skipped: planes need two cores");
        return;
    };
    let Some(program) = guest::program() else {
        println!("skipped: no static guest program; build it with \"make guest\"");
        return;
    };
    let site = Site::new(deployment.user_planes()).unwrap();
    let mut running = match Running::start(deployment, mode, &site, &cores, &program) {
        Err(error) if error.to_string().contains("not installed") => {
            println!("skipped: {error}");
            return;
        }
        started => started.unwrap(),
    };
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

        let channel = channel::measure(plane.link()).unwrap();
        println!("{}: {channel:?}", deployment.name());
        assert!(channel.round_trip_ns > 0.0 && channel.packets_per_second > 0.0);

        let mut changes = Changes::new([pair.sender(), pair.receiver()]);
        let sent = changes.send(plane.link(), 1_000).unwrap();
        assert_eq!(sent, 1_000);
        let since = Instant::now();
        let mut counters = Counters::default();
        // The load's own routes were there first.
        let all = 1_000 + pair.routes().len() as u64;
        while counters.routes_applied < all && since.elapsed() < Duration::from_secs(5) {
            counters = control::counters(plane.link()).unwrap().unwrap_or(counters);
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!((counters.routes_applied, counters.routes_refused), (all, 0));
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
fn partitioned() {
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

/// Flows are hashed between guests: each stays on its own, all arrive, and those of a guest that lives do not suffer from another's death.
#[test]
fn every_flow_stays_on_its_guest_and_one_guests_death_is_its_own() {
    let _alone = SITE.lock().unwrap_or_else(PoisonError::into_inner);
    if !host::process::is_root() {
        println!("skipped: deployments need root");
        return;
    }
    let (Some(cores), Some(program)) = (
        Cores::divide(host::allowed_cores().unwrap()),
        guest::program(),
    ) else {
        println!(
            "skipped: needs two cores and the static guest program; build it with \"make guest\""
        );
        return;
    };
    let deployment = Deployment::AmpSpread;
    let site = Site::new(deployment.user_planes()).unwrap();
    let mut running =
        match Running::start(deployment, UserPlaneMode::Kernel, &site, &cores, &program) {
            Err(error) if error.to_string().contains("not installed") => {
                println!("skipped: {error}");
                return;
            }
            started => started.unwrap(),
        };
    let mut load = Load::new(&site, &mut running, 64, cores.all[0]).unwrap();
    let pair = &site.pairs[0];
    let mut changes = Changes::new([pair.sender(), pair.receiver()]);
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
    let (seen, carried) = trial(&mut running);
    assert_eq!(seen.received, seen.sent);
    let flows = |guest| flows().filter(|flow| flow.user_plane(2) == guest).count() as u64;
    for guest in 0..2 {
        let fair = seen.sent * flows(guest) / (flows(0) + flows(1));
        assert!(
            carried[guest].abs_diff(fair) <= 2,
            "{carried:?}, fair {fair}"
        );
    }

    let victim = libc::pid_t::try_from(running.planes()[1].process()).unwrap();
    // SAFETY: takes numbers only; the group is that of our own guest.
    assert_eq!(unsafe { libc::kill(-victim, libc::SIGKILL) }, 0);
    let since = Instant::now();
    while running.planes()[1].peer() != Peer::Closed && since.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let (_, after) = trial(&mut running);
    assert_eq!(
        after,
        [carried[0], 0],
        "the living guest carries what it carried"
    );
    assert_eq!(running.planes()[0].peer(), Peer::Alive);
}
