//! Links that the service manager keeps from the end of a process to the start of the next one, so
//! that a restart of the service detaches nothing.
//!
//! systemd ends a process of a service before it starts another, so these two cannot speak with each
//! other. The old one gives the manager copies of its links when it is told to end (`FDSTORE=1` of
//! `sd_notify(3)`), and its programs go on with the tables of that moment. Nobody vouches for them any
//! more: when nobody takes them within `stale-milliseconds`, they give all frames to the kernel. The
//! new process gets the links at its start (`sd_listen_fds(3)`), and puts its own programs in. Counts
//! go the same way ([`super::left`]).
//!
//! When the service is stopped and not started again, the manager closes what it has, and the kernel
//! detaches the programs. A process that crashes gives nothing, and its links end with it.

use std::ffi::OsString;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use bpf::attach::{Mode, index_of};
use fastpath::forward::{Forwarder, PortCounts};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::left::Left;
use super::mode_of;

/// Names of descriptors begin with it.
const PREFIX: &str = "corelane";
/// The link itself.
const LINK: &str = "link";
/// What says that it is the only one at tc.
const ONLY: &str = "only";
/// What was counted.
const COUNTS: &str = "counts";
/// The map in which the programs count on.
const MAP: &str = "map";

/// Links that were kept.
#[derive(Debug)]
pub struct Kept {
    ports: Vec<KeptPort>,
    counts: Option<Left>,
    map: Option<OwnedFd>,
}

#[derive(Debug)]
struct KeptPort {
    ifindex: u32,
    mode: Mode,
    link: OwnedFd,
    only: Option<OwnedFd>,
}

/// Gives the service manager the links of all ports, and what was counted, and lets the links go.
/// Without a manager they are held as before. A manager that keeps none (`FileDescriptorStoreMax=`)
/// closes them. A file without a name is made in `directory`.
///
/// # Errors
/// The system's. Links that the manager has not got are held then; without counts it has them all.
pub fn keep(engine: &str, forwarder: &mut Forwarder, directory: &Path) -> io::Result<()> {
    let Some(manager) = Manager::from_environment()? else {
        return Ok(());
    };
    let mut kept = Vec::new();
    for attachment in forwarder.attachments() {
        let (ifindex, mode) = (attachment.ifindex(), attachment.mode());
        let Some((link, only)) = attachment.descriptors() else {
            continue;
        };
        let name = |what| format!("{PREFIX}.{engine}.{ifindex}.{mode}.{what}");
        manager.keep(&name(LINK), link)?;
        if let Some(only) = only {
            manager.keep(&name(ONLY), only)?;
        }
        kept.push(ifindex);
    }
    for ifindex in kept {
        // It is one of the ports.
        let _gone = forwarder.let_go(ifindex);
    }
    manager.keep(
        &format!("{PREFIX}.{engine}.{MAP}"),
        forwarder.counters_map(),
    )?;
    let counts = Left::of(forwarder).write(directory).map_err(|error| {
        let directory = directory.display();
        io::Error::other(format!(
            "keeping the counts in {directory}: {error}; they begin at 0 again"
        ))
    })?;
    manager.keep(&format!("{PREFIX}.{engine}.{COUNTS}"), counts.as_fd())
}

impl Kept {
    /// What the service manager has kept of a process with this engine. It keeps nothing from then
    /// on: when this process fails, its links end with it. To be called once.
    pub fn receive(engine: &str) -> Option<Self> {
        let named = sd_notify::listen_fds_with_names().ok()?;
        let (mut links, mut onlys, mut names) = (Vec::new(), Vec::new(), Vec::new());
        let (mut counts, mut map) = (None, None);
        for (number, name) in named {
            // SAFETY: the manager has opened it for this process, and nobody else takes it.
            let descriptor = unsafe { OwnedFd::from_raw_fd(number) };
            if let Some((of, ifindex, mode, what)) = read(&name)
                && of == engine
            {
                match what {
                    LINK => links.push((ifindex, mode, descriptor)),
                    _ => onlys.push((ifindex, descriptor)),
                }
            } else if name == format!("{PREFIX}.{engine}.{COUNTS}") {
                counts = Left::read(descriptor.into()).ok();
            } else if name == format!("{PREFIX}.{engine}.{MAP}") {
                map = Some(descriptor);
            }
            names.push(name);
        }
        if let Ok(Some(manager)) = Manager::from_environment() {
            for name in &names {
                // What it keeps is offered again, and then it is of no use.
                let _stays = manager.forget(name);
            }
        }
        let mut only = |ifindex| {
            let place = onlys.iter().position(|(of, _)| *of == ifindex)?;
            Some(onlys.swap_remove(place).1)
        };
        let ports = links.into_iter().map(|(ifindex, mode, link)| KeptPort {
            ifindex,
            mode,
            link,
            only: only(ifindex),
        });
        let ports: Vec<_> = ports.collect();
        (!ports.is_empty()).then_some(Self { ports, counts, map })
    }

    /// Those of the ports with these names that were kept: name, interface index, mode.
    pub fn ports(&self, names: &[String]) -> Vec<(String, u32, Mode)> {
        let of = |name: &String| {
            let ifindex = index_of(name).ok()?;
            let mut ports = self.ports.iter();
            let port = ports.find(|port| port.ifindex == ifindex)?;
            Some((name.clone(), ifindex, port.mode))
        };
        names.iter().filter_map(of).collect()
    }

    /// The ports run the programs of `forwarder` from now on, and it holds their links. It vouches
    /// for its routes already. Links of other ports end.
    ///
    /// # Errors
    /// When a link is not to be had any more: its interface has gone.
    pub fn swap(self, forwarder: &mut Forwarder) -> io::Result<usize> {
        let ours: Vec<u32> = forwarder.programs().map(|(ifindex, _)| ifindex).collect();
        let mut count = 0;
        for port in self.ports {
            if ours.contains(&port.ifindex) {
                let received = forwarder.receive(port.ifindex, port.link, port.only);
                let taken = received.and_then(|()| forwarder.take_back(port.ifindex));
                taken.map_err(|error| {
                    let ifindex = port.ifindex;
                    io::Error::other(format!(
                        "the link of interface {ifindex} that the service manager has kept: {error}; \
                         it is attached anew at the next start"
                    ))
                })?;
                count += 1;
            }
        }
        if let Some(counts) = self.counts {
            let waited = forwarder.wait_for_readers();
            waited.map_err(io::Error::other)?;
            let counted = counts.by_now(self.map, forwarder);
            // What devices refuse meanwhile nobody else counts.
            forwarder.count_on(counted, &PortCounts::new());
        }
        Ok(count)
    }
}

/// Engine, interface index, mode and what it is.
fn read(name: &str) -> Option<(&str, u32, Mode, &str)> {
    let words: Vec<&str> = name.split('.').collect();
    let [PREFIX, engine, ifindex, mode, what @ (LINK | ONLY)] = words[..] else {
        return None;
    };
    Some((engine, ifindex.parse().ok()?, mode_of(mode)?, what))
}

/// The service manager's socket.
struct Manager(UnixDatagram);

impl Manager {
    /// As `NOTIFY_SOCKET` says; none when it says nothing, or no path.
    fn from_environment() -> io::Result<Option<Self>> {
        let Some(path) = std::env::var_os("NOTIFY_SOCKET").filter(is_path) else {
            return Ok(None);
        };
        let socket = UnixDatagram::unbound()?;
        socket.connect(path)?;
        Ok(Some(Self(socket)))
    }

    fn keep(&self, name: &str, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        let descriptors = [descriptor];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        if !beside.push(SendAncillaryMessage::ScmRights(&descriptors)) {
            return Err(io::Error::other("no room for a descriptor"));
        }
        // A map says at once that there is something to be read.
        let words = format!("FDSTORE=1\nFDNAME={name}\nFDPOLL=0\n");
        let words = [IoSlice::new(words.as_bytes())];
        sendmsg(&self.0, &words, &mut beside, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    fn forget(&self, name: &str) -> io::Result<()> {
        let words = format!("FDSTOREREMOVE=1\nFDNAME={name}\n");
        self.0.send(words.as_bytes()).map(drop)
    }
}

fn is_path(socket: &OsString) -> bool {
    socket.as_encoded_bytes().starts_with(b"/")
}

#[cfg(test)]
#[path = "../../tests/unit/kept.rs"]
mod tests;
