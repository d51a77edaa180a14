//! The engines in user space, `af-xdp`: what they forward, what stays the kernel's, and what is left when they end.

use std::process::Stdio;

use serde_json::Value;

use super::lab::{Lab, Router, has, is_root, ping, text, wait_for};

fn sum(row: &Value, key: &str) -> u64 {
    row[key].as_u64().unwrap()
}

/// Starts the engine between r0 and r1 and waits until both families go through.
fn start(lab: &Lab, engine: &str) -> Router {
    let router = lab.run(&["r0", "r1"], &["--engine", engine]);
    lab.wait_for_fast_path(&router, &["10.1.0.2", "2001:db8:1::2"]);
    router
}

fn forwards_and_leaves_the_rest(engine: &str) -> (Lab, Router) {
    let lab = Lab::new(&engine.replace('-', ""));
    let router = start(&lab, engine);
    for address in ["10.1.0.2", "2001:db8:1::2"] {
        let before = router.forwarded();
        assert!(ping(&lab.a, address, 20));
        let after = router.forwarded();
        assert!(
            after - before >= 40,
            "{address}: {} of 40 went by the workers",
            after - before
        );
    }
    assert!(
        lab.ping("10.0.0.1") && lab.ping("10.1.0.1"),
        "the router's own addresses answer"
    );
    if has("traceroute") {
        for (address, hop) in [("10.1.0.2", "10.0.0.1"), ("2001:db8:1::2", "2001:db8::1")] {
            let output = lab
                .a
                .command("traceroute")
                .args(["-n", "-q1", "-w1", address])
                .output()
                .unwrap();
            let printed = text(&output);
            assert!(
                printed.contains(&format!(" 1  {hop}"))
                    && printed.contains(&format!(" 2  {address}")),
                "{printed}"
            );
        }
    }
    assert!(router.reason("ipv4-time-to-live") > 0);
    assert_eq!(router.verify()["different"], 0);
    for core in router.show("workers").as_array().unwrap() {
        let parts = sum(core, "forwarded") + sum(core, "to_kernel") + sum(core, "dropped");
        assert_eq!(
            sum(core, "received"),
            parts,
            "every frame has one fate: {core}"
        );
    }
    (lab, router)
}

#[test]
fn af_xdp_forwards_and_leaves_the_rest_to_the_kernel() {
    if !is_root() {
        return;
    }
    let (_lab, router) = forwards_and_leaves_the_rest("af-xdp");
    assert!(
        router.ready.contains("r0=native,copy r1=native,copy"),
        "{}",
        router.ready
    );
}

#[test]
fn af_xdp_carries_tcp_with_every_offload_on() {
    if !is_root() || !has("iperf3") {
        return;
    }
    let lab = Lab::new("afxdptcp");
    let _router = start(&lab, "af-xdp");
    tcp(&lab, "10.1.0.2");
}

fn tcp(lab: &Lab, address: &str) {
    let mut server = lab
        .b
        .command("iperf3")
        .args(["-s", "-1"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut sent = String::new();
    wait_for("the iperf3 server", 5, || {
        let arguments = ["-c", address, "-n", "20M", "--connect-timeout", "300"];
        let output = lab.a.command("iperf3").args(arguments).output().unwrap();
        sent = text(&output);
        output.status.success()
    });
    server.wait().unwrap();
    assert!(sent.contains("receiver"), "{sent}");
}

#[test]
fn af_xdp_follows_a_route_change() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("afxdproute");
    let router = start(&lab, "af-xdp");
    follows(&lab, &router);
}

/// An address behind b is reached after its route is there, and not after it is gone.
fn follows(lab: &Lab, router: &Router) {
    lab.b
        .ip(["addr", "add", "10.9.0.9/32", "dev", "lo"])
        .unwrap();
    assert!(!lab.ping("10.9.0.9"));
    lab.r
        .ip(["route", "add", "10.9.0.0/24", "via", "10.1.0.2"])
        .unwrap();
    wait_for("the new route", 5, || lab.ping("10.9.0.9"));
    let before = router.forwarded();
    assert!(ping(&lab.a, "10.9.0.9", 10));
    assert!(router.forwarded() - before >= 20);
    lab.r.ip(["route", "del", "10.9.0.0/24"]).unwrap();
    wait_for("the end of the route", 5, || !lab.ping("10.9.0.9"));
    assert_eq!(router.verify()["different"], 0);
}

#[test]
fn after_af_xdp_the_kernel_forwards() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("afxdpend");
    for signal in [libc::SIGKILL, libc::SIGINT] {
        let mut router = start(&lab, "af-xdp");
        router.end(signal);
        assert!(ping(&lab.a, "10.1.0.2", 5), "after signal {signal}");
        let links = lab.r.ip(["-d", "link"]).unwrap();
        assert!(!links.contains("prog/xdp"), "{links}");
    }
}

#[test]
fn af_xdp_takes_up_a_port_that_comes_back() {
    if !is_root() {
        return;
    }
    let mut lab = Lab::new("afxdpback");
    let router = start(&lab, "af-xdp");
    lab.r.ip(["link", "del", "r1"]).unwrap();
    wait_for("the port's absence", 5, || {
        router.state("r1") != "forwarding"
    });
    assert!(lab.ping("10.0.0.1"), "the other port answers");
    let b = lab.b.clone();
    lab.link(&b, 1);
    lab.b
        .ip(["route", "replace", "default", "via", "10.1.0.1"])
        .unwrap();
    wait_for("the port's return", 10, || {
        let before = router.forwarded();
        ping(&lab.a, "10.1.0.2", 5) && router.forwarded() - before >= 10
    });
}

#[test]
fn zero_copy_is_an_error_where_it_was_required_and_cannot_be() {
    if !is_root() {
        return;
    }
    let lab = Lab::new("afxdpzero");
    let said = lab.refused(&[
        "--engine",
        "af-xdp",
        "--port",
        "r0",
        "--port",
        "r1",
        "--require",
        "zero-copy",
    ]);
    assert!(said.contains("zero copy was required"), "{said}");
    let said = lab.refused(&["--engine", "xdp", "--port", "r0", "--require", "zero-copy"]);
    assert!(said.contains("only engine af-xdp"), "{said}");
}
