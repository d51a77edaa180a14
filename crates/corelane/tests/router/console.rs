//! The console in a browser: what it shows of a running router, what it answers, and the file that it
//! saves, shown without a router.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

#[expect(dead_code, reason = "the page of traces is moved by the mouse, too")]
#[path = "../../../tracer/tests/browser/mod.rs"]
mod browser;

use self::browser::Browser;
use super::lab::{Lab, Router, is_root, wait_for};
use super::raw::{Wires, ipv4};
use super::roads::roads;
use crate::page::is_for_everybody;
use crate::schemas::assert_is;

const TOKEN: &str = "a-token-of-24-characters";

fn runs(lab: &Lab, more: &str) -> Router {
    lab.r.ip("link set lo up").unwrap();
    let file = lab.path("console.toml");
    let keys = format!(
        "ports = [\"r0\", \"r1\"]\nengine = \"xdp\"\ntable-words = 131072\nvrf-words = 8192\n\
         punt-limits = \"none\"\nconsole = true\n{more}"
    );
    std::fs::write(&file, keys).unwrap();
    let router = lab.run_words(&["run".to_owned(), file.to_str().unwrap().to_owned()]);
    roads(lab, &router);
    router
}

/// Asks as a client does; the status, the rest of the head, the body as far as it comes at once.
fn asked(lab: &Lab, request: &str) -> (u16, String, String) {
    let address = "127.0.0.1:9470";
    let stream = lab.r.enter(|| TcpStream::connect(address)).unwrap();
    let mut stream = stream.unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    // What never ends is read for so long.
    let end = Instant::now() + Duration::from_millis(2500);
    stream
        .set_read_timeout(Some(Duration::from_secs(3)))
        .unwrap();
    let mut answer = Vec::new();
    let mut buffer = vec![0; 65536];
    while let Some(length) = stream
        .read(&mut buffer)
        .ok()
        .filter(|_| Instant::now() < end)
    {
        answer.extend_from_slice(&buffer[..length]);
        if length == 0 {
            break;
        }
    }
    let _gone = stream.shutdown(Shutdown::Both);
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).unwrap_or("0").parse().unwrap();
    (status, head.to_owned(), body.to_owned())
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
    let router = runs(&lab, "");
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
    router.verify();
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
    // A reason says what it means and what to do, and stays open while seconds pass.
    browser.script("document.querySelector('#reason-blackhole summary').click(); return true");
    std::thread::sleep(Duration::from_millis(1500));
    let reason = text("reason-blackhole");
    assert!(
        reason.contains("drop silently") && reason.contains("Corelane drops them"),
        "{reason}"
    );
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
    let (status, head, page) = asked(&lab, &get("/", ""));
    assert_eq!(status, 200);
    assert!(
        head.contains("Content-Security-Policy: default-src 'none';"),
        "{head}"
    );
    assert!(head.contains("frame-ancestors 'none'"), "{head}");
    assert!(page.len() < 300_000, "{}", page.len());
    let other = "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n";
    assert_eq!(asked(&lab, other).0, 403);
    let own = "X-Corelane: 1\r\n";
    let with = |path: &str, more: &str| format!("{path}{more}token={TOKEN}");
    for path in [
        "/console/events",
        "/console/explain?to=203.0.113.9",
        "/console/hitters",
    ] {
        let more = if path.contains('?') { "&" } else { "?" };
        assert_eq!(
            asked(&lab, &get(path, own)).0,
            403,
            "{path} without the token"
        );
        let wrong = format!("{path}{more}token=a-token-of-24-characterS");
        assert_eq!(asked(&lab, &get(&wrong, own)).0, 403, "{path}");
        if path != "/console/events" {
            assert_eq!(
                asked(&lab, &get(&with(path, more), "")).0,
                403,
                "{path} of another site"
            );
        }
    }
    let explained = asked(
        &lab,
        &get(&with("/console/explain?to=203.0.113.9", "&"), own),
    );
    let told: Value = serde_json::from_str(&explained.2).unwrap();
    assert_eq!((explained.0, &told["fate"]), (200, &json!("forwarded")));
    let posted = format!(
        "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        with("/console/hitters", "?")
    );
    assert_eq!(asked(&lab, &posted).0, 405);
    // Each point is of its form.
    let (status, _, points) = asked(&lab, &get(&with("/console/events", "?"), ""));
    assert_eq!(status, 200);
    let points: Vec<&str> = points
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .collect();
    assert!(points.len() > 1, "{points:?}");
    for point in points {
        assert_is("corelane-console", &serde_json::from_str(point).unwrap());
    }
    // Viewers that do not read take no place from whoever reads metrics, and go.
    let waiting: Vec<TcpStream> = (0..12)
        .map(|_| {
            let stream = lab
                .r
                .enter(|| TcpStream::connect("127.0.0.1:9470"))
                .unwrap();
            let mut stream = stream.unwrap();
            stream
                .write_all(get(&with("/console/events", "?"), "").as_bytes())
                .unwrap();
            stream
        })
        .collect();
    wait_for("a full console", 10, || {
        asked(&lab, &get(&with("/console/events", "?"), "")).0 == 503
    });
    assert_eq!(asked(&lab, &get("/metrics", "")).0, 200);
    drop(waiting);
    wait_for("room again", 10, || {
        asked(&lab, &get(&with("/console/events", "?"), "")).0 == 200
    });
    router.verify();
    drop(router);
    // Without the key there is none.
    let words = "run --port r0 --port r1 --metrics 127.0.0.1:9470".split(' ');
    let _router = lab.run_words(&words.map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(asked(&lab, &get("/", "")).0, 404);
}
