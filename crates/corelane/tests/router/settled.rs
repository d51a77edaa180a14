//! Reasons that the router's surroundings have to be brought into, by the verbs that people type:
//! explained before, and found by a capture.

use router::management_plane::explain::hexadecimal;

use super::discovery::solicitation;
use super::lab::{Lab, Router, is_root, wait_for};
use super::raw::{Wires, ipv4};
use super::roads::roads;

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
    let capture = router.captures(&["--reason", reason, "--count", "2", "--port", "r0"]);
    let wires = Wires::open(lab);
    (0..5).for_each(|_| wires.a.send(frame));
    let (code, out, said) = capture.end();
    assert_eq!(code, Some(0), "{engine} {reason}: {said}");
    let is_of = |line: &str| line.contains(&format!("reason={reason}"));
    assert!(
        out.lines().count() == 2 && out.lines().all(is_of),
        "{engine}: {out}"
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
        // Nobody vouches for the routes while the router is stopped, and nobody could explain it.
        let capture = router.captures(&["--reason", "stale", "--count", "2"]);
        router.signal(libc::SIGSTOP);
        std::thread::sleep(std::time::Duration::from_millis(1500));
        (0..5).for_each(|_| wires.a.send(&to([203, 0, 113, 9])));
        let (code, out, said) = capture.end();
        router.signal(libc::SIGCONT);
        assert_eq!(code, Some(0), "{engine}: {said}");
        assert_eq!(
            out.matches("to the kernel reason=stale").count(),
            2,
            "{engine}: {out}"
        );
        if engine == "xdp" {
            let mut ethtool = lab.b.command("ethtool");
            let off = ethtool.args(["-K", "e1", "gro", "off"]).status().unwrap();
            assert!(off.success());
            is_left(&lab, &router, engine, &to([203, 0, 113, 9]), "no-redirect");
        }
    }
}
