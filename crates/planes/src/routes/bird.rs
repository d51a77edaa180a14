//! The BIRD routing daemon (Debian's package `bird2`) as the control plane's source of routes.
//!
//! It runs in a namespace of its own with two networks, those on which the next hops are. We are
//! its BGP neighbour and announce changes; what it chooses it gives to the namespace's kernel,
//! which tells us.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io};

use fib::IpPrefix;
use host::bed::{Bed, side};
use host::netlink::{ROUTE, Received, Socket};
use host::process::{Group, end_with_thread, silent};
use host::tasks::bind;
use host::{CoreId, temporary};
use router::control_plane::model::Event;
use router::control_plane::netlink::decode::decode;

use super::bgp::Speaker;
use super::change::Change;
use crate::error::{Error, host};

const PROGRAM: &str = "bird";
/// Debian installs it where not every user's path leads.
const PLACES: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/sbin"];
const PATIENCE: Duration = Duration::from_secs(8);
const PAUSE: Duration = Duration::from_millis(50);
/// BIRD and its neighbour both are on the loopback of the namespace, where BIRD listens beside the
/// port that needs no root.
const BIRD: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);
const NEIGHBOUR: Ipv4Addr = Ipv4Addr::LOCALHOST;
const PORT: u16 = 1_790;
/// Group of the kernel's announcements of IPv4 routes (`RTNLGRP_IPV4_ROUTE`,
/// `include/uapi/linux/rtnetlink.h`).
const IPV4_ROUTES: u32 = 7;
/// Private numbers (RFC 6996).
const SYSTEMS: [u16; 2] = [64_512, 64_513];
/// Addresses of the two networks' router, and the next hops on them.
const ROUTERS: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 18, 1, 1), Ipv4Addr::new(198, 19, 1, 1)];
const NEXT_HOPS: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 18, 1, 2), Ipv4Addr::new(198, 19, 1, 2)];

/// Whether it is installed.
///
/// # Errors
/// [`Error::NotInstalled`].
pub fn installed() -> Result<(), Error> {
    if PLACES
        .iter()
        .any(|place| Path::new(place).join(PROGRAM).exists())
    {
        return Ok(());
    }
    let missing = "BIRD is not installed: routes from it need Debian's package bird2";
    Err(Error::NotInstalled(missing.to_owned()))
}

/// A running daemon and the session with it, ended when dropped.
pub(super) struct Bird {
    group: Group,
    speaker: Speaker,
    socket: Socket,
    _bed: Bed,
    _files: temporary::Directory,
}

impl Bird {
    /// Starts the daemon on `cores`, or on all, and waits until its session with us is up.
    pub(super) fn start(cores: Option<&[CoreId]>) -> Result<Self, Error> {
        installed()?;
        let [one, other] = [("x0", ROUTERS[0]), ("x1", ROUTERS[1])]
            .map(|(interface, router)| side("routes", interface).address(format!("{router}/24")));
        let bed = Bed::plan().cable(one, other).lay()?;
        let namespace = bed.namespace("routes")?.clone();
        let files = temporary::Directory::new("bird").map_err(host("make a directory"))?;
        let configuration = files.path().join("bird.conf");
        fs::write(&configuration, text()).map_err(host("write BIRD's configuration"))?;
        let socket = namespace
            .enter(|| Socket::open(ROUTE, &[IPV4_ROUTES]))?
            .map_err(host("follow the kernel's routes"))?;
        let mut command = namespace.command(PROGRAM);
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .env("PATH", format!("{path}:{}", PLACES.join(":")))
            .args(["-f", "-c"])
            .arg(&configuration)
            .arg("-s")
            .arg(files.path().join("bird.ctl"));
        let group = Group::start(silent(end_with_thread(&mut command)));
        let group = group.map_err(host("start BIRD"))?;
        let since = Instant::now();
        let speaker = loop {
            let session = namespace.enter(|| {
                Speaker::connect(SocketAddr::from((BIRD, PORT)), SYSTEMS[1], NEIGHBOUR)
            })?;
            match session {
                Ok(speaker) => break speaker,
                Err(_) if since.elapsed() < PATIENCE && !host::interrupted() => {
                    std::thread::sleep(PAUSE);
                }
                Err(error) => return Err(host("open a BGP session with BIRD")(error)),
            }
        };
        let bird = Self {
            group,
            speaker,
            socket,
            _bed: bed,
            _files: files,
        };
        if let Some(cores) = cores {
            bind(bird.group.leader.id(), cores)?;
        }
        Ok(bird)
    }

    /// Announces changes to it.
    pub(super) fn announce(&mut self, changes: &[Change]) -> Result<(), Error> {
        for run in changes.chunk_by(|a, b| a.side == b.side) {
            let networks: Vec<(Ipv4Addr, u8)> = run
                .iter()
                .map(|change| (change.network, change.length))
                .collect();
            let next_hop = NEXT_HOPS[run[0].side];
            self.speaker
                .announce(next_hop, &networks)
                .map_err(host("announce routes to BIRD"))?;
        }
        Ok(())
    }

    /// What it has announced since the last call.
    pub(super) fn heard(&mut self) -> Result<Vec<Change>, Error> {
        let mut changes = Vec::new();
        loop {
            let received = self
                .socket
                .receive(|message| changes.extend(decode(message, false).and_then(change)))
                .map_err(host("follow the kernel's routes"))?;
            match received {
                Received::Messages(_) => {}
                Received::Nothing => return Ok(changes),
                Received::Overrun => {
                    let lost = io::Error::from_raw_os_error(libc::ENOBUFS);
                    return Err(host("follow the kernel's routes")(lost));
                }
            }
        }
    }
}

/// The change that the kernel announces, if it is one of a route by one of our next hops.
fn change(event: Event) -> Option<Change> {
    let Event::Route(route, _) = event else {
        return None;
    };
    let ([hop], IpPrefix::V4(prefix)) = (route.way.hops.as_slice(), route.destination) else {
        return None;
    };
    let side = NEXT_HOPS
        .iter()
        .position(|&next| hop.gateway == Some(IpAddr::V4(next)))?;
    Some(Change {
        network: Ipv4Addr::from(prefix.address()),
        length: prefix.length(),
        side,
    })
}

fn text() -> String {
    let [own, neighbour] = SYSTEMS;
    format!(
        "router id {BIRD};\nprotocol device {{ }}\nprotocol direct {{ ipv4; }}\nprotocol kernel \
         {{ ipv4 {{ import none; export where source = RTS_BGP; }}; }}\nprotocol bgp {{ local \
         {BIRD} port {PORT} as {own}; neighbor {NEIGHBOUR} as {neighbour}; strict bind; multihop; \
         passive;\nipv4 {{ import all; export none; }}; }}\n"
    )
}

#[cfg(test)]
#[path = "../../tests/unit/bird.rs"]
mod tests;
