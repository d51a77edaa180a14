//! A route that expires is over for frames when it is over for the kernel, which removes it, and
//! says so, much later.

use super::lab::{Lab, is_root, wait_for};
use super::raw::{Raw, ipv6, mac};

const BEHIND: &str = "2001:db8:77::9";

#[test]
fn a_route_that_has_expired_is_not_used() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let router = lab.run(&["r0", "r1"], &[]);
    lab.wait_for_fast_path(&router, &["2001:db8:1::2"]);
    let macs = (mac(&lab.r, "r0"), mac(&lab.a, "e0"));
    let (from, to) = (Raw::open(&lab.a, "e0"), Raw::open(&lab.b, "e1"));
    let pass = || {
        from.send(&ipv6(macs, "2001:db8::2", BEHIND, b"#corelane"));
        let ours = |frame: Vec<u8>| frame.get(62..71) == Some(b"#corelane");
        std::iter::from_fn(|| to.receive()).any(ours)
    };
    let route = "-6 route replace 2001:db8:77::/48 via 2001:db8:1::2 expires 1";
    // A busy machine may take the whole second.
    wait_for("a frame while it is there", 5, || {
        lab.r.ip(route).unwrap();
        pass()
    });
    wait_for("the kernel not to use it", 5, || {
        lab.r.ip(format!("-6 route get {BEHIND}")).is_err()
    });
    assert!(!pass());
}
