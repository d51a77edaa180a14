//! Sends what is sampled to a collector, by UDP.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use host::netlink::{ROUTE, Socket};

use super::datagram::{Agent, Drawn, Seen};
use super::{Counts, Export, links};
use crate::log::{Level, log};

/// The longest that a sample waits for others in its datagram: half of what collectors may expect.
const WAITS: Duration = Duration::from_millis(500);
/// How long nothing more is said of what does not work.
const SAID: Duration = Duration::from_mins(10);
/// How long until a socket is tried again.
const AGAIN: Duration = Duration::from_secs(5);

/// To one collector.
#[derive(Debug)]
pub(super) struct Exporter {
    export: Export,
    began: Instant,
    open: Option<Open>,
    /// When it was tried to open.
    tried: Option<Instant>,
    /// When it was said that it does not work.
    said: Option<Instant>,
    flushed: Instant,
    /// When the counters of an interface are due, and what it had received at the beginning.
    polled: Option<Instant>,
    begun_with: BTreeMap<u32, u64>,
    /// Discarded frames told in this second, and more than may be.
    second: Instant,
    told: u32,
    withheld: u64,
}

#[derive(Debug)]
struct Open {
    socket: UdpSocket,
    netlink: Socket,
    agent: Agent,
}

impl Exporter {
    pub(super) fn new(export: Export) -> Self {
        let now = Instant::now();
        Self {
            export,
            began: now,
            open: None,
            tried: None,
            said: None,
            flushed: now,
            polled: None,
            begun_with: BTreeMap::new(),
            second: now,
            told: 0,
            withheld: 0,
        }
    }

    /// Milliseconds since the beginning, which begin again after 49 days.
    fn uptime(&self, now: Instant) -> u32 {
        now.duration_since(self.began).as_millis() as u32
    }

    /// Sends a frame that was drawn; `received`: so many came by its interface.
    pub(super) fn flow(
        &mut self,
        seen: &Seen<'_>,
        every: u32,
        received: u64,
        lost: u32,
        now: Instant,
        counted: &Counts,
    ) {
        let before = *self.begun_with.entry(seen.input).or_insert(received);
        let drawn = Drawn {
            every,
            pool: received.saturating_sub(before) as u32,
            lost,
        };
        let uptime = self.uptime(now);
        let full = (self.open.as_mut()).and_then(|open| open.agent.flow(seen, drawn, uptime));
        self.send(full, counted);
    }

    /// Sends a frame that is discarded, unless enough were in this second; `missing`: so many were
    /// not told before they came here.
    pub(super) fn discarded(
        &mut self,
        seen: &Seen<'_>,
        what: (u16, &str),
        missing: u64,
        now: Instant,
        counted: &Counts,
    ) {
        if now.duration_since(self.second) >= Duration::from_secs(1) {
            (self.second, self.told) = (now, 0);
        }
        if self.told >= self.export.discards {
            self.withheld += 1;
            return;
        }
        self.told += 1;
        let (uptime, missing) = (self.uptime(now), (missing + self.withheld) as u32);
        let full =
            (self.open.as_mut()).and_then(|open| open.agent.discarded(seen, what, missing, uptime));
        self.send(full, counted);
    }

    /// Opens, sends what has waited, and the counters of these interfaces when they are due.
    pub(super) fn tend(
        &mut self,
        indices: impl Iterator<Item = u32>,
        now: Instant,
        counted: &Counts,
    ) {
        if self.open.is_none() {
            self.open_again(now);
        }
        let polled = self.polled.is_some_and(|polled| {
            let polling = self.export.polling;
            polling.is_none_or(|polling| now.duration_since(polled) < polling)
        });
        if self.export.polling.is_some() && !polled && self.open.is_some() {
            self.polled = Some(now);
            for index in indices {
                self.poll(index, now, counted);
            }
        }
        if now.duration_since(self.flushed) >= WAITS {
            self.flushed = now;
            let uptime = self.uptime(now);
            let waits = (self.open.as_mut()).and_then(|open| open.agent.flush(uptime));
            self.send(waits, counted);
        }
    }

    fn poll(&mut self, index: u32, now: Instant, counted: &Counts) {
        let uptime = self.uptime(now);
        let Some(open) = &mut self.open else {
            return;
        };
        // An interface that has just gone has none.
        let Ok(link) = links::counters(&mut open.netlink, index) else {
            return;
        };
        let full = open.agent.counters(&link, uptime);
        self.send(full, counted);
    }

    fn open_again(&mut self, now: Instant) {
        let waits = |tried| now.duration_since(tried) < AGAIN;
        if self.tried.is_some_and(waits) {
            return;
        }
        self.tried = Some(now);
        match open(&self.export) {
            Ok(open) => {
                self.open = Some(open);
                let (collector, every) = (self.export.collector, self.export.every);
                log!(
                    Level::Info,
                    "sflow",
                    collector,
                    every,
                    what = "samples are sent"
                );
            }
            Err(error) => self.complain(&error),
        }
    }

    fn send(&mut self, datagram: Option<Vec<u8>>, counted: &Counts) {
        let (Some(datagram), Some(open)) = (datagram, &self.open) else {
            return;
        };
        match open.socket.send(&datagram) {
            Ok(_) => Counts::add(&counted.datagrams, 1),
            Err(error) => {
                Counts::add(&counted.failed, 1);
                self.complain(&error);
            }
        }
    }

    /// Not again soon: where nobody listens, every second datagram is refused.
    fn complain(&mut self, error: &io::Error) {
        if self.said.is_none_or(|said| said.elapsed() >= SAID) {
            self.said = Some(Instant::now());
            let collector = self.export.collector;
            let result = "it is tried again, and forwarding goes on; look at sflow.collector and the \
                          route there";
            log!(Level::Warning, "sflow", collector, error, result);
        }
    }
}

fn open(export: &Export) -> io::Result<Open> {
    let any: SocketAddr = if export.collector.is_ipv4() {
        (Ipv4Addr::UNSPECIFIED, 0).into()
    } else {
        (Ipv6Addr::UNSPECIFIED, 0).into()
    };
    let socket = UdpSocket::bind(any)?;
    // Nothing waits for a collector.
    socket.set_nonblocking(true)?;
    socket.connect(export.collector)?;
    let own = socket.local_addr()?.ip();
    Ok(Open {
        socket,
        netlink: Socket::open(ROUTE, &[])?,
        agent: Agent::new(export.agent.unwrap_or(own)),
    })
}
