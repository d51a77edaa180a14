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
    protocol::{Counters, UserPlaneMode},
    site::Site,
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
    let planes = if deployment == Deployment::AmpSpread {
        2
    } else {
        1
    };
    let site = Site::new(planes).unwrap();
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
        if mode == UserPlaneMode::Kernel {
            assert!(
                pings(&site.sender, &receiver, "3000"),
                "{deployment:?} does not take jumbo frames"
            );
        }

        let channel = channel::measure(plane.link()).unwrap();
        println!("{}: {channel:?}", deployment.name());
        assert!(channel.round_trip_ns > 0.0 && channel.packets_per_second > 0.0);

        let mut changes = Changes::new([pair.sender(), pair.receiver()]);
        let sent = changes.send(plane.link(), 1_000).unwrap();
        assert_eq!(sent, 1_000);
        let since = Instant::now();
        let mut counters = Counters::default();
        while counters.routes_applied < 1_000 && since.elapsed() < Duration::from_secs(5) {
            counters = control::counters(plane.link()).unwrap().unwrap_or(counters);
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(
            (counters.routes_applied, counters.routes_refused),
            (1_000, 0)
        );
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
