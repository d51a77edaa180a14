//! One of the twin beds: hosts a, b and c around the router r, and the hands that configure it.
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

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{Seek, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use host::Namespace;
use host::bed::{Bed, side};
use host::namespace::OnFailure;
use host::offload::Offload;
use host::process::silent;
use port::packet::PacketPort;
use port::pool::Layout;
use port::{Burst, Pool, Port};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::Error;

/// The hosts' names, by number.
pub(crate) const HOSTS: [&str; 3] = ["a", "b", "c"];
/// MTU of the hosts' ends, bytes: frames can be longer than the router takes.
pub(crate) const HOST_MTU: u32 = 2000;
/// Frames that are on their way to a port at once: a veth holds 256.
const AT_ONCE: usize = 16;

/// The kernel's limits and delays that would make outcomes a matter of time.
const TIMELESS: [(&str, &str); 5] = [
    ("net.ipv4.icmp_ratelimit", "0"),
    ("net.ipv4.icmp_ratemask", "0"),
    ("net.ipv4.icmp_msgs_per_sec", "1000000000"),
    ("net.ipv6.icmp.ratelimit", "0"),
    ("net.ipv6.icmp.ratemask", ""),
];
/// The same of neighbours: an absent one is given up after one question.
const NEIGHBOURS: [(&str, &str); 6] = [
    ("mcast_solicit", "1"),
    ("ucast_solicit", "1"),
    ("retrans_time_ms", "10"),
    ("proxy_delay", "0"),
    ("locktime", "0"),
    ("base_reachable_time_ms", "600000"),
];

/// A bed, its router's settings as they were, and the hosts' sockets.
pub(crate) struct Half {
    bed: Bed,
    pub(crate) router: Namespace,
    settings: Vec<(PathBuf, String)>,
    ends: Vec<PacketPort>,
    pool: Pool,
    /// What the last case ran.
    commands: Vec<String>,
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
            for family in ["ipv4", "ipv6"] {
                for number in 0..HOSTS.len() {
                    let _ = router.set(&format!("net.{family}.neigh.r{number}.{key}"), value);
                }
            }
        }
        let mut ends = Vec::new();
        for (number, place) in HOSTS.into_iter().enumerate() {
            let open = || PacketPort::open(&format!("e{number}"), None);
            ends.push(bed.namespace(place)?.enter(open)??);
        }
        let mut half = Self {
            bed,
            router,
            settings: Vec::new(),
            ends,
            pool: Pool::new(Layout::holding(256, HOST_MTU + 18))?,
            commands: Vec::new(),
        };
        half.configure(&[])?;
        // Not before: some follow the MTU.
        half.settings = half.router.enter(settings)?;
        Ok(half)
    }

    /// Hardware addresses of host a's end and of the router's port towards it: the same in every
    /// bed.
    pub(crate) fn macs(&self) -> Result<([u8; 6], [u8; 6]), Error> {
        Ok((self.bed.end("a", "e0")?.mac, self.bed.end("r", "r0")?.mac))
    }

    /// Takes everything back that the last case did, and does what this one says.
    pub(crate) fn configure(&mut self, commands: &[String]) -> Result<(), Error> {
        self.take_back()?;
        self.commands = commands.to_vec();
        for group in commands.chunk_by(|a, b| tool(a) == tool(b)) {
            let text = group
                .iter()
                .filter_map(|line| line.split_once(' '))
                .fold(String::new(), |text, (_, words)| text + words + "\n");
            match tool(&group[0]) {
                "ip" => self.router.batch(&text, OnFailure::Continue)?,
                "ip -6" => {
                    for line in text.lines() {
                        let _ = self.router.ip(line);
                    }
                }
                "sysctl" => self.router.enter(|| {
                    for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
                        let path = Path::new("/proc/sys").join(key.trim().replace('.', "/"));
                        let _ = fs::write(path, value.trim());
                    }
                })?,
                "nft" => self.feed(self.router.command("nft").args(["-f", "-"]), &text)?,
                "tc" => {
                    let mut tc = Command::new("tc");
                    self.feed(
                        tc.args(["-n", self.router.name(), "-force", "-b", "-"]),
                        &text,
                    )?;
                }
                // The others are not the kernel's.
                _ => {}
            }
        }
        Ok(())
    }

    /// Runs a command that reads lines; those that it refuses are passed over.
    #[allow(clippy::unused_self)] // it reads as what it is: a hand of this bed
    fn feed(&self, command: &mut Command, lines: &str) -> Result<(), Error> {
        let mut file = tempfile::tempfile().map_err(Error::Tool)?;
        file.write_all(lines.as_bytes()).map_err(Error::Tool)?;
        file.rewind().map_err(Error::Tool)?;
        let command = silent(command).stdin(Stdio::from(file));
        command.status().map_err(Error::Tool)?;
        Ok(())
    }

    fn take_back(&mut self) -> Result<(), Error> {
        let commands = std::mem::take(&mut self.commands);
        let used = |start: &str| commands.iter().any(|line| line.starts_with(start));
        if used("nft") {
            self.feed(
                self.router.command("nft").args(["-f", "-"]),
                "flush ruleset\n",
            )?;
        }
        let ports: Vec<String> = (0..HOSTS.len())
            .map(|number| format!("r{number}"))
            .collect();
        if used("tc") {
            let mut lines = String::new();
            for port in &ports {
                let _ = writeln!(
                    lines,
                    "qdisc del dev {port} root
qdisc del dev {port} ingress"
                );
            }
            let mut tc = Command::new("tc");
            self.feed(
                tc.args(["-n", self.router.name(), "-force", "-b", "-"]),
                &lines,
            )?;
        }
        let mut lines = String::new();
        for line in commands.iter().rev() {
            if let Some(rule) = line.strip_prefix("ip rule add ") {
                let _ = writeln!(lines, "rule del {rule}");
            } else if line.starts_with("ip -6 rule add ") {
                let _ = self.router.ip(line[3..].replace(" add ", " del "));
            } else if let Some((_, name)) = line.split_once(" name ") {
                let name = name.split(' ').next().unwrap_or_default();
                let _ = writeln!(lines, "link del {name}");
            }
        }
        if used("ip xfrm") {
            lines += "xfrm policy flush\nxfrm state flush\n";
        }
        for port in &ports {
            let _ = writeln!(lines, "link set {port} mtu 1500 up\naddr flush dev {port}");
        }
        lines += "nexthop flush\nroute flush table all proto boot\n";
        for port in &ports {
            let _ = writeln!(lines, "neigh flush dev {port} nud all");
        }
        self.router.batch(&lines, OnFailure::Continue)?;
        let _ = self.router.ip("-6 route flush table all proto boot");
        let settings = &self.settings;
        self.router.enter(|| put_back(settings))?;
        let lines = ports
            .iter()
            .map(|port| format!("addr add fe80::1/64 dev {port} nodad\n"));
        self.router
            .batch(&lines.collect::<String>(), OnFailure::Continue)?;
        Ok(())
    }

    /// Sends frames from host a. What its interface refuses is lost, in both beds.
    pub(crate) fn send(&mut self, frames: &[Vec<u8>]) -> Result<(), Error> {
        let mut burst = Burst::new();
        for some in frames.chunks(AT_ONCE) {
            for frame in some {
                let Some(buffer) = self.pool.allocate(frame.len() as u16) else {
                    continue;
                };
                self.pool.bytes_mut(&buffer).copy_from_slice(frame);
                if let Err(buffer) = burst.push(buffer) {
                    self.pool.release(buffer);
                }
            }
            while !burst.is_empty() {
                if self.ends[0].transmit(&mut self.pool, &mut burst)? == 0 {
                    burst.take_front(1, |refused| self.pool.release(refused));
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

fn tool(command: &str) -> &str {
    if command.starts_with("ip -6 ") {
        return "ip -6";
    }
    command.split(' ').next().unwrap_or_default()
}

/// Every setting of IPv4 and IPv6 of this namespace that can be read, with its value; those for
/// all interfaces come before those for one.
fn settings() -> Vec<(PathBuf, String)> {
    let mut found = BTreeMap::new();
    let mut places = vec![
        PathBuf::from("/proc/sys/net/ipv4"),
        PathBuf::from("/proc/sys/net/ipv6"),
    ];
    while let Some(place) = places.pop() {
        for entry in fs::read_dir(place).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if path.is_dir() {
                places.push(path);
            } else if !name.starts_with("tcp_")
                && !name.starts_with("udp_")
                && let Ok(value) = fs::read_to_string(&path)
            {
                found.insert(path, value);
            }
        }
    }
    found.into_iter().collect()
}

fn put_back(settings: &[(PathBuf, String)]) {
    for (path, value) in settings {
        if fs::read_to_string(path).is_ok_and(|now| now != *value) {
            // Some show what cannot be written.
            let _ = fs::write(path, value);
        }
    }
}
