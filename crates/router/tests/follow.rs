//! The follower against this machine's kernel, in namespaces of its own: after whatever the kernel
//! went through, the engine's answers must be the kernel's. Needs root; says so and passes
//! otherwise.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use fib::Prefix;
use host::Namespace;
use host::bed::{Bed, side};
use host::namespace::OnFailure;
use host::netlink::{Dumped, Piece, READ_SIZE, ROUTE, Socket};
use router::control_plane::follower::{Checking, Follower};
use router::control_plane::mirror::Mirror;
use router::control_plane::model::Event;
use router::control_plane::netlink::dump::Dump;
use router::engine::{Change, MAIN_TABLE, fixed};
use rustix::net::sockopt::set_socket_recv_buffer_size;

use crate::recording::Recording;

pub(crate) struct Net {
    pub(crate) router: Namespace,
    _bed: Bed,
}

pub(crate) fn is_root() -> bool {
    needs::root("for network namespaces")
}

/// A router namespace with r0, r1, r2 = 10.0.0.1/24, 10.1.0.1/24, 10.2.0.1/24 and a permanent
/// neighbour .9 on each.
pub(crate) fn net() -> Net {
    let mut plan = Bed::plan();
    for number in 0..3 {
        let port = side("router", &format!("r{number}"))
            .address(format!("10.{number}.0.1/24"))
            .address(format!("2001:db8:{number}::1/64"));
        plan = plan.cable(port, side(&format!("p{number}"), "e"));
    }
    let bed = plan.lay().unwrap();
    let router = bed.namespace("router").unwrap().clone();
    for number in 0..3 {
        neighbours(&router, number);
    }
    Net { router, _bed: bed }
}

fn neighbours(router: &Namespace, number: u32) {
    for address in [format!("10.{number}.0.9"), format!("2001:db8:{number}::9")] {
        let mac = format!("02:00:00:00:09:0{number}");
        let line = format!("neigh replace {address} lladdr {mac} nud permanent dev r{number}");
        router.ip(line).unwrap();
    }
}

pub(crate) fn batch(router: &Namespace, lines: &str) {
    router.batch(lines, OnFailure::Continue).unwrap();
}

/// Follows for `time`, then compares; the differences of a comparison that kept coming back are
/// returned.
fn settle(follower: &mut Follower, time: Duration) -> Vec<String> {
    let end = Instant::now() + time;
    while Instant::now() < end {
        follower.follow();
        std::thread::sleep(Duration::from_millis(2));
    }
    differences(follower)
}

pub(crate) fn differences(follower: &mut Follower) -> Vec<String> {
    let verification = follower.verify().unwrap();
    assert!(verification.compared > 1000);
    verification
        .differences
        .iter()
        .map(|difference| format!("{difference:?}"))
        .collect()
}

pub(crate) fn ports() -> Vec<String> {
    ["r0", "r1", "r2"].map(String::from).to_vec()
}

/// Runs `work` with a follower inside the router's namespace.
pub(crate) fn following(net: &Net, work: impl FnOnce(&mut Follower) + Send) {
    net.router
        .enter(|| {
            let mut follower = Follower::start(&ports(), Box::new(Recording::new())).unwrap();
            assert_eq!(differences(&mut follower), [""; 0]);
            work(&mut follower);
        })
        .unwrap();
}

const QUIET: Duration = Duration::from_millis(150);
/// Far more than one buffer of the kernel's holds.
const MANY_ROUTES: u64 = 20_000;
/// The shortest message of a route: headers, table, destination, way out.
const SHORTEST_ROUTE: usize = 16 + 12 + 8 + 8 + 8;

#[test]
fn what_the_kernel_removes_in_silence_is_gone_here() {
    if !is_root() {
        return;
    }
    let net = net();
    let router = &net.router;
    batch(
        router,
        "nexthop add id 7 via 10.1.0.9 dev r1\nnexthop add id 8 via 10.2.0.9 dev r2\nnexthop add \
         id 20 group 7/8\nnexthop add id 21 group 7,3/8\nroute add 192.0.2.0/25 nhid 7\nroute add \
         192.0.2.128/25 nhid 20\nroute add 198.51.100.0/24 nhid 21\nnexthop add id 37 via \
         2001:db8:1::9 dev r1\nroute add 2001:db8:100::/48 nhid 37\nroute add 203.0.113.0/24 via \
         10.1.0.9\nroute add 203.0.113.0/24 via 10.2.0.9 metric 9\nroute add 172.16.0.0/16 \
         nexthop via 10.0.0.9 nexthop via 10.1.0.9 weight 2 nexthop via 10.2.0.9\nroute add \
         172.17.0.0/16 via 10.0.0.9 src 10.0.0.1\nroute add 2001:db8:200::/48 nexthop via \
         2001:db8:0::9 nexthop via 2001:db8:1::9\nroute add blackhole 172.18.0.0/16\nroute add \
         unreachable 172.19.0.0/16\n",
    );
    let steps = [
        "nexthop del id 7",
        "link set r1 down",
        "link set r1 up",
        "nexthop add id 7 via 10.1.0.9 dev r1\nroute add 192.0.2.0/25 nhid 7\nnexthop replace id \
         20 group 7/8",
        "nexthop replace id 7 via 10.2.0.9 dev r2",
        "addr del 10.0.0.1/24 dev r0",
        "addr add 10.0.0.1/24 dev r0\nroute add 172.17.0.0/16 via 10.0.0.9 src 10.0.0.1",
        "link set r2 down",
        "nexthop flush",
        "link set r2 up\nroute add 203.0.113.0/24 via 10.2.0.9",
        "route append 2001:db8:200::/48 via 2001:db8:2::9",
        "route del 2001:db8:200::/48 via 2001:db8:0::9",
        "route append 203.0.113.0/24 via 10.0.0.9\nroute del 203.0.113.0/24 via 10.2.0.9",
        "route add 10.200.0.0/16 via 10.0.0.9 table 100\nrule add from 10.9.0.0/16 lookup 100",
        "rule del from 10.9.0.0/16 lookup 100",
        "link del r2",
    ];
    following(&net, |follower| {
        for step in steps {
            batch(router, step);
            for number in 0..3 {
                // A link that went down has forgotten even its permanent neighbours.
                if !step.contains("del r2") {
                    let mac = format!("02:00:00:00:09:0{number}");
                    batch(
                        router,
                        &format!(
                            "neigh replace 10.{number}.0.9 lladdr {mac} nud permanent dev \
                             r{number}"
                        ),
                    );
                }
            }
            assert_eq!(settle(follower, QUIET), [""; 0], "after: {step}");
        }
        assert_eq!(
            follower.health().resyncs,
            0,
            "all of it by announcements and causes"
        );
    });
}

#[test]
fn a_storm_that_overruns_the_socket_ends_equal() {
    if !is_root() {
        return;
    }
    let net = net();
    let router = &net.router;
    following(&net, |follower| {
        // As small as the kernel allows, so that it can be overrun.
        set_socket_recv_buffer_size(follower.descriptor(), 1).unwrap();
        let mut lines = String::new();
        for round in 0..4 {
            for number in 0..6_000u32 {
                let verb = ["add", "replace", "del", "add"][round];
                let via = (number + round as u32) % 3;
                writeln!(
                    lines,
                    "route {verb} 100.{}.{}.0/26 via 10.{via}.0.9",
                    number >> 8,
                    number & 255
                )
                .unwrap();
            }
        }
        // Nobody reads meanwhile: the socket overruns, and only a resynchronisation can tell what
        // is there.
        batch(router, &lines);
        follower.follow();
        assert!(follower.health().overruns > 0);
        follower.tick(Instant::now());
        assert!(!follower.is_current(), "nobody may vouch for that");
        while follower.is_resyncing() {
            follower.follow();
            follower.tick(Instant::now());
        }
        assert_eq!(follower.health().resyncs, 1);
        assert!(follower.is_current());
        assert_eq!(settle(follower, QUIET), [""; 0]);
        assert!(follower.mirror().routes().0 > 3_000);
    });
}

#[test]
fn a_turn_takes_a_part_of_a_storm_and_leaves_the_rest_to_the_next() {
    const ROUTES: u32 = 60_000;
    if !is_root() {
        return;
    }
    let net = net();
    let mut lines = String::new();
    for number in 0..ROUTES {
        let (high, low) = (number >> 8, number & 255);
        writeln!(lines, "route add 100.{high}.{low}.0/26 via 10.1.0.9").unwrap();
    }
    following(&net, |follower| {
        batch(&net.router, &lines);
        let before = follower.health().messages;
        follower.follow();
        let taken = follower.health().messages - before;
        assert!(taken > 0 && taken < ROUTES.into(), "{taken}");
        assert_eq!(settle(follower, QUIET), [""; 0]);
    });
}

#[test]
fn an_interface_goes_and_comes_back() {
    if !is_root() {
        return;
    }
    let net = net();
    let router = &net.router;
    following(&net, |follower| {
        batch(router, "route add 192.0.2.0/24 via 10.1.0.9\nlink del r1");
        assert_eq!(settle(follower, QUIET), [""; 0]);
        assert!(follower.mirror().around().link_named("r1").is_none());
        batch(
            router,
            "link add r1 type veth peer name back\nlink set back up\nlink set r1 up\naddr add \
             10.1.0.1/24 dev r1\nroute add 192.0.2.0/24 via 10.1.0.9\nneigh replace 10.1.0.9 \
             lladdr 02:00:00:00:09:01 nud permanent dev r1",
        );
        assert_eq!(settle(follower, QUIET), [""; 0]);
        let r1 = follower.mirror().around().link_named("r1").unwrap().index;
        let id = follower.engine().answers().lookup_v4(254, 0xC000_0201);
        assert_eq!(follower.engine().answers().next_hop(id).port, r1);
    });
}

#[test]
fn a_route_change_does_not_wait_for_a_comparison() {
    if !is_root() {
        return;
    }
    let net = net();
    let router = &net.router;
    let mut lines = String::from("route add 192.0.2.0/24 via 10.1.0.9\n");
    for number in 0..10_000u32 {
        let (high, low, via) = (number >> 8, number & 255, number % 3);
        writeln!(lines, "route add 100.{high}.{low}.0/26 via 10.{via}.0.9").unwrap();
    }
    batch(router, &lines);
    following(&net, |follower| {
        let leaves_by = |follower: &Follower| {
            let id = follower
                .engine()
                .answers()
                .lookup_v4(MAIN_TABLE, 0xC000_0201);
            let port = follower.engine().answers().next_hop(id).port;
            follower.mirror().around().links[&port].name.clone()
        };
        follower.begin_verification().unwrap();
        while follower.checking() == Checking::Waiting {
            assert!(follower.advance_verification().unwrap().is_none());
        }
        for (gateway, port) in [("10.2.0.9", "r2"), ("10.1.0.9", "r1"), ("10.2.0.9", "r2")] {
            assert_eq!(follower.checking(), Checking::Comparing);
            batch(router, &format!("route replace 192.0.2.0/24 via {gateway}"));
            assert!(follower.advance_verification().unwrap().is_none());
            assert_eq!(leaves_by(follower), port, "in the middle of the comparison");
        }
        let result = loop {
            if let Some(result) = follower.advance_verification().unwrap() {
                break result;
            }
        };
        assert_eq!(result.differences, []);
        assert!(result.compared > 20_000 && follower.checking() == Checking::No);
    });
}

/// As a route that goes from gateway to gateway in the rhythm of the comparisons: each time the
/// tables are read it has the one, each time the engine is asked the other.
#[test]
fn a_route_that_never_rests_is_no_difference() {
    if !is_root() {
        return;
    }
    let net = net();
    let goes_by = |gateway| {
        let line = format!("route replace 192.0.2.0/24 via {gateway}");
        net.router.ip(line).unwrap();
    };
    following(&net, |follower| {
        goes_by("10.1.0.9");
        follower.begin_verification().unwrap();
        let result = loop {
            while follower.checking() == Checking::Waiting {
                assert!(follower.advance_verification().unwrap().is_none());
            }
            goes_by("10.2.0.9");
            let mut result = None;
            while follower.checking() == Checking::Comparing {
                result = follower.advance_verification().unwrap();
            }
            goes_by("10.1.0.9");
            if let Some(result) = result {
                break result;
            }
        };
        assert_eq!(result.differences, []);
        assert_eq!(result.different, 0);
    });
}

/// However large the tables: between two looks at the announcements, a re-read takes in one buffer
/// of the kernel's at most.
#[test]
fn route_changes_do_not_wait_for_a_resynchronisation() {
    if !is_root() {
        return;
    }
    let most = (READ_SIZE / SHORTEST_ROUTE) as u64;
    let net = net();
    let router = &net.router;
    let mut lines = String::from("route add 192.0.2.0/24 via 10.1.0.9\n");
    for number in 0..MANY_ROUTES {
        let (high, low, via) = (number >> 8, number & 255, number % 3);
        writeln!(lines, "route add 100.{high}.{low}.0/26 via 10.{via}.0.9").unwrap();
    }
    batch(router, &lines);
    following(&net, |follower| {
        let answers = |follower: &Follower| {
            let answers = follower.engine().answers();
            let id = answers.lookup_v4(MAIN_TABLE, 0xC000_0201);
            let port = answers.next_hop(id).port;
            let link = follower.mirror().around().links.get(&port);
            link.map(|link| link.name.clone())
        };
        let (mut pieces, mut changes) = (0_u64, 0);
        follower.begin_resync("the test");
        while follower.is_resyncing() {
            let change = match pieces {
                1 => Some(("replace 192.0.2.0/24 via 10.2.0.9", Some("r2"))),
                2 => Some(("del 192.0.2.0/24", None)),
                3 => Some(("add 192.0.2.0/24 via 10.0.0.9", Some("r0"))),
                _ => None,
            };
            if let Some((change, port)) = change {
                batch(router, &format!("route {change}"));
                follower.follow();
                assert_eq!(answers(follower).as_deref(), port, "after piece {pieces}");
                changes += 1;
            }
            let before = follower.health().messages;
            follower.advance_resync();
            let events = follower.health().messages - before;
            assert!(events <= most, "{events} events at once, of {most} allowed");
            pieces += 1;
        }
        assert!(
            changes == 3 && pieces > MANY_ROUTES / most,
            "{pieces} pieces"
        );
        assert_eq!(answers(follower).as_deref(), Some("r0"));
        assert_eq!(follower.health().swept.routes, 0);
        assert_eq!(differences(follower), [""; 0]);
    });
}

#[test]
fn a_comparison_finds_what_differs_and_says_where() {
    if !is_root() {
        return;
    }
    let net = net();
    let lines =
        "route add 192.0.2.0/24 via 10.1.0.9\nroute add 2001:db8:77::/48 via 2001:db8:2::9\n";
    batch(&net.router, lines);
    following(&net, |follower| {
        let spoil = |next_hop| {
            move |mirror: &mut Mirror| {
                mirror.changes().push(Change::RouteV4 {
                    table: MAIN_TABLE,
                    prefix: Prefix::containing(0xC000_0200, 24),
                    next_hop,
                });
                mirror.changes().push(Change::RouteV6 {
                    table: MAIN_TABLE,
                    prefix: Prefix::containing(0x2001_0db8_0077 << 80, 48),
                    next_hop,
                });
            }
        };
        for next_hop in [fixed::BLACKHOLE, fixed::PUNT] {
            follower.change(spoil(next_hop));
            let result = follower.verify().unwrap();
            // Both ends of either prefix, each once.
            assert_eq!(
                result.different, 4,
                "{next_hop:?}: {:?}",
                result.differences
            );
            let at = |address: &str| {
                let address = address.parse::<std::net::IpAddr>().unwrap();
                result
                    .differences
                    .iter()
                    .any(|found| found.address == address)
            };
            assert!(at("192.0.2.255") && at("2001:db8:77::"), "{result:?}");
        }
    });
}

#[test]
fn a_table_that_changes_while_it_is_read_is_read_again() {
    const ADDRESSES: u32 = 2000;
    if !is_root() {
        return;
    }
    let net = net();
    let lines = (0..ADDRESSES).fold(String::new(), |mut lines, number| {
        writeln!(
            lines,
            "addr add 10.9.{}.{}/32 dev lo",
            number >> 8,
            number & 255
        )
        .unwrap();
        lines
    });
    batch(&net.router, &lines);
    let mut socket = net
        .router
        .enter(|| Socket::open(ROUTE, &[]))
        .unwrap()
        .unwrap();
    let added: IpAddr = "10.8.0.1".parse().unwrap();
    let (mut dump, mut seen, mut is_changed) = (Dump::new(false), Vec::new(), false);
    loop {
        let piece = dump.piece(&mut socket, |event| {
            if let Event::Address(address) = event {
                seen.push(address.address);
            }
        });
        match piece.unwrap() {
            Piece::Last => break,
            Piece::More if !is_changed && seen.len() > 100 => {
                net.router
                    .ip(format!("addr add {added}/32 dev r0"))
                    .unwrap();
                is_changed = true;
            }
            Piece::More => {}
            Piece::None => socket.wait_for_answer().unwrap(),
        }
    }
    assert_eq!(dump.outcome(), Dumped::Whole);
    assert!(seen.contains(&added));
    let of = |address: &str| {
        let address: IpAddr = address.parse().unwrap();
        seen.iter().filter(|other| **other == address).count()
    };
    assert_eq!((of("10.9.0.0"), of("10.9.7.207")), (2, 2));
}
