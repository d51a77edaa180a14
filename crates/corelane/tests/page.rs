//! The report in a real browser: it loads nothing, complains of nothing, and fits a phone.

use std::path::Path;
use std::process::Command;

use host::temporary::Directory;

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// Written into a copy of the page: it tells the page around it what the browser made of it.
const PROBE: &str = "<script>addEventListener('load',()=>parent.postMessage([innerWidth,document.\
                     documentElement.scrollWidth,performance.getEntriesByType('resource').length].\
                     join(' '),'*'))</script></body>";

/// A page that shows that copy so wide, for windows themselves have a least width; the answers
/// become an attribute that `--dump-dom` shows.
fn frames(widths: [u32; 2]) -> String {
    let frame = |width| {
        format!(
            "<iframe src=\"probe.html\" style=\"border:0\" width=\"{width}\" \
             height=\"900\"></iframe>"
        )
    };
    let frames = widths.map(frame).concat();
    format!(
        "<!doctype html><script>document.documentElement.dataset.probe='';\
         addEventListener('message',event=>document.documentElement.dataset.probe+=\
         event.data+' ')</script>{frames}"
    )
}

/// Of each view its width, that of its content, and how many resources were loaded.
fn probe(browser: &str, page: &Path, profile: &Path) -> Vec<[u32; 3]> {
    let output = Command::new("timeout")
        .args([
            "60",
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--enable-logging=stderr",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg("--window-size=1400,1000")
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(
        !messages.contains("CONSOLE"),
        "the page complains: {messages}"
    );
    let page = String::from_utf8_lossy(&output.stdout);
    let (_, rest) = page
        .split_once("data-probe=\"")
        .unwrap_or_else(|| panic!("the browser did not load the page: {messages}"));
    let numbers: Vec<u32> = rest
        .split('"')
        .next()
        .unwrap()
        .split_whitespace()
        .map(|word| word.parse().unwrap())
        .collect();
    let views = numbers.chunks_exact(3);
    let mut views: Vec<_> = views.map(|view| [view[0], view[1], view[2]]).collect();
    views.sort_unstable();
    views
}

/// Looks at a report on a desk and on a phone.
pub(crate) fn fits_desk_and_phone_and_loads_nothing(report: &Path) {
    let runs = |browser: &&str| {
        Command::new(browser)
            .arg("--version")
            .output()
            .is_ok_and(|output| output.status.success())
    };
    let Some(browser) = BROWSERS.into_iter().find(runs) else {
        needs::skipped!("needs a browser, one of {}", BROWSERS.join(", "));
        return;
    };
    let directory = Directory::new("page").unwrap();
    let path = |name: &str| directory.path().join(name);
    let page = std::fs::read_to_string(report).unwrap();
    std::fs::write(path("probe.html"), page.replace("</body>", PROBE)).unwrap();
    let widths = [390, 1280];
    std::fs::write(path("frames.html"), frames(widths)).unwrap();
    let views = probe(browser, &path("frames.html"), &path("profile"));
    assert_eq!(views.iter().map(|view| view[0]).collect::<Vec<_>>(), widths);
    for [view, content, resources] in views {
        assert!(
            content <= view,
            "the page is {content} wide in a view of {view}"
        );
        assert_eq!(resources, 0);
    }
}
