//! `corelane planes report` and `corelane planes advise` as programs, on a saved run.
//!
//! The run was trimmed, and completed by hand where it had nothing to show: it is what tests need,
//! not a measurement.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn saved() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/planes.json")
}

fn planes(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_corelane"))
        .arg("planes")
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Of a user-plane cell at the largest standard payload, kernel forwarding, both planes loaded:
/// throughput and jitter.
fn figure(deployment: &str, name: &str) -> f64 {
    let run: serde_json::Value = serde_json::from_slice(&fs::read(saved()).unwrap()).unwrap();
    let cells = run["cells"].as_array().unwrap().clone();
    let cell = cells.iter().find(|cell| {
        cell["deployment"] == deployment
            && cell["plane"] == "user"
            && cell["user_plane_mode"] == "kernel"
            && cell["protocol"] == "udp"
            && cell["payload_bytes"] == 1464
            && cell["other_plane_load"] == true
    });
    cell.unwrap()[name].as_f64().unwrap()
}

#[test]
fn a_saved_run_is_shown_again_in_every_form() {
    let file = saved();
    let file = file.to_str().unwrap();
    let shown = planes(&["report", file]);
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    let markdown = planes(&["report", file, "--markdown"]);
    assert!(markdown.status.success());
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("planes.html");
    let written = planes(&["report", file, "--html", page.to_str().unwrap()]);
    assert!(written.status.success());
    crate::page::is_for_everybody(&page);
    let page = fs::read_to_string(page).unwrap();
    // The run is of one search each.
    let answer = "<section class=\"verdict\">\n<p>What requests take of the user plane&#39;s throughput \
                  cannot be told in 6 of 6 cases: fewer than five pairs of searches count.</p>";
    assert!(page.contains(answer), "{page}");
    for form in [text(&shown.stdout), text(&markdown.stdout), page.clone()] {
        for wanted in [
            "User plane: throughput, delay and jitter",
            "Management plane: responses",
            "The channel between control and user plane: its speed",
            "what messages cost the user plane",
            "route changes (generated)",
            "What the cores did",
            "SMP free",
            "SMP bound",
            "AMP",
            "Guests are User Mode Linux: KVM cannot be used",
            "The slowest guest was up after 1.43 s, within the 3 s",
        ] {
            assert!(form.contains(wanted), "{wanted} is not in\n{form}");
        }
    }
    assert!(text(&markdown.stdout).contains("| deployment"));
    for figure in [
        "throughput, packets in kernel",
        "throughput, packets in user space",
        "Median response beside packets in kernel",
        "Median response beside packets in user space",
    ] {
        assert!(page.contains(figure), "{figure}");
    }
}

#[test]
fn advice_follows_the_figures_of_the_run() {
    let file = saved();
    let from = ["advise", "--from", file.to_str().unwrap()];
    let ask = |more: &[&str]| planes(&[from.as_slice(), more].concat());

    // Twice what AMP carries and half of what the bound planes do leaves one kernel.
    let (bound, amp) = (
        figure("smp-bound", "throughput_bps"),
        figure("amp", "throughput_bps"),
    );
    assert!(bound > 2.0 * amp, "{bound} {amp}");
    let rate = format!("{:.0}", bound / 2.0);
    let advice = ask(&["--user-plane-rate", &rate, "--mode", "kernel"]);
    let said = text(&advice.stdout);
    assert_eq!(advice.status.code(), Some(0), "{said}");
    assert!(said.contains("Take SMP"), "{said}");

    let advice = ask(&["--user-plane-rate", "900G"]);
    let said = text(&advice.stdout);
    assert_eq!(advice.status.code(), Some(3), "{said}");
    assert!(said.contains("None fits at 1464 bytes"), "{said}");
    assert!(said.contains("at least 900 Gbit/s"), "{said}");

    let nothing = ask(&[]);
    assert!(!nothing.status.success());
    assert!(text(&nothing.stderr).contains("--worst-jitter"));
    let elsewhere = ask(&["--worst-jitter", "1s", "--payload", "9000"]);
    assert!(!elsewhere.status.success());
    assert!(text(&elsewhere.stderr).contains("9000 bytes"));
}

#[test]
fn what_is_no_saved_run_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("other.json");
    let run = fs::read_to_string(saved()).unwrap();
    for (content, why) in [
        ("{}".to_owned(), "missing field"),
        (
            run.replacen("corelane-planes/2", "corelane-planes/9", 1),
            "corelane-planes/9",
        ),
    ] {
        fs::write(&file, content).unwrap();
        let refused = planes(&["report", file.to_str().unwrap()]);
        assert!(!refused.status.success());
        let said = text(&refused.stderr);
        assert!(said.contains("other.json") && said.contains(why), "{said}");
    }
    let missing = planes(&["report", "/nowhere/planes.json"]);
    assert!(text(&missing.stderr).contains("/nowhere/planes.json"));
}
