//! What is counted by VLAN and by table.

use fastpath::forward::LinkCount;

use super::bench::{Bench, MAIN, REDIRECT, frame, settings, vlan};
use crate::common::in_namespace;

/// Frames that came and frames that went on.
fn frames(count: Option<&LinkCount>) -> (u64, u64) {
    count.map_or((0, 0), |count| (count.received, count.forwarded))
}

#[test]
fn every_frame_counts_once_where_it_was_looked_up() {
    in_namespace(|| {
        let mut bench = Bench::new();
        let tables = |bench: &Bench| {
            let counts = bench.forwarder.table_counts();
            let bytes: u64 = counts.values().map(|count| count.received_bytes).sum();
            let ports = bench.forwarder.port_counters();
            let wanted: u64 = ports.values().map(|port| port.received_bytes).sum();
            assert_eq!(bytes, wanted, "the sums close");
            [MAIN, 7, 8].map(|table| frames(counts.get(&table)))
        };
        let send = |bench: &Bench, destination, vid: Option<u16>, times| {
            let length = if vid.is_none() { 60 } else { 64 };
            for _ in 0..times {
                bench.run(&frame(destination, length, vid));
            }
        };
        send(&bench, "198.19.1.2", None, 5);
        send(&bench, "203.0.113.4", None, 1);
        send(&bench, "198.19.1.2", Some(100), 3);
        send(&bench, "203.0.113.4", Some(100), 2);
        assert_eq!(tables(&bench), [(6, 5), (5, 3), (0, 0)]);
        assert_eq!(frames(bench.forwarder.vlan_counts().get(&0)), (5, 3));
        // The VLAN looks up elsewhere: what it has counted stays where it was looked up.
        let mut moved = settings();
        moved.vlans[0].table = 8;
        bench.forwarder.set_port(bench.r0, &moved).unwrap();
        bench.rest();
        send(&bench, "198.19.1.2", Some(100), 4);
        assert_eq!(tables(&bench), [(6, 5), (5, 3), (4, 0)]);
        assert_eq!(frames(bench.forwarder.vlan_counts().get(&0)), (9, 3));
        // It goes, another comes and begins at nothing.
        moved.vlans = vec![vlan(101, 7)];
        bench.forwarder.set_port(bench.r0, &moved).unwrap();
        assert_eq!(frames(bench.forwarder.vlan_counts().get(&0)), (0, 0));
        bench.rest();
        send(&bench, "198.19.1.2", Some(101), 1);
        assert_eq!(tables(&bench), [(6, 5), (6, 4), (4, 0)]);
        bench.forwarder.detach(bench.r0);
        let counts = bench.forwarder.table_counts();
        assert_eq!(frames(counts.get(&7)), (6, 4), "after the port");
    });
}

#[test]
fn a_vlan_that_changes_is_the_kernels_until_nobody_can_mean_what_it_was() {
    in_namespace(|| {
        let mut bench = Bench::new();
        let tagged = frame("198.19.1.2", 64, Some(100));
        assert_eq!(bench.run(&tagged).0, REDIRECT);
        let mut without = settings();
        without.vlans.clear();
        bench.forwarder.set_port(bench.r0, &without).unwrap();
        bench.leaves(&tagged, "unknown-vlan");
        bench.forwarder.set_port(bench.r0, &settings()).unwrap();
        bench.leaves(&tagged, "unknown-vlan");
        bench.rest();
        assert_eq!(bench.run(&tagged).0, REDIRECT);
        let mut moved = settings();
        moved.vlans[0].table = MAIN;
        bench.forwarder.set_port(bench.r0, &moved).unwrap();
        bench.leaves(&tagged, "unknown-vlan");
        bench.rest();
        assert_eq!(bench.run(&tagged).0, REDIRECT);
        moved.vlans[0].accepts.v4 = false;
        bench.forwarder.set_port(bench.r0, &moved).unwrap();
        bench.leaves(&tagged, "port-disabled");
        moved.vlans[0].accepts.v4 = true;
        bench.forwarder.set_port(bench.r0, &moved).unwrap();
        assert_eq!(bench.run(&tagged).0, REDIRECT, "at once");
    });
}
