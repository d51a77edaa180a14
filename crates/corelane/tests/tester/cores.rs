//! The device on one core and on several (`--cores`). Needs root and two cores.

use std::collections::BTreeMap;

use serde_json::Value;

use super::support::{SHORT, directory, received, root, rows, run, stored, text, trials};

/// Frames of a row's trials by the core where they came in.
fn by_core(row: &Value) -> BTreeMap<u64, u64> {
    let mut sums = BTreeMap::new();
    let cores = trials(row).iter().flat_map(|trial| {
        let cores = trial["arrivals_by_core"].as_array();
        cores.into_iter().flatten()
    });
    for one in cores {
        *sums.entry(one["core"].as_u64().unwrap()).or_default() += one["frames"].as_u64().unwrap();
    }
    sums
}

fn numbers(value: &Value) -> Vec<u64> {
    let numbers = value.as_array().unwrap().iter();
    numbers.map(|number| number.as_u64().unwrap()).collect()
}

/// What came in by the cores of a row is all that came, each core its share.
#[test]
fn frames_go_through_the_cores_that_were_asked_for() {
    if !root() || !needs::two_cores() {
        return;
    }
    let _cores = needs::cores();
    let directory = directory();
    for device in [
        &["--dut", "kernel"][..],
        &["--dut", "corelane", "--engine", "xdp"],
    ] {
        let words = ["throughput", "--cores", "1,2", "--sizes", "64"];
        let words = [&words[..], device, &SHORT].concat();
        let (output, result) = stored(directory.path(), &words);
        let found = rows(&result, "throughput");
        let asked: Vec<usize> = found
            .iter()
            .map(|row| numbers(&row["details"]["cores"]).len())
            .collect();
        assert_eq!(asked, [1, 1, 2], "each core alone, and both");
        for row in found {
            let (cores, came) = (numbers(&row["details"]["cores"]), by_core(row));
            let all: u64 = came.values().sum();
            assert!(received(row) > 0 && all >= received(row), "{came:?}");
            for core in &cores {
                // Each sends half; some of it may come late on a busy machine.
                let share = 3 * came.get(core).copied().unwrap_or(0) * cores.len() as u64;
                assert!(share >= all, "core {core} of {cores:?}: {came:?}");
            }
            let own: u64 = cores.iter().filter_map(|core| came.get(core)).sum();
            // A frame or two are the kernel's own, of neighbours and groups.
            assert!(
                all - own <= 16 * trials(row).len() as u64,
                "{cores:?}: {came:?}"
            );
            assert_eq!(row["details"]["rounds"].as_array().unwrap().len(), 1);
        }
        let shown = text(&output.stdout);
        assert!(shown.contains("share every core"), "{shown}");
        assert!(shown.contains("Throughput by cores"), "{shown}");
        // The generators and the sink alone, on the same cores.
        assert_eq!(rows(&result, "selftest").len(), 3);
    }
}

/// With either protocol, each way takes as many frames as the other: half of what came in on each
/// core, whose cables count it.
#[test]
fn both_ways_and_both_protocols_go_through_the_cores() {
    if !root() || !needs::two_cores() {
        return;
    }
    let _cores = needs::cores();
    let directory = directory();
    for device in [
        &["--dut", "kernel"][..],
        &["--dut", "corelane", "--engine", "xdp"],
        &["--dut", "corelane", "--engine", "tc"],
        &["--dut", "corelane", "--engine", "xdp-kernel-fib"],
        &["--dut", "corelane", "--engine", "af-xdp"],
        &["--dut", "corelane", "--engine", "af-packet"],
    ] {
        for protocol in [&["--sizes", "64"][..], &["--sizes", "84", "--ipv6"]] {
            let words = ["throughput", "--cores", "2", "--both-ways"];
            let words = [&words[..], protocol, device, &SHORT].concat();
            let (output, result) = stored(directory.path(), &words);
            assert_eq!(result["direction"], "both-ways", "{words:?}");
            for row in rows(&result, "throughput") {
                let (cores, came) = (numbers(&row["details"]["cores"]), by_core(row));
                let all: u64 = came.values().sum();
                assert!(received(row) > 0 && all >= received(row), "{came:?}");
                for core in &cores {
                    let share = 3 * came.get(core).copied().unwrap_or(0) * cores.len() as u64;
                    assert!(share >= all, "{words:?}, core {core}: {came:?}");
                }
                for trial in trials(row) {
                    assert_eq!(trial["senders"], 2);
                    let intended = trial["counts"]["intended"].as_u64().unwrap();
                    assert_eq!(intended % 2, 0, "as many each way");
                    let each = trial["intended_rate"].as_f64().unwrap();
                    let seconds = trial["intended_seconds"].as_f64().unwrap();
                    let both = 2.0 * each * seconds;
                    // Each core sends whole frames, each way.
                    let whole = 2.0 * cores.len() as f64;
                    let off = (intended as f64 - both).abs();
                    assert!(off < whole.max(0.01 * both), "{trial}");
                }
            }
            let shown = text(&output.stdout);
            assert!(shown.contains("in each direction"), "{shown}");
        }
    }
}

#[test]
fn what_cannot_be_spread_is_refused_by_name() {
    for (words, reason) in [
        (&["latency", "--cores", "1"][..], "for the throughput"),
        (&["throughput", "--cores", "0"], "--cores 0"),
        (&["throughput", "--cores", "1..9999"], "--cores 1..9999"),
        (&["throughput", "--cores", "1", "--sizes", "imix"], "imix"),
        (&["throughput", "--cores", "1", "--mesh"], "--mesh"),
        (
            &["throughput", "--cores", "1", "--dut", "calibrated"],
            "--dut kernel",
        ),
    ] {
        let output = run(words);
        assert!(!output.status.success(), "{words:?}");
        let said = text(&output.stderr);
        assert!(said.contains(reason), "{words:?}: {said}");
    }
}
