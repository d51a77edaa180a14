//! A second kernel forwards between two namespaces, takes routes over the link, and dies alone.

use std::{
    net::Ipv4Addr,
    time::{Duration, Instant},
};

use host::{CoreId, Namespace, Veth};
use icc::Peer;
use planes::{
    control,
    guest::{self, Guest, Plan},
    netlink::Route,
    protocol::{Command, Counters, Interface, UserPlaneMode, pack_routes},
};

struct Net {
    left: Namespace,
    right: Namespace,
    dut: Namespace,
    cables: [Veth; 2],
}

/// Two hosts and, between them, a namespace whose two interfaces have no addresses of their own:
/// they are the guest's.
fn net() -> Net {
    let [left, right, dut] = ["gl", "gr", "gd"].map(|name| Namespace::new(name).unwrap());
    let cables = [
        Veth::new((&left, "l0"), (&dut, "d0"), 1).unwrap(),
        Veth::new((&right, "r0"), (&dut, "d1"), 1).unwrap(),
    ];
    for (namespace, interface, address, via) in [
        (&left, "l0", "198.18.1.2/24", "198.18.1.1"),
        (&right, "r0", "198.19.1.2/24", "198.19.1.1"),
    ] {
        namespace
            .ip(["addr", "add", address, "dev", interface])
            .unwrap();
        namespace
            .ip(["route", "add", "default", "via", via])
            .unwrap();
    }
    Net {
        left,
        right,
        dut,
        cables,
    }
}

fn interfaces(net: &Net) -> Vec<Interface> {
    let of = |index: usize, network: u8| Interface {
        name: format!("vec{index}"),
        mac: [2, 0, 0, 0, 0xa, index as u8],
        mtu: 1500,
        address: Ipv4Addr::new(198, network, 1, 1),
        length: 24,
        neighbour: Ipv4Addr::new(198, network, 1, 2),
        neighbour_mac: net.cables[index].a.mac,
    };
    vec![of(0, 18), of(1, 19)]
}

fn pings(from: &Namespace, to: &str) -> bool {
    from.command("ping")
        .args(["-q", "-c", "3", "-i", "0.05", "-W", "1", to])
        .output()
        .unwrap()
        .status
        .success()
}

#[test]
fn a_kernel_of_its_own_forwards_and_its_death_harms_nobody() {
    if !host::process::is_root() {
        println!("skipped: guests on interfaces of namespaces need root");
        return;
    }
    let Some(program) = guest::program() else {
        println!("skipped: no static guest program; build it with \"make guest\"");
        return;
    };
    let net = net();
    let core = *host::allowed_cores().unwrap().last().unwrap_or(&CoreId(0));
    let plan = Plan {
        core,
        namespace: &net.dut,
        interfaces: &["d0", "d1"],
        mtu: 1500,
        memory_mib: 128,
        program: &program,
    };
    let mut guest = match Guest::boot(&plan) {
        Err(guest::GuestError::NoKernel) => {
            println!("skipped: {}", guest::GuestError::NoKernel);
            return;
        }
        booted => booted.unwrap(),
    };
    assert!(
        !pings(&net.left, "198.19.1.2"),
        "nothing forwards before it is told to"
    );
    let start = Command::Start {
        mode: UserPlaneMode::Kernel,
        interfaces: interfaces(&net),
        routes: Vec::new(),
    };
    control::command(guest.link(), &start).unwrap();
    assert!(pings(&net.left, "198.19.1.2"), "{}", guest.console());

    // A route of the control plane: a network behind the right host, unreachable until it arrives.
    net.right
        .ip(["addr", "add", "203.0.113.1/32", "dev", "lo"])
        .unwrap();
    assert!(!pings(&net.left, "203.0.113.1"));
    let route = Route {
        network: Ipv4Addr::new(203, 0, 113, 0),
        length: 24,
        via: Ipv4Addr::new(198, 19, 1, 2),
    };
    guest.link().send_packet(&pack_routes(&[route])).unwrap();
    let since = Instant::now();
    let mut counters = Counters::default();
    while counters.routes_applied == 0 && since.elapsed() < Duration::from_secs(5) {
        counters = control::counters(guest.link()).unwrap().unwrap_or(counters);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!((counters.routes_applied, counters.routes_refused), (1, 0));
    assert!(counters.received > 0 && counters.sent > 0, "{counters:?}");
    assert!(pings(&net.left, "203.0.113.1"));

    // Another guest goes on when the first is gone, and so does the host.
    assert_eq!(guest.peer(), Peer::Alive);
    drop(guest);
    assert!(!pings(&net.left, "198.19.1.2"));
    let mut second = Guest::boot(&plan).unwrap();
    control::command(second.link(), &start).unwrap();
    assert!(pings(&net.left, "198.19.1.2"));
}
