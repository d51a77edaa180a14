//! What the kernel gets of each class, and what is above.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use bpf::attach::{Request, index_of};
use fastpath::forward::{Capacity, Forwarder, Lookup, PuntLimits};

use super::bench::{Bench, PASS, frame, frame_short, settings, with_ipv4};
use crate::common::{self, in_namespace, veth};

/// Frames in a second, in these tests.
const LIMIT: u64 = 100;

/// A kernel that does not forward does not say where it would.
pub(crate) fn forward() {
    common::run("sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1");
}

impl Bench {
    fn limited(text: &str) -> Self {
        forward();
        let mut bench = Self::new();
        bench.limit(text);
        bench
    }

    fn limit(&mut self, text: &str) {
        let limits: PuntLimits = text.parse().unwrap();
        self.forwarder.set_punt_limits(&limits);
    }

    /// Runs a frame so many times; how many went to the kernel under this reason, and how many were
    /// above a limit of this class.
    fn flood(&self, frame: &[u8], frames: u32, reason: &str, class: &str) -> (u64, u64) {
        let policed = format!("policed-{class}");
        let before = (self.count(reason), self.count(&policed));
        self.forwarder.run(self.r0, frame, frames).unwrap();
        let after = (
            self.count(reason) - before.0,
            self.count(&policed) - before.1,
        );
        assert_eq!(
            after.0 + after.1,
            u64::from(frames),
            "{reason}: {:?}",
            self.counts()
        );
        after
    }

    /// A flood of which a second's worth passes, a share of it, or all.
    fn is_limited(&self, frame: &[u8], reason: &str, class: &str, share: u64) {
        let began = Instant::now();
        let (passed, _) = self.flood(frame, 1000, reason, class);
        let more = began.elapsed().as_secs_f64() * LIMIT as f64 + 1.0;
        let wanted = LIMIT.div_ceil(share);
        let range = wanted..=wanted + more as u64;
        assert!(range.contains(&passed), "{reason}: {passed}, not {range:?}");
    }

    fn is_free(&self, frame: &[u8], reason: &str) {
        let before = self.count(reason);
        self.forwarder.run(self.r0, frame, 1000).unwrap();
        assert_eq!(self.count(reason), before + 1000, "{:?}", self.counts());
    }
}

fn expired(destination: &str) -> Vec<u8> {
    with_ipv4(frame(destination, 60, None), |ip| ip[8] = 1)
}

/// The protocol, and the ports behind a header without options.
fn carrying(frame: Vec<u8>, protocol: u8, ports: [u16; 2]) -> Vec<u8> {
    let mut frame = with_ipv4(frame, |ip| ip[9] = protocol);
    frame[34..36].copy_from_slice(&ports[0].to_be_bytes());
    frame[36..38].copy_from_slice(&ports[1].to_be_bytes());
    frame
}

const ALL: &str = "routing=100, neighbour=100, local=100, group=100, expired=100, no-route=100, \
                   unresolved=100, options=100, too-big=100";
const HERE: &str = "203.0.113.12";

#[test]
fn each_class_has_a_limit_of_its_own() {
    in_namespace(|| {
        let mut bench = Bench::limited(ALL);
        let to = |destination: &str| frame(destination, 60, None);
        let group = |mac: &[u8], mut frame: Vec<u8>| {
            frame[..mac.len()].copy_from_slice(mac);
            frame
        };
        let set = |mut frame: Vec<u8>, at: usize, bytes: &[u8]| {
            frame[at..at + bytes.len()].copy_from_slice(bytes);
            frame
        };
        let options = with_ipv4(frame("198.19.1.2", 100, None), |ip| {
            ip[0] = 0x46;
            ip[20..24].copy_from_slice(&[1, 1, 1, 0]);
        });
        let whole = |frame: Vec<u8>| with_ipv4(frame, |ip| ip[6] |= 0x40);
        let arp = group(&[0xff; 6], set(frame_short(), 12, &[0x08, 0x06]));
        let ospf = group(
            &[1, 0, 0x5e, 0, 0, 5],
            carrying(to("224.0.0.5"), 89, [0; 2]),
        );
        let storm = group(&[0xff; 6], to("255.255.255.255"));

        bench.is_limited(&to(HERE), "local", "local", 1);
        bench.is_limited(&expired("198.19.1.2"), "ipv4-time-to-live", "expired", 1);
        bench.is_limited(&to("192.0.2.1"), "no-route", "no-route", 1);
        bench.is_limited(&options, "ipv4-options", "options", 1);
        let large = whole(frame("198.19.1.2", 1515, None));
        bench.is_limited(&large, "too-big", "too-big", 1);
        bench.is_limited(&storm, "link-group", "group", 1);
        // Of 100 in a second, 12.5 for a destination.
        bench.is_limited(&to("203.0.113.13"), "unresolved", "unresolved", 8);
        // None of these floods keeps routing protocols or the next neighbour from coming, a
        // session whose packets have one hop to live among them.
        for bgp in [
            carrying(to(HERE), 6, [179, 40_000]),
            carrying(expired(HERE), 6, [40_000, 179]),
        ] {
            assert_eq!(bench.run(&bgp).0, PASS, "{:?}", bench.counts());
        }
        assert_eq!(bench.run(&ospf).0, PASS);
        assert_eq!(bench.run(&arp).0, PASS);
        // But they have limits too.
        assert!(bench.flood(&ospf, 1000, "link-group", "routing").1 > 800);
        assert!(bench.flood(&arp, 1000, "link-group", "neighbour").1 > 800);

        // What the kernel forwards in our place has none: what it fragments, other protocols,
        // groups beyond the link, what only it can follow.
        bench.is_free(&frame("198.19.1.2", 1515, None), "too-big");
        bench.is_free(&set(frame_short(), 12, &[0x88, 0x47]), "other-protocol");
        bench.is_free(
            &group(&[1, 0, 0x5e, 1, 2, 3], to("239.1.2.3")),
            "link-group",
        );
        bench.is_free(&to("203.0.113.3"), "punt");
        bench.is_free(&to("203.0.113.7"), "unknown-port");
        bench.is_free(
            &with_ipv4(frame_short(), |ip| ip[9] = 47),
            "partial-checksum",
        );
        // Who hides behind a protocol that is left to the kernel is found by the destination.
        let hidden = with_ipv4(to("192.0.2.1"), |ip| ip[9] = 47);
        assert!(bench.flood(&hidden, 1000, "partial-checksum", "no-route").1 > 800);
        bench.limit("none");
        bench.is_free(&to("192.0.2.1"), "no-route");
        for port in bench.forwarder.port_counters().values() {
            assert!(port.closes(), "{port:?}");
        }
    });
}

#[test]
fn ipv6_has_the_same_limits_and_buckets_fill_again() {
    in_namespace(|| {
        let bench = Bench::limited(ALL);
        let to = |destination: &str| frame(destination, 78, None);
        let set = |mut frame: Vec<u8>, at: usize, bytes: &[u8]| {
            frame[at..at + bytes.len()].copy_from_slice(bytes);
            frame
        };
        let here = "2001:db8:12::1";
        bench.is_limited(&to(here), "local", "local", 1);
        bench.is_limited(
            &set(to("2001:db8:19::2"), 21, &[1]),
            "ipv6-hop-limit",
            "expired",
            1,
        );
        bench.is_limited(
            &set(to("2001:db8:19::2"), 20, &[0]),
            "ipv6-hop-by-hop",
            "options",
            1,
        );
        bench.is_limited(
            &frame("2001:db8:19::2", 1515, None),
            "too-big",
            "too-big",
            1,
        );
        let bgp = |frame: Vec<u8>| set(set(frame, 20, &[6]), 56, &179_u16.to_be_bytes());
        let link_local = set(to("fe80::1"), 22, &[0xfe, 0x80]);
        for (frame, hops) in [(to(here), 1), (to(here), 64), (link_local, 255)] {
            assert_eq!(bench.run(&bgp(set(frame, 21, &[hops]))).0, PASS);
        }
        let solicitation = set(set(to(here), 20, &[58, 255]), 54, &[135]);
        assert_eq!(bench.run(&solicitation).0, PASS);

        // The bucket fills again, and no further than to the brim.
        let nowhere = to("2001:db9::1");
        // It fills from when the last one passed, which may be some time ago on a busy machine.
        let began = Instant::now();
        bench.is_limited(&nowhere, "no-route", "no-route", 1);
        std::thread::sleep(Duration::from_millis(300));
        let (passed, _) = bench.flood(&nowhere, 1000, "no-route", "no-route");
        let most = began.elapsed().as_secs_f64() * LIMIT as f64 + 2.0;
        assert!(
            (28..=most as u64).contains(&passed),
            "{passed} of 30 to {most}"
        );
        std::thread::sleep(Duration::from_millis(1100));
        bench.is_limited(&nowhere, "no-route", "no-route", 1);
    });
}

#[test]
fn what_only_the_kernel_knows_a_way_to_is_not_policed() {
    in_namespace(|| {
        let bench = Bench::limited(ALL);
        for line in [
            "ip addr add 198.51.100.1/24 dev r1",
            "ip route add 192.0.2.0/25 via 198.51.100.2",
            "ip neigh add 198.51.100.2 lladdr 02:00:00:00:00:02 dev r1",
        ] {
            common::run(line);
        }
        bench.is_free(&frame("192.0.2.1", 60, None), "no-route");
        // That used the limit up all the same.
        let nowhere = frame("192.0.2.129", 60, None);
        assert!(bench.flood(&nowhere, 1000, "no-route", "no-route").1 > 800);
    });
}

#[test]
fn with_the_kernels_lookup_the_same_holds_as_far_as_it_tells() {
    in_namespace(|| {
        forward();
        veth("r0", "p0");
        let mut forwarder = Forwarder::new(Lookup::Kernel, Capacity::default()).unwrap();
        let r0 = index_of("r0").unwrap();
        forwarder.attach("r0", Request::Native).unwrap();
        forwarder.set_port(r0, &settings()).unwrap();
        forwarder.set_own_addresses([u32::from(Ipv4Addr::new(203, 0, 113, 12))]);
        let mut bench = Bench {
            forwarder,
            place: Request::Native.into(),
            r0,
            r1: 0,
        };
        common::run("ip addr add 203.0.113.12/28 dev r0");
        bench.limit(ALL);
        let to = |destination: &str| frame(destination, 60, None);
        bench.is_limited(&to("192.0.2.1"), "no-route", "no-route", 1);
        bench.is_limited(&expired("203.0.113.13"), "ipv4-time-to-live", "expired", 1);
        bench.is_limited(&to("203.0.113.13"), "unresolved", "unresolved", 8);
        bench.is_limited(&to(HERE), "local", "local", 1);
        let bgp = carrying(expired(HERE), 6, [40_000, 179]);
        assert_eq!(bench.run(&bgp).0, PASS, "{:?}", bench.counts());
    });
}
