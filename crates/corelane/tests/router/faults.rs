//! What goes wrong: stops, crashes, rules of the kernel's, interfaces that vanish, bad input.

use std::fmt::Write as _;
use std::process::Stdio;

use super::lab::{Lab, has, is_root, ping, text, wait_for};

#[test]
fn the_kernel_forwards_again_after_a_stop_and_after_a_crash() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("stop");
    assert!(lab.ping("10.1.0.2"), "the kernel forwards before");
    for signal in [libc::SIGTERM, libc::SIGKILL] {
        let mut router = lab.run(&["r0", "r1"], &[]);
        assert!(lab.ping("10.1.0.2"));
        let code = router.end(signal);
        assert_eq!(code, (signal == libc::SIGTERM).then_some(0));
        assert!(ping(&lab.a, "10.1.0.2", 5), "after signal {signal}");
        let links = lab.r.ip(["-d", "link", "show", "r0"]).unwrap();
        assert!(!links.contains("xdp"), "{links}");
    }
}

#[test]
fn rules_of_the_kernel_are_not_gone_past() {
    if !is_root() || !has("nft") {
        return;
    }
    let lab = Lab::new("rules");
    let nft = |words: &[&str]| {
        let output = lab.r.command("nft").args(words).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
    };
    let mut router = lab.run(&["r0", "r1"], &[]);
    wait_for("the first answer", 5, || lab.ping("10.1.0.2"));
    assert_eq!(router.state("r0"), "forwarding");
    nft(&["add", "table", "inet", "t"]);
    nft(&[
        "add",
        "chain",
        "inet",
        "t",
        "f",
        "{ type filter hook forward priority 0; }",
    ]);
    nft(&[
        "add",
        "rule",
        "inet",
        "t",
        "f",
        "icmp",
        "type",
        "echo-request",
        "drop",
    ]);
    wait_for("the rule to hold", 5, || !lab.ping("10.1.0.2"));
    assert_eq!(router.state("r0"), "kept by the kernel");
    assert!(router.log().contains("nftables chain t f has 1 rules"));
    nft(&["delete", "table", "inet", "t"]);
    wait_for("the ports to be taken over again", 5, || {
        router.state("r0") == "forwarding"
    });
    assert!(lab.ping("10.1.0.2"));
    nft(&["add", "table", "ip6", "t"]);
    nft(&[
        "add",
        "chain",
        "ip6",
        "t",
        "f",
        "{ type filter hook forward priority 0; policy drop; }",
    ]);
    wait_for("IPv6 to stop", 5, || !lab.ping("2001:db8:1::2"));
    assert!(
        lab.ping("10.1.0.2") && router.state("r0") == "forwarding",
        "IPv4 is not concerned"
    );
    drop(router);
    let bypassing = lab.run(&["r0", "r1"], &["--bypass-netfilter"]);
    lab.a
        .ip([
            "-6",
            "neigh",
            "replace",
            "2001:db8:0::1",
            "lladdr",
            &mac(&lab, "r0"),
            "dev",
            "e0",
        ])
        .unwrap();
    wait_for("IPv6 past the rule", 10, || {
        ping(&lab.r, "2001:db8:1::2", 1) && lab.ping("2001:db8:1::2")
    });
    drop(bypassing);
}

fn mac(lab: &Lab, interface: &str) -> String {
    let path = format!("/sys/class/net/{interface}/address");
    text(&lab.r.command("cat").arg(path).output().unwrap())
        .trim()
        .to_owned()
}

#[test]
fn an_interface_may_be_deleted_under_load_and_return() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("gone");
    let mut router = lab.run(&["r0", "r1"], &[]);
    wait_for("the first answer", 5, || lab.ping("10.1.0.2"));
    let mut load = lab
        .a
        .command("ping")
        .args(["-q", "-i", "0.002", "-c", "3000", "10.1.0.2"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    lab.r.ip(["link", "del", "r1"]).unwrap();
    wait_for("the port to be known as absent", 5, || {
        router.state("r1") == "absent"
    });
    assert_eq!(router.verify()["different"], 0);
    let pair = host::namespace::Veth::new((&lab.r, "r1"), (&lab.b, "e1"), 1).unwrap();
    lab.r
        .ip(["addr", "add", "10.1.0.1/24", "dev", "r1"])
        .unwrap();
    lab.b
        .ip(["addr", "add", "10.1.0.2/24", "dev", "e1"])
        .unwrap();
    lab.b
        .ip(["route", "replace", "default", "via", "10.1.0.1"])
        .unwrap();
    lab.b
        .command("ethtool")
        .args(["-K", "e1", "gro", "on"])
        .output()
        .unwrap();
    wait_for("the port to forward again", 10, || {
        router.state("r1") == "forwarding" && lab.ping("10.1.0.2")
    });
    let before = router.forwarded();
    wait_for("the fast path", 10, || {
        lab.ping("10.1.0.2") && router.forwarded() > before + 10
    });
    assert_eq!(router.verify()["different"], 0);
    assert!(!router.ended());
    load.kill().unwrap();
    load.wait().unwrap();
    drop(pair);
}

#[test]
fn bad_input_starts_nothing_and_says_what_to_do() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("bad");
    let file = lab.path("bad.toml");
    std::fs::write(&file, "ports = [\"r0\", \"r1\"]\nengine = \"dpdk\"\n").unwrap();
    let said = lab.refused(&[file.to_str().unwrap()]);
    assert!(
        said.contains("bad.toml:2: engine = \"dpdk\": allowed are xdp, xdp-kernel-fib"),
        "{said}"
    );
    let said = lab.refused(&["--port", "r0", "--port", "nosuch"]);
    assert!(said.contains("nosuch"), "{said}");
    let said = lab.refused(&[]);
    assert!(said.contains("ports"), "{said}");
    let first = lab.run(&["r0", "r1"], &["--instance", "first"]);
    let said = lab.refused(&["--port", "r0", "--instance", "second", "--metrics", ""]);
    assert!(said.contains("r0"), "another program is attached: {said}");
    assert!(lab.ping("10.1.0.2"), "the first is not disturbed");
    drop(first);
}

#[test]
fn a_reload_changes_what_changed_and_drops_nothing() {
    if !is_root() {
        return;
    }
    let mut lab = Lab::new("reload");
    let b = lab.b.clone();
    lab.link(&b, 2);
    let file = lab.path("router.toml");
    std::fs::write(&file, "ports = [\"r0\", \"r1\"]\nmetrics = \"\"\n").unwrap();
    let mut router = lab.run_words(&["run".to_owned(), file.to_str().unwrap().to_owned()]);
    wait_for("the first answer", 5, || lab.ping("10.1.0.2"));
    let traffic = lab
        .a
        .command("ping")
        .args(["-q", "-i", "0.005", "-c", "400", "10.1.0.2"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::fs::write(&file, "ports = [\"r0\", \"r1\", \"r2\"]\nmetrics = \"\"\n").unwrap();
    router.signal(libc::SIGHUP);
    wait_for("the new port", 5, || {
        router.show("ports").as_array().unwrap().len() == 3
    });
    assert_eq!(router.state("r2"), "forwarding");
    std::fs::write(&file, "ports = [\"r0\", \"r1\"]\nport = 3\n").unwrap();
    router.signal(libc::SIGHUP);
    wait_for("the refusal", 5, || router.log().contains("router.toml:2"));
    let printed = text(&traffic.wait_with_output().unwrap());
    assert!(printed.contains(" 0% packet loss"), "{printed}");
    assert_eq!(
        router.show("ports").as_array().unwrap().len(),
        3,
        "the refused file changes nothing"
    );
}

#[test]
fn a_flapping_table_ends_equal_to_the_kernels() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("flap");
    let router = lab.run(&["r0", "r1"], &[]);
    wait_for("the first answer", 5, || lab.ping("10.1.0.2"));
    let mut lines = String::new();
    for round in 0..3u32 {
        for number in 0..33_000u32 {
            let verb = if round == 1 { "del" } else { "replace" };
            let via = if (number + round) % 2 == 0 {
                "10.0.0.2"
            } else {
                "10.1.0.2"
            };
            let via = if round == 1 {
                String::new()
            } else {
                format!(" via {via}")
            };
            writeln!(
                lines,
                "route {verb} 100.{}.{}.0/25{via}",
                number >> 8,
                number & 255
            )
            .unwrap();
        }
    }
    let file = lab.path("flap");
    std::fs::write(&file, lines).unwrap();
    let mut batch = lab
        .r
        .command("ip")
        .args(["-batch"])
        .arg(&file)
        .spawn()
        .unwrap();
    let mut answered = 0;
    while batch.try_wait().unwrap().is_none() {
        assert!(ping(&lab.a, "10.1.0.2", 10), "forwarding goes on");
        answered += 1;
    }
    assert!(answered > 0);
    wait_for("the mirror", 10, || {
        router.show("routes 1")["v4"].as_u64().unwrap() > 33_000
    });
    assert_eq!(router.verify()["different"], 0);
}
