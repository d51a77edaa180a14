//! The Internet's table: every route loaded into the kernel, taken over, and compared.

use std::collections::HashSet;
use std::io::Read as _;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fib::{Address as _, Prefix};
use host::Namespace;
use host::namespace::OnFailure;
use host::netlink::routes::{self, Route};
use serde_json::Value;

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
    let mut prefixes = prefixes();
    let neighbours = (3..28).map(|last| {
        let mac = format!("02:00:00:00:01:{last:02x}");
        format!("neigh replace 10.1.0.{last} lladdr {mac} nud permanent dev r1\n")
    });
    let neighbours: String = neighbours.collect();
    lab.r.batch(&neighbours, OnFailure::Stop).unwrap();
    let mut seen = HashSet::new();
    prefixes.v4.retain(|prefix| seen.insert(*prefix));
    let routes = prefixes.v4.len() as u64;
    fill(&lab.r, prefixes.v4);
    let router = lab.run_roomy(&["r0", "r1"], &[]);
    println!("{}", router.ready);
    wait_for("the first answer", 5, || lab.ping("10.1.0.2"));
    let (result, during) = comparison_beside_changes(&lab, &router);
    println!("{result}");
    println!("route changes seen during the comparison, each after: {during:?}");
    assert_eq!(result["different"], 0, "{result}");
    // A few prefixes of reserved addresses may be refused by the kernel; the connected networks
    // come on top.
    assert!(result["routes_v4"].as_u64().unwrap() > routes * 99 / 100);
    assert!(!during.is_empty(), "it answers others while it compares");
    let engine = router.show("engine");
    println!(
        "load {} s, resident {} bytes",
        engine["load_seconds"], engine["resident_bytes"]
    );
}

/// Gives the router's kernel these routes, by 25 neighbours (the kernel compares a route with
/// all next hops of its interface).
fn fill(place: &Namespace, prefixes: impl IntoIterator<Item = Prefix<u32>>) {
    let gateways = (3..28).map(|last| [10, 1, 0, last]).cycle();
    fill_by(place, prefixes.into_iter().zip(gateways));
}

/// The same with a gateway for each.
fn fill_by(place: &Namespace, routes: impl IntoIterator<Item = (Prefix<u32>, [u8; 4])>) {
    let routes = routes.into_iter().map(|(prefix, gateway)| Route {
        prefix: (prefix.address().to_ip(), prefix.length()),
        gateway: gateway.into(),
    });
    let routes: Vec<Route> = routes.collect();
    // Reserved addresses may be refused.
    place.enter(|| routes::add(routes)).unwrap().unwrap();
}

/// So many routes, unless `CORELANE_FLEET_ROUTES` says.
const ROUTES: usize = 50_000;

/// `corelane fleet` between both routers: exit code, answer and time, without the pause between its
/// looks.
fn fleet(lab: &Lab) -> (Option<i32>, Value, Duration) {
    const PAUSE: Duration = Duration::from_millis(100);
    let mut command = lab.r.command(env!("CARGO_BIN_EXE_corelane"));
    command.args([
        "fleet",
        "127.0.0.1",
        "10.2.0.2",
        "--json",
        "--interval",
        "0.1",
    ]);
    let began = Instant::now();
    let output = command.output().unwrap();
    let took = began.elapsed().saturating_sub(PAUSE);
    let said = serde_json::from_slice(&output.stdout).unwrap();
    (output.status.code(), said, took)
}

#[test]
fn large_tables_of_two_routers_agree_and_a_single_route_is_named() {
    if !is_root() {
        return;
    }
    let count = std::env::var("CORELANE_FLEET_ROUTES").ok();
    let count = count.map_or(ROUTES, |count| count.parse().unwrap());
    let mut lab = Lab::new();
    let c = lab.link("c", 2);
    // The same gateways for both.
    for line in [
        "link add near type veth peer name far",
        "addr add 10.1.0.1/24 dev near",
        "link set near up",
        "link set far up",
    ] {
        c.ip(line).unwrap();
    }
    for (name, value) in [
        ("net.ipv4.ip_forward", "1"),
        ("net.ipv6.conf.all.forwarding", "1"),
        ("net.ipv4.conf.all.accept_redirects", "0"),
        ("net.ipv4.conf.e2.accept_redirects", "0"),
    ] {
        c.set(name, value).unwrap();
    }
    let mut seen = HashSet::new();
    let mut prefixes = prefixes().v4;
    prefixes.retain(|prefix| seen.insert(*prefix));
    prefixes.truncate(count);
    fill(&lab.r, prefixes.iter().copied());
    // In another order.
    let gateways = (3..28).map(|last| [10, 1, 0, last]).cycle();
    let mut routes: Vec<_> = prefixes.iter().copied().zip(gateways).collect();
    routes.reverse();
    fill_by(&c, routes);
    let here = ["--metrics", "127.0.0.1:9470"].map(str::to_owned);
    let words = ["run", "--port", "r0", "--port", "r1"].map(str::to_owned);
    let _here = lab.run_words(&[&words[..], &here].concat());
    let file = lab.path("there.toml");
    let keys = "ports = [\"e2\"]\nmetrics = \"10.2.0.2:9470\"\nmetrics-allow = [\"10.2.0.1\"]\n";
    std::fs::write(&file, keys).unwrap();
    let mut there = c.command(env!("CARGO_BIN_EXE_corelane"));
    there.arg("run").arg(&file).arg("--run-directory");
    there.arg(lab.path("there")).stdout(Stdio::null());
    let mut there = there.stderr(Stdio::null()).spawn().unwrap();
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let mut equal = (None, Value::Null, Duration::ZERO);
        wait_for("two routers that agree", 60, || {
            equal = fleet(&lab);
            equal.0 == Some(0)
        });
        let prefix = prefixes[prefixes.len() / 2];
        let change = format!("route replace {prefix} via 10.1.0.77 dev near");
        c.ip(change).unwrap();
        let mut one = fleet(&lab);
        wait_for("the route that differs", 10, || {
            one = fleet(&lab);
            one.0 == Some(3) && one.1.to_string().contains(&prefix.to_string())
        });
        println!(
            "fleet: {} routes, alike in {:.0?}, one that differs named in {:.0?}: {}",
            prefixes.len(),
            equal.2,
            one.2,
            one.1["remarks"]
        );
    }));
    there.kill().unwrap();
    there.wait().unwrap();
    outcome.unwrap();
}

/// What a comparison of the whole table says while a route is replaced over and over, and how long
/// each change took until the router answered by it, the commands that change and ask included.
fn comparison_beside_changes(lab: &Lab, router: &Router) -> (Value, Vec<Duration>) {
    let mut comparison = Command::new(env!("CARGO_BIN_EXE_corelane"))
        .args(["verify", "--json", "--run-directory"])
        .arg(lab.directory.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut took = Vec::new();
    loop {
        let last = 3 + took.len() % 25;
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
        if comparison.try_wait().unwrap().is_some() {
            break;
        }
        took.push(began.elapsed());
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = comparison.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    (said["verification"].clone(), took)
}
