//! Of `corelane/src/fleet.rs` and what is below it: nodes that answer as a router would.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use router::control_plane::digest::{RANGES, joined, of_prefix, of_text, range_of};
use router::management_plane::node::{Addresses, NotForwarded, TableDigest};
use serde_json::{Value, json};

use super::*;

/// What a node answers, by path.
type Answers = BTreeMap<String, String>;

/// A server on loopback that has these answers, for as long as the tests run.
fn serve(answers: Answers) -> Host {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string().parse().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let first = lines.next().unwrap().unwrap();
            lines.map_while(Result::ok).find(String::is_empty);
            let path = first.split(' ').nth(1).unwrap();
            let answer = match answers.get(path).or_else(|| answers.get("")) {
                Some(body) => format!("HTTP/1.1 200 OK\r\n\r\n{body}"),
                None => "HTTP/1.1 404 Not Found\r\n\r\nnothing".to_owned(),
            };
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    host
}

fn routes(count: u32) -> BTreeMap<String, String> {
    let route = |number: u32| {
        let (high, low) = (number >> 8, number & 255);
        (format!("100.{high}.{low}.0/24"), "via 192.0.2.1".to_owned())
    };
    (0..count).map(route).collect()
}

fn now() -> f64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.unwrap().as_secs_f64()
}

/// A node that is well, without tables.
fn node() -> Node {
    Node {
        schema: NODE.to_owned(),
        version: "1.2.3".to_owned(),
        instance: "default".to_owned(),
        engine: "xdp".to_owned(),
        time: now(),
        healthy: true,
        ready: true,
        draining: false,
        reasons: Vec::new(),
        received_frames: 0,
        received_bytes: 0,
        forwarded_frames: 0,
        forwarded_bytes: 0,
        not_forwarded: Vec::new(),
        tables: Vec::new(),
    }
}

/// The answers of a node with these IPv4 routes, each of which is a range of its own to it.
fn answers(mut node: Node, routes: &BTreeMap<String, String>) -> Answers {
    let (mut by_ways, mut by_prefixes) = (vec![0_u64; RANGES], vec![0_u64; RANGES]);
    for (prefix, text) in routes {
        let prefix: fib::Prefix<u32> = match prefix.parse().unwrap() {
            fib::IpPrefix::V4(prefix) => prefix,
            fib::IpPrefix::V6(_) => unreachable!(),
        };
        let hash = of_prefix(prefix);
        let at = range_of(prefix);
        by_prefixes[at] = by_prefixes[at].wrapping_add(hash as u64);
        by_ways[at] = by_ways[at].wrapping_add(joined(hash, of_text(text)) as u64);
    }
    let hex = |sums: &[u64]| {
        sums.iter()
            .map(|sum| format!("{sum:016x}"))
            .collect::<Vec<_>>()
    };
    let digest = |sums: &[u64]| format!("{:032x}", of_text(&hex(sums).concat()));
    node.tables = vec![TableDigest {
        table: 254,
        vrf: None,
        family: Addresses::Ipv4,
        routes: routes.len() as u64,
        prefixes: digest(&by_prefixes),
        ways: digest(&by_ways),
    }];
    let ranges = |sums: &[u64]| json!({"schema": "corelane-node-ranges/1", "ranges": hex(sums)});
    let listed = json!({"schema": "corelane-node-routes/1", "routes": routes});
    [
        ("/node", serde_json::to_value(&node).unwrap()),
        ("/node/254/ipv4/ways", ranges(&by_ways)),
        ("/node/254/ipv4/prefixes", ranges(&by_prefixes)),
        // Whatever ranges are asked for.
        ("", listed),
    ]
    .into_iter()
    .map(|(path, body)| (path.to_owned(), body.to_string()))
    .collect()
}

fn fleet(hosts: &[Host], by: By) -> (Fleet, Value) {
    let before = look(hosts);
    let after = look(hosts);
    let fleet = Fleet::between(&before, &after, by);
    let value = serde_json::to_value(&fleet).unwrap();
    (fleet, value)
}

fn remarks(hosts: &[Host], by: By) -> String {
    fleet(hosts, by).0.remarks.join("\n")
}

#[test]
fn nodes_that_are_alike_and_ready_are_well() {
    let hosts = [routes(900), routes(900)].map(|routes| serve(answers(node(), &routes)));
    let (fleet, value) = fleet(&hosts, By::Ways);
    assert!(fleet.well, "{:?}", fleet.remarks);
    assert_eq!(value["nodes"][0]["digest"], value["nodes"][1]["digest"]);
    assert!(fleet.to_text().contains("900"), "{}", fleet.to_text());
}

#[test]
fn a_single_route_that_differs_is_named_with_its_node() {
    let mut other = routes(900);
    other.insert("100.1.7.0/24".to_owned(), "via 192.0.2.9".to_owned());
    let hosts = [&routes(900), &other, &routes(900)].map(|routes| serve(answers(node(), routes)));
    let (found, value) = fleet(&hosts, By::Ways);
    assert!(!found.well);
    let (first, second) = (&hosts[0], &hosts[1]);
    assert_eq!(
        found.remarks,
        [format!(
            "{second}: table 254 ipv4 differs from that of {first} in 1 route, such as \
             100.1.7.0/24: via 192.0.2.9, there via 192.0.2.1"
        )]
    );
    assert_eq!(value["differences"][0]["routes"], 1);
    // Where gateways are each node's own.
    assert_eq!(remarks(&hosts, By::Prefixes), "");
}

#[test]
fn a_route_that_is_missing_differs_by_prefixes_too() {
    let mut other = routes(900);
    other.remove("100.2.9.0/24");
    let hosts = [&routes(900), &other].map(|routes| serve(answers(node(), routes)));
    for by in [By::Ways, By::Prefixes] {
        let said = remarks(&hosts, by);
        let wanted = "in 1 route, such as 100.2.9.0/24: no route, there via 192.0.2.1";
        assert!(said.ends_with(wanted), "{said}");
    }
}

#[test]
fn many_differences_are_counted_as_at_least() {
    let mut other = routes(900);
    for text in other.values_mut() {
        *text = "blackhole".to_owned();
    }
    let hosts = [&routes(900), &other].map(|routes| serve(answers(node(), routes)));
    let said = remarks(&hosts, By::Ways);
    assert!(said.contains("in at least 900 routes"), "{said}");
}

#[test]
fn a_difference_of_a_moment_is_none() {
    let mut other = routes(900);
    other.remove("100.2.9.0/24");
    let hosts = [&routes(900), &other].map(|routes| serve(answers(node(), routes)));
    let mut before = look(&hosts);
    let alike = before[0].seen.clone();
    before[1].seen = alike;
    assert!(Fleet::between(&before, &look(&hosts), By::Ways).well);
}

#[test]
fn what_is_wrong_with_a_node_is_a_line_with_its_name() {
    let well = serve(answers(node(), &routes(10)));
    let second = serve(answers(node(), &routes(10)));
    let with = |change: &dyn Fn(&mut Node)| {
        let mut node = node();
        change(&mut node);
        serve(answers(node, &routes(10)))
    };
    let text = |body: &str| serve([(String::new(), body.to_owned())].into());
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let cases = [
        (closed.to_string().parse().unwrap(), "not reached: "),
        (serve(Answers::new()), "answers \"HTTP/1.1 404 Not Found\""),
        (text("hello"), "its answer is malformed"),
        (text("{}"), "its answer is malformed: it has no schema"),
        (
            text("{\"schema\":\"corelane-node/1\"}"),
            "its answer is malformed: missing field",
        ),
        (
            text("{\"schema\":\"corelane-node/9\"}"),
            "speaks corelane-node/9, and this program",
        ),
        (
            with(&|node| node.version = "1.2.4".to_owned()),
            "version 1.2.4, the most have 1.2.3",
        ),
        (with(&|node| node.time += 60.0), "its clock is 60 s ahead"),
        (with(&|node| node.time -= 60.0), "its clock is 60 s behind"),
        (
            with(&|node| (node.ready, node.draining) = (false, true)),
            "draining",
        ),
        (
            with(&|node| (node.ready, node.reasons) = (false, vec!["r1 is down".to_owned()])),
            "not ready: r1 is down",
        ),
        (
            with(&|node| node.ready = false),
            "not ready; it was not until a moment ago",
        ),
    ];
    for (host, wanted) in cases {
        let said = remarks(&[well.clone(), second.clone(), host.clone()], By::Ways);
        let wanted = format!("{host}: {wanted}");
        assert!(said.starts_with(&wanted), "{said}\nbut not {wanted}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

/// A server that accepts connections, and then says of each answer only `words`, one at a time.
fn mute(words: &'static str) -> Host {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string().parse().unwrap();
    thread::spawn(move || {
        let mut kept = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            kept.push(stream.try_clone().unwrap());
            thread::spawn(move || {
                for word in words.split_inclusive(' ').cycle() {
                    if stream.write_all(word.as_bytes()).is_err() {
                        return;
                    }
                    thread::sleep(Duration::from_millis(100));
                }
            });
        }
    });
    host
}

#[test]
fn a_node_that_accepts_and_never_answers_is_a_line_and_holds_nobody_up() {
    let well = serve(answers(node(), &routes(3)));
    let hosts = [mute(""), mute("HTTP/1.1 200 "), well];
    let began = Instant::now();
    let (fleet, document) = fleet(&hosts, By::Ways);
    // Two looks, of 3 s each, on a machine that may be busy.
    assert!(began.elapsed() < Duration::from_secs(20));
    assert!(!fleet.well);
    for host in &hosts[..2] {
        let wanted = format!("{host}: connected, but no whole answer within 3 s");
        let mut remarks = fleet.remarks.iter();
        assert!(remarks.any(|one| one.contains(&wanted)), "{document:#}");
    }
    assert!(fleet.to_text().contains("1.2.3"), "{}", fleet.to_text());
}

#[test]
fn rates_are_what_happened_between_two_looks() {
    let host = serve(answers(node(), &routes(1)));
    let mut before = look(std::slice::from_ref(&host));
    let mut after = look(std::slice::from_ref(&host));
    after[0].at = before[0].at + Duration::from_secs(2);
    let count = |frames| NotForwarded {
        reason: "no-route".to_owned(),
        to_kernel: true,
        frames,
    };
    let then = &mut before[0].seen.as_mut().unwrap().node;
    (then.received_frames, then.not_forwarded) = (1000, vec![count(7)]);
    let now = &mut after[0].seen.as_mut().unwrap().node;
    (now.received_frames, now.forwarded_bytes) = (5000, 250);
    now.not_forwarded = vec![count(17)];
    let fleet = Fleet::between(&before, &after, By::Ways);
    let row = &serde_json::to_value(&fleet).unwrap()["nodes"][0];
    assert_eq!(row["received_frames_per_second"], 2000.0);
    assert_eq!(row["forwarded_bits_per_second"], 1000.0);
    assert_eq!(row["not_forwarded_frames_per_second"]["no-route"], 5.0);
    assert!(
        fleet.to_text().contains("no-route 5/s"),
        "{}",
        fleet.to_text()
    );
}

#[test]
fn hosts_have_names_addresses_and_ports() {
    for (text, name, port) in [
        ("node1", "node1", 9470),
        ("node1:80", "node1", 80),
        ("192.0.2.1:80", "192.0.2.1", 80),
        ("2001:db8::1", "2001:db8::1", 9470),
        ("[2001:db8::1]:80", "2001:db8::1", 80),
        ("[2001:db8::1]", "2001:db8::1", 9470),
    ] {
        let host: Host = text.parse().unwrap();
        assert_eq!(
            format!("{host:?}"),
            format!("Host {{ name: {name:?}, port: {port} }}")
        );
        assert_eq!(host.to_string().parse(), Ok(host), "{text}");
    }
    for text in [
        "",
        ":80",
        "node1:",
        "node1:x",
        "[::1",
        "[::1]80",
        "http://node1/",
    ] {
        assert!(text.parse::<Host>().is_err(), "{text}");
    }
}

#[test]
fn a_file_names_hosts_and_errors_name_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("hosts");
    std::fs::write(&file, "# all\nnode1\n\nnode2:80 # the other\n").unwrap();
    let names: Vec<String> = read(&file)
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(names, ["node1", "node2:80"]);
    std::fs::write(&file, "node1\nnode 2\n").unwrap();
    assert!(
        read(&file)
            .unwrap_err()
            .contains("hosts:2: \"node 2\": allowed are")
    );
    std::fs::write(&file, "# none\n").unwrap();
    assert!(read(&file).unwrap_err().contains("it names no host"));
}
