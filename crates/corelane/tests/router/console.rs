//! The console in a browser: what it shows of a running router, and the file that it saves, shown
//! without a router.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;

#[expect(dead_code, reason = "the page of traces is moved by the mouse, too")]
#[path = "../../../tracer/tests/browser/mod.rs"]
pub(super) mod browser;

use self::browser::Browser;
use super::asking::runs;
use super::captured::program;
use super::lab::{Lab, is_root, wait_for};
use super::raw::{Wires, ipv4};
use crate::page::is_for_everybody;

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
    // The next second says nothing else of the same frames.
    browser.script("showReasons(points[points.length - 1]); return true");
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
    let picture = || {
        let mark = "performance.getEntriesByName('picture')";
        browser.wait(&format!("return {mark}.length > 0"));
        let picture = browser.script(&format!("return {mark}[0].startTime"));
        picture.as_f64().unwrap()
    };
    println!(
        "first picture after {:.0} ms, in a browser just begun",
        picture()
    );
    browser.go("about:blank");
    browser.go("http://127.0.0.1:9470/");
    println!("first picture after {:.0} ms, once more", picture());
    browser.wait("return document.getElementById('reason-blackhole') !== null");
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
    // That of the frame stands there until the answer comes.
    browser.wait("return document.getElementById('way').innerText.includes('203.0.113.0/24')");
    let way = text("way");
    for part in ["forwarded", "longest prefix", "10.1.0.2", "r1"] {
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
