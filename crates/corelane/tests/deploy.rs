//! `deploy/`: the programs that read it accept it, it names only what there is, and its scripts do
//! what they say.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::pages::{page, repository};

fn file(name: &str) -> PathBuf {
    repository().join("deploy").join(name)
}

fn read(name: &str) -> String {
    fs::read_to_string(file(name)).unwrap()
}

/// What a command that succeeds says.
fn done(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap());
    assert!(output.status.success(), "{command:?}: {}", said.concat());
    said.concat()
}

/// The documents of a YAML file.
fn documents(name: &str) -> Option<Vec<Value>> {
    let module = Path::new("/usr/lib/python3/dist-packages/yaml");
    if !needs::that(module.exists(), "python3-yaml") {
        return None;
    }
    let program = "import json, sys, yaml\n\
                   print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))";
    let mut command = Command::new("/usr/bin/python3");
    let text = done(command.args(["-c", program]).arg(file(name)));
    Some(serde_json::from_str(&text).unwrap())
}

/// All texts of a document below keys of this name.
fn texts<'a>(value: &'a Value, key: &str) -> Vec<&'a str> {
    let below = |value: &'a Value| texts(value, key);
    match value {
        Value::Array(values) => values.iter().flat_map(below).collect(),
        Value::Object(map) => {
            let own = map.get(key).and_then(Value::as_str);
            own.into_iter()
                .chain(map.values().flat_map(below))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The text without its head comment.
fn body(text: &str, mark: char) -> &str {
    let head = text.lines().take_while(|line| line.starts_with(mark));
    let length = head.map(|line| line.len() + 1).sum();
    assert!(length > 200, "a head comment");
    &text[length..]
}

#[test]
fn daemons_get_what_the_page_says() {
    let page = page("fleet.md");
    for name in ["node.conf", "spreader.conf"] {
        let (frr, bird) = (read(&format!("frr/{name}")), read(&format!("bird/{name}")));
        assert!(page.contains(&format!("```frr\n{}```", body(&frr, '!'))));
        assert!(page.contains(&format!("```bird\n{}```", body(&bird, '#'))));
    }
}

#[test]
fn frr_accepts_its_files() {
    for name in ["frr/node.conf", "frr/spreader.conf"] {
        let Some(mut vtysh) = needs::command("vtysh") else {
            return;
        };
        done(vtysh.args(["-C", "-f"]).arg(file(name)));
    }
}

#[test]
fn bird_accepts_its_files() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("drain.conf"), "define corelane_draining = false;\n").unwrap();
    for name in ["bird/node.conf", "bird/spreader.conf"] {
        let Some(mut bird) = needs::command("bird") else {
            return;
        };
        let drain = at("drain.conf").display().to_string();
        let text = read(name).replace("/etc/bird/corelane-drain.conf", &drain);
        fs::write(at("bird.conf"), text).unwrap();
        done(bird.args(["-p", "-c"]).arg(at("bird.conf")));
    }
}

#[test]
fn keepalived_accepts_its_file() {
    if !needs::program("keepalived") || !needs::root("to make network namespaces") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keepalived.conf");
    let text = read("keepalived/keepalived.conf");
    assert!(text.contains("\"/usr/bin/corelane health\""));
    // It looks for the program, and for whoever else might write it.
    let text = text.replace("/usr/bin/corelane health", "/bin/true");
    fs::write(&path, text).unwrap();
    let script = "ip link add eth2 type veth peer name other && keepalived -t -f \"$0\"";
    let words = ["--net", "sh", "-c", script];
    done(Command::new("unshare").args(words).arg(&path));
}

#[test]
fn prometheus_accepts_its_files_and_each_alert_is_raised() {
    if !needs::program("promtool") {
        return;
    }
    let here = file("prometheus");
    let promtool = |words: &[&str]| done(Command::new("promtool").args(words).current_dir(&here));
    promtool(&["check", "config", "prometheus.yml"]);
    promtool(&["check", "rules", "corelane.rules.yml"]);
    promtool(&["test", "rules", "corelane.test.yml"]);
    let (Some(rules), Some(tests)) = (
        documents("prometheus/corelane.rules.yml"),
        documents("prometheus/corelane.test.yml"),
    ) else {
        return;
    };
    let alerts: BTreeSet<_> = texts(&rules[0], "alert").into_iter().collect();
    let raised = tests[0]["tests"].as_array().unwrap().iter();
    let raised = raised.flat_map(|test| test["alert_rule_test"].as_array().unwrap());
    let raised = raised.filter(|test| test["exp_alerts"].is_array());
    let raised: BTreeSet<_> = raised.flat_map(|test| texts(test, "alertname")).collect();
    assert!(!alerts.is_empty());
    assert_eq!(alerts, raised);
}

#[test]
fn what_is_watched_is_what_is_served() {
    let reference = page("reference.md");
    let metrics = reference.split("## Metrics").nth(1).unwrap();
    let metrics = metrics.split("\n## ").next().unwrap();
    let served: BTreeSet<_> = metrics.split('`').skip(1).step_by(2).collect();
    for name in [
        "grafana/corelane.json",
        "prometheus/corelane.rules.yml",
        "prometheus/corelane.test.yml",
    ] {
        let text = read(name);
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let is_metric = |word: &&str| word.starts_with("corelane_") || word.starts_with("process_");
        let named: BTreeSet<_> = words.filter(is_metric).collect();
        assert!(!named.is_empty(), "{name}");
        let unknown: Vec<_> = named.difference(&served).collect();
        assert!(unknown.is_empty(), "{name}: {unknown:?}");
    }
}

#[test]
fn the_dashboard_is_one_and_its_questions_are_understood() {
    let dashboard: Value = serde_json::from_str(&read("grafana/corelane.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64()).collect();
    assert_eq!(ids.len(), panels.len(), "each has a number of its own");
    let mut places = BTreeSet::new();
    for panel in panels {
        let of = |key: &str| panel["gridPos"][key].as_u64().unwrap();
        assert!(of("x") + of("w") <= 24, "{panel}");
        for x in of("x")..of("x") + of("w") {
            for y in of("y")..of("y") + of("h") {
                assert!(places.insert((x, y)), "two in one place: {panel}");
            }
        }
        assert!(panel["title"].is_string() && panel["description"].is_string());
    }
    if !needs::program("promtool") {
        return;
    }
    let questions = texts(&dashboard["panels"], "expr");
    assert!(questions.len() >= panels.len());
    let rule = |expr: &&str| {
        let expr = expr.replace("$__rate_interval", "1m");
        serde_json::json!({"record": "asked", "expr": expr})
    };
    let rules: Vec<_> = questions.iter().map(rule).collect();
    let rules = serde_json::json!({"groups": [{"name": "asked", "rules": rules}]});
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rules.yml");
    fs::write(&path, rules.to_string()).unwrap();
    let words = ["check", "rules", "--lint=none"];
    done(Command::new("promtool").args(words).arg(&path));
}

#[test]
fn the_pod_has_the_rights_of_the_unit() {
    let Some(documents) = documents("kubernetes/daemonset.yaml") else {
        return;
    };
    let is = |kind: &str| documents.iter().find(|document| document["kind"] == kind);
    let pod = &is("DaemonSet").unwrap()["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let rights = &container["securityContext"]["capabilities"];
    assert_eq!(rights["drop"][0], "ALL");
    let given = rights["add"].as_array().unwrap().iter();
    let given = given.map(|name| format!("CAP_{}", name.as_str().unwrap()));
    let line = format!(
        "AmbientCapabilities={}",
        given.collect::<Vec<_>>().join(" ")
    );
    let unit = fs::read_to_string(repository().join("dist/corelane.service")).unwrap();
    assert!(unit.lines().any(|of_unit| of_unit == line), "{line}");
    let map = &is("ConfigMap").unwrap()["data"];
    let name = container["args"][1].as_str().unwrap();
    let name = name.strip_prefix("/etc/corelane/").unwrap();
    assert!(
        map[name]
            .as_str()
            .unwrap()
            .contains("metrics = \"127.0.0.1:9470\"")
    );
    let grace = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
    assert!(grace > 60, "a drain ends before");
}

/// A program in `directory` that is these lines of shell.
fn stand_in(directory: &Path, name: &str, lines: &str) {
    let path = directory.join(name);
    fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// `install`, with programs that only note what they are asked; `drain` is how a drain ends.
fn install(words: &[&str], drain: &str) -> (bool, String) {
    let directory = tempfile::tempdir().unwrap();
    let (here, noted) = (directory.path(), directory.path().join("noted"));
    let note = format!("echo \"${{0##*/}} $1\" >>{}", noted.display());
    for name in ["systemctl", "dpkg"] {
        stand_in(here, name, &note);
    }
    let ends = format!("{note}\n[ $1 != drain ] || exit {drain}");
    stand_in(here, "corelane", &ends);
    let host = format!("echo \"host $4\" >>{}\nexec sh -c \"$5\"", noted.display());
    stand_in(here, "ssh", &host);
    fs::write(here.join("corelane.deb"), "a package").unwrap();
    let path = format!("{}:{}", here.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(file("install"));
    command.args(words).env("PATH", path).current_dir(here);
    let is_well = command.output().unwrap().status.success();
    (is_well, fs::read_to_string(noted).unwrap_or_default())
}

#[test]
fn an_installation_is_one_host_after_another_and_ends_at_the_first_that_fails() {
    let hosts = ["corelane.deb", "node1", "node2"];
    assert_eq!(install(&hosts, "0"), (true, String::new()), "a dry run");
    let hosts = ["--apply", "corelane.deb", "node1", "node2"];
    let each = "systemctl is-active\ncorelane drain\ndpkg --force-confold\nsystemctl restart\n\
                corelane health\ncorelane undrain\n";
    let all = format!("host node1\n{each}host node2\n{each}");
    assert_eq!(install(&hosts, "0"), (true, all));
    let first = "host node1\nsystemctl is-active\ncorelane drain\ncorelane undrain\n";
    assert_eq!(install(&hosts, "3"), (false, first.to_owned()));
}

#[test]
fn scripts_are_whole() {
    for name in ["install", "resilient-group"] {
        done(Command::new("bash").arg("-n").arg(file(name)));
        let mode = fs::metadata(file(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{name}");
    }
}

#[test]
fn members_that_would_share_a_number_are_refused_before_anything_is_done() {
    let nodes = ["203.0.113.0/24", "eth1", "192.0.2.11", "192.0.3.11"];
    let output = Command::new(file("resilient-group")).args(nodes).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("192.0.3.11 ends like another node"), "{said}");
}

/// Which member each bucket of the group has.
fn members(buckets: &str) -> Vec<u64> {
    let buckets: Vec<Value> = serde_json::from_str(buckets).unwrap();
    let member = |bucket: &Value| bucket["bucket"]["nhid"].as_u64().unwrap();
    buckets.iter().map(member).collect()
}

#[test]
fn a_member_that_leaves_moves_only_its_own_flows() {
    if !needs::root("to make network namespaces") {
        return;
    }
    let script = "set -e
        ip link add eth1 type veth peer name other
        ip addr add 192.0.2.1/24 dev eth1
        ip link set eth1 up; ip link set other up
        \"$0\" --apply 203.0.113.0/24 eth1 192.0.2.11 192.0.2.12 192.0.2.13
        ip -json nexthop bucket show id 1000
        \"$0\" --apply 203.0.113.0/24 eth1 192.0.2.11 192.0.2.12
        ip -json nexthop bucket show id 1000
        ip route show 203.0.113.0/24";
    let mut command = Command::new("unshare");
    command.args(["--net", "bash", "-c", script]);
    let said = done(command.arg(file("resilient-group")));
    let lines: Vec<_> = said.lines().collect();
    let [before, after, route, ..] = lines[..] else {
        panic!("{said}");
    };
    assert!(route.contains("nhid 1000"), "{route}");
    let (before, after) = (members(before), members(after));
    assert_eq!((before.len(), after.len()), (1024, 1024));
    assert!(!after.contains(&1013));
    for (before, after) in before.into_iter().zip(after) {
        assert!(before == after || before == 1013, "{before} to {after}");
    }
}
