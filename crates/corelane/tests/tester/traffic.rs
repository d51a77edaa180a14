//! Generators, ports and what is sent. Needs root.

use super::support::{SHORT, SHORTEST, directory, received, root, rows, stored, trials};

/// One trial at a low rate through the kernel, with more options; returns what was stored.
fn through_the_kernel(more: &[&str]) -> serde_json::Value {
    let directory = directory();
    let words = ["loss", "--dut", "kernel", "--rate", "2000"];
    let (_, result) = stored(directory.path(), &[&words[..], &SHORT, more].concat());
    for row in rows(&result, "loss") {
        assert!(received(row) > 0, "{more:?}: {row}");
        for trial in trials(row) {
            let places = trial["lost_at"].as_array().into_iter().flatten();
            let frames = places.map(|place| place["frames"].as_u64().unwrap());
            assert_eq!(trial["counts"]["lost"], frames.sum::<u64>(), "{trial}");
        }
    }
    result
}

#[test]
fn sockets_carry_what_the_kernel_forwards() {
    if !root() {
        return;
    }
    for (generator, words) in [("packet", "AF_PACKET"), ("af-xdp", "AF_XDP")] {
        let result = through_the_kernel(&["--generator", generator, "--sizes", "64,imix"]);
        let setup = result["setup"].to_string();
        assert!(setup.contains(words), "{setup}");
        assert_eq!(rows(&result, "loss").len(), 2);
        for row in rows(&result, "loss") {
            for trial in trials(row) {
                // What the engine cannot hold is invalid; what counts missed its rate by a
                // thousandth at most.
                let error = trial["offered_rate"].as_f64().unwrap()
                    / trial["intended_rate"].as_f64().unwrap()
                    - 1.0;
                let counts = trial["validity"]["is"] != "invalid";
                assert!(!counts || error.abs() <= 0.001, "{error}");
            }
        }
    }
}

#[test]
fn jumbo_frames_and_ipv6() {
    if !root() {
        return;
    }
    through_the_kernel(&["--generator", "packet", "--sizes", "84,9216", "--ipv6"]);
    through_the_kernel(&["--sizes", "3404"]);
}

#[test]
fn random_ports_reach_the_other_side_and_are_declared() {
    if !root() {
        return;
    }
    for more in [&[][..], &["--ipv6"]] {
        let words = [&["--random-ports", "--sizes", "84"], more].concat();
        let result = through_the_kernel(&words);
        assert_eq!(count(&result, "corrupt"), 0);
        let declared = result["deviations"].to_string();
        assert!(
            declared.contains("UDP ports are pseudorandom"),
            "{declared}"
        );
    }
}

#[test]
fn four_ports_one_way_both_ways_and_meshed() {
    if !root() {
        return;
    }
    for (option, direction, senders) in [
        (&[][..], "one-way", 2),
        (&["--both-ways"], "both-ways", 4),
        (&["--mesh"], "mesh", 4),
    ] {
        let words = [&["--port-count", "4", "--sizes", "64"], option].concat();
        let result = through_the_kernel(&words);
        assert_eq!(result["direction"], direction);
        for trial in trials(rows(&result, "loss")[0]) {
            assert_eq!(trial["senders"], senders);
        }
    }
}

/// Sums of a count over the trials of the only row.
fn count(result: &serde_json::Value, name: &str) -> u64 {
    let row = rows(result, "loss")[0];
    let counts = trials(row)
        .iter()
        .map(|trial| trial["counts"][name].as_u64().unwrap());
    counts.sum()
}

#[test]
fn both_protocols_modifiers_and_filters() {
    if !root() {
        return;
    }
    let mixed = through_the_kernel(&["--mix", "50:50", "--sizes", "84"]);
    assert!(mixed["setup"].to_string().contains("50:50"));
    for modifier in ["broadcast", "management", "routing"] {
        let result = through_the_kernel(&["--modifier", modifier, "--sizes", "64"]);
        assert!(count(&result, "modifiers") > 0, "{modifier}");
    }
    if std::process::Command::new("nft")
        .arg("-v")
        .output()
        .is_err()
    {
        needs::skipped!("the filters need nft of the package nftables");
        return;
    }
    let result = through_the_kernel(&["--filters", "25", "--sizes", "64"]);
    let setup = result["setup"].to_string();
    assert_eq!(
        setup.matches(" drop;").count(),
        25,
        "24 rules and the policy: {setup}"
    );
}

#[test]
fn one_destination_to_a_million_in_256_networks() {
    if !root() {
        return;
    }
    for destinations in ["256", "1048576"] {
        let result = through_the_kernel(&["--destinations", destinations, "--sizes", "64"]);
        assert_eq!(result["destinations"].to_string(), destinations);
    }
}

/// A capture of datagrams to anywhere, and two frames that cannot be replayed.
fn capture(file: &std::path::Path) {
    let mut writer =
        port::pcap::Writer::new(std::fs::File::create(file).unwrap(), "capture").unwrap();
    for number in 0..20_u8 {
        let mut frame = vec![0; 60 + usize::from(number) * 10];
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[14] = 0x45;
        let length = (frame.len() - 14) as u16;
        frame[16..18].copy_from_slice(&length.to_be_bytes());
        // The last two would die at the first router.
        frame[22] = if number < 18 { 64 } else { 1 };
        frame[23] = 17;
        frame[26..30].copy_from_slice(&[192, 0, 2, 1]);
        frame[30..34].copy_from_slice(&[203, 0, 113, number]);
        writer.write(std::time::Duration::ZERO, &frame).unwrap();
    }
    writer.flush().unwrap();
}

#[test]
fn a_capture_replayed_at_a_rate() {
    if !root() {
        return;
    }
    let directory = directory();
    let (file, name) = super::support::path(&directory, "some.pcap");
    capture(&file);
    for generator in ["packet", "af-xdp"] {
        let result = through_the_kernel(&["--replay", &name, "--generator", generator]);
        assert_eq!(rows(&result, "loss")[0]["label"], "some.pcap");
        let setup = result["setup"].to_string();
        assert!(
            setup.contains("18 frames of") && setup.contains("2 left out"),
            "{setup}"
        );
        assert_eq!(count(&result, "corrupt"), 0);
    }
}

#[test]
fn bursts_have_a_row_for_each_length() {
    let directory = directory();
    let words = ["bursts", "--dut", "calibrated", "--sizes", "64"];
    let device = ["--calibrated", "rate=200kpps,buffer=2000"];
    let (output, result) = stored(directory.path(), &[&words[..], &SHORTEST, &device].concat());
    let points = result["results"][1]["details"]["points"]
        .as_array()
        .unwrap();
    let lengths: Vec<u64> = points
        .iter()
        .map(|point| point["frames"].as_u64().unwrap())
        .collect();
    assert_eq!(lengths, [16, 64, 256, 1024]);
    assert!(super::support::text(&output.stdout).contains("Bursty traffic"));
}
