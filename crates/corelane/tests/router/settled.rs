//! Reasons that the router's surroundings have to be brought into, by the verbs that people type:
//! explained before, and found by a capture.

use std::time::Duration;

use router::management_plane::explain::hexadecimal;

use super::discovery::solicitation;
use super::lab::{Lab, Router, is_root, wait_for};
use super::raw::{Wires, ipv4};
use super::roads::roads;

/// Nobody vouches for the routes while the router has lost announcements and reads all routes again: then
/// it answers, and says so.
fn stale_is_explained(lab: &Lab, router: &Router, frame: &[u8]) {
    const CHANGES: usize = 300_000;
    let hex = hexadecimal(frame);
    let words = ["--frame", &hex, "--port", "r0"];
    router.explained(&words);
    let file = lab.path("changes");
    let both = ["10.1.0.2", "10.0.0.2"].map(|by| format!("route replace 100.64.0.0/28 via {by}\n"));
    std::fs::write(&file, both.concat().repeat(CHANGES / 2)).unwrap();
    let told = [(); 5].map(|()| {
        router.signal(libc::SIGSTOP);
        lab.r.ip(format!("-batch {}", file.display())).unwrap();
        std::thread::sleep(Duration::from_millis(1100));
        std::thread::scope(|threads| {
            let asked = threads.spawn(|| router.explained(&words));
            std::thread::sleep(Duration::from_millis(300));
            router.signal(libc::SIGCONT);
            asked.join().unwrap()
        })
    });
    println!("overruns: {}", router.show("engine")["overruns"]);
    let stale = told.iter().find(|told| told["reason"]["name"] == "stale");
    let stale = stale.unwrap_or_else(|| panic!("{told:?}"));
    let decided = stale["reason"]["decided_by"].as_str().unwrap();
    assert!(decided.contains("control plane"), "{stale}");
    assert!(stale["reason"]["remedy"].is_string(), "{stale}");
}

/// What is explained and captured of a frame by port r0.
fn is_left(lab: &Lab, router: &Router, engine: &str, frame: &[u8], reason: &str) {
    let hex = hexadecimal(frame);
    wait_for(reason, 20, || {
        let told = router.explained(&["--frame", &hex, "--port", "r0"]);
        told["reason"]["name"] == reason
    });
    is_captured(lab, router, engine, frame, reason);
}

fn is_captured(lab: &Lab, router: &Router, engine: &str, frame: &[u8], reason: &str) {
    let wires = Wires::open(lab);
    is_captured_of(router, engine, || wires.a.send(frame), reason);
}

/// The same of what `send` sends.
fn is_captured_of(router: &Router, engine: &str, send: impl Fn(), reason: &str) {
    let capture = router.captures(&["--reason", reason, "--count", "2", "--port", "r0"]);
    // Some are of another reason: routes that nobody has vouched for lately.
    let (code, out, said) = capture.end_of(|| (0..5).for_each(|_| send()));
    assert_eq!(code, Some(0), "{engine} {reason}: {said}");
    let is_of = |line: &str| line.contains(&format!("reason={reason}"));
    assert!(
        out.lines().count() == 2 && out.lines().all(is_of),
        "{engine}: {out}"
    );
}

/// A tunnel's datagrams in one frame: only the kernel can say where each ends.
fn segments_are_the_kernels(router: &Router, wires: &Wires) {
    const VXLAN: u16 = 4789;
    let frame = ipv4(
        wires.macs,
        [10, 0, 0, 2],
        [203, 0, 113, 9],
        VXLAN,
        &[7; 2000],
    );
    let hex = hexadecimal(&frame);
    let told = router.explained(&["--frame", &hex, "--port", "r0", "--segment", "1000"]);
    assert_eq!(told["reason"]["name"], "segments", "{told}");
    is_captured_of(
        router,
        "tc",
        || wires.a.send_segments(&frame, 34, 1000),
        "segments",
    );
}

#[test]
fn reasons_of_the_surroundings_are_explained_and_captured() {
    if !is_root() {
        return;
    }
    for engine in ["xdp", "tc", "af-xdp"] {
        let lab = Lab::new();
        let more = ["--engine", engine, "--stale-milliseconds", "1000"];
        let router = lab.run(
            &["r0", "r1"],
            &[&more[..], &["--punt-limits", "none"]].concat(),
        );
        roads(&lab, &router);
        lab.r.ip("route add 198.51.100.32/28 via 10.0.0.2").unwrap();
        let wires = Wires::open(&lab);
        let to = |to| ipv4(wires.macs, [10, 0, 0, 2], to, 53, &[0; 100]);
        is_left(&lab, &router, engine, &to([198, 51, 100, 33]), "hairpin");
        let asks = solicitation(wires.macs, false);
        is_left(&lab, &router, engine, &asks, "ipv6-discovery");
        // Nobody vouches for the routes while the router is stopped.
        let capture = router.captures(&["--reason", "stale", "--count", "2"]);
        router.signal(libc::SIGSTOP);
        std::thread::sleep(Duration::from_millis(1500));
        (0..5).for_each(|_| wires.a.send(&to([203, 0, 113, 9])));
        let (code, out, said) = capture.end();
        router.signal(libc::SIGCONT);
        assert_eq!(code, Some(0), "{engine}: {said}");
        assert_eq!(
            out.matches("to the kernel reason=stale").count(),
            2,
            "{engine}: {out}"
        );
        if engine == "tc" {
            segments_are_the_kernels(&router, &wires);
        }
        if engine == "xdp" {
            stale_is_explained(&lab, &router, &to([203, 0, 113, 9]));
            let mut ethtool = lab.b.command("ethtool");
            let off = ethtool.args(["-K", "e1", "gro", "off"]).status().unwrap();
            assert!(off.success());
            is_left(&lab, &router, engine, &to([203, 0, 113, 9]), "no-redirect");
        }
    }
}
