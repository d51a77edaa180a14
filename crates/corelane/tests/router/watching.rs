//! What people and their programs see of a running router: metrics, top, doctor.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::lab::{Lab, is_root, text, wait_for};
use super::open_metrics;
use crate::schemas::assert_is;

#[test]
fn the_metrics_page_is_open_metrics_to_the_letter() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let words = [
        "run",
        "--port",
        "r0",
        "--port",
        "r1",
        "--metrics",
        "127.0.0.1:9470",
    ]
    .map(String::from);
    let router = lab.run_words(&words);
    wait_for("the first answer", 5, || {
        lab.ping("10.1.0.2") && lab.ping("2001:db8:1::2")
    });
    // Reasons of both fates, next hops of both families, and a comparison with the kernel.
    lab.r.ip("route add blackhole 198.51.100.0/24").unwrap();
    wait_for("the blackhole", 5, || {
        let answer = router.show("routes 198.51.100.1");
        answer["answers"][0]["entries"][0]["kind"] == "blackhole"
    });
    lab.ping("198.51.100.1");
    lab.ping("10.1.0.2");
    lab.ping("2001:db8:1::2");
    assert_eq!(router.verify()["different"], 0);
    let page = metrics(&lab, "Accept: application/openmetrics-text\r\n");
    assert!(page.ends_with("# EOF\n"), "{page}");
    let (head, page) = page.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(
        head.contains("Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8"),
        "{head}"
    );
    let samples = open_metrics::parse(page).unwrap_or_else(|error| panic!("{error} in\n{page}"));
    is_known_to_promtool(&lab);
    // Over all cores, of which any may have had the frames.
    let value = |name: &str, label: &str| -> f64 {
        let wanted =
            |sample: &&open_metrics::Sample| sample.name == name && sample.labels.contains(label);
        let found: Vec<f64> = samples.iter().filter(wanted).map(|s| s.value).collect();
        assert!(!found.is_empty(), "no {name}{{{label}}} in\n{page}");
        found.iter().sum()
    };
    for (name, label) in [
        ("corelane_received_frames_total", "port=\"r0\""),
        ("corelane_forwarded_bytes_total", "port=\"r1\""),
        (
            "corelane_not_forwarded_frames_total",
            "reason=\"blackhole\"",
        ),
        ("corelane_next_hop_frames_total", "gateway=\"10.1.0.2\""),
        (
            "corelane_next_hop_frames_total",
            "gateway=\"2001:db8:1::2\"",
        ),
        ("corelane_routes", "family=\"ipv6\""),
        ("corelane_table_received_frames_total", "table=\"254\""),
        ("corelane_table_forwarded_bytes_total", "vrf=\"\""),
        ("corelane_build_info", "engine=\""),
        ("corelane_healthy", ""),
        ("process_cpu_seconds_total", ""),
        ("process_resident_memory_bytes", ""),
        ("process_virtual_memory_bytes", ""),
        ("process_open_fds", ""),
        ("process_max_fds", ""),
        ("process_threads", ""),
        ("process_start_time_seconds", ""),
    ] {
        assert!(value(name, label) > 0.0, "{name}");
    }
    assert!((value("corelane_verify_equal", "") - 1.0).abs() < f64::EPSILON);
    for (name, label) in [
        ("corelane_mirror_lag_seconds", ""),
        ("corelane_mirror_resyncs_total", ""),
        ("corelane_mirror_overruns_total", ""),
        ("corelane_not_carried", "what=\"groups\""),
        ("corelane_room", "what=\"vlans\""),
        ("corelane_room_used", "what=\"tables\""),
        ("corelane_port_failed", "port=\"r1\""),
    ] {
        assert!(value(name, label) >= 0.0, "{name}");
    }
}

/// Head and page of the metrics for who sends these lines.
fn metrics(lab: &Lab, lines: &str) -> String {
    use std::io::{Read, Write};
    let ask = || {
        let mut stream = std::net::TcpStream::connect("127.0.0.1:9470").unwrap();
        write!(stream, "GET /metrics HTTP/1.1\r\nHost: x\r\n{lines}\r\n").unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        page
    };
    lab.r.enter(ask).unwrap()
}

/// What a client gets who accepts anything is Prometheus text, and nothing in it is unusual.
fn is_known_to_promtool(lab: &Lab) {
    let page = metrics(lab, "Accept: */*\r\n");
    let (head, page) = page.split_once("\r\n\r\n").unwrap();
    assert!(
        head.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8"),
        "{head}"
    );
    if !needs::program("promtool") {
        return;
    }
    let file = lab.directory.path().join("page");
    std::fs::write(&file, page).unwrap();
    let output = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(std::fs::File::open(&file).unwrap())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{said}\n{page}");
}

fn corelane(lab: &Lab, words: &[&str]) -> Command {
    let mut command = lab.r.command(env!("CARGO_BIN_EXE_corelane"));
    command.args(words);
    command
}

#[test]
fn every_subject_is_shown_as_table_and_as_json() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let router = lab.run(&["r0", "r1"], &[]);
    lab.wait_for_fast_path(&router, &["10.1.0.2"]);
    let directory = lab.directory.path().to_str().unwrap();
    for (subject, part) in [
        ("ports", "forwarding"),
        ("tables", "254"),
        ("workers", "forwarded"),
        ("routes", "10.1.0.0/24"),
        ("routes 10.1.0.2", "adjacency"),
        ("neighbours", "10.1.0.2"),
        ("drops", "link-group"),
        ("vlans", ""),
        ("engine", "auto"),
    ] {
        let mut words = vec!["show"];
        words.extend(subject.split(' '));
        words.extend(["--run-directory", directory]);
        let table = text(&corelane(&lab, &words).output().unwrap());
        assert!(
            table.contains(part),
            "{subject}: {part:?} is not in\n{table}"
        );
        assert!(!table.contains(['{', '}']), "no JSON in a table:\n{table}");
        words.push("--json");
        let shown = corelane(&lab, &words).output().unwrap();
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
        assert_is("corelane-show", &shown);
        let shown = shown.to_string();
        assert!(
            shown.contains(part),
            "{subject}: {part:?} is not in {shown}"
        );
    }
    let unknown = ["show", "weather", "--run-directory", directory];
    let said = text(&corelane(&lab, &unknown).output().unwrap());
    assert!(said.contains("known are ports, vlans, tables,"), "{said}");
}

#[test]
fn the_log_says_as_much_as_was_asked_for() {
    if !is_root() {
        return;
    }
    for (talk, follows, starts) in [("-v", true, true), ("-q", false, false)] {
        let lab = Lab::new();
        let mut router = lab.run(&["r0", "r1"], &[talk]);
        lab.r.ip("route add 198.51.100.0/24 via 10.1.0.2").unwrap();
        wait_for("the route", 20, || {
            let answer = router.show("routes 198.51.100.1");
            answer["answers"][0]["entries"][0]["kind"] == "adjacency"
        });
        // A comparison is told as information.
        assert_eq!(router.verify()["different"], 0);
        router.end(libc::SIGTERM);
        let log = router.log();
        assert_eq!(log.contains("event=followed"), follows, "{talk}: {log}");
        assert_eq!(log.contains("level=info"), starts, "{talk}: {log}");
    }
}

#[test]
fn top_shows_rates_and_gives_the_terminal_back() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let router = lab.run(&["r0", "r1"], &[]);
    wait_for("the first answer", 5, || lab.ping("10.1.0.2"));
    let mut traffic = lab
        .a
        .command("ping")
        .args(["-q", "-i", "0.01", "-c", "2000", "10.1.0.2"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let directory = lab.directory.path().to_str().unwrap();
    let words = ["top", "--interval", "0.5", "--run-directory", directory];
    let piped = text(&corelane(&lab, &words).output().unwrap());
    for part in ["mirror lag", "port", "core", "not forwarded because"] {
        assert!(piped.contains(part), "{part:?} is not in\n{piped}");
    }
    assert!(!piped.contains('\x1b'), "no colour in a pipe");
    let rate = || {
        let json = corelane(&lab, &words).arg("--json").output().unwrap();
        let value: Value = serde_json::from_slice(&json.stdout).unwrap();
        assert_is("corelane-top", &value);
        let rate = &value["ports"][0]["forwarded_frames_per_second"];
        rate.as_f64().unwrap()
    };
    // Less where others have the core of who sends.
    let rates: Vec<f64> = (0..5).map(|_| rate()).collect();
    assert!(
        rates.iter().all(|&rate| rate < 1000.0) && rates.iter().any(|&rate| rate >= 20.0),
        "100 a second are sent: {rates:?}"
    );
    if needs::program("script") {
        // A terminal: the view renews itself until q.
        let line = [&[env!("CARGO_BIN_EXE_corelane")], &words[..]]
            .concat()
            .join(" ");
        let mut script = lab
            .r
            .command("script")
            .args(["-qec", &line, "/dev/null"])
            .env("TERM", "xterm")
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut seen, mut part) = (String::new(), [0; 4096]);
        while seen.matches("mirror lag").count() < 2 {
            let read = script.stdout.as_mut().unwrap().read(&mut part).unwrap();
            assert!(read > 0, "it ended after {seen:?}");
            seen += &String::from_utf8_lossy(&part[..read]);
        }
        script.stdin.as_mut().unwrap().write_all(b"q").unwrap();
        seen += &text(&script.wait_with_output().unwrap());
        assert!(
            seen.contains("\x1b[?1049h") && seen.contains("\x1b[?1049l"),
            "{seen:?}"
        );
        assert!(!seen.contains("\x1b[1m"), "NO_COLOR is set: {seen:?}");
    }
    traffic.kill().unwrap();
    traffic.wait().unwrap();
    drop(router);
    let gone = corelane(&lab, &words).output().unwrap();
    assert!(!gone.status.success());
    assert!(text(&gone).contains("no router answers"), "{}", text(&gone));
}

#[test]
fn the_doctor_tries_ports_and_gives_every_bad_verdict_a_remedy() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let words = ["doctor", "--port", "r0", "--port", "r1", "--json"];
    let output = corelane(&lab, &words).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = value["findings"].as_array().unwrap();
    let find = |what: &str| {
        let found = findings.iter().find(|finding| finding["what"] == what);
        found.unwrap_or_else(|| panic!("no {what} in {value:#}"))
    };
    for what in [
        "r0: link",
        "r0: engine auto",
        "r0: native XDP",
        "r0: takes redirected frames",
        "engine xdp",
        "engine xdp-kernel-fib",
        "rights",
        "forwarding",
    ] {
        assert_eq!(find(what)["verdict"], "good", "{:#}", find(what));
    }
    let place = find("r0: engine auto")["state"].as_str().unwrap();
    assert!(place.starts_with("tc: a software device"), "{place}");
    let others = ["AF_XDP", "queues", "offloads", "MTU"];
    for what in others {
        find(&format!("r1: {what}"));
    }
    for what in [
        "cpuset",
        "huge pages",
        "KVM",
        "User Mode Linux",
        "tracepoints",
        "real-time priority",
        "left on the table",
    ] {
        find(what);
    }
    for finding in findings {
        let good = finding["verdict"] == "good";
        assert_eq!(good, finding["remedy"] == "", "{finding:#}");
        assert_ne!(finding["state"], "", "{finding:#}");
    }
    let links = lab.r.ip("-d link show r0").unwrap();
    assert!(!links.contains("xdp"), "nothing stays attached: {links}");
    let table = text(
        &corelane(&lab, &["doctor", "--port", "r0"])
            .output()
            .unwrap(),
    );
    assert!(
        table.contains("r0: native XDP") && table.contains("what to do"),
        "{table}"
    );
    let said = text(
        &corelane(&lab, &["doctor", "--port", "lo"])
            .output()
            .unwrap(),
    );
    let why = "the kernel: its frames have no Ethernet header";
    assert!(said.contains(why), "{said}");
    let missing = corelane(&lab, &["doctor", "--port", "nosuch"])
        .output()
        .unwrap();
    assert!(!missing.status.success());
    assert!(
        text(&missing).contains("no interface `nosuch`"),
        "{}",
        text(&missing)
    );
}
