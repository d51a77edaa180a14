//! The unit for systemd: well formed, with exactly the rights and system calls that the program
//! keeps, and little else to reach; and the service under a systemd, as `docs/router.md` has it
//! installed, started, reloaded and ended.

use std::collections::BTreeSet;
use std::fs;
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use host::offload::Offload;
use host::process::{Group, Signal, end_with_thread, signal};
use router::privileges::{KEPT, KEPT_FOR_SOCKETS};
use router::system_calls::ALLOWED;

use super::lab::{Lab, Socket, is_root, ping, text, wait_for};
use super::lifecycle::rights;
use super::systemd::{Guest, PATIENCE};
use super::take_over::all_arrive;

/// The highest exposure that `systemd-analyze security` may find, in tenths of its points; 100 is
/// none of its restrictions.
const EXPOSURE: &str = "27";

/// The numbers of `DynamicUser`.
pub(super) const DYNAMIC_USERS: RangeInclusive<u32> = 61_184..=65_519;

fn dist(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../dist")
        .join(name);
    fs::read_to_string(path).unwrap()
}

/// Every word of every line `key=...`.
fn words<'a>(unit: &'a str, key: &str) -> BTreeSet<&'a str> {
    let values = unit
        .lines()
        .filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    values.flat_map(str::split_whitespace).collect()
}

fn names<'a>(rights: &[(u32, &'a str)]) -> BTreeSet<&'a str> {
    rights.iter().map(|(_, name)| *name).collect()
}

#[test]
fn the_unit_grants_what_the_program_keeps_and_no_more() {
    let (unit, more) = (dist("corelane.service"), dist("corelane-sockets.conf"));
    assert_eq!(words(&unit, "CapabilityBoundingSet"), names(&KEPT));
    assert_eq!(
        words(&more, "CapabilityBoundingSet"),
        names(&KEPT_FOR_SOCKETS)
    );
    // A user of its own has what it is given.
    assert_eq!(words(&unit, "AmbientCapabilities"), names(&KEPT));
    assert_eq!(
        words(&more, "AmbientCapabilities"),
        names(&KEPT_FOR_SOCKETS)
    );
    assert_eq!(words(&unit, "DynamicUser"), BTreeSet::from(["yes"]));
    assert_eq!(words(&unit, "NoNewPrivileges"), BTreeSet::from(["yes"]));
}

#[test]
fn the_unit_allows_the_calls_that_the_program_leaves_itself_and_no_other() {
    let unit = dist("corelane.service");
    let calls = ALLOWED
        .iter()
        .map(|(name, _)| name.strip_prefix("SYS_").unwrap());
    assert_eq!(words(&unit, "SystemCallFilter"), calls.collect());
    assert_eq!(
        words(&unit, "SystemCallErrorNumber"),
        BTreeSet::from(["EPERM"])
    );
    // Whoever sends the signal of a reload needs a call that the router does not.
    let reload = words(&unit, "ExecReload");
    assert!(reload.contains("+/bin/kill"), "{reload:?}");
}

/// The unit as it would be installed, but for the place of the program.
fn installed(directory: &Path, sockets: bool) -> PathBuf {
    let unit =
        dist("corelane.service").replace("/usr/local/bin/corelane", env!("CARGO_BIN_EXE_corelane"));
    let path = directory.join("corelane.service");
    fs::write(&path, unit).unwrap();
    if sockets {
        let beside = directory.join("corelane.service.d");
        fs::create_dir_all(&beside).unwrap();
        fs::write(beside.join("sockets.conf"), dist("corelane-sockets.conf")).unwrap();
    }
    path
}

fn analyze(arguments: &[&str], unit: &Path) -> Output {
    let mut command = Command::new("systemd-analyze");
    command.args(arguments).arg(unit).env("SYSTEMD_COLORS", "0");
    command.output().unwrap()
}

#[test]
fn systemd_finds_no_fault_with_the_unit() {
    if !needs::program("systemd-analyze") {
        return;
    }
    for sockets in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let unit = installed(directory.path(), sockets);
        let said = analyze(&["verify", "--man=no"], &unit);
        let printed = text(&said);
        assert!(said.status.success(), "{printed}");
        // It looks at units of this machine too.
        assert!(!printed.contains("corelane"), "{printed}");
        let threshold = format!("--threshold={EXPOSURE}");
        let said = analyze(
            &["security", "--offline=true", "--no-pager", &threshold],
            &unit,
        );
        let printed = text(&said);
        println!("{}", printed.trim().lines().last().unwrap_or_default());
        assert!(said.status.success(), "{printed}");
    }
}

/// The commands of a section of the router's page, block by block.
fn documented(section: &str) -> Vec<&str> {
    let page = include_str!("../../../../docs/router.md");
    let (_, section) = page.split_once(&format!("\n## {section}\n")).unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let blocks = section.split("\n```sh\n").skip(1);
    blocks
        .map(|block| block.split("\n```").next().unwrap())
        .collect()
}

/// A lab whose router is the service.
struct Service {
    guest: Guest,
    lab: Lab,
    socket: Socket,
}

impl Service {
    /// Changes a key of the file.
    fn configure(&self, key: &str, value: &str) {
        let change = format!("s/^.*\\b{key} = .*/{key} = {value}/");
        self.guest
            .run(&format!("sed -i '{change}' /etc/corelane.toml"));
    }

    fn forwards(&self) {
        self.lab.wait_for_fast_path(&self.socket, &["10.1.0.2"]);
    }

    /// Changes the unit, and starts it anew.
    fn restart_with(&self, lines: &str) {
        let beside = "etc/systemd/system/corelane.service.d";
        self.guest.run(&format!("mkdir -p /{beside}"));
        let file = self.guest.path(beside).join("test.conf");
        fs::write(file, format!("[Service]\n{lines}\n")).unwrap();
        self.guest
            .run("systemctl daemon-reload; systemctl restart corelane");
    }

    /// Does something to the router; waits until another has taken its place.
    fn is_replaced_after(&self, what: &str, act: impl FnOnce(u32)) {
        let router = self.guest.router().unwrap();
        act(router);
        wait_for(what, PATIENCE, || {
            self.guest.router().is_some_and(|now| now != router)
                && self.guest.is("is-active corelane")
        });
        self.forwards();
    }

    /// How often a port was seen without a program during `events`.
    fn moments_without_program(&self, events: impl FnOnce()) -> u32 {
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let looks = scope.spawn(|| {
                let mut bare = 0;
                while !over.load(Ordering::Acquire) {
                    let shown = self.lab.r.ip("-d link show r0").unwrap();
                    bare += u32::from(!shown.contains("prog/xdp"));
                    thread::sleep(Duration::from_millis(2));
                }
                bare
            });
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(events));
            over.store(true, Ordering::Release);
            let bare = looks.join().unwrap();
            outcome.map_or_else(|panic| std::panic::resume_unwind(panic), |()| bare)
        })
    }

    /// Frames that came by all ports.
    fn received(&self) -> u64 {
        let workers = self.socket.show("workers");
        let rows = workers.as_array().unwrap().iter();
        rows.map(|row| row["received"].as_u64().unwrap()).sum()
    }

    /// A restart does not detach what moves the frames, and no frame is lost or not counted.
    fn keeps_its_program(&self) {
        // Another engine is attached anew. However often it is started then, its program stays.
        self.configure("engine", "\"xdp\"");
        self.guest.run("systemctl restart corelane");
        self.forwards();
        for port in ["r0", "r1"] {
            // Without it, a veth throws away what waits in it when its program goes.
            self.lab
                .r
                .switch(port, Offload::GenericReceive, true)
                .unwrap();
        }
        self.lab.r.ip("route add 10.9.0.0/16 via 10.1.0.2").unwrap();
        let before = self.received();
        let mut sent = 0;
        let bare = self.moments_without_program(|| {
            sent = all_arrive(&self.lab, || {
                for _ in 0..6 {
                    let before = self.received();
                    self.is_replaced_after("a restart", |_| {
                        self.guest.run("systemctl restart corelane");
                    });
                    let after = self.received();
                    assert!(after >= before, "{before} frames, then {after}");
                }
            });
        });
        assert_eq!(bare, 0, "{}", self.guest.journal());
        // What came while no router ran was counted, too.
        let after = self.received();
        assert!(
            after >= before + sent,
            "{before} and {sent} frames, then {after}"
        );
        self.lab.r.ip("route del 10.9.0.0/16").unwrap();
        let taken = self.guest.journal().matches("the service manager").count();
        assert_eq!(taken, 6, "{}", self.guest.journal());
        // One that cannot start leaves it to the kernel, and the next one is whole.
        self.guest
            .run("echo 'port = 3' >>/etc/corelane.toml; systemctl restart corelane || true");
        wait_for("three attempts", PATIENCE, || {
            self.guest.journal().matches("corelane.toml:").count() > 3
        });
        self.guest
            .run("sed -i '$d' /etc/corelane.toml; systemctl restart corelane");
        self.forwards();
        self.configure("engine", "\"auto\"");
        self.guest.run("systemctl restart corelane");
        self.forwards();
    }

    /// A user that is not root, and for every thread but workers exactly these rights.
    fn has_exactly(&self, wanted: &[(u32, &str)]) {
        let set: u64 = wanted.iter().fold(0, |set, (number, _)| set | 1 << number);
        let router = self.guest.router().unwrap();
        let threads = rights(router);
        let workers = threads.iter().filter(|thread| thread[0] == 0).count();
        assert_eq!(workers > 0, wanted.len() > KEPT.len());
        for thread in threads {
            let held = if thread[0] == 0 { 0 } else { set };
            assert_eq!(thread[..7], [held, held, 0, 0, set, 1, 2]);
        }
        let user = fs::metadata(format!("/proc/{router}")).unwrap().uid();
        assert!(DYNAMIC_USERS.contains(&user), "{user}");
    }

    /// What a router does in its life, each of which needs some right or call.
    fn lives(&mut self) {
        self.lab
            .wait_for_fast_path(&self.socket, &["10.1.0.2", "2001:db8:1::2"]);
        let r = self.lab.r.clone();
        r.ip("route add 198.51.100.0/24 via 10.1.0.2").unwrap();
        let b = &self.lab.b;
        b.ip("route replace local 198.51.100.0/24 dev lo").unwrap();
        self.lab.wait_for_fast_path(&self.socket, &["198.51.100.1"]);
        // Its program is loaded for a port that comes, and again for one that comes back.
        self.lab.link("b", 2);
        self.configure("ports", r#"["r0", "r1", "r2"]"#);
        self.guest.run("systemctl reload corelane");
        let ports = || self.socket.show("ports").as_array().unwrap().len();
        wait_for("the new port", 10, || {
            ports() == 3 && self.socket.state("r2") == "forwarding"
        });
        self.lab.wait_for_fast_path(&self.socket, &["10.2.0.2"]);
        r.ip("link del r2").unwrap();
        wait_for("its end", 5, || self.socket.state("r2") == "absent");
        self.lab.link("b", 2);
        wait_for("the port", 10, || self.socket.state("r2") == "forwarding");
        self.lab
            .wait_for_fast_path(&self.socket, &["10.2.0.2", "10.1.0.2"]);
        self.configure("ports", r#"["r0", "r1"]"#);
        self.guest.run("systemctl reload corelane");
        let ports = || self.socket.show("ports").as_array().unwrap().len();
        wait_for("two ports", 5, || ports() == 2);
        // It looks at what the kernel does besides routing, and sees all of it.
        assert_eq!(self.socket.left_to_kernel(), [""; 0]);
        r.ip("rule add from 10.9.0.0/16 lookup 100").unwrap();
        let is_left = || !self.socket.left_to_kernel().is_empty();
        wait_for("the rule", 5, is_left);
        r.ip("rule del from 10.9.0.0/16 lookup 100").unwrap();
        wait_for("its end", 5, || !is_left());
        // It answers people and the metrics' clients, and compares.
        for subject in [
            "vlans",
            "tables",
            "workers",
            "routes",
            "neighbours",
            "drops",
        ] {
            self.guest.run(&format!("corelane show {subject}"));
        }
        let page = "exec 3<>/dev/tcp/127.0.0.1/9470
            printf 'GET /metrics HTTP/1.1\\r\\n\\r\\n' >&3; cat <&3";
        assert!(self.guest.run(page).contains("# EOF"));
        assert_eq!(self.socket.verify()["different"], 0);
        r.ip("route del 198.51.100.0/24").unwrap();
        r.ip("link del r2").unwrap();
    }

    /// Nothing of it stays, and the kernel forwards.
    fn stops(&self) {
        self.guest.run("systemctl stop corelane");
        let result = self.guest.run("systemctl show --value -p Result corelane");
        assert_eq!(result, "success");
        assert!(ping(&self.lab.a, "10.1.0.2", 5), "the kernel forwards");
        let links = self.lab.r.ip("-d link show").unwrap();
        assert!(!links.contains("xdp"), "{links}");
        assert_eq!(self.guest.router(), None);
        assert!(!self.guest.path("run/corelane").exists());
        let log = self.guest.journal();
        assert!(!log.contains("not permitted"), "{log}");
    }
}

#[test]
fn the_service_lives_under_systemd_as_documented() {
    if !is_root() || !needs::program("systemctl") || !needs::program("nsenter") {
        return;
    }
    let mut lab = Lab::new();
    lab.link_with("b", 2, 2);
    let Some(guest) = Guest::boot(&lab.r) else {
        return;
    };
    let socket = Socket(guest.path("run/corelane"));
    let mut service = Service { guest, lab, socket };
    let guest = &service.guest;
    let blocks = documented("As a service");
    assert_eq!(blocks.len(), 2);
    // Notes of what settings were outlive the service.
    let tuned = guest.run("corelane tune r2 --apply || [ $? = 3 ]");
    guest.run(r#"sed -i 's/"eth1", "eth2"/"r0", "r1"/' dist/corelane.toml"#);

    guest.run(blocks[0]);
    assert!(guest.is("is-enabled corelane"));
    service.forwards();
    service.has_exactly(&KEPT);
    assert_eq!(service.socket.left_to_kernel(), [""; 0]);
    let status = guest.run("systemctl show --value -p StatusText corelane");
    assert_eq!(status, "forwarding");
    // From here on no frame is lost, whatever becomes of it.
    let line =
        "while ping -q -n -i 0.02 -W 1 -c 20 10.1.0.2 | grep -q ' 0% packet loss'; do :; done";
    let mut traffic = service.lab.a.command("bash");
    let mut traffic = Group::start(end_with_thread(traffic.args(["-c", line]))).unwrap();

    wait_for("a reload", PATIENCE, || {
        guest.run(blocks[1]).contains("event=reload")
    });
    service.configure("verify-seconds", "1");
    guest.run("systemctl reload corelane");
    wait_for("a comparison", PATIENCE, || {
        !service.socket.show("engine")["verification"].is_null()
    });
    guest.run("echo 'port = 3' >>/etc/corelane.toml; systemctl reload corelane");
    wait_for("the refusal", PATIENCE, || {
        guest.journal().contains("corelane.toml:")
    });
    guest.run("sed -i '$d' /etc/corelane.toml");

    service.keeps_its_program();

    // However often it ends, it comes again.
    service.is_replaced_after("kill -9", |router| signal(router, Signal::KILL).unwrap());
    service.restart_with("WatchdogSec=3");
    service.is_replaced_after("the watchdog", |router| {
        signal(router, Signal::STOP).unwrap();
    });
    wait_for("its word", PATIENCE, || {
        guest.journal().contains("Watchdog timeout")
    });
    assert!(traffic.ended().is_none(), "a frame was lost");
    drop(traffic);

    // What it may not read counts as found, unless the kernel has listed all hooks.
    service.restart_with("SupplementaryGroups=");
    let known = fs::read_to_string("/proc/kallsyms").unwrap();
    let has_tables = Path::new("/proc/net/ip_tables_names").exists();
    let is_asked = has_tables && !known.contains("nfnl_hook");
    let left = service.socket.left_to_kernel();
    let unread = |what: &String| what.contains("Permission denied");
    assert_eq!(left.iter().any(unread), is_asked, "{left:?}");
    service.restart_with("");
    service.stops();
    let put_back = guest.run("corelane tune r2 --undo");
    let has_notes = !put_back.contains("no record");
    assert_eq!(has_notes, tuned.contains("done"), "{tuned}\n{put_back}");
    service.lab.r.ip("link del r2").unwrap();

    let sockets = [&KEPT[..], &KEPT_FOR_SOCKETS].concat();
    for (engine, kept) in [
        ("xdp", &KEPT[..]),
        ("af-xdp", &sockets),
        ("af-packet", &sockets),
    ] {
        if kept.len() > KEPT.len() {
            service.guest.run(
                "install -D -m 644 dist/corelane-sockets.conf \
                 /etc/systemd/system/corelane.service.d/sockets.conf; systemctl daemon-reload",
            );
        }
        service.configure("engine", &format!("{engine:?}"));
        service.guest.run("systemctl start corelane");
        service.has_exactly(kept);
        service.lives();
        service.stops();
    }
}
