//! How long after a route change in the kernel the first frame takes the new way, while something
//! else goes on.
//!
//! Host a sends to an address that the router reaches by r1 (host b) or by r2 (host c). The route
//! is replaced over and over; each time the clock runs from the kernel's acknowledgement to the
//! first frame that comes to the other host.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use host::Namespace;
use host::netlink::{ROUTE, Socket, append, refused};
use host::offload::Offload;

use super::lab::Lab;

const TARGET: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const PORT: u16 = 9000;
/// What the page promises on a machine however busy.
const LONGEST: Duration = Duration::from_secs(1);
/// What it promises of 99 of 100 changes, where speed is asked for.
const USUAL: Duration = Duration::from_millis(20);
/// Between two changes: not a multiple of anything.
const PAUSE: Duration = Duration::from_micros(3700);

/// How long `make soak` is to take; `None` in every other run of the tests, which are quick.
pub(crate) fn soak() -> Option<Duration> {
    let seconds = std::env::var("CORELANE_SOAK_SECONDS").ok()?;
    Some(Duration::from_secs(
        seconds.parse().expect("a number of seconds"),
    ))
}

/// A router between hosts a, b and c; b and c both have the target's address. What a sends has
/// whole sums, so that it need not be the kernel's.
pub(crate) fn lab() -> Lab {
    let mut lab = Lab::new();
    let c = lab.link("c", 2);
    c.ip("route add default via 10.2.0.1").unwrap();
    for host in [&lab.b, &c] {
        host.ip(format!("addr add {TARGET}/32 dev lo")).unwrap();
    }
    lab.a.switch("e0", Offload::Checksums, false).unwrap();
    // Nobody is to be asked for in the middle of it.
    for (number, host) in [(1, "b"), (2, "c")] {
        let mac = host::bed::mac_text(lab.bed.end(host, &format!("e{number}")).unwrap().mac);
        let neighbour = format!("10.{number}.0.2 lladdr {mac} dev r{number} nud permanent");
        lab.r.ip(format!("neigh replace {neighbour}")).unwrap();
    }
    lab
}

/// The sender, the two ends, and who replaces the route.
pub(crate) struct Changes {
    sender: UdpSocket,
    arrivals: [UdpSocket; 2],
    netlink: Socket,
    links: [u32; 2],
    times: Vec<Duration>,
}

impl Changes {
    pub(crate) fn new(lab: &Lab) -> Self {
        let arrival = |host: &Namespace| {
            let socket = host.enter(|| UdpSocket::bind((TARGET, PORT)));
            let socket = socket.unwrap().unwrap();
            socket.set_nonblocking(true).unwrap();
            socket
        };
        let sender = lab.a.enter(|| UdpSocket::bind(("10.0.0.2", 0)));
        let netlink = lab.r.enter(|| Socket::open(ROUTE, &[]));
        Self {
            sender: sender.unwrap().unwrap(),
            arrivals: [&lab.b, lab.bed.namespace("c").unwrap()].map(arrival),
            netlink: netlink.unwrap().unwrap(),
            links: ["r1", "r2"].map(|name| lab.r.interface_index(name).unwrap()),
            times: Vec::new(),
        }
    }

    /// Changes the route until `storm`, which runs beside, is over; at least a few times.
    pub(crate) fn during<T: Send>(&mut self, storm: impl FnOnce() -> T + Send) -> T {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let storm = scope.spawn(|| {
                let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(storm));
                over.store(true, Ordering::Release);
                outcome
            });
            for number in 0.. {
                self.change();
                if over.load(Ordering::Acquire) && number > 10 {
                    break;
                }
            }
            let outcome = storm.join().unwrap();
            outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn change(&mut self) {
        let way = self.times.len() % 2;
        self.replace(way);
        let began = Instant::now();
        let mut buffer = [0; 64];
        loop {
            // A full queue of the device is no reason to stop.
            let _sent = self.sender.send_to(b"x", (TARGET, PORT));
            while self.arrivals[1 - way].recv(&mut buffer).is_ok() {}
            if self.arrivals[way].recv(&mut buffer).is_ok() {
                break;
            }
            let waited = began.elapsed();
            assert!(waited < LONGEST, "no frame took the new way for {waited:?}");
        }
        self.times.push(began.elapsed());
        std::thread::sleep(PAUSE);
        while self.arrivals[way].recv(&mut buffer).is_ok() {}
    }

    /// Replaces the route to the target; returns when the kernel has acknowledged.
    fn replace(&mut self, way: usize) {
        let mut body = vec![0; 12];
        (body[0], body[1]) = (libc::AF_INET as u8, 32);
        (body[4], body[5], body[7]) = (254, libc::RTPROT_STATIC, libc::RTN_UNICAST);
        append(&mut body, libc::RTA_DST, &TARGET.octets());
        append(&mut body, libc::RTA_GATEWAY, &[10, way as u8 + 1, 0, 2]);
        append(&mut body, libc::RTA_OIF, &self.links[way].to_ne_bytes());
        let flags = (libc::NLM_F_CREATE | libc::NLM_F_REPLACE | libc::NLM_F_ACK) as u16;
        let answer = self
            .netlink
            .ask(libc::RTM_NEWROUTE, flags, &body, |message| {
                refused(message.payload)
            });
        assert!(answer.unwrap().is_none(), "the kernel refuses the route");
    }

    /// Says how long changes took in `storm`. In a soak, where the program is built for speed, 99
    /// of 100 must be fast.
    pub(crate) fn report(&mut self, storm: &str) {
        let mut times = std::mem::take(&mut self.times);
        times.sort_unstable();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        let (median, p99, longest) = (at(0.5), at(0.99), at(1.0));
        let changes = times.len();
        println!(
            "{storm}: {changes} route changes, median {median:?}, p99 {p99:?}, longest {longest:?}"
        );
        assert!(
            soak().is_none() || p99 < USUAL,
            "{storm}: p99 {p99:?}, of {USUAL:?} allowed"
        );
    }
}
