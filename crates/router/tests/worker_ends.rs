//! Workers that end, by an error and by a panic, behind a real follower between real interfaces:
//! the kernel has their frames, the engine says so, and starts them again, more slowly each time.
//! Needs root; says so and passes otherwise.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bpf::attach::Request;
use fastpath::forward::{Capacity, Forwarder};
use host::Namespace;
use host::bed::{Bed, side};
use port::{Burst, Pool, Port, PortError};
use router::control_plane::follower::Follower;
use router::engine::af_packet::PacketSockets;
use router::engine::user_space::{
    Attached, Opened, OpenedPort, Sockets, Trouble, UserSpace, Wanted,
};

/// What the next port that is asked for frames does instead.
const NOTHING: u32 = 0;
const FAIL: u32 = 1;
const PANIC: u32 = 2;

/// Packet sockets that end their worker when told to, once.
struct Mortal {
    sockets: PacketSockets,
    end: Arc<AtomicU32>,
}

struct MortalPort {
    port: Box<dyn Port>,
    end: Arc<AtomicU32>,
}

impl Port for MortalPort {
    fn name(&self) -> &str {
        self.port.name()
    }

    fn receive(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<usize, PortError> {
        match self.end.swap(NOTHING, Ordering::Relaxed) {
            FAIL => Err(PortError::System {
                name: self.name().to_owned(),
                action: "receive",
                source: std::io::Error::other("the test says so"),
            }),
            PANIC => panic!("the test wants one"),
            _ => self.port.receive(pool, burst),
        }
    }

    fn transmit(&mut self, pool: &mut Pool, burst: &mut Burst) -> Result<usize, PortError> {
        self.port.transmit(pool, burst)
    }

    fn readable(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        self.port.readable()
    }
}

impl Sockets for Mortal {
    const NAME: &'static str = "af-packet";
    const AT_TC: u32 = PacketSockets::AT_TC;
    const FILTERED: bool = PacketSockets::FILTERED;

    fn forwarder(&self, capacity: Capacity, workers: usize) -> fastpath::Result<Forwarder> {
        self.sockets.forwarder(capacity, workers)
    }

    fn request(&self) -> Request {
        self.sockets.request()
    }

    fn workers(&self, ports: &[Wanted], cores: usize) -> Result<usize, Trouble> {
        self.sockets.workers(ports, cores)
    }

    fn open(&self, ports: &[Wanted], place: usize, of: usize) -> Result<Opened, Trouble> {
        let (pool, opened) = self.sockets.open(ports, place, of)?;
        let mortal = |opened: OpenedPort| {
            let (port, end) = (opened.port, Arc::clone(&self.end));
            let port = Box::new(MortalPort { port, end });
            OpenedPort { port, ..opened }
        };
        let opened = opened.into_iter().map(|port| port.map(mortal)).collect();
        Ok((pool, opened))
    }

    fn mode(port: &Attached) -> &'static str {
        PacketSockets::mode(port)
    }
}

/// a (10.0.0.2) - r0 r r1 - b (10.1.0.2).
struct Net {
    a: Namespace,
    r: Namespace,
    _bed: Bed,
}

fn net() -> Net {
    let mut plan = Bed::plan().set("r", "net.ipv4.ip_forward", "1");
    for (number, host) in [(0, "a"), (1, "b")] {
        let router = side("r", &format!("r{number}")).address(format!("10.{number}.0.1/24"));
        let end = side(host, "e").address(format!("10.{number}.0.2/24"));
        let line = format!("route add default via 10.{number}.0.1");
        plan = plan.cable(router, end).ip(host, line);
    }
    let bed = plan.lay().unwrap();
    let [a, r] = ["a", "r"].map(|name| bed.namespace(name).unwrap().clone());
    Net { a, r, _bed: bed }
}

/// Pings b from a; true when every ping was answered.
fn ping(net: &Net, count: u32) -> bool {
    let mut command = net.a.command("ping");
    command
        .args(["-q", "-n", "-i", "0.02", "-W", "1", "-c"])
        .arg(count.to_string())
        .arg("10.1.0.2");
    let status = command.stdout(Stdio::null()).status().unwrap();
    status.success()
}

fn forwarded(follower: &Follower) -> u64 {
    let counters = follower.engine().counters().unwrap();
    counters.ports.values().map(|port| port.forwarded).sum()
}

/// Follows the kernel, looks after the engine and pings until the workers forward.
fn wait_for_workers(net: &Net, follower: &mut Follower) {
    let end = Instant::now() + Duration::from_mins(1);
    loop {
        let before = forwarded(follower);
        let answered = ping(net, 2);
        follower.follow();
        follower.check_engine().unwrap();
        if answered && forwarded(follower) >= before + 4 {
            return;
        }
        assert!(Instant::now() < end, "the workers do not forward");
    }
}

/// Ends a worker; returns what the engine says about it.
fn end_one(follower: &mut Follower, end: &AtomicU32, how: u32) -> String {
    end.store(how, Ordering::Relaxed);
    let patience = Instant::now() + Duration::from_mins(1);
    loop {
        if let Err(error) = follower.check_engine() {
            return error.to_string();
        }
        assert!(Instant::now() < patience, "nobody noticed");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_worker_that_ends_is_replaced_and_the_kernel_has_its_frames_meanwhile() {
    if !needs::root("for network namespaces, packet sockets") {
        return;
    }
    let net = net();
    let end = Arc::new(AtomicU32::new(NOTHING));
    let sockets = Mortal {
        sockets: PacketSockets,
        end: Arc::clone(&end),
    };
    let ports = ["r0", "r1"].map(str::to_owned);
    let work = || {
        let engine = UserSpace::open(&ports, sockets, true, Capacity::default()).unwrap();
        let mut follower = Follower::start(&ports, Box::new(engine)).unwrap();
        wait_for_workers(&net, &mut follower);

        // The first: replaced at once.
        let said = end_one(&mut follower, &end, FAIL);
        for part in [
            "the worker of core",
            "the test says so",
            "started again",
            "--engine xdp needs no workers",
        ] {
            assert!(said.contains(part), "{said}");
        }
        assert_eq!(follower.engine().resting(), None);
        wait_for_workers(&net, &mut follower);

        // The next, soon after: a second of rest, in which the kernel forwards.
        let said = end_one(&mut follower, &end, PANIC);
        let rested = Instant::now();
        for part in [
            "it panicked: the test wants one",
            "all frames are the kernel's for 1 s",
        ] {
            assert!(said.contains(part), "{said}");
        }
        let resting = follower.engine().resting().unwrap();
        assert!(resting.contains("have ended 2 times"), "{resting}");
        let before = forwarded(&follower);
        assert!(ping(&net, 5), "the kernel forwards");
        assert_eq!(forwarded(&follower), before, "and nobody else");
        // Links and routes go on being followed.
        net.r.ip("route add blackhole 198.51.100.0/24").unwrap();
        follower.follow();
        while follower.engine().resting().is_some() {
            follower.check_engine().unwrap();
            assert!(rested.elapsed() < Duration::from_mins(1));
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(rested.elapsed() >= Duration::from_millis(900));
        wait_for_workers(&net, &mut follower);
        assert_eq!(follower.verify().unwrap().different, 0);
    };
    net.r.enter(work).unwrap();
}
