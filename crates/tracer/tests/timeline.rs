//! The timeline used as people use it, in a real browser: wheel, drag, keys, buttons, tooltips, a
//! million slices, a narrow window.

use std::path::PathBuf;

use serde_json::Value;
use tracer::analyse::Analysis;
use tracer::export::page;

use crate::browser::Browser;
use crate::synthetic::Workload;

/// A page in a file that goes with it.
struct Page(PathBuf);

impl Page {
    fn new(name: &str, until: u64) -> Self {
        let (trace, _) = Workload {
            threads: 4,
            hold: 3_000,
            think: 9_000,
            until,
            spread: 0.9,
        }
        .run();
        let html = report::html::render(&page::document(&trace, &Analysis::new(&trace)));
        let file =
            std::env::temp_dir().join(format!("corelane-{name}-{}.html", std::process::id()));
        std::fs::write(&file, html).expect("a temporary file");
        Self(file)
    }

    fn url(&self) -> String {
        format!("file://{}", self.0.display())
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

const FIGURE: &str = "const f = document.querySelector('figure.timeline'), c = \
                      f.querySelector('canvas'), t = f.querySelector('.timeline-tip');";

fn opened(page: &Page) -> Option<Browser> {
    let browser = match Browser::open() {
        Ok(browser) => browser,
        Err(reason) => {
            needs::skipped!("{reason}");
            return None;
        }
    };
    browser.go(&page.url());
    browser.wait(&format!("{FIGURE} return 'painted' in f.dataset"));
    browser.script(&format!(
        "{FIGURE} c.scrollIntoView({{block: 'start'}}); c.focus(); return 0"
    ));
    Some(browser)
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap_or_else(|| panic!("no list: {value}"))
        .iter()
        .map(|number| number.as_f64().unwrap_or(f64::NAN))
        .collect()
}

/// The visible span in nanoseconds, after the next picture.
fn span(browser: &Browser) -> (f64, f64) {
    std::thread::sleep(std::time::Duration::from_millis(60));
    let found = numbers(&browser.script(&format!("{FIGURE} return f.span()")));
    (found[0], found[1])
}

/// A place of the window: `share` of the plot's width, the middle of a row.
fn place(browser: &Browser, share: f64, row: usize) -> (i64, i64) {
    let found = numbers(&browser.script(&format!(
        "{FIGURE} const r = c.getBoundingClientRect(); return [r.left + f.label() + (r.width - \
         f.label()) * {share}, r.top + f.tops()[{row}] + 9]"
    )));
    (found[0] as i64, found[1] as i64)
}

fn near(found: f64, wanted: f64, share: f64) {
    assert!(
        (found - wanted).abs() <= share * wanted.abs().max(1.0),
        "{found}, not {wanted}"
    );
}

#[test]
fn wheel_drag_keys_and_buttons_move_the_view() {
    let page = Page::new("moves", 20_000_000);
    let Some(browser) = opened(&page) else { return };
    let whole = span(&browser);
    near(whole.1 - whole.0, 20_000_000.0, 0.001);

    // The wheel zooms around the pointer: what is under it stays.
    browser.wheel(place(&browser, 0.25, 0), -600);
    let zoomed = span(&browser);
    let length = zoomed.1 - zoomed.0;
    near(length, 20_000_000.0 * (-0.96_f64).exp(), 0.02);
    near(zoomed.0 + 0.25 * length, 5_000_000.0, 0.02);

    // Dragging to the left by a quarter of the plot shows what is a quarter later.
    browser.mouse(
        &[
            place(&browser, 0.6, 0),
            place(&browser, 0.5, 0),
            place(&browser, 0.35, 0),
        ],
        true,
    );
    let dragged = span(&browser);
    near(dragged.1 - dragged.0, length, 0.001);
    near(dragged.0 - zoomed.0, 0.25 * length, 0.03);

    browser.key("\u{E012}");
    let back = span(&browser);
    near(back.0, (dragged.0 - 0.2 * length).max(0.0), 0.02);
    browser.key("+");
    let closer = span(&browser);
    near(closer.1 - closer.0, 0.6 * length, 0.01);
    browser.key("0");
    assert_eq!(span(&browser), whole);

    browser.script(&format!(
        "{FIGURE} f.querySelector('[data-do=in]').click(); return 0"
    ));
    let halved = span(&browser);
    near(halved.1 - halved.0, 10_000_000.0, 0.001);
    browser.script(&format!(
        "{FIGURE} f.querySelector('[data-do=all]').click(); return 0"
    ));
    assert_eq!(span(&browser), whole);

    // Never outside the recording, never closer than 200 ns.
    for _ in 0..20 {
        browser.wheel(place(&browser, 0.0, 0), -2_000);
    }
    let closest = span(&browser);
    near(closest.1 - closest.0, 200.0, 0.01);
    for _ in 0..20 {
        browser.wheel(place(&browser, 1.0, 0), 2_000);
    }
    assert_eq!(span(&browser), whole);
}

#[test]
fn tooltips_say_who_what_how_long_and_who_woke_it() {
    let page = Page::new("tips", 20_000_000);
    let Some(browser) = opened(&page) else { return };
    browser.script(&format!("{FIGURE} f.show(1000000, 1400000); return 0"));
    span(&browser);
    let mut found = std::collections::BTreeSet::new();
    // Four cores, then four threads, then the lock.
    for row in [0, 4, 5, 6, 8] {
        let ends = [0.0, 1.0].map(|share| place(&browser, share, row));
        for step in 1..13 {
            let x = ends[0].0 + (ends[1].0 - ends[0].0) * step / 13;
            browser.mouse(&[(x, ends[0].1)], false);
            let tip = browser.script(&format!("{FIGURE} return t.hidden ? '' : t.textContent"));
            found.insert(tip.as_str().unwrap_or_default().to_owned());
        }
    }
    let all = found.into_iter().collect::<Vec<_>>().join("\n");
    for words in [
        "on core ",
        "waits for a lock",
        "woken by worker-",
        "waited ",
        "mutex",
        "µs",
        "at 1.",
    ] {
        assert!(all.contains(words), "no tooltip says {words:?}:\n{all}");
    }
    // Away from the rows there is none.
    browser.mouse(&[(3, 3)], false);
    assert_eq!(browser.script(&format!("{FIGURE} return t.hidden")), true);
}

#[test]
fn the_lock_is_drawn_and_a_narrow_window_is_enough() {
    let page = Page::new("narrow", 20_000_000);
    let Some(browser) = opened(&page) else { return };
    let colours = "const g = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, n = \
                   new Set(); for (let i = 0; i < g.length; i += 4) n.add(g[i] << 16 | g[i + 1] \
                   << 8 | g[i + 2]); return n.size";
    let many = browser.script(&format!("{FIGURE} {colours}"));
    assert!(
        many.as_u64().is_some_and(|count| count > 6),
        "{many} colours"
    );
    browser.script("document.body.style.width = '360px'; return 0");
    browser.wait(&format!(
        "{FIGURE} return c.getBoundingClientRect().width <= 360 && f.label() === 84"
    ));
    assert_eq!(
        browser.script("return document.querySelector('figure.timeline').scrollWidth <= 360"),
        true
    );
}

#[test]
fn a_million_slices_are_drawn() {
    let page = Page::new("million", 1_200_000_000);
    let Some(browser) = opened(&page) else { return };
    let slices = browser.script(&format!("{FIGURE} return Number(f.dataset.slices)"));
    let slices = slices.as_f64().unwrap_or_default();
    assert!(slices > 1e6, "{slices} slices");
    let before = span(&browser);
    browser.wheel(place(&browser, 0.5, 0), -600);
    assert_ne!(span(&browser), before);
}
