//! What the console answers: events, frames, bad input, and whoever may not ask.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use serde_json::{Value, json};

use super::asking::{Answer, LONGEST, PATIENCE, asked, connected, get, runs, wait_for_status};
use super::lab::{Lab, is_root, wait_for};
use super::raw::{Wires, ipv4};
use crate::schemas::assert_is;

const TOKEN: &str = "a-token-of-24-characters";

/// Viewers that read no more than the beginning, as many as there are places. One of before may be
/// there still, until the router writes to it: so each that was let in stays, until one is turned away.
fn all_places(lab: &Lab, events: &str) -> Vec<TcpStream> {
    let (mut waiting, mut seen, begun) = (Vec::new(), Vec::new(), Instant::now());
    while begun.elapsed() < LONGEST {
        let mut stream = connected(lab);
        stream.write_all(events.as_bytes()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut buffer = [0; 64];
        let length = stream.read(&mut buffer).unwrap_or(0);
        match Answer::of(&buffer[..length]).status {
            200 => waiting.push(stream),
            503 => return waiting,
            other => seen.push(other),
        }
    }
    panic!(
        "{} viewers have a place, others were told {seen:?}",
        waiting.len()
    );
}

#[test]
fn events_are_the_lines_of_the_log() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let mut router = runs(&lab, "");
    router.signal(libc::SIGHUP);
    lab.r.ip("link set r1 down").unwrap();
    let capture = router.captures(&["--write", "/dev/null"]);
    capture.signal(libc::SIGINT);
    capture.end();
    let events = || {
        let answer = asked(&lab, &get("/console/events", ""));
        let points = answer
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data: "));
        let points = points.filter_map(|point| serde_json::from_str::<Value>(point).ok());
        let events = points.filter_map(|point| point["events"].as_array().cloned());
        events.flatten().collect::<Vec<Value>>()
    };
    let line = |event: &Value| {
        let of = |name: &str| event[name].as_str().unwrap().to_owned();
        let (level, name, text) = (of("level"), of("name"), of("text"));
        format!("level={level} event={name} {text}")
            .trim_end()
            .to_owned()
    };
    let has = |events: &[Value], name: &str| events.iter().any(|event| event["name"] == name);
    let mut said = Vec::new();
    wait_for("the events", 10, || {
        said = events();
        has(&said, "reload") && has(&said, "capture")
    });
    let log: Vec<String> = router
        .log()
        .lines()
        .filter_map(|line| line.split_once(' ').map(|(_, rest)| rest.to_owned()))
        .collect();
    let told: Vec<String> = said.iter().map(line).collect();
    for line in &told {
        assert!(log.contains(line), "{line:?} is not in {log:#?}");
    }
    // From the first that the console keeps on, until the last that it has told.
    let first = log.iter().position(|line| *line == told[0]).unwrap();
    let last = log
        .iter()
        .rposition(|line| Some(line) == told.last())
        .unwrap();
    assert_eq!(log[first..=last], told);
}

#[test]
fn who_captures_goes_first_and_the_console_says_so() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let router = runs(&lab, "");
    let wires = Wires::open(&lab);
    let frame = ipv4(wires.macs, [10, 0, 0, 2], [198, 51, 100, 3], 53, &[0; 100]);
    let look = || {
        wires.a.send(&frame);
        let request = get("/console/frames?reason=blackhole", "X-Corelane: 1\r\n");
        serde_json::from_str::<Value>(&asked(&lab, &request).body).unwrap()
    };
    let frames = |told: &Value| told["frames"].as_array().unwrap().len();
    wait_for("three frames", 10, || frames(&look()) == 3);
    let capture = router.captures(&["--reason", "blackhole", "--count", "2"]);
    wait_for("who captures", 10, || {
        let failed = look()["failed"].to_string();
        failed.contains("captures; frames are shown here when that has ended")
    });
    assert_eq!(capture.end_of(|| wires.a.send(&frame)).0, Some(0));
    wait_for("frames again", 10, || {
        let told = look();
        told["failed"] == Value::Null && frames(&told) == 3
    });
}

#[test]
fn bad_input_has_clear_errors_and_harms_nothing() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let router = runs(&lab, "");
    let own = "X-Corelane: 1\r\n";
    let tls = "\u{16}\u{3}\u{1}\r\n\r\n".to_owned();
    for (request, status, said) in [
        (tls, 400, "no request of HTTP/1.1"),
        ("GET\r\n\r\n".to_owned(), 400, "no request of HTTP/1.1"),
        (
            get("/", &format!("Cookie: {}\r\n", "x".repeat(40_000))),
            431,
            "16383 bytes",
        ),
        (get("/console/nothing", own), 404, "no such part"),
        (
            get("/console/frames?reason=sorcery", own),
            200,
            "is no reason",
        ),
        (
            get("/console/frames?reason=egress-refused", own),
            200,
            "none to show",
        ),
        (
            get("/console/explain?to=nowhere", own),
            200,
            "is no address",
        ),
    ] {
        let answer = asked(&lab, &request);
        let start = request.get(..30).unwrap_or(&request);
        assert_eq!(answer.status, status, "{start:?}: {}", answer.head);
        assert!(answer.body.contains(said), "{start:?}: {}", answer.body);
    }
    // A thousand connections that ask for nothing, while frames pass.
    let wires = Wires::open(&lab);
    let frame = ipv4(wires.macs, [10, 0, 0, 2], [203, 0, 113, 9], 53, &[0; 100]);
    let before = router.forwarded();
    more_files();
    let connect = || TcpStream::connect("127.0.0.1:9470");
    let crowd: Vec<_> = (0..1000)
        .map(|_| {
            wires.a.send(&frame);
            lab.r.enter(connect).unwrap()
        })
        .collect();
    let there = crowd.iter().filter(|one| one.is_ok()).count();
    assert!(there > 500, "{there} connections");
    wait_for("all frames", 10, || router.forwarded() >= before + 1000);
    assert!(router.show("ports").is_array());
    drop(crowd);
    wait_for("metrics again", 10, || {
        asked(&lab, &get("/metrics", "")).status == 200
    });
    router.verify();
}

/// This process may have as many files open as it could.
fn more_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let current = limit.maximum;
    setrlimit(Resource::Nofile, Rlimit { current, ..limit }).unwrap();
}

#[test]
fn nobody_else_reads_or_does_anything() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let router = runs(&lab, &format!("console-token = {TOKEN:?}\n"));
    let Answer { status, head, body } = asked(&lab, &get("/", ""));
    assert_eq!(status, 200);
    assert!(
        head.contains("Content-Security-Policy: default-src 'none';"),
        "{head}"
    );
    assert!(head.contains("frame-ancestors 'none'"), "{head}");
    assert!(body.len() < 300_000, "{}", body.len());
    let other = "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n";
    assert_eq!(asked(&lab, other).status, 403);
    let own = "X-Corelane: 1\r\n";
    let with = |path: &str, more: &str| format!("{path}{more}token={TOKEN}");
    for path in [
        "/console/events",
        "/console/explain?to=203.0.113.9",
        "/console/hitters",
    ] {
        let more = if path.contains('?') { "&" } else { "?" };
        assert_eq!(
            asked(&lab, &get(path, own)).status,
            403,
            "{path} without the token"
        );
        let wrong = format!("{path}{more}token=a-token-of-24-characterS");
        assert_eq!(asked(&lab, &get(&wrong, own)).status, 403, "{path}");
        if path != "/console/events" {
            assert_eq!(
                asked(&lab, &get(&with(path, more), "")).status,
                403,
                "{path} of another site"
            );
        }
    }
    let explained = asked(
        &lab,
        &get(&with("/console/explain?to=203.0.113.9", "&"), own),
    );
    let told: Value = serde_json::from_str(&explained.body).unwrap();
    assert_eq!(
        (explained.status, &told["fate"]),
        (200, &json!("forwarded"))
    );
    let posted = format!(
        "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        with("/console/hitters", "?")
    );
    assert_eq!(asked(&lab, &posted).status, 405);
    // Each point is of its form.
    let answer = asked(&lab, &get(&with("/console/events", "?"), ""));
    assert_eq!(answer.status, 200);
    let points: Vec<&str> = answer
        .body
        .lines()
        .filter_map(|line| line.strip_prefix("data: {").map(|_| &line[6..]))
        .collect();
    assert!(points.len() > 1, "{points:?}");
    for point in points {
        assert_is("corelane-console", &serde_json::from_str(point).unwrap());
    }
    // Viewers that do not read take no place from whoever reads metrics, and go.
    let events = get(&with("/console/events", "?"), "");
    let waiting = all_places(&lab, &events);
    assert_eq!(asked(&lab, &get("/metrics", "")).status, 200);
    drop(waiting);
    wait_for_status(&lab, "room again", &events, 200);
    router.verify();
    drop(router);
    // Without the key there is none.
    let words = "run --port r0 --port r1 --metrics 127.0.0.1:9470".split(' ');
    let _router = lab.run_words(&words.map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(asked(&lab, &get("/", "")).status, 404);
}
