//! Routing protocols as users run them: FRR's OSPF around a triangle, BIRD's BGP, with a link cut
//! and healed under traffic.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use host::Namespace;
use host::bed::{Bed, side};

use super::lab::{Lab, is_root, ping, wait_for};

/// FRR daemons of one namespace, ended when dropped.
struct Daemons {
    pid_files: Vec<std::path::PathBuf>,
}

impl Drop for Daemons {
    fn drop(&mut self) {
        for file in &self.pid_files {
            let pid = std::fs::read_to_string(file)
                .ok()
                .and_then(|text| text.trim().parse::<libc::pid_t>().ok());
            if let Some(pid) = pid {
                // SAFETY: no pointers; the daemon wrote its own number into its own file.
                unsafe { libc::kill(pid, libc::SIGTERM) };
            }
        }
    }
}

/// Starts zebra and ospfd in a namespace; every 10/8 link speaks OSPF with one-second failure
/// detection.
fn ospf(namespace: &Namespace, number: u32, links: &[&str], base: &Path) -> Daemons {
    let directory = base.join(format!("frr{number}"));
    std::fs::create_dir(&directory).unwrap();
    let mut text = format!(
        "hostname x{number}\nrouter ospf\n ospf router-id 192.168.0.{number}\n network 10.0.0.0/8 \
         area 0\n timers throttle spf 10 20 50\n"
    );
    for link in links {
        writeln!(
            text,
            "interface {link}\n ip ospf network point-to-point\n ip ospf dead-interval minimal \
             hello-multiplier 4"
        )
        .unwrap();
    }
    std::fs::write(directory.join("frr.conf"), text).unwrap();
    let owned = Command::new("chown")
        .args(["-R", "frr:frr"])
        .arg(base)
        .status()
        .unwrap();
    assert!(owned.success());
    let mut pid_files = Vec::new();
    for daemon in ["zebra", "ospfd"] {
        let pid = directory.join(format!("{daemon}.pid"));
        let status = namespace
            .command(format!("/usr/lib/frr/{daemon}"))
            .arg("-d")
            .arg("-f")
            .arg(directory.join("frr.conf"))
            .arg("-i")
            .arg(&pid)
            .arg("-z")
            .arg(directory.join("zserv"))
            .arg("--vty_socket")
            .arg(&directory)
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "{daemon} does not start");
        pid_files.push(pid);
    }
    Daemons { pid_files }
}

#[test]
fn ospf_heals_a_cut_link_under_traffic() {
    if !is_root() || !needs::program("zebra") || !needs::program("ospfd") {
        return;
    }
    // a - r - b, and r - c - b: the short way, and the long one when the short one is cut.
    let mut lab = Lab::new();
    let c = lab.link("c", 2);
    for namespace in [&lab.b, &c] {
        namespace.set("net.ipv4.ip_forward", "1").unwrap();
    }
    let far = Bed::plan().cable(
        side("c", "c3").address("10.3.0.1/24"),
        side("b", "e3").address("10.3.0.2/24"),
    );
    lab.bed.add(&far).unwrap();
    lab.b.ip("addr add 10.99.0.1/32 dev lo").unwrap();
    lab.b.ip("route del default").unwrap();
    let frr = tempfile::tempdir().unwrap();
    let mut open = std::fs::metadata(frr.path()).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut open, 0o755);
    std::fs::set_permissions(frr.path(), open).unwrap();
    let _daemons = [
        ospf(&lab.r, 1, &["r0", "r1", "r2"], frr.path()),
        ospf(&lab.b, 2, &["e1", "e3"], frr.path()),
        ospf(&c, 3, &["e2", "c3"], frr.path()),
    ];
    let router = lab.run(&["r0", "r1", "r2"], &[]);
    let leaves_by = || {
        let answer = router.show("routes 10.99.0.1");
        answer["answers"][0]["entries"][0]["port"]
            .as_str()
            .unwrap_or("none")
            .to_owned()
    };
    wait_for("OSPF's short way", 40, || {
        lab.ping("10.99.0.1") && leaves_by() == "r1"
    });
    let before = router.forwarded();
    assert!(ping(&lab.a, "10.99.0.1", 20));
    assert!(router.forwarded() - before >= 20, "by the fast path");
    assert_eq!(router.verify()["different"], 0);
    lab.r.ip("link set r1 down").unwrap();
    wait_for("the long way", 20, || {
        lab.ping("10.99.0.1") && leaves_by() == "r2"
    });
    assert!(ping(&lab.a, "10.99.0.1", 20));
    wait_for("the routes of the link to go", 5, || router.is_equal());
    lab.r.ip("link set r1 up").unwrap();
    wait_for("the short way again", 40, || {
        lab.ping("10.99.0.1") && leaves_by() == "r1"
    });
    assert_eq!(router.verify()["different"], 0);
}

/// A daemon of routing, ended when dropped.
pub(crate) struct Daemon(pub(crate) Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        // It has nothing to save; a failure means that it is gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn bird(namespace: &Namespace, name: &str, text: &str, base: &Path) -> Daemon {
    let config = base.join(format!("{name}.conf"));
    std::fs::write(&config, text).unwrap();
    let child = namespace
        .command("bird")
        .args(["-f", "-c"])
        .arg(&config)
        .arg("-s")
        .arg(base.join(format!("{name}.ctl")))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    Daemon(child)
}

#[test]
fn bgp_routes_arrive_and_leave() {
    if !is_root() || !needs::program("bird") {
        return;
    }
    let lab = Lab::new();
    lab.b.ip("addr add 203.0.113.1/32 dev lo").unwrap();
    let speaker = |number: u32, neighbour: u32, more: &str| {
        format!(
            "router id 192.168.1.{number};\nprotocol device {{ }}\nprotocol kernel {{ ipv4 {{ \
             import none; export where source = RTS_BGP; }}; }}\nprotocol bgp {{ local as \
             6500{number}; neighbor 10.1.0.{neighbour} as 6500{neighbour}; connect delay time 1; \
             connect retry time 1; ipv4 {{ import all; export where source = RTS_STATIC; }}; \
             }}\n{more}"
        )
    };
    let mut statics = String::from("protocol static { ipv4; route 203.0.113.0/24 blackhole;\n");
    for number in 0..2000 {
        writeln!(
            statics,
            "route 100.{}.{}.0/24 blackhole;",
            number / 250,
            number % 250
        )
        .unwrap();
    }
    statics.push('}');
    let router = lab.run(&["r0", "r1"], &[]);
    let base = lab.directory.path();
    let _here = bird(&lab.r, "here", &speaker(1, 2, ""), base);
    let there = bird(&lab.b, "there", &speaker(2, 1, &statics), base);
    wait_for("2001 routes by BGP", 40, || {
        router.show("routes 1")["v4"].as_u64().unwrap() > 2001
    });
    lab.wait_for_fast_path(&router, &["203.0.113.1"]);
    let before = router.forwarded();
    assert!(ping(&lab.a, "203.0.113.1", 10));
    assert!(router.forwarded() - before >= 20, "by the fast path");
    assert_eq!(router.verify()["different"], 0);
    drop(there);
    wait_for("the routes to leave", 40, || {
        router.show("routes 1")["v4"].as_u64().unwrap() < 100
    });
    assert_eq!(router.verify()["different"], 0);
}
