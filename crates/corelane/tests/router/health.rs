//! Readiness, asked by people and by HTTP.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use super::lab::{Lab, Router, is_root, wait_for};
use crate::schemas::assert_is;

/// Status and body of what the metrics' server answers.
pub(super) fn get(lab: &Lab, path: &str) -> (String, String) {
    let ask = || {
        let mut stream = TcpStream::connect("127.0.0.1:9470").unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split_whitespace().nth(1).unwrap();
        (status.to_owned(), body.to_owned())
    };
    lab.r.enter(ask).unwrap()
}

/// Exit code and answer of `corelane health`.
fn health(lab: &Lab) -> (Option<i32>, Value) {
    let directory = lab.directory.path().to_str().unwrap();
    let mut command = lab.r.command(env!("CARGO_BIN_EXE_corelane"));
    command.args(["health", "--json", "--run-directory", directory]);
    let output = command.output().unwrap();
    let value = serde_json::from_slice(&output.stdout).unwrap();
    (output.status.code(), value)
}

fn is_ready(lab: &Lab) -> bool {
    health(lab).0 == Some(0)
}

fn reasons(lab: &Lab) -> String {
    let (_, health) = health(lab);
    let conditions = health["conditions"].as_array().unwrap();
    let reasons = conditions.iter().filter_map(|one| one["reason"].as_str());
    reasons.collect::<Vec<_>>().join("; ")
}

#[test]
fn a_router_is_ready_while_it_does_what_it_was_asked_to() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let router: Router = lab.run(&["r0", "r1"], &["--metrics", "127.0.0.1:9470"]);
    wait_for("a ready router", 20, || is_ready(&lab));
    assert_eq!(get(&lab, "/readyz").0, "200");
    assert_eq!(get(&lab, "/healthz").0, "200");
    assert_eq!(reasons(&lab), "");

    lab.r.ip("link set r1 down").unwrap();
    wait_for("a port that is down", 20, || !is_ready(&lab));
    assert_eq!(health(&lab).0, Some(3));
    assert!(reasons(&lab).contains("r1 is down"), "{}", reasons(&lab));
    let (status, body) = get(&lab, "/readyz");
    assert_eq!(status, "503", "{body}");
    let value: Value = serde_json::from_str(&body).unwrap();
    assert_is("corelane-health", &value);
    // Nobody has to start it again for that.
    assert_eq!(get(&lab, "/healthz").0, "200");

    lab.r.ip("link set r1 up").unwrap();
    wait_for("the port again", 30, || is_ready(&lab));
    lab.r.ip("rule add from 192.0.2.0/24 blackhole").unwrap();
    wait_for("what is left to the kernel", 20, || !is_ready(&lab));
    assert!(reasons(&lab).contains("rule"), "{}", reasons(&lab));
    assert_eq!(get(&lab, "/elsewhere").0, "404");
    drop(router);
}

#[test]
fn a_fleet_of_one_is_well_when_it_is_ready() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let router: Router = lab.run(&["r0", "r1"], &["--metrics", "127.0.0.1:9470"]);
    wait_for("a ready router", 20, || is_ready(&lab));
    lab.r.ip("route add 198.51.100.0/24 via 10.1.0.2").unwrap();
    lab.r.ip("route add blackhole 203.0.113.0/24").unwrap();
    let mut table = Value::Null;
    wait_for("both routes", 5, || {
        let node: Value = serde_json::from_str(&get(&lab, "/node").1).unwrap();
        assert_is("corelane-node", &node);
        table = node["tables"][0].clone();
        table["routes"] == 2
    });
    let (status, ranges) = get(&lab, "/node/254/ipv4/ways");
    let ranges: Value = serde_json::from_str(&ranges).unwrap();
    assert_eq!(status, "200");
    assert_is("corelane-node-ranges", &ranges);
    let numbers = ranges["ranges"].as_array().unwrap().iter().enumerate();
    let taken = numbers.filter(|(_, sum)| sum.as_str() != Some(&"0".repeat(16)));
    let taken: Vec<String> = taken.map(|(number, _)| number.to_string()).collect();
    let listed = get(&lab, &format!("/node/254/ipv4/routes/{}", taken.join(","))).1;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_is("corelane-node-routes", &listed);
    let wanted = serde_json::json!({
        "198.51.100.0/24": "via 10.1.0.2",
        "203.0.113.0/24": "blackhole",
    });
    assert_eq!(listed["routes"], wanted);
    assert_eq!(get(&lab, "/node/254/ipv4/routes/4096").0, "404");

    let fleet = |words: &[&str]| {
        let mut command = lab.r.command(env!("CARGO_BIN_EXE_corelane"));
        let output = command
            .args(["fleet", "--json"])
            .arg("-")
            .args(words)
            .output();
        output.unwrap()
    };
    let output = fleet(&["127.0.0.1"]);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_is("corelane-fleet-nodes", &value);
    assert_eq!(output.status.code(), Some(0), "{value}");
    assert_eq!(fleet(&["127.0.0.1", "127.0.0.1:9"]).status.code(), Some(3));
    assert_eq!(fleet(&["127.0.0.1:9"]).status.code(), Some(1));
    drop(router);
}

#[test]
fn who_is_not_named_is_not_served() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let file = lab.directory.path().join("router.toml");
    let keys = "ports = [\"r0\", \"r1\"]\nmetrics = \"0.0.0.0:9470\"\nmetrics-allow = \
                [\"10.1.0.1\"]\ntable-words = 131072\nvrf-words = 8192\n";
    std::fs::write(&file, keys).unwrap();
    let router = lab.run_words(&["run".to_owned(), file.display().to_string()]);
    // A client on the machine itself has the address that it asks.
    let is_served = |address: &str| {
        let ask = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect((address, 9470))?;
            write!(stream, "GET /healthz HTTP/1.1\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).map(|_| answer)
        };
        let answer = lab.r.enter(ask).unwrap();
        answer.is_ok_and(|answer| answer.starts_with("HTTP/1.1 "))
    };
    wait_for("the metrics", 5, || is_served("127.0.0.1"));
    assert!(is_served("10.1.0.1"));
    assert!(!is_served("10.0.0.1"));
    drop(router);
}
