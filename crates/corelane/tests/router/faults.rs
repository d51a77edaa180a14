//! What goes wrong around it: interfaces that vanish, storms of routes, bad input.

use std::fmt::Write as _;
use std::process::Stdio;

use super::lab::{Lab, is_root, ping, wait_for};

#[test]
fn an_interface_may_be_deleted_under_load_and_return() {
    if !is_root() {
        return;
    }
    let mut lab = Lab::new();
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
    lab.r.ip("link del r1").unwrap();
    wait_for("the port to be known as absent", 5, || {
        router.state("r1") == "absent"
    });
    assert_eq!(router.verify()["different"], 0);
    lab.link("b", 1);
    lab.b.ip("route replace default via 10.1.0.1").unwrap();
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
}

#[test]
fn bad_input_starts_nothing_and_says_what_to_do() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let file = lab.path("bad.toml");
    std::fs::write(&file, "ports = [\"r0\", \"r1\"]\nengine = \"dpdk\"\n").unwrap();
    let said = lab.refused(&[file.to_str().unwrap()]);
    assert!(
        said.contains("bad.toml:2: engine = \"dpdk\": allowed are auto, xdp, xdp-kernel-fib"),
        "{said}"
    );
    let said = lab.refused(&["--port", "r0", "--port", "nosuch"]);
    assert!(said.contains("nosuch"), "{said}");
    let said = lab.refused(&[]);
    assert!(said.contains("ports"), "{said}");
    for (engine, holder) in [
        ("xdp", "another XDP program is attached"),
        ("auto", "another Corelane has its program at tc"),
    ] {
        let more = ["--engine", engine, "--instance", "second", "--metrics", ""];
        let first = lab.run(&["r0", "r1"], &["--engine", engine, "--instance", "first"]);
        let said = lab.refused(&[["--port", "r0"].as_slice(), &more].concat());
        assert!(said.contains(&format!("interface r0: {holder}")), "{said}");
        assert!(lab.ping("10.1.0.2"), "the first is not disturbed");
        drop(first);
    }
}

#[test]
fn a_flapping_table_ends_equal_to_the_kernels() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let router = lab.run(&["r0", "r1"], &[]);
    wait_for("the first answer", 5, || lab.ping("10.1.0.2"));
    let mut lines = String::new();
    for round in 0..3u32 {
        for number in 0..34_000u32 {
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
        router.show("routes 1")["v4"].as_u64().unwrap() > 34_000
    });
    assert_eq!(router.verify()["different"], 0);
}
