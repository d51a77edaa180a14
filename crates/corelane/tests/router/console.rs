//! The console in a browser: what it shows of a running router, what it answers, and the file that it
//! saves, shown without a router.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

#[expect(dead_code, reason = "the page of traces is moved by the mouse, too")]
#[path = "../../../tracer/tests/browser/mod.rs"]
pub(super) mod browser;

use self::browser::Browser;
use super::captured::program;
use super::lab::{Lab, Router, is_root, wait_for};
use super::raw::{Wires, ipv4};
use super::roads::roads;
use crate::page::is_for_everybody;
use crate::schemas::assert_is;

const TOKEN: &str = "a-token-of-24-characters";

fn runs(lab: &Lab, more: &str) -> Router {
    runs_with(lab, &["r0", "r1"], more)
}

/// A router with a console, and routes of every kind.
pub(super) fn runs_with(lab: &Lab, ports: &[&str], more: &str) -> Router {
    lab.r.ip("link set lo up").unwrap();
    let file = lab.path("console.toml");
    let keys = format!(
        "ports = {ports:?}\nengine = \"xdp\"\ntable-words = 131072\nvrf-words = 8192\n\
         punt-limits = \"none\"\nconsole = true\n{more}"
    );
    std::fs::write(&file, keys).unwrap();
    let router = lab.run_words(&["run".to_owned(), file.to_str().unwrap().to_owned()]);
    roads(lab, &router);
    router
}

/// What was answered to a request.
struct Answer {
    /// 0: nothing came.
    status: u16,
    head: String,
    /// As far as it came.
    body: String,
}

impl Answer {
    fn of(bytes: &[u8]) -> Self {
        let answer = String::from_utf8_lossy(bytes);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        Self {
            status: status.unwrap_or(0),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }
}

/// How long an answer may take on a machine that others flood: the segments of a connection may be
/// lost on its way through loopback, and come again after seconds.
const PATIENCE: Duration = Duration::from_secs(20);
/// What never ends is read for so long from its head on.
const READ: Duration = Duration::from_millis(2500);

fn connected(lab: &Lab) -> TcpStream {
    let connect = || TcpStream::connect("127.0.0.1:9470");
    lab.r.enter(connect).unwrap().unwrap()
}

/// Asks as a client does.
fn asked(lab: &Lab, request: &str) -> Answer {
    let mut stream = connected(lab);
    stream.write_all(request.as_bytes()).unwrap();
    let (mut answer, mut buffer) = (Vec::new(), vec![0; 65536]);
    let mut end = Instant::now() + PATIENCE;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        stream
            .set_read_timeout(Some(left.max(Duration::from_millis(1))))
            .unwrap();
        // Who is turned away may find the connection closed.
        let Ok(length @ 1..) = stream.read(&mut buffer) else {
            break;
        };
        if answer.is_empty() {
            end = Instant::now() + READ;
        }
        answer.extend_from_slice(&buffer[..length]);
    }
    let _gone = stream.shutdown(Shutdown::Both);
    Answer::of(&answer)
}

/// Asks until the answer has a status; panics with those that came.
fn wait_for_status(lab: &Lab, what: &str, request: &str, status: u16) {
    let (mut seen, begun) = (Vec::new(), Instant::now());
    while begun.elapsed() < LONGEST {
        seen.push(asked(lab, request).status);
        if seen.last() == Some(&status) {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("no {what}, which is {status}: {seen:?}");
}

/// How long that may take.
const LONGEST: Duration = Duration::from_secs(80);

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

fn get(path: &str, more: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:9470\r\n{more}\r\n")
}

#[test]
fn the_console_shows_what_happens_and_replays_it() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let router = runs(&lab, "console-peers = [\"https://r2.example:9470/\"]\n");
    let own = program(&lab, "r0");
    let wires = Wires::open(&lab);
    let over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                for to in [[203, 0, 113, 9], [203, 0, 113, 10], [198, 51, 100, 3]] {
                    wires
                        .a
                        .send(&ipv4(wires.macs, [10, 0, 0, 2], to, 53, &[0; 100]));
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            lab.r.enter(|| look(&lab)).unwrap();
        }));
        over.store(true, Ordering::Relaxed);
        if let Err(panic) = looked {
            std::panic::resume_unwind(panic);
        }
    });
    // Nobody looks any more: ports run their own programs.
    wait_for("the program of before", 20, || program(&lab, "r0") == own);
    router.verify();
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
    (0..2).for_each(|_| wires.a.send(&frame));
    assert_eq!(capture.end().0, Some(0));
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

fn opens_a_reason(browser: &Browser) {
    let text = |id: &str| {
        let said = browser.script(&format!("return document.getElementById('{id}').innerText"));
        said.as_str().unwrap().to_owned()
    };
    // A reason says what it means and what to do, and stays open while seconds pass.
    browser.script("document.querySelector('#reason-blackhole summary').click(); return true");
    std::thread::sleep(Duration::from_millis(1500));
    let reason = text("reason-blackhole");
    assert!(
        reason.contains("drop silently") && reason.contains("Corelane drops them"),
        "{reason}"
    );
    // Its last frames, real ones, and the way of one.
    browser.wait("return document.querySelectorAll('#reason-blackhole .frame').length === 3");
    let reason = text("reason-blackhole");
    for part in [
        "10.0.0.2:4242 > 198.51.100.3:53",
        "prefix 198.51.100.3/32",
        "0800",
    ] {
        assert!(reason.contains(part), "{part} is not in {reason}");
    }
    browser
        .script("document.querySelector('#reason-blackhole .frame button').click(); return true");
    browser.wait("return document.getElementById('way').innerText.includes('dropped: blackhole')");
    assert_eq!(
        browser.script("return document.querySelector('#peers a').href"),
        "https://r2.example:9470/"
    );
}

fn look(lab: &Lab) {
    let browser = match Browser::open() {
        Ok(browser) => browser,
        Err(why) => {
            needs::skipped!("needs a browser: {why}");
            return;
        }
    };
    let text = |id: &str| {
        let said = browser.script(&format!("return document.getElementById('{id}').innerText"));
        said.as_str().unwrap().to_owned()
    };
    browser.go("http://127.0.0.1:9470/");
    browser.wait("return document.getElementById('verdict').innerText.includes('forwarded,')");
    browser.wait("return document.querySelectorAll('#ports tbody tr').length > 0");
    browser.wait("return document.getElementById('reason-blackhole') !== null");
    browser.wait("return document.querySelectorAll('#chart polyline').length === 3");
    assert_eq!(text("state"), "live");
    let picture = browser.script("return performance.getEntriesByName('picture')[0].startTime");
    println!("first picture after {:.0} ms", picture.as_f64().unwrap());
    assert!(text("ports").contains("r0"), "{}", text("ports"));
    assert!(text("cores").contains('0'), "{}", text("cores"));
    // Nothing was loaded but the page.
    let loaded = browser.script(
        "return performance.getEntriesByType('resource').map(one => new URL(one.name).pathname)",
    );
    assert!(
        loaded
            .as_array()
            .unwrap()
            .iter()
            .all(|one| one == "/console/events"),
        "{loaded}"
    );
    opens_a_reason(&browser);
    // An address, typed, and the key Enter.
    browser.script("document.getElementById('address').focus(); return true");
    "203.0.113.9"
        .chars()
        .for_each(|letter| browser.key(&letter.to_string()));
    browser.key("\u{e007}");
    browser.wait("return document.getElementById('way').innerText.includes('longest prefix')");
    let way = text("way");
    for part in ["forwarded", "203.0.113.0/24", "10.1.0.2", "r1"] {
        assert!(way.contains(part), "{part} is not in {way}");
    }
    let ask = |address: &str, said: &str| {
        browser.script(&format!(
            "document.getElementById('address').value = '{address}'; \
             document.querySelector('#ask button').click(); return true"
        ));
        browser.wait(&format!(
            "return document.getElementById('way').innerText.includes('{said}')"
        ));
    };
    ask("198.51.100.3", "dropped: blackhole");
    ask("nowhere", "is no address");
    browser.script("document.getElementById('watch').click(); return true");
    browser.wait("return document.getElementById('hitters').innerText.includes('203.0.113.0/24')");
    browser.script("document.getElementById('watch').click(); return true");
    // Looking back: the shown second stays while others come.
    browser.script(
        "const when = document.getElementById('when'); when.value = 0; \
         when.dispatchEvent(new Event('input')); return true",
    );
    let shown = text("time");
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(text("time"), shown);
    // What is saved is shown without a router, and everybody can read it.
    let saved = browser.script("return saved()");
    let file = lab.path("saved.html");
    std::fs::write(&file, saved.as_str().unwrap()).unwrap();
    let kept = browser.script("return points.length");
    browser.go(&format!("file://{}", file.display()));
    browser.wait("return document.getElementById('state').innerText.startsWith('a recording')");
    let (there, loaded) = (
        browser.script("return points.length"),
        browser.script("return performance.getEntriesByType('resource').length"),
    );
    assert!(there.as_u64() >= kept.as_u64().map(|kept| kept - 3) && there.as_u64() > Some(3));
    assert_eq!(loaded, json!(0));
    assert!(text("reasons").contains("blackhole") && text("hitters").contains("203.0.113.0/24"));
    drop(browser);
    is_for_everybody(&file);
    if let Some(copy) = std::env::var_os("CORELANE_KEEP_CONSOLE") {
        std::fs::copy(&file, copy).unwrap();
    }
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
