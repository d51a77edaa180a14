//! One of the twin beds: hosts a, b and c around the router r.
//!
//! ```text
//! a e0 -- r0 +---+ r1 -- e1 b
//!            | r |
//!            +---+ r2 -- e2 c
//! ```
//!
//! Host number n answers for `10.n.0.2` to `10.n.0.5`, `fd00:n::2` to `fd00:n::5` and `fe80::2`,
//! and has no routes: it resolves, and is silent otherwise. Everything else is a case's: between
//! cases the router has `fe80::1` on each port and nothing more.

use std::thread;
use std::time::{Duration, Instant};

use host::Namespace;
use host::bed::{Bed, mac_text, side};
use host::offload::Offload;
use port::packet::PacketPort;
use port::pool::Layout;
use port::{Burst, Pool, Port};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::Error;
use crate::frame::Macs;
use crate::hands::{HOSTS, Hands};
use crate::kernel::Kernel;

/// MTU of the hosts' ends, bytes: frames can be longer than the router takes.
pub(crate) const HOST_MTU: u32 = 2000;
/// Frames that are on their way to a port at once: a veth holds 256.
const AT_ONCE: usize = 16;

/// How long a link may take until it carries frames.
const LINK_PATIENCE: Duration = Duration::from_secs(3);
/// Pause between two looks at it.
const LINK_PAUSE: Duration = Duration::from_millis(5);

/// The kernel's limits and delays that would make outcomes a matter of time.
const TIMELESS: [(&str, &str); 5] = [
    ("net.ipv4.icmp_ratelimit", "0"),
    ("net.ipv4.icmp_ratemask", "0"),
    ("net.ipv4.icmp_msgs_per_sec", "1000000000"),
    ("net.ipv6.icmp.ratelimit", "0"),
    // A type that there is not: without any the kernel takes no notice.
    ("net.ipv6.icmp.ratemask", "255"),
];
/// The same of neighbours: an absent one is given up after one question, which any machine has
/// time to answer, and all that waits for it is kept.
const NEIGHBOURS: [(&str, &str); 6] = [
    ("mcast_solicit", "1"),
    ("ucast_solicit", "1"),
    ("unres_qlen_bytes", "16777216"),
    ("proxy_delay", "0"),
    ("locktime", "0"),
    ("base_reachable_time_ms", "600000"),
];

/// How long the kernel waits for an answer of a neighbour; and while outcomes are in doubt, because
/// a busy machine may have had no time for it.
pub(crate) const ANSWERED: Duration = Duration::from_millis(100);
pub(crate) const ANSWERED_IN_DOUBT: Duration = Duration::from_secs(1);

/// A bed, its router's hands, and the hosts' sockets.
pub(crate) struct Half {
    bed: Bed,
    pub(crate) router: Namespace,
    hands: Hands,
    hosts: Vec<Kernel>,
    ends: Vec<PacketPort>,
    /// The same in every bed.
    macs: [Macs; HOSTS.len()],
    pool: Pool,
    /// A link may have been down, and its neighbour's carrier not be back yet.
    flapped: bool,
}

impl Half {
    pub(crate) fn lay() -> Result<Self, Error> {
        let mut plan = Bed::plan().mtu(HOST_MTU);
        for place in HOSTS.into_iter().chain(["r"]) {
            plan = plan.forwarding(place);
        }
        for (number, place) in HOSTS.into_iter().enumerate() {
            plan = plan.set(place, "net.ipv4.ip_forward", "0").set(
                place,
                "net.ipv6.conf.all.forwarding",
                "0",
            );
            let mut outside = side(place, &format!("e{number}"))
                .switch(Offload::GenericReceive, true)
                .address("fe80::2/64");
            for last in 2..6 {
                outside = outside
                    .address(format!("10.{number}.0.{last}/32"))
                    .address(format!("fd00:{number}::{last}/128"));
            }
            plan = plan.cable(side("r", &format!("r{number}")), outside);
        }
        let bed = plan.lay()?;
        let router = bed.namespace("r")?.clone();
        for (key, value) in TIMELESS {
            // A kernel that does not have one has no such limit.
            let _ = router.set(key, value);
        }
        for (key, value) in NEIGHBOURS {
            set_for_neighbours(&router, key, value);
        }
        await_answers(&router, ANSWERED);
        let (mut ends, mut hosts) = (Vec::new(), Vec::new());
        for (number, place) in HOSTS.into_iter().enumerate() {
            let (host, open) = (bed.namespace(place)?, || {
                PacketPort::open(&format!("e{number}"), None)
            });
            ends.push(host.enter(open)??);
            hosts.push(Kernel::of(host)?);
        }
        let mut macs = [Macs::default(); HOSTS.len()];
        for (number, (macs, host)) in macs.iter_mut().zip(HOSTS).enumerate() {
            macs.host = bed.end(host, &format!("e{number}"))?.mac;
            macs.router = bed.end("r", &format!("r{number}"))?.mac;
        }
        let own = macs.map(|macs| mac_text(macs.router));
        Ok(Self {
            bed,
            hands: Hands::new(router.clone(), own)?,
            macs,
            router,
            hosts,
            ends,
            pool: Pool::new(Layout::holding(256, HOST_MTU + 18))?,
            flapped: false,
        })
    }

    /// Hardware addresses of each host's end and of the router's port towards it.
    pub(crate) const fn macs(&self) -> [Macs; HOSTS.len()] {
        self.macs
    }

    /// Whether the kernel has a kind of link; `added` says how one is added. Only a host knows of it.
    pub(crate) fn has(&self, added: &str) -> bool {
        let run = |words: String| self.bed.namespace(HOSTS[0])?.ip(words);
        let able = run(format!("link add {added}")).is_ok();
        let _ = run("link del probe".to_owned());
        able
    }

    /// Takes everything back that the last case did, does what this one says, and waits until links
    /// that came up carry frames.
    pub(crate) fn configure(&mut self, commands: &[String]) -> Result<(), Error> {
        self.hands.configure(commands)?;
        let flaps = commands.iter().any(|line| line.ends_with(" down"));
        if flaps || self.flapped {
            self.await_links()?;
        }
        self.flapped = flaps;
        self.kernel().await_addresses()
    }

    /// The kernel notices a carrier up to a second later; until then it drops what is sent.
    fn await_links(&self) -> Result<(), Error> {
        let deadline = Instant::now() + LINK_PATIENCE;
        for (number, host) in HOSTS.into_iter().enumerate() {
            let router = format!("-o link show dev r{number}");
            if !self.router.ip(&router)?.contains(",UP") {
                continue;
            }
            let host = self.bed.namespace(host)?;
            let outside = format!("-o link show dev e{number}");
            while Instant::now() < deadline
                && !(self.router.ip(&router)?.contains("state UP")
                    && host.ip(&outside)?.contains("state UP"))
            {
                thread::sleep(LINK_PAUSE);
            }
        }
        Ok(())
    }

    /// What the router's kernel knows.
    pub(crate) const fn kernel(&mut self) -> &mut Kernel {
        self.hands.kernel()
    }

    /// The router's routes in all tables and its anycast addresses, without what time changes.
    pub(crate) fn ways(&self) -> Result<Vec<String>, Error> {
        let anycast = || std::fs::read_to_string("/proc/thread-self/net/anycast6");
        let mut lines: Vec<String> = Vec::new();
        for text in [
            self.router.ip("-4 route show table all")?,
            self.router.ip("-6 route show table all")?,
            self.router.enter(anycast)?.unwrap_or_default(),
        ] {
            let timeless = |line: &str| line.split(" expires ").next().map(str::to_owned);
            lines.extend(text.lines().filter_map(timeless));
        }
        lines.sort();
        Ok(lines)
    }

    /// Frames that have found no room in the hosts' sockets.
    pub(crate) fn missed(&mut self) -> u64 {
        self.ends.iter_mut().map(Port::missed).sum()
    }

    /// Frames that the bed's interfaces could not send.
    pub(crate) fn not_sent(&mut self) -> Result<u64, Error> {
        let mut sum = self.hands.kernel().not_sent()?;
        for host in &mut self.hosts {
            sum += host.not_sent()?;
        }
        Ok(sum)
    }

    /// Sends frames, from where their source is. What an interface refuses is lost, in both beds.
    pub(crate) fn send(&mut self, frames: &[Vec<u8>]) -> Result<(), Error> {
        let mut burst = Burst::new();
        let macs = self.macs;
        let is_from = |frame: &[u8], macs: &Macs| frame.get(6..12) == Some(&macs.host);
        let from = |frame: &[u8]| macs.iter().position(|macs| is_from(frame, macs));
        for some in frames.chunks(AT_ONCE) {
            for (place, end) in self.ends.iter_mut().enumerate() {
                let own = |frame: &&Vec<u8>| from(frame).unwrap_or_default() == place;
                for frame in some.iter().filter(own) {
                    let Some(buffer) = self.pool.allocate(frame.len() as u16) else {
                        continue;
                    };
                    self.pool.bytes_mut(&buffer).copy_from_slice(frame);
                    if let Err(buffer) = burst.push(buffer) {
                        self.pool.release(buffer);
                    }
                }
                while !burst.is_empty() {
                    if end.transmit(&mut self.pool, &mut burst)? == 0 {
                        burst.take_front(1, |refused| self.pool.release(refused));
                    }
                }
            }
            std::thread::yield_now();
        }
        Ok(())
    }

    /// What has arrived at the hosts by now: a host's number and a frame.
    pub(crate) fn hear(&mut self, mut each: impl FnMut(usize, &[u8])) -> Result<(), Error> {
        let mut burst = Burst::new();
        for (place, end) in self.ends.iter_mut().enumerate() {
            while end.receive(&mut self.pool, &mut burst)? > 0 {
                for frame in burst.frames() {
                    each(place, self.pool.bytes(frame));
                }
                self.pool.release_all(&mut burst);
            }
        }
        Ok(())
    }
}

/// Sets how long the router waits for an answer of a neighbour.
pub(crate) fn await_answers(router: &Namespace, longest: Duration) {
    let milliseconds = longest.as_millis().to_string();
    set_for_neighbours(router, "retrans_time_ms", &milliseconds);
}

fn set_for_neighbours(router: &Namespace, key: &str, value: &str) {
    for family in ["ipv4", "ipv6"] {
        for number in 0..HOSTS.len() {
            let _ = router.set(&format!("net.{family}.neigh.r{number}.{key}"), value);
        }
    }
}

/// Waits until something arrives in one of the beds, at most so many milliseconds.
pub(crate) fn wait(halves: [&Half; 2], milliseconds: i64) {
    let ends = halves.into_iter().flat_map(|half| &half.ends);
    let mut sockets: Vec<PollFd> = ends
        .filter_map(Port::readable)
        .map(|socket| PollFd::from_borrowed_fd(socket, PollFlags::IN))
        .collect();
    let patience = Timespec {
        tv_sec: 0,
        tv_nsec: milliseconds * 1_000_000,
    };
    let _ = poll(&mut sockets, Some(&patience));
}
