//! More than there is room for: that is the kernel's, nothing takes a shorter prefix instead, and
//! it is carried when room comes back.

use bpf::attach::Request;
use fastpath::forward::{Capacity, Forwarder, NotCarried, PortSettings, VlanSettings};
use fib::NextHop;
use fib::next_hop::Kind;
use fib::organisation::Reader as _;

use super::bench::{
    ADJACENCY, Bench, MAIN, REDIRECT, TAGGED, adjacency, frame, settings, v4, vlan,
};
use crate::common::in_namespace;

/// Lets memory that was given back become free: ends the batch, and looks after what waits as
/// engines do.
fn settle(bench: &mut Bench, until: impl Fn(&Bench) -> bool) {
    bench.forwarder.settle();
    for _ in 0..2000 {
        bench.forwarder.tend();
        if until(bench) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("no room: {:?}", bench.forwarder.not_carried());
}

fn is_all_carried(bench: &Bench) -> bool {
    bench.forwarder.not_carried() == NotCarried::default()
}

#[test]
fn groups_without_room_are_the_kernels_until_another_goes() {
    in_namespace(|| {
        let mut bench = Bench::with(Capacity {
            buckets: 2 * 64 + 4,
            ..Capacity::default()
        });
        let covering = [(v4("203.0.113.0/24"), ADJACENCY)];
        bench.forwarder.set_routes_v4(MAIN, &covering);
        let forwarder = &mut bench.forwarder;
        for number in 0..1000 {
            let group = [ADJACENCY, TAGGED].repeat(32);
            forwarder.set_group(NextHop(100 + number), &group).unwrap();
        }
        assert_eq!(forwarder.not_carried().groups, 998);
        let by_the_last = [(v4("203.0.113.9/32"), NextHop(1099))];
        forwarder.set_routes_v4(MAIN, &by_the_last);
        assert!(!forwarder.carries(MAIN, false, NextHop(1099)));
        bench.leaves(&frame("203.0.113.9", 60, None), "no-route");
        // A port that goes and comes back changes nothing of that, and loses no other group.
        bench.forwarder.detach(bench.r1);
        bench.forwarder.attach("r1", Request::Any).unwrap();
        assert_eq!(bench.forwarder.not_carried().groups, 998);
        for number in 0..998 {
            bench.forwarder.release(NextHop(100 + number));
        }
        settle(&mut bench, is_all_carried);
        assert_eq!(bench.run(&frame("203.0.113.9", 60, None)).0, REDIRECT);
        assert!(bench.forwarder.carries(MAIN, false, NextHop(1099)));
    });
}

#[test]
fn next_hops_without_room_are_the_kernels_until_another_goes() {
    in_namespace(|| {
        let mut bench = Bench::with(Capacity {
            slots: 32,
            ..Capacity::default()
        });
        let covering = [(v4("203.0.113.0/24"), ADJACENCY)];
        bench.forwarder.set_routes_v4(MAIN, &covering);
        let entry = bench.forwarder.next_hop(ADJACENCY);
        for number in 0..100 {
            let id = NextHop(100 + number);
            bench.forwarder.set_next_hop(id, entry).unwrap();
        }
        let left = bench.forwarder.not_carried().next_hops;
        assert!((70..100).contains(&left), "{left}");
        // Those that there are can still change.
        for _ in 0..50 {
            bench.forwarder.set_next_hop(NextHop(100), entry).unwrap();
        }
        settle(&mut bench, |bench| {
            bench.forwarder.not_carried().next_hops <= left
        });
        let both = [
            (v4("203.0.113.9/32"), NextHop(199)),
            (v4("203.0.113.17/32"), NextHop(50)),
        ];
        bench
            .forwarder
            .set_group(NextHop(50), &[NextHop(199)])
            .unwrap();
        bench.forwarder.set_routes_v4(MAIN, &both);
        for address in ["203.0.113.9", "203.0.113.17"] {
            bench.leaves(&frame(address, 60, None), "no-route");
        }
        for number in 0..99 {
            bench.forwarder.release(NextHop(100 + number));
        }
        settle(&mut bench, is_all_carried);
        for address in ["203.0.113.9", "203.0.113.17"] {
            assert_eq!(bench.run(&frame(address, 60, None)).0, REDIRECT);
        }
    });
}

#[test]
fn what_lies_in_the_last_words_is_found() {
    in_namespace(|| {
        let mut bench = Bench::with(Capacity {
            main_v4: 128,
            more_tables: 0,
            ..Capacity::default()
        });
        let at_first = bench.forwarder.not_carried();
        let mut found = 0;
        for number in 0..128 {
            let prefix = format!("203.{number}.113.0/24");
            bench
                .forwarder
                .set_routes_v4(MAIN, &[(v4(&prefix), ADJACENCY)]);
            if bench.forwarder.not_carried() != at_first {
                break;
            }
            found += 1;
            let frame = frame(&format!("203.{number}.113.9"), 60, None);
            assert_eq!(bench.run(&frame).0, REDIRECT, "{prefix}");
        }
        assert!((10..128).contains(&found), "{found}");
    });
}

#[test]
fn a_family_that_does_not_fit_is_the_kernels_as_a_whole_until_it_does() {
    in_namespace(|| {
        let mut bench = Bench::with(Capacity {
            main_v4: 512,
            ..Capacity::default()
        });
        let six = frame("2001:db8:19::2", 78, None);
        let covering = [(v4("198.0.0.0/8"), TAGGED)];
        bench.forwarder.set_routes_v4(MAIN, &covering);
        let scattered = |number: u32| {
            let prefix = format!("198.{}.{}.77/32", number >> 8, number & 255);
            (v4(&prefix), ADJACENCY)
        };
        for number in 0..1000 {
            bench.forwarder.set_routes_v4(MAIN, &[scattered(number)]);
        }
        assert_eq!(bench.forwarder.not_carried().tables, 1);
        // One that fitted, one that did not, one that is covered only.
        for address in ["198.0.0.77", "198.3.231.77", "198.19.1.2"] {
            bench.leaves(&frame(address, 60, None), "port-disabled");
        }
        assert_eq!(bench.run(&six).0, REDIRECT, "the other family stays");
        let vlan = frame("198.19.1.2", 64, Some(100));
        assert_eq!(bench.run(&vlan).0, REDIRECT, "and the other table");
        // When the port is told again, nothing has changed.
        bench.forwarder.set_port(bench.r0, &settings()).unwrap();
        bench.leaves(&frame("198.19.1.2", 60, None), "port-disabled");
        let size = |routes: usize| move |_: u32, _: bool| routes;
        assert_eq!(bench.forwarder.tables_with_room(size(1000)), [0; 0]);
        assert_eq!(bench.forwarder.tables_with_room(size(20)), [MAIN]);
        bench.forwarder.forget_table(MAIN).unwrap();
        bench.forwarder.set_routes_v4(MAIN, &covering);
        bench.forwarder.set_routes_v4(MAIN, &[scattered(999)]);
        assert_eq!(bench.run(&six).0, REDIRECT, "it was not forgotten");
        bench.leaves(&frame("198.19.1.2", 60, None), "port-disabled");
        bench.forwarder.set_port(bench.r0, &settings()).unwrap();
        assert!(is_all_carried(&bench));
        for address in ["198.3.231.77", "198.19.1.2"] {
            assert_eq!(bench.run(&frame(address, 60, None)).0, REDIRECT);
        }
    });
}

#[test]
fn hundreds_of_changes_of_table_need_no_more_places_than_are_in_use() {
    in_namespace(|| {
        // So many that a grace period is waited for a few times only; there are four times as many
        // changes as places.
        let mut bench = Bench::with(Capacity {
            more_tables: 63,
            more_words: 256,
            ..Capacity::default()
        });
        let plain = frame("198.19.1.2", 60, None);
        for number in 0..250 {
            let forwarder = &mut bench.forwarder;
            let (table, before) = (1000 + number, 999 + number);
            forwarder.set_routes_v4(table, &[(v4("198.19.0.0/16"), ADJACENCY)]);
            let settings = PortSettings {
                table,
                ..settings()
            };
            forwarder.set_port(bench.r0, &settings).unwrap();
            forwarder.forget_table(before).unwrap();
            assert_eq!(forwarder.lookup_v4(before, 0xc613_0102), NextHop::NONE);
            assert_eq!(bench.run(&plain).0, REDIRECT, "table {table}");
        }
        assert!(is_all_carried(&bench));
    });
}

#[test]
fn tables_without_a_place_are_the_kernels_until_another_goes() {
    in_namespace(|| {
        let mut bench = Bench::new();
        let all = |count: u16| PortSettings {
            vlans: (0..count)
                .map(|number| vlan(100 + number, 7 + u32::from(number)))
                .collect(),
            ..settings()
        };
        let fill = |bench: &mut Bench, table| {
            let route = [(v4("198.19.0.0/16"), ADJACENCY)];
            bench.forwarder.set_routes_v4(table, &route);
        };
        for table in 7..17 {
            fill(&mut bench, table);
        }
        bench.forwarder.set_port(bench.r0, &all(10)).unwrap();
        assert_eq!(bench.forwarder.not_carried().tables, 2 * 3);
        assert_eq!(bench.run(&frame("198.19.1.2", 64, Some(106))).0, REDIRECT);
        for vid in 107..110 {
            bench.leaves(&frame("198.19.1.2", 64, Some(vid)), "port-disabled");
        }
        assert_eq!(bench.run(&frame("198.19.1.2", 60, None)).0, REDIRECT);
        assert_eq!(bench.forwarder.tables_with_room(|_, _| 0), [0; 0]);
        // The VLANs of the first five go, and with them their tables; the port is told again.
        let mut fewer = all(10);
        fewer.vlans.drain(..5);
        bench.forwarder.set_port(bench.r0, &fewer).unwrap();
        for table in 7..12 {
            bench.forwarder.forget_table(table).unwrap();
        }
        let with_room = bench.forwarder.tables_with_room(|_, _| 0);
        assert_eq!(with_room, [14, 15, 16]);
        for table in with_room {
            bench.forwarder.forget_table(table).unwrap();
            fill(&mut bench, table);
        }
        bench.forwarder.set_port(bench.r0, &fewer).unwrap();
        bench.rest();
        for vid in 105..110 {
            assert_eq!(bench.run(&frame("198.19.1.2", 64, Some(vid))).0, REDIRECT);
        }
        assert!(is_all_carried(&bench));
    });
}

#[test]
fn vlans_that_go_leave_nothing_behind_and_those_without_room_are_unknown() {
    in_namespace(|| {
        let mut bench = Bench::new();
        let many = |from: u16, to: u16, round: u32| PortSettings {
            vlans: (from..to)
                .map(|vid| VlanSettings {
                    ifindex: 1000 + 4096 * round + u32::from(vid),
                    ..vlan(vid, 7)
                })
                .collect(),
            ..settings()
        };
        for round in 0..8 {
            bench
                .forwarder
                .set_port(bench.r0, &many(1, 1000, round))
                .unwrap();
            bench.rest();
            assert!(is_all_carried(&bench), "round {round}");
            bench.forwarder.detach(bench.r0);
            bench.forwarder.attach("r0", Request::Native).unwrap();
        }
        bench
            .forwarder
            .set_port(bench.r0, &many(1, 4095, 9))
            .unwrap();
        bench
            .forwarder
            .set_port(bench.r1, &many(1, 11, 10))
            .unwrap();
        bench.rest();
        assert_eq!(bench.forwarder.not_carried().vlans, 4094 + 10 - 4096);
        bench
            .forwarder
            .set_port(bench.r0, &many(1, 200, 9))
            .unwrap();
        bench
            .forwarder
            .set_port(bench.r1, &many(1, 11, 10))
            .unwrap();
        bench.rest();
        assert!(is_all_carried(&bench));
        assert_eq!(bench.run(&frame("198.19.1.2", 64, Some(100))).0, REDIRECT);
    });
}

#[test]
fn a_number_means_nothing_else_before_its_last_readers_are_gone() {
    in_namespace(|| {
        let capacity = Capacity {
            more_tables: 0,
            ..Capacity::default()
        };
        let mut forwarder = Forwarder::for_workers(capacity, 1, 1500, false).unwrap();
        let neighbour = |last: u16| adjacency(9999, last);
        forwarder.set_next_hop(ADJACENCY, neighbour(1)).unwrap();
        // A worker that has looked an address up, and is kept from looking behind the number.
        let mut worker = forwarder.readers().unwrap().pop().unwrap();
        forwarder.release(ADJACENCY);
        forwarder.set_next_hop(ADJACENCY, neighbour(2)).unwrap();
        assert_eq!(worker.next_hop(ADJACENCY).kind, Kind::None);
        assert_eq!(forwarder.not_carried().next_hops, 1);
        worker.quiesce();
        for _ in 0..2000 {
            forwarder.settle();
            if forwarder.not_carried() == NotCarried::default() {
                break;
            }
            worker.quiesce();
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert_eq!(worker.next_hop(ADJACENCY).destination_mac[5], 2);
        // Nor does one that is a group.
        forwarder.release(ADJACENCY);
        forwarder.set_group(ADJACENCY, &[TAGGED]).unwrap();
        assert_eq!(worker.next_hop(ADJACENCY).kind, Kind::None);
        assert_eq!(forwarder.not_carried().groups, 1);
    });
}
