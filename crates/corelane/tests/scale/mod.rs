//! `corelane scale` as its users run it: options, files, and what the results say.

mod ab;
mod limits;
mod workloads;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::schemas::assert_is;

fn corelane(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_corelane"))
        .arg("scale")
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What `scale report` says of a stored result, which it can write again as it is.
fn shown_again(json: &Path) -> String {
    let file = json.to_str().unwrap();
    let output = corelane(&["report", file]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let again = corelane(&["report", file, "--json"]);
    let read = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text).unwrap();
    assert_eq!(read(&again.stdout), read(&fs::read(json).unwrap()));
    text(&output.stdout)
}

#[test]
fn a_quick_sweep_of_nothing_writes_its_files_and_is_compared() {
    let directory = tempfile::tempdir().unwrap();
    let (json, html) = (
        directory.path().join("a.json"),
        directory.path().join("a.html"),
    );
    let start = Instant::now();
    let output = corelane(&[
        "--quick",
        "--json",
        json.to_str().unwrap(),
        "--html",
        html.to_str().unwrap(),
        "--",
        "true",
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(start.elapsed() < Duration::from_mins(1), "hangs");
    assert!(text(&output.stdout).contains("What each core buys"));
    assert_eq!(shown_again(&json), text(&output.stdout));
    let result: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    assert_is("corelane-scale", &result);
    for field in [
        "cores",
        "mode",
        "seconds",
        "speedup",
        "low",
        "high",
        "efficiency",
        "karp_flatt",
    ] {
        assert!(result["points"][0].get(field).is_some(), "{field}");
    }
    for field in ["law", "cause", "sentence", "not_measured", "environment"] {
        assert!(result.get(field).is_some(), "{field}");
    }
    crate::page::is_for_everybody(&html);
    let page = fs::read_to_string(&html).unwrap();
    assert!(page.contains("</html>") && !page.contains("https://") && !page.contains(" src="));
    let both = corelane(&["compare", json.to_str().unwrap(), json.to_str().unwrap()]);
    assert!(
        both.status.success() && text(&both.stdout).contains("of A"),
        "{}",
        text(&both.stderr)
    );
    let same = corelane(&["compare", json.to_str().unwrap(), html.to_str().unwrap()]);
    assert!(!same.status.success() && text(&same.stderr).contains("corelane-scale/1"));
}

#[test]
fn results_that_do_not_fit_are_compared_with_a_warning() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| {
        let path = directory.path().join(name);
        path.to_str().unwrap().to_owned()
    };
    for (name, placement, rate) in [("a.json", "pinned", "12"), ("b.json", "free", "24")] {
        let place = file(name);
        let output = corelane(&[
            "--quick",
            "--rounds",
            "1",
            "--placement",
            placement,
            "--progress",
            "rate:",
            "--json",
            &place,
            "--",
            "echo",
            &format!("rate: {rate}"),
        ]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let output = corelane(&["compare", &file("a.json"), &file("b.json")]);
    let said = text(&output.stdout).replace('\n', " ");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(said.contains("the commands differ"), "{said}");
    assert!(
        said.contains("the placements differ: pinned and free"),
        "{said}"
    );
    // A machine swept free has figures too, and they are held against the first machine's.
    assert!(said.contains("24.0000") && said.contains("2.00"), "{said}");
}

#[test]
fn a_command_beside_another_is_measured_and_a_failing_one_is_named() {
    let beside = |other: &str| {
        corelane(&[
            "--quick", "--rounds", "1", "--cores", "1", "--beside", other, "--", "true",
        ])
    };
    let output = beside("exit 0");
    let said = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(said.contains("Beside another command"), "{said}");
    for command in ["true ", "sh -c exit 0 "] {
        let row = |line: &str| {
            let rest = line.strip_prefix("free ").map(str::trim_start);
            rest.is_some_and(|rest| rest.starts_with(command))
        };
        assert!(said.lines().any(row), "{said}");
    }
    let output = beside("exit 3");
    assert!(
        text(&output.stderr).contains("the command beside it returned 3"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_load_that_follows_a_law_is_found_and_the_rest_is_not_claimed() {
    let cores = host::cores::allowed_cores().unwrap().len();
    if !needs::two_cores() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("law.json");
    // Says of itself what Amdahl's law with a serial share of a fifth makes of N cores, whatever
    // the machine does.
    let amdahl = "n={cores}; echo rate: $((10000000 * n / (10 + 2 * (n - 1))))";
    let output = corelane(&[
        "--quick",
        "--progress",
        "rate:",
        "--placement",
        "pinned",
        "--json",
        json.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        amdahl,
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let result: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    for point in result["points"].as_array().unwrap() {
        let Some(e) = point["karp_flatt"].as_f64() else {
            continue;
        };
        assert!((e - 0.2).abs() < 1e-3, "{point}");
    }
    assert_eq!(result["control"]["ratio"], 1.0);
    let said = text(&output.stdout).replace('\n', " ");
    if cores <= 4 {
        assert!(said.contains("cannot show where it ends"), "{said}");
    }
}

#[test]
fn forecasts_are_kept_where_they_are_asked_for_and_scored_later() {
    let directory = tempfile::tempdir().unwrap();
    let record = directory.path().join("state/forecasts.json");
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_corelane"))
            .arg("scale")
            .args(arguments)
            .env("CORELANE_FORECASTS", &record)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    // Prints its own rate, so that what is measured does not depend on the machine.
    let sweep = |more: &[&str]| {
        let mut arguments = vec!["--quick", "--rounds", "3", "--placement", "pinned"];
        arguments.extend(["--progress", "rate:"]);
        arguments.extend(more);
        arguments.extend(["--", "sh", "-c", "sleep 0.01; echo rate: {cores}0"]);
        run(&arguments)
    };
    sweep(&[]);
    assert!(!record.exists(), "nothing is written unasked");
    sweep(&["--forecast", "--cores", "1"]);
    let mut kept: serde_json::Value = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    assert_is("corelane-scale-forecasts", &kept);
    let cores = host::cores::allowed_cores().unwrap().len();
    if !needs::two_cores() {
        return;
    }
    sweep(&["--forecast"]);
    kept = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    let open = |kept: &serde_json::Value| {
        let all = kept["kept"].as_array().unwrap().clone();
        all.into_iter().filter(|f| f["score"].is_null()).count()
    };
    assert!(
        open(&kept) > 0,
        "more cores than there are stay open: {kept}"
    );
    // As if this machine had had one core less: the next sweep decides.
    for forecast in kept["kept"].as_array_mut().unwrap() {
        forecast["band"]["cores"] = cores.into();
    }
    fs::write(&record, kept.to_string()).unwrap();
    assert!(sweep(&[]).contains("could be held against"));
    kept = serde_json::from_slice(&fs::read(&record).unwrap()).unwrap();
    assert_eq!(open(&kept), 0);
    assert!(run(&["forecasts"]).contains("Track record"));
    fs::write(&record, "no record").unwrap();
    let broken = sweep(&[]);
    assert!(broken.contains("was not written"), "{broken}");
}
