//! The Internet's table: every route loaded into the kernel, taken over, and compared.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::lab::{Lab, Router, is_root, wait_for};

/// The real prefixes where they are at hand, else as many generated ones of the same shape.
fn prefixes() -> fib::prefix_file::Prefixes {
    let beside =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/internet-prefixes.txt.gz");
    let file = std::env::var_os("CORELANE_PREFIXES").map_or(beside, PathBuf::from);
    let unpacked = file.exists().then(|| {
        Command::new("gzip")
            .arg("-dc")
            .arg(&file)
            .stdout(Stdio::piped())
            .spawn()
    });
    if let Some(Ok(mut gzip)) = unpacked {
        let mut text = Vec::new();
        gzip.stdout.take().unwrap().read_to_end(&mut text).unwrap();
        gzip.wait().unwrap();
        return fib::prefix_file::read(&text[..], "the prefix file").unwrap();
    }
    println!("the real prefixes are not at hand (CORELANE_PREFIXES): generated ones are used");
    fib::generated::internet(1)
}

#[test]
fn a_full_table_is_taken_over_and_equal() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let prefixes = prefixes();
    let mut lines = String::new();
    let mut seen = HashSet::new();
    for (number, prefix) in prefixes
        .v4
        .iter()
        .filter(|prefix| seen.insert(**prefix))
        .enumerate()
    {
        let last = 3 + number % 200;
        writeln!(lines, "route replace {prefix} via 10.1.0.{last}").unwrap();
    }
    for last in 3..203 {
        let mac = format!("02:00:00:00:01:{last:02x}");
        writeln!(
            lines,
            "neigh replace 10.1.0.{last} lladdr {mac} nud permanent dev r1"
        )
        .unwrap();
    }
    let routes = seen.len() as u64;
    let file = lab.path("routes");
    std::fs::write(&file, lines).unwrap();
    let loaded = lab
        .r
        .command("ip")
        .args(["-force", "-batch"])
        .arg(&file)
        .stderr(Stdio::null())
        .status()
        .unwrap();
    println!("{routes} routes, ip -batch {loaded}");
    let router = lab.run(&["r0", "r1"], &[]);
    println!("{}", router.ready);
    wait_for("the first answer", 5, || lab.ping("10.1.0.2"));
    let result = router.verify();
    println!("{result}");
    assert_eq!(result["different"], 0, "{result}");
    // A few prefixes of reserved addresses may be refused by the kernel; the connected networks
    // come on top.
    assert!(result["routes_v4"].as_u64().unwrap() > routes * 99 / 100);
    let during = changes_during_a_comparison(&lab, &router);
    println!("route changes seen during one comparison, each after: {during:?}");
    let engine = router.show("engine");
    println!(
        "load {} s, resident {} bytes",
        engine["load_seconds"], engine["resident_bytes"]
    );
}

/// Replaces a route over and over while the whole table is compared; says how long each took until
/// the router answered by it, the commands that change and ask included.
fn changes_during_a_comparison(lab: &Lab, router: &Router) -> Vec<Duration> {
    let mut comparison = Command::new(env!("CARGO_BIN_EXE_corelane"))
        .args(["verify", "--run-directory"])
        .arg(lab.directory.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut took = Vec::new();
    loop {
        let last = 3 + took.len() % 200;
        let (via, mac) = (
            format!("10.1.0.{last}"),
            format!("02:00:00:00:01:{last:02x}"),
        );
        let began = Instant::now();
        lab.r
            .ip(format!("route replace 198.51.100.0/24 via {via}"))
            .unwrap();
        wait_for("the new route", 10, || {
            let answer = router.show("routes 198.51.100.1");
            answer["answers"][0]["entries"][0]["mac"] == *mac
        });
        if let Some(ended) = comparison.try_wait().unwrap() {
            assert!(ended.success(), "the comparison found no difference");
            return took;
        }
        took.push(began.elapsed());
    }
}
