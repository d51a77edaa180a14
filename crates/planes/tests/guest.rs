//! A second kernel forwards between two namespaces, takes routes over the link, and dies alone;
//! whatever runs it.

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command as Program, Stdio};
use std::time::{Duration, Instant};

use agent::protocol::{Command, Counters, Interface, Route, UserPlaneMode, pack_routes};
use host::bed::{Bed, side};
use host::process::{Signal, signal};
use host::{CoreId, Namespace, Veth};
use icc::Peer;
use planes::guest::{self, BOOT_PATIENCE, Choice, Guest, Kind, Plan};
use planes::{Error, control};

/// Tells a copy of this program that it is to boot a guest and wait for its own end.
const VICTIM: &str = "CORELANE_TEST_VICTIM";

struct Net {
    left: Namespace,
    right: Namespace,
    dut: Namespace,
    cables: [Veth; 2],
}

/// Two hosts and, between them, a namespace whose two interfaces have no addresses of their own:
/// they are the guest's.
fn net() -> Net {
    let bed = Bed::plan()
        .cable(
            side("left", "l0").address("198.18.1.2/24"),
            side("dut", "d0"),
        )
        .cable(
            side("right", "r0").address("198.19.1.2/24"),
            side("dut", "d1"),
        )
        .ip("left", "route add default via 198.18.1.1")
        .ip("right", "route add default via 198.19.1.1")
        .lay()
        .unwrap();
    let [left, right, dut] =
        ["left", "right", "dut"].map(|name| bed.namespace(name).unwrap().clone());
    let cables = [0, 1].map(|cable: usize| bed.cables()[cable].clone());
    Net {
        left,
        right,
        dut,
        cables,
    }
}

fn interfaces(net: &Net, kind: Kind) -> Vec<Interface> {
    let of = |index: usize, network: u8| Interface {
        name: kind.interface(index),
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

/// A guest of `kind` without interfaces in `namespace`, or why there is none here.
fn plan<'a>(kind: Kind, namespace: &'a Namespace, program: &'a Path) -> Plan<'a> {
    Plan {
        kind,
        core: *host::allowed_cores().unwrap().last().unwrap_or(&CoreId(0)),
        namespace,
        interfaces: &[],
        mtu: 1500,
        memory_mib: 128,
        program,
        patience: BOOT_PATIENCE * 2,
    }
}

/// Boots it; where it cannot be had here, says so.
fn boot(plan: &Plan<'_>) -> Option<Guest> {
    match Guest::boot(plan) {
        Err(error @ Error::NotInstalled(_)) => {
            needs::skipped!("{error}");
            None
        }
        booted => Some(booted.unwrap()),
    }
}

fn needs() -> Option<std::path::PathBuf> {
    if !needs::root("for guests on interfaces of namespaces") {
        return None;
    }
    let program = guest::program();
    if program.is_none() {
        needs::skipped!("no static guest program; build it with \"make guest\"");
    }
    program
}

fn forwards_takes_routes_and_dies_alone(kind: Kind) {
    let _alone = needs::cores();
    let Some(program) = needs() else { return };
    let net = net();
    let plan = Plan {
        interfaces: &["d0", "d1"],
        ..plan(kind, &net.dut, &program)
    };
    let Some(mut guest) = boot(&plan) else { return };
    println!("{} was up after {:?}", kind.name(), guest.boot_time());
    control::conform(guest.link()).unwrap();
    assert!(
        !pings(&net.left, "198.19.1.2"),
        "nothing forwards before it is told to"
    );
    let start = Command::Start {
        mode: UserPlaneMode::Kernel,
        interfaces: interfaces(&net, kind),
        routes: Vec::new(),
    };
    control::command(guest.link(), &start).unwrap();
    // Once none of three came back within a second; why is not known.
    let arrives = (0..5).any(|_| pings(&net.left, "198.19.1.2"));
    assert!(arrives, "{}", guest.console());

    // A route of the control plane: a network behind the right host, unreachable until it arrives.
    net.right.ip("addr add 203.0.113.1/32 dev lo").unwrap();
    assert!(!pings(&net.left, "203.0.113.1"));
    let route = Route {
        network: Ipv4Addr::new(203, 0, 113, 0),
        length: 24,
        via: Ipv4Addr::new(198, 19, 1, 2),
    };
    guest.link().send_packet(&pack_routes(&[route])).unwrap();
    let since = Instant::now();
    let mut counters = Counters::default();
    while counters.routes_applied == 0 && since.elapsed() < Duration::from_secs(30) {
        counters = control::counters(guest.link()).unwrap().unwrap_or(counters);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!((counters.routes_applied, counters.routes_refused), (1, 0));
    assert!(pings(&net.left, "203.0.113.1"));
    let since = Instant::now();
    while counters.received == 0 && since.elapsed() < Duration::from_secs(30) {
        counters = control::counters(guest.link()).unwrap().unwrap_or(counters);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(counters.received > 0 && counters.sent > 0, "{counters:?}");

    // Another guest goes on when the first is gone, and so does the host.
    assert_eq!(guest.peer(), Peer::Alive);
    let process = guest.process();
    drop(guest);
    assert!(!host::process::is_alive(process));
    assert!(!pings(&net.left, "198.19.1.2"));
    let mut second = boot(&plan).unwrap();
    control::command(second.link(), &start).unwrap();
    assert!(pings(&net.left, "198.19.1.2"));
}

#[test]
fn user_mode_linux_forwards_takes_routes_and_dies_alone() {
    forwards_takes_routes_and_dies_alone(Kind::UserModeLinux);
}

#[test]
fn a_virtual_machine_forwards_takes_routes_and_dies_alone() {
    forwards_takes_routes_and_dies_alone(Kind::Emulated);
}

/// A crash of a guest's kernel ends that guest. Host and the other guest do not notice.
#[test]
fn a_crash_stays_in_its_guest() {
    let _alone = needs::cores();
    let Some(program) = needs() else { return };
    let places = ["crash0", "crash1"].map(|name| Namespace::new(name).unwrap());
    let plans = places
        .each_ref()
        .map(|place| plan(Kind::UserModeLinux, place, &program));
    let Some(mut victim) = boot(&plans[0]) else {
        return;
    };
    let mut other = boot(&plans[1]).unwrap();
    // A fault of its kernel's own code: User Mode Linux takes the signal for that, and panics.
    signal(victim.process(), Signal::SEGV).unwrap();
    let since = Instant::now();
    while victim.peer() != Peer::Closed {
        assert!(
            since.elapsed() < Duration::from_secs(30),
            "the crash is not seen: {}",
            victim.console()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(other.peer(), Peer::Alive);
    control::conform(other.link()).unwrap();
    // And its core takes a new one.
    drop(victim);
    let mut again = boot(&plans[0]).unwrap();
    control::conform(again.link()).unwrap();
    assert_eq!(other.peer(), Peer::Alive);
}

/// Not a test by itself: what a copy of this program does that is to be killed.
#[test]
fn victim() {
    let Some(kind) = std::env::var_os(VICTIM) else {
        return;
    };
    let kind = if kind == "emulated" {
        Kind::Emulated
    } else {
        Kind::UserModeLinux
    };
    let namespace = Namespace::new("victim").unwrap();
    let program = guest::program().unwrap();
    let _guest = boot(&plan(kind, &namespace, &program));
    println!("up");
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// Processes whose command line has this word in it.
fn processes_with(word: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(word))
        .collect()
}

fn killed_control_leaves_nothing(kind: &str) {
    use std::io::BufRead;
    let _alone = needs::cores();
    if needs().is_none() {
        return;
    }
    let mut control = Program::new(std::env::current_exe().unwrap())
        .args(["--exact", "guest::victim", "--nocapture"])
        .env(VICTIM, kind)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = std::io::BufReader::new(control.stdout.take().unwrap()).lines();
    let said: Vec<String> = lines
        .map(Result::unwrap)
        .take_while(|line| !line.ends_with("up"))
        .collect();
    if let Some(why) = said.iter().find(|line| line.contains("skipped: ")) {
        needs::skipped!("{}", why.trim_start_matches("skipped: "));
        control.kill().unwrap();
        control.wait().unwrap();
        return;
    }
    let name = format!("corelane-guest-{}-", control.id());
    assert!(!processes_with(&name).is_empty(), "a guest runs");
    control.kill().unwrap();
    control.wait().unwrap();
    let since = Instant::now();
    while !processes_with(&name).is_empty() && since.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let left = processes_with(&name);
    guest::sweep_leftovers();
    host::namespace::sweep_leftovers();
    host::temporary::sweep_leftovers();
    let number = control.id().to_string();
    assert_eq!(left, Vec::<String>::new(), "ended without anybody's help");
    let namespaces = host::namespace::existing();
    assert!(
        !namespaces.iter().any(|name| name.contains(&number)),
        "{namespaces:?}"
    );
    let files = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    let mut names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    let own = format!("corelane-{number}-");
    assert!(!names.any(|name| name.starts_with(&own)));
}

#[test]
fn a_guest_does_not_outlive_its_killed_starter() {
    killed_control_leaves_nothing("uml");
}

#[test]
fn a_virtual_machine_does_not_outlive_its_killed_starter() {
    killed_control_leaves_nothing("emulated");
}

/// Whatever this machine has, there is a kind of guests and a reason for it, and that kind boots.
#[test]
fn the_kind_that_is_chosen_boots() {
    let _alone = needs::cores();
    let Some(program) = needs() else { return };
    let namespace = Namespace::new("chosen").unwrap();
    let core = plan(Kind::Kvm, &namespace, &program).core;
    let choice = Choice::make(core, &program);
    println!("{}", choice.sentence());
    assert_eq!(choice.no_kvm.is_none(), choice.kind == Kind::Kvm);
    let Some(mut guest) = boot(&plan(choice.kind, &namespace, &program)) else {
        return;
    };
    assert_eq!(guest.peer(), Peer::Alive);
    control::conform(guest.link()).unwrap();
}
