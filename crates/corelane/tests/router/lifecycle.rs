//! From start to end: with which rights it runs, how it is reloaded, what is left of it when it
//! stops, hangs or is killed.

use std::process::Stdio;
use std::time::Duration;

use bpf::sys::{ATTACH_TCX_INGRESS, programs_attached};

use super::lab::{Lab, is_root, ping, text, wait_for};

#[test]
fn the_kernel_forwards_again_after_a_stop_and_after_a_crash() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    assert!(lab.ping("10.1.0.2"), "the kernel forwards before");
    for signal in [libc::SIGTERM, libc::SIGKILL] {
        let mut router = lab.run(&["r0", "r1"], &[]);
        assert!(lab.ping("10.1.0.2"));
        let code = router.end(signal);
        assert_eq!(code, (signal == libc::SIGTERM).then_some(0));
        assert!(ping(&lab.a, "10.1.0.2", 5), "after signal {signal}");
        let links = lab.r.ip("-d link show r0").unwrap();
        assert!(!links.contains("xdp"), "{links}");
    }
}

/// Where the kernel has no links for programs at tc, it keeps a filter whose process was killed.
#[test]
fn what_a_killed_router_leaves_at_tc_does_nothing_and_is_removed() {
    if !is_root() || !needs::program("tc") {
        return;
    }
    let lab = Lab::new();
    let tc = |words: &str| {
        let output = lab.r.command("tc").args(words.split(' ')).output().unwrap();
        assert!(output.status.success(), "{words}: {}", text(&output));
        text(&output)
    };
    let has_filter = || tc("filter show dev r0 ingress").contains("corelane segment");
    let has_links = lab
        .r
        .enter(|| programs_attached(1, ATTACH_TCX_INGRESS).is_ok());
    let has_links = has_links.unwrap();
    let start = || {
        let router = lab.run(&["r0", "r1"], &["--engine", "tc"]);
        lab.wait_for_fast_path(&router, &["10.1.0.2", "2001:db8:1::2"]);
        assert_eq!(has_filter(), !has_links);
        assert_eq!(router.left_to_kernel(), [""; 0]);
        router
    };
    start().end(libc::SIGTERM);
    assert!(!has_filter() && ping(&lab.a, "10.1.0.2", 5));
    start().end(libc::SIGKILL);
    assert!(ping(&lab.a, "10.1.0.2", 5));
    assert_eq!(has_filter(), !has_links);
    // The next one begins without it, whatever its engine is; so does who only removes.
    let router = lab.run(&["r0", "r1"], &["--engine", "xdp", "--require", "generic"]);
    assert!(!has_filter());
    drop(router);
    start().end(libc::SIGKILL);
    let mut command = lab.r.command(env!("CARGO_BIN_EXE_corelane"));
    let words = ["run", "--remove-left", "--port", "r0", "--port", "r1"];
    let output = command.args(words).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert!(!has_filter() && lab.ping("10.1.0.2"));
    // Another's program there keeps the port with the kernel.
    if has_links {
        return;
    }
    let router = start();
    tc("filter add dev r0 ingress pref 1 protocol ip u32 match ip dst 192.0.2.1 flowid 1:1");
    wait_for("the filter", 6, || router.left_to_kernel().len() == 1);
    drop(router);
    assert!(tc("filter show dev r0 ingress").contains("pref 1 u32"));
}

#[test]
fn a_process_that_hangs_stops_no_frames_and_catches_up() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let mut router = lab.run(&["r0", "r1"], &[]);
    lab.wait_for_fast_path(&router, &["10.1.0.2"]);
    let before = router.forwarded();
    router.signal(libc::SIGSTOP);
    lab.r.ip("route add blackhole 198.51.100.0/24").unwrap();
    assert!(ping(&lab.a, "10.1.0.2", 20), "frames need no process");
    router.signal(libc::SIGCONT);
    wait_for("what was announced meanwhile", 5, || {
        let answer = router.show("routes 198.51.100.1");
        answer["answers"][0]["entries"][0]["kind"] == "blackhole"
    });
    assert!(router.forwarded() - before >= 40);
    assert_eq!(router.verify()["different"], 0);
    // A service manager's watchdog ends one that stays like that: then the kernel forwards.
    router.signal(libc::SIGSTOP);
    router.end(libc::SIGKILL);
    assert!(ping(&lab.a, "10.1.0.2", 5));
}

#[test]
fn a_reload_changes_what_changed_and_drops_nothing() {
    if !is_root() {
        return;
    }
    let mut lab = Lab::new();
    lab.link("b", 2);
    let file = lab.path("router.toml");
    std::fs::write(&file, "ports = [\"r0\", \"r1\"]\nmetrics = \"\"\n").unwrap();
    let mut router = lab.run_words(&["run".to_owned(), file.to_str().unwrap().to_owned()]);
    wait_for("the first answer", 5, || lab.ping("10.1.0.2"));
    let traffic = lab
        .a
        .command("ping")
        .args(["-q", "-i", "0.005", "-c", "400", "10.1.0.2"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(ping(&lab.a, "10.0.0.1", 5), "no limit for what is local");
    let more = "ports = [\"r0\", \"r1\", \"r2\"]\nmetrics = \"\"\npunt-limits = \"local=1\"\n";
    std::fs::write(&file, more).unwrap();
    router.signal(libc::SIGHUP);
    wait_for("the new port", 5, || {
        router.show("ports").as_array().unwrap().len() == 3 && router.state("r2") == "forwarding"
    });
    assert!(!ping(&lab.a, "10.0.0.1", 5), "one in a second");
    assert!(router.reason("policed-local") > 0);
    std::fs::write(&file, "ports = [\"r0\", \"r1\"]\nport = 3\n").unwrap();
    router.signal(libc::SIGHUP);
    wait_for("the refusal", 5, || router.log().contains("router.toml:2"));
    let attached = || {
        let r2 = bpf::attach::index_of("r2").unwrap();
        bpf::sys::programs_attached(r2, bpf::sys::ATTACH_TCX_INGRESS).unwrap()
    };
    let is_held = || lab.r.enter(attached).unwrap() == 1;
    wait_for("the program on the new port", 5, is_held);
    let printed = text(&traffic.wait_with_output().unwrap());
    assert!(printed.contains(" 0% packet loss"), "{printed}");
    assert_eq!(
        router.show("ports").as_array().unwrap().len(),
        3,
        "the refused file changes nothing"
    );
    // What is no port any more is free for others.
    std::fs::write(&file, "ports = [\"r0\", \"r1\"]\nmetrics = \"\"\n").unwrap();
    router.signal(libc::SIGHUP);
    wait_for("the program to be gone", 5, || !is_held());
    assert_eq!(router.show("ports").as_array().unwrap().len(), 2);
}

/// A stopped process follows nothing: after the bound its routes are not used any more, whatever
/// moves the frames.
#[test]
fn a_process_that_is_stopped_leaves_everything_to_the_kernel_after_the_bound() {
    if !is_root() {
        return;
    }
    let mut lab = Lab::new();
    lab.link("b", 2);
    let via = |number: u32| {
        let gateway = format!("10.{number}.0.2");
        lab.r
            .ip(format!("route replace 192.0.2.0/24 via {gateway}"))
            .unwrap();
    };
    let received = |link: &str| -> u64 {
        let path = format!("/sys/class/net/{link}/statistics/rx_packets");
        let printed = text(&lab.b.command("cat").arg(path).output().unwrap());
        printed.trim().parse().unwrap()
    };
    lab.b.ip("addr add 192.0.2.1/24 dev lo").unwrap();
    for engine in ["xdp", "xdp-kernel-fib", "tc", "af-xdp", "af-packet"] {
        via(1);
        let more = ["--engine", engine, "--stale-milliseconds", "1000"];
        let mut router = lab.run(&["r0", "r1", "r2"], &more);
        lab.wait_for_fast_path(&router, &["192.0.2.1", "10.2.0.2"]);
        assert_eq!(router.reason("stale"), 0, "{engine}");
        router.signal(libc::SIGSTOP);
        via(2);
        // Once the bound has passed, every frame takes the kernel's new way.
        std::thread::sleep(Duration::from_millis(1200));
        let before = (received("e1"), received("e2"));
        assert!(
            ping(&lab.a, "192.0.2.1", 10),
            "{engine}: the kernel forwards"
        );
        let ways = (received("e1") - before.0, received("e2") - before.1);
        assert!(ways.0 < 5 && ways.1 >= 10, "{engine}: {ways:?}");
        router.signal(libc::SIGCONT);
        lab.wait_for_fast_path(&router, &["192.0.2.1"]);
        assert!(router.reason("stale") >= 10, "{engine}");
        wait_for("the log", 5, || router.log().contains("event=stale"));
        if engine != "xdp-kernel-fib" {
            assert_eq!(router.verify()["different"], 0, "{engine}");
        }
    }
}

/// What a thread holds, and could ever gain; and whether and how its system calls are filtered.
const RIGHTS: [&str; 8] = [
    "CapEff",
    "CapPrm",
    "CapInh",
    "CapAmb",
    "CapBnd",
    "NoNewPrivs",
    "Seccomp",
    "Seccomp_filters",
];

/// [`RIGHTS`] of every thread of a process.
pub(super) fn rights(process: u32) -> Vec<[u64; 8]> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let status = |thread: std::fs::DirEntry| {
        std::fs::read_to_string(thread.path().join("status")).unwrap_or_default()
    };
    let field = |status: &str, name: &str| {
        let mut lines = status.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = lines.find(|(field, _)| *field == name).unwrap();
        u64::from_str_radix(value.trim(), 16).unwrap()
    };
    threads
        .map(|thread| status(thread.unwrap()))
        .filter(|status| !status.is_empty())
        .map(|status| RIGHTS.map(|name| field(&status, name)))
        .collect()
}

#[test]
fn it_keeps_the_rights_it_names_and_no_more() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let set = |rights: &[(u32, &str)]| rights.iter().fold(0u64, |set, (bit, _)| set | 1 << bit);
    let kept = set(&router::privileges::KEPT);
    let sockets = kept | set(&router::privileges::KEPT_FOR_SOCKETS);
    for (engine, rights_of_it) in [("xdp", kept), ("af-xdp", sockets)] {
        let more = ["--metrics", "127.0.0.1:9470", "--engine", engine];
        let router = lab.run(&["r0", "r1"], &more);
        lab.wait_for_fast_path(&router, &["10.1.0.2"]);
        let held = rights(router.id());
        assert!(held.len() >= 3, "the main thread and those that answer");
        // Whoever runs this test may be under filters too.
        let filters = rights(std::process::id())[0][7] + 2;
        for thread in held {
            let worker = engine == "af-xdp" && thread[1] == 0;
            let wanted = if worker { 0 } else { rights_of_it };
            let all = [wanted, wanted, 0, 0, rights_of_it, 1, 2, filters];
            assert_eq!(thread, all, "{RIGHTS:?} {engine}");
        }
        // What needs them later works: an interface that comes back, neighbours, the kernel's
        // rules.
        lab.r.ip("link set r1 down").unwrap();
        lab.r.ip("link set r1 up").unwrap();
        lab.wait_for_fast_path(&router, &["10.1.0.2"]);
        assert_eq!(router.verify()["different"], 0);
    }
}
