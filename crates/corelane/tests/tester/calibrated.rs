//! The device in memory: no root, no network.

use super::support::{
    SHORT, SHORTEST, directory, path, read, received, rows, run, stored, text, trials,
};

const DEVICE: [&str; 4] = [
    "--dut",
    "calibrated",
    "--calibrated",
    "rate=20kpps,buffer=64,delay=50us",
];

/// A test of that device, with more options.
fn of_device<'a>(test: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&[test], &DEVICE[..], &SHORTEST, more].concat()
}

#[test]
fn a_stored_result_shows_the_same_again_and_meets_expectations() {
    let directory = directory();
    let (output, result) = stored(
        directory.path(),
        &of_device("throughput", &["--sizes", "64,512"]),
    );
    for size in [64, 512] {
        for test in ["selftest", "throughput"] {
            let found = rows(&result, test)
                .into_iter()
                .find(|row| row["frame_bytes"] == size);
            let row = found.unwrap();
            assert!(row["verdict"].is_string() && !trials(row).is_empty());
        }
    }
    let (file, name) = path(&directory, "result.json");
    let again = run(&["report", &name]);
    assert_eq!(text(&again.stdout), text(&output.stdout));
    let (page, page_name) = path(&directory, "page.html");
    assert!(
        run(&["report", &name, "--html", &page_name])
            .status
            .success()
    );
    crate::page::is_for_everybody(&page);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("<svg") && page.contains("</html>") && !page.contains("https://"));

    let mut fixed = read(&file);
    for row in fixed["results"].as_array_mut().unwrap() {
        row["frames_per_second"] = 1.5e6.into();
    }
    std::fs::write(&file, fixed.to_string()).unwrap();
    let code = |expectation: &str| {
        let output = run(&["report", &name, "--expect", expectation]);
        (output.status.code(), text(&output.stderr))
    };
    assert_eq!(code("throughput[64] >= 1.0Mpps").0, Some(0));
    let (status, reason) = code("throughput[64] >= 2Mpps");
    assert_eq!(status, Some(3));
    assert!(reason.contains("found 1500000 at 64"), "{reason}");
    assert_eq!(code("throughput[128] >= 1pps").0, Some(3), "not measured");
    assert!(code("speed >= 1").1.contains("no such test"));
}

#[test]
fn the_hook_at_the_overload_runs_in_every_trial() {
    let directory = directory();
    let (notes, name) = path(&directory, "notes");
    let hook = format!("echo overloaded >> {name}");
    let rate = ["--sizes", "64", "--rate", "5000", "--around", "0.1"];
    let hooks = [&rate[..], &["--overload", &hook]].concat();
    let (_, result) = stored(directory.path(), &of_device("recovery", &hooks));
    let overloads = std::fs::read_to_string(notes).unwrap().lines().count();
    let recovery = rows(&result, "recovery");
    assert_eq!(overloads, trials(recovery[0]).len());
}

#[test]
fn a_sweep_gives_throughput_delay_and_variation_by_payload() {
    let directory = directory();
    let words = of_device("sweep", &["--payloads", "64,1464"]);
    let (_, result) = stored(directory.path(), &words);
    let payloads: Vec<_> = rows(&result, "sweep")
        .into_iter()
        .map(|row| {
            // On a machine too busy for any rate there is a reason in place of the numbers.
            if row["frames_per_second"].is_null() {
                assert!(!row["because"].as_str().unwrap().is_empty());
            } else {
                let details = &row["details"];
                assert_eq!(details["kind"], "sweep");
                assert!(details["goodput"].as_f64().unwrap() > 0.0);
                if details["delay"].is_object() {
                    assert!(details["delay"]["typical_ns"].as_u64().unwrap() >= 50_000);
                    assert!(details["delay"]["variation_ns"].is_number());
                }
            }
            row["label"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(payloads, ["payload 64", "payload 1464"]);
}

#[test]
fn a_faulty_device_is_named() {
    for (setting, count, words) in [
        ("loss=100%", "lost", "forwards nothing"),
        ("delay=300s", "lost", "forwards nothing"),
        ("loss=50%", "lost", "lost"),
        ("duplicate=100%", "duplicate", "came twice"),
        ("corrupt=100%", "corrupt", "corrupted"),
        ("misdirect=100%", "misdirected", "out of the wrong port"),
    ] {
        let directory = directory();
        let (_, result) = stored(
            directory.path(),
            &[
                &["loss", "--dut", "calibrated", "--calibrated", setting],
                &SHORT[..],
                &["--sizes", "64", "--rate", "5000"],
            ]
            .concat(),
        );
        let row = rows(&result, "loss")[0];
        received(row);
        if setting == "loss=50%" {
            let half = row["details"]["points"][0]["loss_ratio"].as_f64();
            // On a machine too busy for a valid trial there is no point of the curve.
            assert!(half.is_none_or(|half| (half - 0.5).abs() < 0.05), "{row}");
        }
        assert!(
            trials(row)
                .iter()
                .all(|trial| trial["counts"][count].as_u64() > Some(0)),
            "{setting}"
        );
        // On a machine too busy for a valid trial there is no number either, for another reason.
        let because = row["because"].as_str().unwrap();
        assert!(row["frames_per_second"].is_null(), "{because}");
        assert!(
            because.contains(words) || because.contains("no trial"),
            "{setting}: {because}"
        );
    }
}

#[test]
fn what_cannot_be_done_is_refused_before_anything_is_set_up() {
    for (words, reason) in [
        (&["--port-count", "3"][..], "even number"),
        (&["--generator", "memory"], "--dut calibrated"),
        (&["--generator", "xdp", "--mesh"], "a mesh"),
        (&["--dut", "external"], "--port P0,P1"),
        (&["--port", "a,b"], "--dut external"),
        (&["--sizes", "64", "--ipv6"], "84"),
        (&["--payloads", "64"], "for a sweep"),
        (&["--calibrated", "rate=1"], "--dut calibrated"),
        (
            &["--line-rate", "1e9", "--rate", "2e6", "--sizes", "64"],
            "at most 1488095 frames/s",
        ),
        (&["--trial", "0"], "--trial 0"),
        (&["--sizes", "63"], "64"),
        (&["--sizes", "70000"], "70000"),
        (&["--dut", "calibrated", "--calibrated", "rate=x"], "rate=x"),
    ] {
        let output = run(&[&["throughput", "--quick"], words].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert!(said.contains(reason), "{words:?}: {said}");
    }
}
