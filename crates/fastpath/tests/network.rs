//! The forwarder between namespaces: real TCP with offloads on, traffic while routes change, death,
//! refusal.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bpf::attach::{Mode, Request, index_of};
use bpf::program::Loader;
use fastpath::forward::{Accepts, Capacity, Forwarder, Lookup, Place, PortSettings};
use fastpath::generate::{Destinations, Frames, Generator};
use fastpath::sink::{Checks, Sink};
use fib::next_hop::Kind;
use fib::{NextHop, NextHopEntry, Prefix};
use host::bed::{Bed, side};
use host::offload::Offload;
use host::{Namespace, Veth};

use crate::common::{cannot_run, in_namespace, veth};

const MAIN: u32 = 254;
const LEFT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const RIGHT: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 2);

/// Two hosts, and a router between them that forwards by itself.
pub(crate) struct Net {
    router: Namespace,
    pub(crate) left: Veth,
    pub(crate) right: Veth,
}

impl Net {
    pub(crate) fn new() -> Self {
        // Redirected frames reach a veth whose peer has GRO.
        let host = |place, interface, address| {
            let end = side(place, interface).address(address);
            end.switch(Offload::GenericReceive, true)
        };
        let bed = Bed::plan()
            .queues(2)
            .set("router", "net.ipv4.ip_forward", "1")
            .cable(
                host("a", "p0", "10.0.0.2/24"),
                side("router", "r0").address("10.0.0.1/24"),
            )
            .cable(
                side("router", "r1").address("10.0.1.1/24"),
                host("b", "p1", "10.0.1.2/24"),
            )
            .ip("a", "route add default via 10.0.0.1")
            .ip("b", "route add default via 10.0.1.1")
            .lay()
            .unwrap();
        let [left, right] = [0, 1].map(|cable: usize| bed.cables()[cable].clone());
        Self {
            router: bed.namespace("router").unwrap().clone(),
            left,
            right,
        }
    }

    /// A forwarder that knows both hosts.
    pub(crate) fn forwarder(&self, places: [Place; 2]) -> Forwarder {
        let make = || {
            let mut forwarder = Forwarder::new(Lookup::Own, Capacity::default()).unwrap();
            for (place, port, peer, id, address) in [
                (places[0], &self.left.b, &self.left.a, 10, LEFT),
                (places[1], &self.right.a, &self.right.b, 11, RIGHT),
            ] {
                forwarder.attach(&port.interface, place).unwrap();
                let settings = PortSettings {
                    enabled: true,
                    accepts: Accepts::default(),
                    mac: port.mac,
                    table: MAIN,
                    vlans: vec![],
                    ..PortSettings::default()
                };
                forwarder.set_port(port.index, &settings).unwrap();
                let entry = NextHopEntry {
                    kind: Kind::Adjacency,
                    mtu: 1500,
                    port: port.index,
                    destination_mac: peer.mac,
                    source_mac: port.mac,
                    ..NextHopEntry::default()
                };
                forwarder.set_next_hop(NextHop(id), entry).unwrap();
                let route = (Prefix::containing(u32::from(address), 32), NextHop(id));
                forwarder.set_routes_v4(MAIN, &[route]);
            }
            forwarder
        };
        self.router.enter(make).unwrap()
    }

    /// Sends `bytes` bytes by TCP from left to right; panics when one is lost or changed.
    pub(crate) fn transfer(&self, bytes: usize) {
        let listener = self
            .right
            .b
            .namespace
            .enter(|| TcpListener::bind((RIGHT, 0)).unwrap())
            .unwrap();
        let port = listener.local_addr().unwrap().port();
        let pattern = |index: usize| (index * 31 % 251) as u8;
        std::thread::scope(|scope| {
            let receiver = scope.spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                stream
                    .set_read_timeout(Some(Duration::from_secs(10)))
                    .unwrap();
                let mut all = Vec::with_capacity(bytes);
                stream.read_to_end(&mut all).unwrap();
                all
            });
            let sent: Vec<_> = (0..bytes).map(pattern).collect();
            let connect = || {
                TcpStream::connect_timeout(&(RIGHT, port).into(), Duration::from_secs(10)).unwrap()
            };
            let mut stream = self.left.a.namespace.enter(connect).unwrap();
            stream.write_all(&sent).unwrap();
            drop(stream);
            assert!(
                receiver.join().unwrap() == sent,
                "the bytes that arrived are not those sent"
            );
        });
    }
}

fn forwarded(forwarder: &Forwarder) -> u64 {
    forwarder
        .port_counters()
        .values()
        .map(|port| port.forwarded)
        .sum()
}

fn reason(forwarder: &Forwarder, name: &str) -> u64 {
    forwarder
        .port_counters()
        .values()
        .map(|port| port.reason(name))
        .sum()
}

#[test]
fn tcp_works_with_offloads_on_and_off_in_both_modes() {
    if cannot_run() {
        return;
    }
    let net = Net::new();
    for request in [Request::Native, Request::Generic] {
        for end in [&net.left.a, &net.right.b] {
            end.namespace
                .switch(&end.interface, Offload::Checksums, true)
                .unwrap();
        }
        let forwarder = net.forwarder([request.into(); 2]);
        net.transfer(4 << 20);
        let partial = reason(&forwarder, "partial-checksum");
        assert!(
            partial > 50,
            "{request:?}: {partial} frames recognised as partial"
        );

        for end in [&net.left.a, &net.right.b] {
            end.namespace
                .switch(&end.interface, Offload::Checksums, false)
                .unwrap();
        }
        let before = forwarded(&forwarder);
        net.transfer(4 << 20);
        let fast = forwarded(&forwarder) - before;
        assert!(
            fast > 1000,
            "{request:?}: {fast} frames forwarded by the program"
        );
        // Segments of the sender, acknowledgements of the receiver: hardly any of them can look
        // partial.
        assert!(reason(&forwarder, "partial-checksum") - partial < 20);
        for port in forwarder.port_counters().values() {
            assert!(port.closes(), "{port:?}");
        }
    }
}

/// Frames that came by each port and were forwarded.
fn by_port(net: &Net, forwarder: &Forwarder) -> [u64; 2] {
    [&net.left.b, &net.right.a].map(|end| {
        let counts = forwarder.port_counters();
        let of_port = (end.index, 0)..=(end.index, u32::MAX);
        counts
            .range(of_port)
            .map(|(_, count)| count.forwarded)
            .sum()
    })
}

#[test]
fn tcp_crosses_between_ports_at_tc_and_ports_with_xdp() {
    if cannot_run() {
        return;
    }
    let net = Net::new();
    let native = Place::Xdp(Request::Native);
    for (places, with_sums) in [
        ([Place::Tc, Place::Tc], true),
        ([Place::Tc, native], false),
        ([native, Place::Tc], false),
    ] {
        for end in [&net.left.a, &net.right.b] {
            end.namespace
                .switch(&end.interface, Offload::Checksums, with_sums)
                .unwrap();
        }
        let forwarder = net.forwarder(places);
        net.transfer(4 << 20);
        // Segments one way, acknowledgements the other.
        let [right, left] = by_port(&net, &forwarder);
        assert!(right > 2000 && left > 20, "{places:?}: {right}, {left}");
        for count in forwarder.port_counters().values() {
            assert!(count.closes(), "{places:?}: {count:?}");
            let left: u64 = count.not_forwarded() - count.reason("link-group");
            assert!(left < 20, "{places:?}: {count:?}");
        }
    }
}

/// A forwarder with ports r0 and r1, a route for 10.1/16 to r1, and the next hop 2 that leads
/// there, too.
fn forwarder_for_changes(request: Request, station: [u8; 6]) -> Forwarder {
    let mut forwarder = Forwarder::new(Lookup::Own, Capacity::default()).unwrap();
    for port in ["r0", "r1"] {
        let attachment = forwarder.attach(port, request).unwrap();
        let wanted = if request == Request::Native {
            Mode::Native
        } else {
            Mode::Generic
        };
        assert_eq!(attachment.mode(), wanted);
    }
    let settings = PortSettings {
        enabled: true,
        accepts: Accepts::default(),
        mac: station,
        table: MAIN,
        vlans: vec![],
        ..PortSettings::default()
    };
    forwarder
        .set_port(index_of("r0").unwrap(), &settings)
        .unwrap();
    for id in [1, 2] {
        forwarder.set_next_hop(NextHop(id), to_r1(0)).unwrap();
    }
    let covering = (Prefix::containing(0x0a01_0000, 16), NextHop(1));
    forwarder.set_routes_v4(MAIN, &[covering]);
    // So many that frames which wait are searched for together.
    let others = |other: u32| {
        (
            Prefix::containing(0x1400_0000 + (other << 8), 24),
            NextHop(1),
        )
    };
    let others: Vec<_> = (0..20_000).map(others).collect();
    forwarder.set_routes_v4(MAIN, &others);
    forwarder
}

fn to_r1(stamp: u32) -> NextHopEntry {
    NextHopEntry {
        kind: Kind::Adjacency,
        mtu: 1500,
        port: index_of("r1").unwrap(),
        stamp,
        ..NextHopEntry::default()
    }
}

/// A thread that sends 25,600 frames to 4096 addresses of 10.1/16, and says how many it sent.
fn sender(station: [u8; 6]) -> std::thread::JoinHandle<u64> {
    let frames = Frames {
        source_mac: [2, 0, 0, 0, 0, 9],
        destination_mac: station,
        vlan: None,
        source: IpAddr::V4(LEFT),
        destinations: Destinations::V4(
            (0..4096_u32)
                .map(|i| Ipv4Addr::from(0x0a01_0000 + i * 13))
                .collect(),
        ),
        source_port: 1024,
        source_ports: 1,
        destination_port: 9,
        ttl: 64,
        lengths: vec![60],
        stream: 1,
        stamp_every: 0,
    };
    let mut generator = Generator::new(index_of("p0").unwrap(), &frames).unwrap();
    std::thread::spawn(move || {
        for _ in 0..400 {
            generator.send(64).unwrap();
            std::thread::sleep(Duration::from_micros(200));
        }
        generator.sent()
    })
}

#[test]
fn nothing_is_lost_while_routes_change() {
    for request in [Request::Native, Request::Generic] {
        in_namespace(move || {
            veth("r0", "p0");
            veth("r1", "p1");
            // In generic mode r0 has no program in its driver: GRO makes it take the generator's
            // frames.
            crate::common::run("ethtool -K r0 gro on");
            let mut sink = Sink::new(Checks {
                window: 1 << 16,
                ..Checks::ALL
            })
            .unwrap();
            sink.attach("p1", Request::Native).unwrap();
            let station = [2, 0, 0, 0, 0, 1];
            let mut forwarder = forwarder_for_changes(request, station);
            let sender = sender(station);
            let mut changes = 0_u32;
            while !sender.is_finished() {
                for i in 0..64 {
                    let length = 17 + (i % 16) as u8;
                    let prefix = Prefix::containing(
                        0x0a01_0000 + (changes + i).wrapping_mul(97) % 0x1_0000,
                        length,
                    );
                    let next_hop = if (changes + i).is_multiple_of(3) {
                        NextHop::NONE
                    } else {
                        NextHop(2)
                    };
                    forwarder.set_routes_v4(MAIN, &[(prefix, next_hop)]);
                }
                forwarder.set_next_hop(NextHop(2), to_r1(changes)).unwrap();
                forwarder.settle();
                changes += 64;
            }
            // One complete checksum in 65,536 looks partial: such a frame is the kernel's, which
            // has no route here.
            let sent = sender.join().unwrap() - reason(&forwarder, "partial-checksum");
            let end = Instant::now() + Duration::from_secs(20);
            while sink.counts().unwrap().frames < sent && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(2));
            }
            let counts = sink.counts().unwrap();
            assert_eq!(
                (counts.frames, counts.unique()),
                (sent, sent),
                "{request:?} after {changes} changes"
            );
            assert_eq!(forwarded(&forwarder), sent);
        });
    }
}

/// Not a test of its own: what `a_killed_process_leaves_the_kernel_forwarding` starts and kills.
#[test]
fn child_that_forwards_until_it_is_killed() {
    let Ok(ports) = std::env::var("CORELANE_TEST_PORTS") else {
        return;
    };
    let mut forwarder = Forwarder::new(Lookup::Own, Capacity::default()).unwrap();
    for port in ports.split(',') {
        forwarder.attach(port, Request::Native).unwrap();
    }
    println!("attached");
    std::thread::sleep(Duration::from_mins(1));
}

/// Kills its process however a test ends.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_killed_process_leaves_the_kernel_forwarding() {
    if cannot_run() {
        return;
    }
    let net = Net::new();
    let has_program = || {
        let links = net.router.ip("-details link show r0").unwrap();
        links.contains("xdp")
    };
    let wait_until = |wanted: bool| {
        let end = Instant::now() + Duration::from_secs(30);
        while has_program() != wanted && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(has_program(), wanted);
    };
    net.transfer(1 << 16);
    let start = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([
                "--exact",
                "network::child_that_forwards_until_it_is_killed",
                "--nocapture",
            ])
            .env("CORELANE_TEST_PORTS", "r0,r1")
            .stdout(Stdio::null());
        // SAFETY: one system call without memory: the child goes with us.
        unsafe {
            command.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            });
        }
        Killed(command.spawn().unwrap())
    };
    // The child is killed when the thread that started it ends, so it is started here, in the
    // router's namespace.
    net.router
        .enter(|| {
            let mut child = start();
            wait_until(true);
            net.transfer(1 << 16);
            // `kill` sends SIGKILL: the process gets no chance to detach anything.
            child.0.kill().unwrap();
            child.0.wait().unwrap();
            wait_until(false);
            net.transfer(1 << 16);
        })
        .unwrap();
}

#[test]
fn a_refused_program_says_what_the_verifier_said() {
    in_namespace(|| {
        // Bounds that the maps do not keep: the verifier must not believe them.
        let mut loader = Loader::new(include_bytes!("../bpf/built/forward.bpf.o")).unwrap();
        for name in [
            "PORT",
            "GENERIC",
            "KERNEL_FIB",
            "SOCKETS",
            "SCATTERED",
            "TELLER",
            "VLANS",
            "REMEMBERED",
            "AHEADS",
            "BOX",
            "BUFF_RXQ",
            "RXQ_RING",
            "RING_HEAD",
            "RING_SIZE",
            "RING_QUEUE",
            "FRAME_DATA",
        ] {
            loader = loader.constant(name, 0);
        }
        for name in [
            "TABLES", "SLOTS", "ROOTS4", "ROOTS6", "NODES4", "NODES6", "BUCKETS",
        ] {
            loader = loader.constant(name, 1 << 20);
        }
        let error = loader.load().unwrap_err().to_string();
        assert!(
            error.contains("the kernel refused eBPF program `forward`"),
            "{error}"
        );
        assert!(error.contains("invalid access to map value"), "{error}");
        assert!(error.lines().count() < 20, "{error}");
    });
}
