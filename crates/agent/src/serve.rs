//! The user plane's agent: takes commands and routes from the control plane, sends counters up.
//!
//! One program for every deployment. Under one kernel it runs as a process pinned or not, in the
//! namespace of the device under test; under a kernel of its own it is that kernel's first process.
//! Either way it knows its control plane only through a [`Link`].

use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io};

use host::namespace::index_of;
use host::offload::{self, Offload};
use icc::{Link, Memory, Peer, PeerWatch, Priority};

use crate::kernel::Kernel;
use crate::passthrough::Passthrough;
use crate::protocol::{
    AGENT, Answer, CONTROL, Command, Counters, Interface, LONGEST_MESSAGE, ROUTES_PER_PACKET,
    Route, UserPlaneMode, ticks, unpack_routes,
};

/// The pause of an agent with nothing to do. It bounds how late a route is taken up, and keeps the
/// core for the packets.
const PAUSE: Duration = Duration::from_millis(1);
const COUNTERS_EVERY: Duration = Duration::from_millis(100);
/// An agent whose control plane has been silent so long ends: nobody is left to ask it for
/// anything.
const ORPHANED_AFTER: Duration = Duration::from_secs(30);

/// Looks between two readings of the clock: in a guest without a vDSO a reading is a system call.
const LOOKS: u32 = 1 << 16;
/// What a channel measurement waits for and has not come by then never will.
const MEASURING_PATIENCE: Duration = Duration::from_secs(2);

/// The interfaces of this process's network namespace.
const INTERFACES: &str = "/sys/class/net";

/// Serves one control plane until it closes the link.
pub struct Agent<M: Memory> {
    link: Link<M>,
    kernel: Kernel,
    interfaces: Vec<String>,
    passthrough: Option<Passthrough>,
    counters: Counters,
}

impl<M: Memory> Agent<M> {
    /// An agent at side B of `link`, of which `kernel` is the own one.
    pub fn new(link: Link<M>, kernel: Kernel) -> Self {
        Self {
            link,
            kernel,
            interfaces: Vec::new(),
            passthrough: None,
            counters: Counters::default(),
        }
    }

    /// Serves until the control plane closes the link or has been silent for 30 seconds.
    ///
    /// # Errors
    /// A link that the other side has spoilt.
    pub fn serve(&mut self) -> Result<(), icc::LinkError> {
        let started = Instant::now();
        let mut watch = PeerWatch::new(ORPHANED_AFTER.as_nanos() as u64, 0);
        let mut told = Instant::now();
        let mut message = vec![0; LONGEST_MESSAGE];
        let mut packet = vec![0; ROUTES_PER_PACKET * 16];
        loop {
            self.link.beat();
            let mut busy = false;
            if let Some(received) = self.link.receive_message(&mut message)? {
                busy = true;
                let answer = self.obey(&message[..received.length]);
                let text = serde_json::to_vec(&answer).unwrap_or_default();
                self.link
                    .send_message(AGENT, CONTROL, Priority::Normal, &text)?;
            }
            if let Some(length) = self.link.receive_packet(&mut packet)? {
                busy = true;
                match unpack_routes(&packet[..length]) {
                    Some(routes) => self.take_routes(&routes),
                    None => self.counters.routes_refused += 1,
                }
            }
            if told.elapsed() >= COUNTERS_EVERY {
                told = Instant::now();
                self.count();
                // A control plane that does not read its counters loses old ones, not the link.
                let _ = self.link.send_packet(&self.counters.pack());
            }
            let now = started.elapsed().as_nanos() as u64;
            if matches!(
                self.link.peer(&mut watch, now),
                Peer::Closed | Peer::Silent(_)
            ) {
                return Ok(());
            }
            if !busy {
                std::thread::sleep(PAUSE);
            }
        }
    }

    fn obey(&mut self, message: &[u8]) -> Answer {
        let done = match serde_json::from_slice(message) {
            Ok(Command::Start {
                mode,
                interfaces,
                routes,
            }) => self.start(mode, &interfaces, &routes),
            Ok(Command::Stop) => {
                self.passthrough = None;
                set_forwarding(false)
            }
            Ok(Command::Echo { count }) => return self.echo(count),
            Ok(Command::Mirror) => {
                icc::conformance::mirror(&mut self.link).map_err(io::Error::other)
            }
            Ok(Command::Drain { count }) => return self.drain(count),
            Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        };
        match done {
            Ok(()) => Answer::Done,
            Err(error) => Answer::Failed(error.to_string()),
        }
    }

    fn start(
        &mut self,
        mode: UserPlaneMode,
        interfaces: &[Interface],
        routes: &[Route],
    ) -> io::Result<()> {
        self.passthrough = None;
        let mut with_index = Vec::new();
        for interface in interfaces {
            let missing = |_| io::Error::other(format!("no interface {} here", interface.name));
            let index = index_of(&interface.name).map_err(missing)?;
            self.kernel.set_up(index, interface)?;
            with_index.push((interface.clone(), index));
        }
        self.interfaces = interfaces.iter().map(|i| i.name.clone()).collect();
        // In user space it is our worker that forwards; the kernel would send every frame again.
        set_forwarding(mode == UserPlaneMode::Kernel)?;
        if mode == UserPlaneMode::UserSpace {
            if std::process::id() == 1 {
                // A kernel of our own joins segments of TCP to frames that no buffer here holds.
                // Under the host's kernel this switch has the cable's end poll, and
                // stays on; there the size of what is joined is bounded (site.rs).
                for interface in &self.interfaces {
                    offload::switch(interface, Offload::GenericReceive, false)
                        .map_err(io::Error::other)?;
                }
            }
            self.passthrough = Some(Passthrough::start(&with_index)?);
        }
        self.take_routes(routes);
        Ok(())
    }

    fn echo(&mut self, count: u64) -> Answer {
        for _ in 0..count {
            let stamp = match poll(|| self.link.receive_scalar()) {
                Ok(stamp) => stamp,
                Err(why) => return Answer::Failed(why),
            };
            if let Err(error) = self.link.send_scalar(ticks().saturating_sub(stamp)) {
                return Answer::Failed(error.to_string());
            }
        }
        Answer::Done
    }

    fn drain(&mut self, count: u64) -> Answer {
        let mut packet = [0; 2_048];
        for _ in 0..count {
            if let Err(why) = poll(|| self.link.receive_packet(&mut packet)) {
                return Answer::Failed(why);
            }
        }
        Answer::Done
    }

    fn take_routes(&mut self, routes: &[Route]) {
        for routes in routes.chunks(ROUTES_PER_PACKET) {
            let refused = match &self.passthrough {
                Some(passthrough) => passthrough.take(routes),
                None => self.kernel.put_routes(routes),
            };
            self.counters.routes_refused += refused as u64;
            self.counters.routes_applied += (routes.len() - refused) as u64;
        }
    }

    fn count(&mut self) {
        if let Some(passthrough) = &self.passthrough {
            (self.counters.received, self.counters.sent) = passthrough.counts();
            return;
        }
        let sum = |counter: &str| {
            self.interfaces
                .iter()
                .filter_map(|name| {
                    let path = Path::new(INTERFACES).join(name);
                    let text = fs::read_to_string(path.join("statistics").join(counter)).ok()?;
                    text.trim().parse::<u64>().ok()
                })
                .sum()
        };
        self.counters.received = sum("rx_packets");
        self.counters.sent = sum("tx_packets");
    }
}

/// Looks for something until it is there.
fn poll<T>(mut look: impl FnMut() -> Result<Option<T>, icc::LinkError>) -> Result<T, String> {
    let mut since = None;
    loop {
        for _ in 0..LOOKS {
            match look() {
                Ok(Some(found)) => return Ok(found),
                Ok(None) => std::hint::spin_loop(),
                Err(error) => return Err(error.to_string()),
            }
        }
        let since = *since.get_or_insert_with(Instant::now);
        if since.elapsed() > MEASURING_PATIENCE {
            return Err("the other side stopped sending".to_owned());
        }
    }
}

fn set_forwarding(on: bool) -> io::Result<()> {
    fs::write("/proc/sys/net/ipv4/ip_forward", if on { "1" } else { "0" })
}
