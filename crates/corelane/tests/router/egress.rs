//! Frames that cannot leave: seen, counted, or never taken from the kernel.

use super::lab::{Lab, Router, is_root, wait_for};
use super::raw::{Raw, ipv4, mac};

const ENGINES: [&str; 4] = ["xdp", "xdp-kernel-fib", "af-xdp", "af-packet"];
const FRAMES: usize = 40;

/// Sends frames of so many bytes of payload from a to b; says how many came through.
fn pass(lab: &Lab, payload: usize) -> usize {
    let (from, to) = (Raw::open(&lab.a, "e0"), Raw::open(&lab.b, "e1"));
    let macs = (mac(&lab.r, "r0"), mac(&lab.a, "e0"));
    let payload = [b"#corelane".to_vec(), vec![b'.'; payload]].concat();
    let frame = ipv4(macs, [10, 0, 0, 2], [10, 1, 0, 2], 9, &payload);
    for _ in 0..FRAMES {
        from.send(&frame);
    }
    let is_ours = |frame: &Vec<u8>| frame.get(42..51) == Some(b"#corelane");
    std::iter::from_fn(|| to.receive()).filter(is_ours).count()
}

fn counts(router: &Router, port: &str, field: &str) -> u64 {
    let ports = router.show("ports");
    let row = ports
        .as_array()
        .unwrap()
        .iter().find(|row| row["port"] == port).unwrap();
    row[field].as_u64().unwrap()
}

#[test]
fn what_the_device_of_the_way_out_refuses_is_not_forwarded() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    for engine in &ENGINES[..2] {
        let router = lab.run(&["r0", "r1"], &["--engine", engine]);
        lab.wait_for_fast_path(&router, &["10.1.0.2"]);
        assert_eq!(pass(&lab, 1200), FRAMES);
        // A veth does not take what is longer than its peer's MTU.
        lab.b.ip("link set e1 mtu 1000").unwrap();
        let before = router.forwarded();
        assert_eq!(pass(&lab, 1200), 0);
        lab.b.ip("link set e1 mtu 1500").unwrap();
        let frames = FRAMES as u64;
        assert_eq!(router.reason("egress-refused"), frames, "{engine}");
        assert_eq!(counts(&router, "r1", "refused"), frames, "{engine}");
        assert!(router.forwarded() - before < frames, "{engine}");
    }
}

#[test]
fn a_port_that_was_elsewhere_and_came_back_forwards_again() {
    if !is_root() {
        return;
    }
    for engine in ENGINES {
        let lab = Lab::new();
        let mut router = lab.run(&["r0", "r1"], &["--engine", engine]);
        lab.wait_for_fast_path(&router, &["10.1.0.2", "2001:db8:1::2"]);
        let elsewhere = lab.bed.namespace("a").unwrap().name().to_owned();
        lab.r.ip(format!("link set r1 netns {elsewhere}")).unwrap();
        wait_for("the port to go", 5, || router.state("r1") == "absent");
        let here = lab.bed.namespace("r").unwrap().name().to_owned();
        lab.a.ip(format!("link set r1 netns {here}")).unwrap();
        for line in [
            "addr add 10.1.0.1/24 dev r1",
            "link set r1 up",
            "-6 addr add 2001:db8:1::1/64 dev r1 nodad",
        ] {
            lab.r.ip(line).unwrap();
        }
        wait_for("the port to come back", 5, || {
            router.state("r1") == "forwarding"
        });
        lab.wait_for_fast_path(&router, &["10.1.0.2", "2001:db8:1::2"]);
        let before = router.forwarded();
        assert_eq!(pass(&lab, 100), FRAMES, "{engine}: {:#}", router.show("drops"));
        let forwarded = router.forwarded() - before;
        assert!(forwarded >= FRAMES as u64, "{engine}: {}", router.log());
    }
}
