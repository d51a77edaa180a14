//! The unit for systemd: well formed, with exactly the rights and system calls that the program
//! keeps, which are enough for a user of its own from the first instruction on, and little else to
//! reach.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use router::privileges::{KEPT, KEPT_FOR_SOCKETS};
use router::system_calls::ALLOWED;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter};

use super::lab::{Lab, Router, is_root, text, wait_for};

/// The highest exposure that `systemd-analyze security` may find, in tenths of its points; 100 is
/// none of its restrictions.
const EXPOSURE: &str = "27";

fn dist(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../dist")
        .join(name);
    std::fs::read_to_string(path).unwrap()
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

/// What a router does in its life, each of which needs some right or call.
fn lives(lab: &mut Lab, mut router: Router, file: &Path, engine: &str) {
    let configure = |ports: &str, router: &Router| {
        std::fs::write(file, configuration(ports, engine)).unwrap();
        router.signal(libc::SIGHUP);
    };
    lab.wait_for_fast_path(&router, &["10.1.0.2", "2001:db8:1::2"]);
    lab.r.ip("route add 198.51.100.0/24 via 10.1.0.2").unwrap();
    lab.b
        .ip("route replace local 198.51.100.0/24 dev lo")
        .unwrap();
    lab.wait_for_fast_path(&router, &["198.51.100.1"]);
    // Its program is loaded for a port that comes, and again for one that comes back.
    lab.link("b", 2);
    configure("\"r0\", \"r1\", \"r2\"", &router);
    wait_for("the new port", 10, || {
        router.show("ports").as_array().unwrap().len() == 3 && router.state("r2") == "forwarding"
    });
    lab.wait_for_fast_path(&router, &["10.2.0.2"]);
    lab.r.ip("link del r2").unwrap();
    wait_for("the port to be gone", 5, || router.state("r2") == "absent");
    lab.link("b", 2);
    wait_for("the port", 10, || router.state("r2") == "forwarding");
    lab.wait_for_fast_path(&router, &["10.2.0.2", "10.1.0.2"]);
    configure("\"r0\", \"r1\"", &router);
    wait_for("two ports", 5, || {
        router.show("ports").as_array().unwrap().len() == 2
    });
    // It looks at what the kernel does besides routing, and sees all of it.
    assert_eq!(router.left_to_kernel(), [""; 0]);
    lab.r.ip("rule add from 10.9.0.0/16 lookup 100").unwrap();
    wait_for("the rule", 5, || !router.left_to_kernel().is_empty());
    lab.r.ip("rule del from 10.9.0.0/16 lookup 100").unwrap();
    wait_for("its end", 5, || router.left_to_kernel().is_empty());
    // It answers people and the metrics' clients, and compares.
    for subject in [
        "vlans",
        "tables",
        "workers",
        "routes",
        "neighbours",
        "drops",
    ] {
        router.show(subject);
    }
    let page =
        "exec 3<>/dev/tcp/127.0.0.1/9470; printf 'GET /metrics HTTP/1.1\\r\\n\\r\\n' >&3; cat <&3";
    let page = text(&lab.r.command("bash").args(["-c", page]).output().unwrap());
    assert!(
        page.contains("corelane_") && page.contains("# EOF"),
        "{page}"
    );
    assert_eq!(router.verify()["different"], 0);
    let log = router.log();
    assert!(!log.contains("not permitted"), "{log}");
    assert_eq!(router.end(libc::SIGTERM), Some(0), "{engine}");
    let links = lab.r.ip("-d link show r0").unwrap();
    assert!(!links.contains("xdp"), "{links}");
    assert!(!lab.path("default.sock").exists());
    lab.r.ip("route del 198.51.100.0/24").unwrap();
    lab.r.ip("link del r2").unwrap();
}

fn configuration(ports: &str, engine: &str) -> String {
    format!("ports = [{ports}]\nengine = \"{engine}\"\n")
}

/// A lab with a configuration file.
fn configured(lab: &Lab, engine: &str) -> (PathBuf, [String; 2]) {
    let file = lab.path("router.toml");
    std::fs::write(&file, configuration("\"r0\", \"r1\"", engine)).unwrap();
    let words = ["run".to_owned(), file.to_str().unwrap().to_owned()];
    (file, words)
}

#[test]
fn a_user_of_its_own_runs_it_with_no_more_than_the_unit_grants() {
    const USER: u32 = 65_534;
    if !is_root() || !needs::program("setpriv") {
        return;
    }
    let mut lab = Lab::new();
    // As RuntimeDirectory= makes it.
    chown(lab.directory.path(), Some(USER), Some(USER)).unwrap();
    let sockets = ",+net_raw,+ipc_lock";
    for (engine, more, groups) in [
        ("xdp", "", "--clear-groups"),
        ("xdp", "", "--groups=0"),
        ("af-xdp", sockets, "--groups=0"),
        ("af-packet", sockets, "--groups=0"),
    ] {
        let rights = format!("-all,+net_admin,+bpf,+perfmon{more}");
        // The program is opened as root: the way to it may be closed for others.
        let line = format!(
            "exec 9<\"$0\"; exec setpriv --reuid={USER} --regid={USER} {groups} \
             --inh-caps={rights} --ambient-caps={rights} --bounding-set={rights} --no-new-privs \
             /proc/self/fd/9 \"$@\""
        );
        let (file, words) = configured(&lab, engine);
        let words = words.each_ref().map(String::as_str);
        let router = lab.run_under(&["bash", "-c", &line], &words);
        let status = std::fs::read_to_string(format!("/proc/{}/status", router.id())).unwrap();
        assert!(
            status.contains(&format!("Uid:\t{USER}\t{USER}\t{USER}")),
            "{status}"
        );
        if groups == "--groups=0" {
            lives(&mut lab, router, &file, engine);
        } else {
            // What it may not read counts as found, unless the kernel has listed all hooks.
            let known = std::fs::read_to_string("/proc/kallsyms").unwrap();
            let has_tables = Path::new("/proc/net/ip_tables_names").exists();
            let left = router.left_to_kernel();
            let unread = |what: &String| what.contains("Permission denied");
            let is_asked = has_tables && !known.contains("nfnl_hook");
            assert_eq!(left.iter().any(unread), is_asked, "{left:?}");
        }
    }
}

#[test]
fn the_calls_of_the_unit_are_enough_from_the_first_instruction_on() {
    if !is_root() {
        return;
    }
    let mut lab = Lab::new();
    for engine in ["xdp", "af-xdp", "af-packet"] {
        // systemd adds the call that starts the program.
        let calls = ALLOWED
            .iter()
            .map(|(_, call)| *call)
            .chain([libc::SYS_execve]);
        let calls: BTreeMap<_, _> = calls.map(|call| (call, Vec::new())).collect();
        let refused = SeccompAction::Errno(libc::EPERM as u32);
        let arch = TargetArch::try_from(std::env::consts::ARCH).unwrap();
        let filter = SeccompFilter::new(calls, refused, SeccompAction::Allow, arch).unwrap();
        let filter = BpfProgram::try_from(filter).unwrap();
        let (file, words) = configured(&lab, engine);
        let mut program = Command::new(env!("CARGO_BIN_EXE_corelane"));
        // SAFETY: after the fork it makes two system calls and allocates nothing.
        unsafe {
            program.pre_exec(move || apply_filter(&filter).map_err(std::io::Error::other));
        }
        let router = lab.r.enter(|| lab.start(program, &words)).unwrap();
        lives(&mut lab, router, &file, engine);
    }
}

/// The unit as it would be installed, but for the place of the program.
fn installed(directory: &Path, sockets: bool) -> PathBuf {
    let unit =
        dist("corelane.service").replace("/usr/local/bin/corelane", env!("CARGO_BIN_EXE_corelane"));
    let path = directory.join("corelane.service");
    std::fs::write(&path, unit).unwrap();
    if sockets {
        let beside = directory.join("corelane.service.d");
        std::fs::create_dir_all(&beside).unwrap();
        std::fs::write(beside.join("sockets.conf"), dist("corelane-sockets.conf")).unwrap();
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
