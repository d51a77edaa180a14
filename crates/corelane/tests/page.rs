//! The reports in a real browser: they load nothing, complain of nothing, fit a phone, and
//! everybody can read them.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use host::temporary::Directory;

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// A browser is given up after so long. A page takes a core for 7 s, and three times as long with two
/// other programs to a core.
const SECONDS: &str = "240";
/// Written into a copy of the page: it tells the page around it what the browser made of it, and
/// what of it keeps people from reading, folded details included.
const PROBE: &str = "<script>addEventListener('load', async () => {
    for (const details of document.querySelectorAll('details')) details.open = true;
    const dark = Number(matchMedia('(prefers-color-scheme: dark)').matches);
    const loaded = performance.getEntriesByType('resource').length;
    const view = [innerWidth, document.documentElement.scrollWidth, loaded, dark].join(' ');
    const found = window.axe ? (await axe.run({resultTypes: ['violations']})).violations : [];
    const bad = found.filter(({impact}) => impact === 'serious' || impact === 'critical');
    const where = ({nodes}) => nodes.map(({target}) => target.join(' ')).join(', ');
    const said = bad.map(one => `${one.id}: ${one.help}: ${where(one)}`).join('; ');
    parent.postMessage(`${view} ${said.replace(/[<>&\"\\n|]/g, ' ')}|`, '*');
})</script></body>";

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
         event.data)</script>{frames}"
    )
}

/// What the browser made of the page in a view.
struct View {
    width: u32,
    /// Of what is in it.
    content: u32,
    resources: u32,
    is_dark: bool,
    /// What keeps people from reading it.
    barriers: String,
}

impl View {
    fn of(said: &str) -> Self {
        let mut words = said.splitn(5, ' ');
        let mut number = || words.next().unwrap().parse().unwrap();
        Self {
            width: number(),
            content: number(),
            resources: number(),
            is_dark: number() == 1,
            barriers: words.next().unwrap_or("").trim().to_owned(),
        }
    }
}

/// What a browser makes of a page: its text when its scripts have run, and what it complained of.
/// Nothing where the browser did not end; a busy machine sees that now and then.
fn browsed(browser: &str, page: &Path, profile: &Path, is_dark: bool) -> Option<(String, String)> {
    let output = Command::new("timeout")
        .args(["--kill-after=5", SECONDS, browser])
        .args(["--headless", "--no-sandbox", "--disable-gpu"])
        .args(["--disable-quic", "--no-first-run", "--disable-sync"])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--enable-logging=stderr",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!(
            "--blink-settings=preferredColorScheme={}",
            u8::from(!is_dark)
        ))
        .arg("--window-size=1400,1000")
        .args(["--virtual-time-budget=60000", "--dump-dom"])
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    // As `timeout` says that it ended the browser, with a plain signal and with the last one.
    let has_ended = !matches!(output.status.code(), Some(124 | 137) | None);
    has_ended.then(|| (text(&output.stdout), text(&output.stderr)))
}

/// The views of a page with light or with dark colours, the narrow one first.
fn probe(browser: &str, page: &Path, directory: &Path, is_dark: bool) -> Vec<View> {
    let mut profiles = (0..3).map(|number| directory.join(format!("profile-{is_dark}-{number}")));
    let (page, messages) = profiles
        .find_map(|profile| browsed(browser, page, &profile, is_dark))
        .expect("the browser hung three times");
    assert!(
        !messages.contains("CONSOLE"),
        "the page complains: {messages}"
    );
    let (_, rest) = page
        .split_once("data-probe=\"")
        .unwrap_or_else(|| panic!("the browser did not load the page: {messages}"));
    let said = rest.split('"').next().unwrap();
    let views = said.split('|').map(str::trim);
    let views = views.filter(|view| !view.is_empty()).map(View::of);
    let mut views: Vec<View> = views.collect();
    views.sort_unstable_by_key(|view| view.width);
    views
}

/// The code that finds barriers, where it can be fetched.
fn axe() -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/axe-core");
    let output = Command::new(script).output().unwrap();
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        needs::skipped!("needs axe-core: {}", why.trim());
        return String::new();
    }
    let file = String::from_utf8(output.stdout).unwrap();
    let code = std::fs::read_to_string(file.trim()).unwrap();
    format!("<script>{code}</script>")
}

/// Looks at a report on a desk and on a phone, by day and by night.
pub(crate) fn is_for_everybody(report: &Path) {
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
    // Test programs run beside each other, but browsers take turns: each keeps a core busy.
    let turn = File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/page.rs")).unwrap();
    turn.lock().unwrap();
    let directory = Directory::new("page").unwrap();
    let path = |name: &str| directory.path().join(name);
    let page = std::fs::read_to_string(report).unwrap();
    let probed = page.replace("</body>", &(axe() + PROBE));
    std::fs::write(path("probe.html"), probed).unwrap();
    let widths = [390, 1280];
    std::fs::write(path("frames.html"), frames(widths)).unwrap();
    for is_dark in [false, true] {
        let views = probe(browser, &path("frames.html"), directory.path(), is_dark);
        assert_eq!(
            views.iter().map(|view| view.width).collect::<Vec<_>>(),
            widths
        );
        for view in views {
            let (width, content) = (view.width, view.content);
            assert!(content <= width, "{content} wide in a view of {width}");
            assert_eq!((view.resources, view.is_dark), (0, is_dark));
            assert_eq!(view.barriers, "", "{width} wide, dark: {is_dark}");
        }
    }
}
