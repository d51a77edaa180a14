//! How the program's state changes: groups, and memory that is used again.

use bpf::attach::Request;
use fastpath::forward::{Capacity, Forwarder, Lookup};
use fib::next_hop::Kind;
use fib::{NextHop, NextHopEntry, Prefix};

use super::bench::{ADJACENCY, Bench, MAIN, TAGGED, adjacency, frame};
use crate::common::in_namespace;

#[test]
fn a_group_keeps_flows_and_moves_only_those_of_a_lost_member() {
    in_namespace(|| {
        let mut bench = Bench::new();
        let flows: Vec<_> = (0..256_u16)
            .map(|port| {
                let mut frame = frame("203.0.113.17", 60, None);
                frame[34..36].copy_from_slice(&port.to_be_bytes());
                frame[40..42].fill(0);
                frame
            })
            .collect();
        let ways = |bench: &Bench| -> Vec<u32> {
            flows
                .iter()
                .map(|flow| u32::from(bench.run(flow).1[5]))
                .collect()
        };
        let all = ways(&bench);
        let tagged = all.iter().filter(|&&last| last == 3).count();
        assert!(
            (64..192).contains(&tagged),
            "{tagged} of 256 flows take one of two members"
        );
        assert_eq!(ways(&bench), all, "a flow stays");

        // One bucket of the second member goes to a third.
        let third = NextHopEntry {
            destination_mac: [2, 0, 0, 0, 1, 77],
            ..adjacency(bench.r1, 0)
        };
        bench.forwarder.set_next_hop(NextHop(12), third).unwrap();
        bench
            .forwarder
            .set_group(NextHop(9), &[ADJACENCY, NextHop(12), ADJACENCY, TAGGED])
            .unwrap();
        assert_eq!(bench.forwarder.buckets(NextHop(9))[1], NextHop(12));
        for (before, after) in all.iter().zip(ways(&bench)) {
            assert!(
                *before == after || (*before == 3 && after == 77),
                "{before} -> {after}"
            );
        }
    });
}

#[test]
fn replaced_state_is_reused_after_its_grace_period() {
    in_namespace(|| {
        let mut bench = Bench {
            place: Request::Native.into(),
            forwarder: Forwarder::new(
                Lookup::Own,
                Capacity {
                    slots: 8,
                    main_v4: 256,
                    main_v6: 256,
                    more_tables: 0,
                    ..Capacity::default()
                },
            )
            .unwrap(),
            r0: 0,
            r1: 0,
        };
        // Far more changes than there are slots and words: each waits for room that an earlier one
        // leaves.
        for turn in 0..20_u16 {
            let entry = NextHopEntry {
                kind: Kind::Punt,
                stamp: u32::from(turn),
                ..NextHopEntry::default()
            };
            bench.forwarder.set_next_hop(NextHop(1), entry).unwrap();
            let routes: Vec<_> = (0..6_u32)
                .map(|i| {
                    (
                        Prefix::containing(0x0a00_0000 + (i << 8) + u32::from(turn), 32),
                        NextHop(1 + turn),
                    )
                })
                .collect();
            bench.forwarder.set_routes_v4(MAIN, &routes);
            assert_eq!(bench.forwarder.next_hop(NextHop(1)).stamp, u32::from(turn));
            assert_eq!(
                bench
                    .forwarder
                    .lookup_v4(MAIN, 0x0a00_0000 + u32::from(turn)),
                NextHop(1 + turn)
            );
            let gone: Vec<_> = routes
                .iter()
                .map(|&(prefix, _)| (prefix, NextHop::NONE))
                .collect();
            bench.forwarder.set_routes_v4(MAIN, &gone);
        }
    });
}
