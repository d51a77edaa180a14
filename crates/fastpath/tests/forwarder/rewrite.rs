//! What the program rewrites, byte for byte.

use bpf::attach::Request;
use fastpath::forward::{Capacity, Forwarder, Lookup, Place};

use super::bench::{ADJACENCY, Bench, REDIRECT, TAGGED, expected, frame, frame_short, with_ipv4};
use crate::common::{in_namespace, veth};

#[test]
fn all_programs_are_accepted_by_the_verifier() {
    in_namespace(|| {
        veth("r0", "p0");
        for lookup in [Lookup::Own, Lookup::Kernel] {
            let mut forwarder = Forwarder::new(lookup, Capacity::default()).unwrap();
            for request in [Request::Native, Request::Generic] {
                forwarder.attach("r0", request).unwrap();
            }
            let at_tc = forwarder.attach("r0", Place::Tc);
            assert_eq!(at_tc.is_ok(), lookup == Lookup::Own);
        }
    });
}

#[test]
fn frames_are_rewritten_byte_for_byte() {
    in_namespace(|| {
        let bench = Bench::new();
        let mut forwarded = 0;
        for (destination, vlan, next_hop) in [
            ("198.19.1.2", None, ADJACENCY),
            ("198.20.1.2", None, TAGGED),
            ("198.19.1.2", Some(100), TAGGED),
            ("198.20.1.2", Some(0xa064), ADJACENCY),
            ("2001:db8:19::2", None, ADJACENCY),
            ("2001:db8:20::2", None, TAGGED),
        ] {
            for length in [82, 83, 1518] {
                let frame = frame(
                    destination,
                    length - if vlan.is_some() { 0 } else { 4 },
                    vlan,
                );
                let (verdict, after) = bench.run(&frame);
                assert_eq!(
                    verdict,
                    REDIRECT,
                    "{destination} {vlan:?} {length}: {:?}",
                    bench.counts()
                );
                assert_eq!(
                    after,
                    expected(&frame, &bench.forwarder.next_hop(next_hop)),
                    "{destination} {vlan:?}"
                );
                forwarded += 1;
            }
        }
        // Every time to live and many checksums.
        for ttl in 2..=255 {
            for identification in [0, 0x00ff, 0xfe00, 0xffff] {
                let frame = with_ipv4(frame_short(), |ip| {
                    ip[8] = ttl;
                    ip[4..6].copy_from_slice(&u16::to_be_bytes(identification));
                });
                let (verdict, after) = bench.run(&frame);
                assert_eq!(verdict, REDIRECT);
                assert_eq!(
                    after,
                    expected(&frame, &bench.forwarder.next_hop(ADJACENCY))
                );
                forwarded += 1;
            }
        }
        let carried = [ADJACENCY, TAGGED].map(|next_hop| bench.forwarder.carried(next_hop).frames);
        assert_eq!(carried.iter().sum::<u64>(), forwarded);
        for port in bench.forwarder.port_counters().values() {
            assert!(port.closes(), "{port:?}");
        }
    });
}
