//! A look at what the kernel does to forwarded packets besides routing them, by a thread of its
//! own, and what it found.

use std::io::{self, PipeReader};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

use fastpath::forward::Device;

use super::{Finding, Treatment, hooks, netfilter, traffic_control, unread, xfrm};
use crate::control_plane::settings::{Settings, Watched};

/// What a look found.
#[derive(Debug)]
pub struct Seen {
    /// What the kernel does, in no order.
    pub findings: Vec<Finding>,
    /// What the ports' devices do, by interface index, as far as they said.
    pub devices: Vec<(u32, Device)>,
    /// The links' settings, as they were at the end.
    pub settings: Settings,
}

/// A look under way.
#[derive(Debug)]
pub struct Look {
    seen: Receiver<Seen>,
    /// Its other end is closed when there is something.
    bell: PipeReader,
}

impl AsFd for Look {
    /// Readable when it is over.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl Look {
    /// Begins, in the calling thread's network namespace.
    ///
    /// # Errors
    /// When the system has no thread for it.
    pub fn begin(links: Vec<Watched>) -> io::Result<Self> {
        let (sender, seen) = sync_channel(1);
        let (bell, ringer) = io::pipe()?;
        std::thread::Builder::new()
            .name("guard".to_owned())
            .spawn(move || {
                // Who asked may have thought otherwise.
                let _unwanted = sender.send(look(links));
                drop(ringer);
            })?;
        Ok(Self { seen, bell })
    }

    /// What it found, if it is over.
    pub fn seen(&self) -> Option<Seen> {
        match self.seen.try_recv() {
            Err(TryRecvError::Empty) => None,
            seen => Some(seen.unwrap_or_else(|_| Seen::nothing(&ended()))),
        }
    }

    /// Waits until it is over.
    pub fn wait(self) -> Seen {
        self.seen.recv().unwrap_or_else(|_| Seen::nothing(&ended()))
    }
}

impl Seen {
    /// Nobody could look, so nobody knows what there is.
    pub fn nothing(error: &io::Error) -> Self {
        Self {
            findings: vec![unread("the kernel's rules", error, Treatment::Netfilter)],
            devices: Vec::new(),
            settings: Settings::default(),
        }
    }
}

fn ended() -> io::Error {
    io::Error::other("the thread that looks ended")
}

fn look(links: Vec<Watched>) -> Seen {
    let mut found = Vec::new();
    netfilter::nftables(&mut found);
    if !hooks::look(&mut found) {
        netfilter::legacy_tables(&mut found);
        netfilter::virtual_services(&mut found);
    }
    xfrm::look(&mut found);
    traffic_control::disciplines_and_filters(&links, &mut found);
    for link in &links {
        traffic_control::programs(link, &mut found);
    }
    let ports = links.iter().filter(|link| link.is_port);
    let devices = ports.filter_map(|port| {
        let device = Device::ask(&port.name, port.index).ok()?;
        Some((port.index, device))
    });
    Seen {
        findings: found,
        devices: devices.collect(),
        settings: Settings::read(links),
    }
}
