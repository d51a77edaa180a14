//! Routes of every kind, and packets that are left to the kernel or dropped, for every reason that a
//! packet can have.

use router::management_plane::explain::bytes_of;

use super::lab::{Lab, Router, Socket, wait_for};

/// Routes of every kind behind b, whose neighbour is known.
pub(super) fn roads(lab: &Lab, router: &Router) {
    for route in [
        "203.0.113.0/24 via 10.1.0.2",
        "unreachable 198.51.100.1/32",
        "prohibit 198.51.100.2/32",
        "blackhole 198.51.100.3/32",
        "198.51.100.4/32 dev lo",
        "198.51.100.8/29 nexthop via 10.1.0.2 weight 1 nexthop via 10.0.0.2 weight 1",
    ] {
        lab.r.ip(format!("route add {route}")).unwrap();
    }
    lab.wait_for_fast_path(router, &["10.1.0.2", "2001:db8:1::2"]);
    wait_for("the routes", 10, || router.is_equal());
}

/// A frame that the link of port r0 carries may now be longer than that of r1 takes.
pub(super) fn narrow(lab: &Lab) {
    lab.r.ip("link set r1 mtu 1400").unwrap();
}

/// Packets by port r0 of a [`narrow`] lab, and the reason for which each is left.
pub(super) const LEFT: [(&[&str], &str); 16] = [
    (&["192.0.2.1"], "no-route"),
    (&["10.0.0.1"], "local"),
    (&["198.51.100.1"], "unreachable"),
    (&["198.51.100.2"], "prohibit"),
    (&["198.51.100.3"], "blackhole"),
    (&["198.51.100.4"], "punt"),
    (&["10.1.0.77"], "unresolved"),
    (&["203.0.113.9", "--ttl", "1"], "ipv4-time-to-live"),
    (&["203.0.113.9", "--length", "1450"], "too-big"),
    (
        &["203.0.113.9", "--from", "127.0.0.1"],
        "ipv4-source-martian",
    ),
    (&["127.0.0.1"], "ipv4-destination-martian"),
    (&["224.0.0.5"], "ipv4-group"),
    (&["203.0.113.9", "--from", "10.1.0.1"], "unverified-source"),
    (&["2001:db8:1::2", "--ttl", "1"], "ipv6-hop-limit"),
    (&["2001:db8:77::1"], "no-route"),
    (&["ff05::2"], "ipv6-group"),
];

/// The frame of such a packet by port r0.
pub(super) fn frame_of(router: &Socket, words: &[&str]) -> Vec<u8> {
    let told = router.explained(&[words, &["--port", "r0"]].concat());
    bytes_of(told["frame"]["bytes"].as_str().unwrap()).unwrap()
}
