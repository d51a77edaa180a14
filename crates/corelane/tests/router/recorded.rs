//! Recordings: asked for, made when something is wrong, read by `jq`, played by a browser without a
//! router; and what is said when one cannot be made.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::asking::runs_with;
use super::console::browser::Browser;
use super::lab::{Lab, Router, Socket, is_root, text, wait_for};
use super::raw::{Wires, ipv4};
use super::service::DYNAMIC_USERS;
use super::systemd::{Guest, PATIENCE};
use crate::each::for_nobody;
use crate::page::is_for_everybody;
use crate::schemas::assert_is;

impl Socket {
    fn record(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_corelane"));
        command.arg("record").args(words).arg("--run-directory");
        command.arg(&self.0).stdin(Stdio::null());
        command
    }
}

fn done(output: &Output) -> Value {
    assert!(output.status.success(), "{}", text(output));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_is("corelane-recording", &value);
    value
}

/// Frames that are forwarded.
const FORWARDED: [u8; 4] = [203, 0, 113, 9];
/// Frames that are lost.
const LOST: [u8; 4] = [198, 51, 100, 3];

/// Frames to these go until `look` is over.
fn with_traffic(lab: &Lab, destinations: &[[u8; 4]], look: impl FnOnce()) {
    let wires = Wires::open(lab);
    let over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                for &to in destinations {
                    let frame = ipv4(wires.macs, [10, 0, 0, 2], to, 53, &[0; 100]);
                    wires.a.send(&frame);
                }
                std::thread::sleep(Duration::from_millis(3));
            }
        });
        let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(look));
        over.store(true, Ordering::Relaxed);
        if let Err(panic) = looked {
            std::panic::resume_unwind(panic);
        }
    });
}

fn recorder(directory: &str) -> String {
    format!("[recorder]\ndirectory = {directory:?}\nabove = \"blackhole=20\"\nsampling = 1\n")
}

#[test]
fn what_went_wrong_is_written_down_and_played_again() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let directory = lab.path("recordings");
    std::fs::create_dir(&directory).unwrap();
    let more = recorder(directory.to_str().unwrap());
    let mut router: Router = runs_with(&lab, &["r0", "r1"], &more);
    let written = || -> Option<PathBuf> {
        let mut entries = std::fs::read_dir(&directory).unwrap();
        entries.next().map(|entry| entry.unwrap().path())
    };
    let (json, page) = (lab.path("asked.json"), lab.path("asked.html"));
    // The first samples take their time.
    with_traffic(&lab, &[FORWARDED], || {
        wait_for("samples", 10, || {
            let told = done(&router.record(&["--json"]).output().unwrap());
            !told["frames"].as_array().unwrap().is_empty()
        });
    });
    with_traffic(&lab, &[FORWARDED, LOST], || {
        wait_for("a recording", 10, || written().is_some());
        std::thread::sleep(Duration::from_secs(2));
        let words = [
            "--json",
            json.to_str().unwrap(),
            "--html",
            page.to_str().unwrap(),
        ];
        let output = router.record(&words).output().unwrap();
        let printed = text(&output);
        assert!(output.status.success(), "{printed}");
        assert!(
            printed.contains("blackhole") && printed.contains("r0"),
            "{printed}"
        );
        // Of some seconds.
        let few = done(
            &router
                .record(&["--seconds", "2", "--json"])
                .output()
                .unwrap(),
        );
        assert_eq!(few["points"].as_array().unwrap().len(), 2);
    });
    let written = written().unwrap();
    let of = |file: &PathBuf| -> Value {
        let value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        assert_is("corelane-recording", &value);
        value
    };
    let (itself, asked) = (of(&written), of(&json));
    assert_eq!(itself["why"]["trigger"], "above");
    let said = itself["why"]["said"].as_str().unwrap();
    assert!(
        said.starts_with("blackhole: ") && said.ends_with("above 20"),
        "{said}"
    );
    assert_eq!(asked["why"]["trigger"], "asked");
    for recording in [&itself, &asked] {
        let frames = recording["frames"].as_array().unwrap();
        let has = |name: &str, value: &str| frames.iter().any(|frame| frame[name] == value);
        let is_forwarded = has("fate", "forwarded") && has("egress", "r1");
        assert!(
            is_forwarded && has("prefix", "203.0.113.0/24"),
            "{frames:?}"
        );
        // What the trigger is about may not have been read when the recording was made.
        let is_later = recording == &asked;
        assert!(has("reason", "blackhole") || !is_later, "{frames:?}");
        assert!(!recording["points"].as_array().unwrap().is_empty());
    }
    let log = router.log();
    assert!(log.contains("event=recording trigger=above"), "{log}");
    assert!(log.contains(written.to_str().unwrap()), "{log}");
    let again = router.record(&["report", json.to_str().unwrap(), "--json"]);
    assert!(done(&without_directory(&again)) == asked);
    let mut again = Command::new(env!("CARGO_BIN_EXE_corelane"));
    assert!(
        for_nobody(again.args(["record", "report"]).arg(&json))
            .status
            .success()
    );
    if needs::program("jq") {
        let asks = "[.points[].left[] | select(.[2] == \"blackhole\") | .[4]] | add > 0";
        let output = Command::new("jq")
            .args(["-e", asks])
            .arg(&json)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output));
    }
    plays(&page);
    is_for_everybody(&page);
}

/// `report` asks no router.
fn without_directory(command: &Command) -> Output {
    let words = command
        .get_args()
        .take_while(|word| *word != "--run-directory");
    let words: Vec<_> = words.map(std::ffi::OsStr::to_owned).collect();
    let mut command = Command::new(env!("CARGO_BIN_EXE_corelane"));
    command.args(words).output().unwrap()
}

fn plays(page: &std::path::Path) {
    let browser = match Browser::open() {
        Ok(browser) => browser,
        Err(why) => {
            needs::skipped!("needs a browser: {why}");
            return;
        }
    };
    browser.go(&format!("file://{}", page.display()));
    browser.wait("return document.getElementById('state').innerText.startsWith('a recording')");
    browser
        .wait("return document.getElementById('frames').innerText.includes('dropped: blackhole')");
    browser.script("document.querySelector('#reason-blackhole summary').click(); return true");
    browser.wait("return document.querySelectorAll('#reason-blackhole .frame').length === 3");
    let loaded = browser.script("return performance.getEntriesByType('resource').length");
    assert_eq!(loaded, 0);
}

#[test]
fn what_cannot_be_recorded_is_said() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let file = lab.path("bad.toml");
    for (keys, said) in [
        (
            "above = \"sorcery=1\"",
            "reason sorcery: known are port-disabled,",
        ),
        ("above = \"stale=many\"", "allowed is REASON=FRAMES"),
        ("directory = \"here\"", "allowed are a path from / on"),
        ("seconds = 0", "recorder.seconds = 0: allowed are 1 to 900"),
        ("keep = 0", "recorder.keep = 0: allowed are 1 to 1000"),
    ] {
        std::fs::write(&file, format!("ports = [\"r0\"]\n[recorder]\n{keys}\n")).unwrap();
        let refused = lab.refused(&[file.to_str().unwrap()]);
        assert!(
            refused.contains(said) && refused.contains("bad.toml:3"),
            "{keys}: {refused}"
        );
    }
    let fails = |mut command: Command, code: i32, said: &str| {
        let output = command.output().unwrap();
        let told = text(&output);
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert!(told.contains(said), "{told}");
    };
    let router = lab.run(&["r0", "r1"], &["--engine", "xdp"]);
    fails(
        router.record(&[]),
        1,
        "set console = true or recorder.directory",
    );
    drop(router);
    // A directory that is not there: the router goes on, and says so.
    let nowhere = lab.path("nowhere");
    let more = recorder(nowhere.to_str().unwrap());
    let mut router = runs_with(&lab, &["r0", "r1"], &more);
    with_traffic(&lab, &[FORWARDED, LOST], || {
        wait_for("the log", 10, || {
            let log = router.log();
            log.contains("event=recording trigger=above")
                && log.contains("is recorder.directory there")
        });
    });
    fails(router.record(&["--json", "/dev/full"]), 1, "/dev/full");
    fails(
        router.record(&["--html", "/dev/full"]),
        1,
        "writing /dev/full: ",
    );
    fails(
        router.record(&["--seconds", "0"]),
        2,
        "allowed are 1 to 900 seconds",
    );
    for (words, said) in [
        (["report", "/dev/null"], "/dev/null: no recording"),
        (["report", "/nowhere"], "/nowhere: "),
    ] {
        let output = without_directory(&router.record(&words));
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output).contains(said), "{}", text(&output));
    }
    // An interrupt while a router that hangs is asked.
    router.signal(libc::SIGSTOP);
    let mut command = router.record(&["--json"]);
    let asking = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let asking = asking.unwrap();
    std::thread::sleep(Duration::from_millis(700));
    kill_process(Pid::from_child(&asking), Signal::INT).unwrap();
    let output = asking.wait_with_output().unwrap();
    router.signal(libc::SIGCONT);
    assert_eq!(output.status.code(), Some(130), "{}", text(&output));
    router.verify();
}

#[test]
fn the_unit_may_write_recordings_in_its_state_directory_and_nowhere_else() {
    if !is_root() || !needs::program("systemctl") || !needs::program("nsenter") {
        return;
    }
    let lab = Lab::new();
    let Some(guest) = Guest::boot(&lab.r) else {
        return;
    };
    let socket = Socket(guest.path("run/corelane"));
    let written = || guest.run("ls /var/lib/corelane/ 2>/dev/null || true");
    let starts = |directory: &str| {
        let keys = recorder(directory).replace('"', "\\\"");
        guest.run(&format!(
            "install -m 644 dist/corelane.toml /etc/corelane.toml
             install -m 644 dist/corelane.service /etc/systemd/system/
             sed -i 's/\"eth1\", \"eth2\"/\"r0\", \"r1\"/' /etc/corelane.toml
             echo \"{keys}\" >>/etc/corelane.toml
             systemctl daemon-reload; systemctl restart corelane"
        ));
        lab.wait_for_fast_path(&socket, &["10.1.0.2"]);
    };
    lab.r.ip("route add blackhole 198.51.100.3/32").unwrap();
    // The unit keeps it from there, and it says so.
    starts("/var/log");
    with_traffic(&lab, &[LOST], || {
        wait_for("the refusal", PATIENCE, || {
            let log = guest.journal();
            log.contains("event=recording trigger=above") && log.contains("directory=/var/log")
        });
    });
    assert!(guest.journal().contains("Read-only file system"));
    assert_eq!(written(), "");
    starts("/var/lib/corelane");
    with_traffic(&lab, &[LOST], || {
        wait_for("a recording", PATIENCE, || {
            written().ends_with(".above.json")
        });
    });
    let file = format!("/var/lib/corelane/{}", written());
    wait_for("its word", PATIENCE, || {
        guest.journal().contains(&format!("file={file}"))
    });
    let recording = serde_json::from_str(&guest.run(&format!("cat {file}"))).unwrap();
    assert_is("corelane-recording", &recording);
    assert_eq!(recording["why"]["trigger"], "above");
    // For the service's own user alone.
    let facts = guest.run(&format!("stat -c '%a %u' {file}"));
    let (mode, user) = facts.split_once(' ').unwrap();
    assert_eq!(mode, "600", "{facts}");
    assert!(DYNAMIC_USERS.contains(&user.parse().unwrap()), "{facts}");
}
