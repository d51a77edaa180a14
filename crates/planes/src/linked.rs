//! A program of ours with an agent in it, at the other end of a link: a process beside others, or a
//! whole guest.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use agent::protocol::LINK_BYTES;
use host::process::{Group, end_with_thread};
use icc::{Link, Mapping, Peer, PeerWatch};

use crate::error::{Error, host};

/// Silence after which an agent counts as gone: many times the slowest one's turn.
const BEAT_PATIENCE: Duration = Duration::from_secs(2);

/// Processes with an agent in them and the link to it. Dropping it ends them.
pub(crate) struct Linked {
    group: Group,
    /// The link to the agent.
    pub(crate) link: Link<Mapping>,
    watch: PeerWatch,
    started: Instant,
}

impl Linked {
    /// A link in sparse memory of [`LINK_BYTES`] that two sides map, the new file `shared`.
    ///
    /// # Errors
    /// [`Error::Host`], [`Error::Link`].
    pub(crate) fn link(shared: &Path) -> Result<Link<Mapping>, Error> {
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).open(shared);
        let mapping = file.and_then(|file| {
            file.set_len(LINK_BYTES as u64)?;
            Mapping::of(&file, LINK_BYTES)
        });
        Ok(Link::create(mapping.map_err(host("make shared memory"))?)?)
    }

    /// Starts `command`, with an agent that is to join `link`.
    ///
    /// # Errors
    /// [`Error::Host`].
    pub(crate) fn start(command: &mut Command, link: Link<Mapping>) -> Result<Self, Error> {
        let group = Group::start(end_with_thread(command));
        Ok(Self {
            group: group.map_err(host("start the user plane's program"))?,
            link,
            watch: PeerWatch::new(BEAT_PATIENCE.as_nanos() as u64, 0),
            started: Instant::now(),
        })
    }

    /// The process that leads the others.
    pub(crate) fn process(&self) -> u32 {
        self.group.leader.id()
    }

    /// What is known of the agent now. One whose program has ended is closed.
    pub(crate) fn peer(&mut self) -> Peer {
        if self.group.ended().is_some() {
            return Peer::Closed;
        }
        let now = self.started.elapsed().as_nanos() as u64;
        self.link.peer(&mut self.watch, now)
    }

    /// Waits until the agent has joined; says how long that took since the start.
    ///
    /// # Errors
    /// Exit status or time passed, in words.
    pub(crate) fn wait_until_up(&mut self, patience: Duration) -> Result<Duration, String> {
        while self.started.elapsed() < patience && !host::interrupted() {
            if let Some(status) = self.group.ended() {
                return Err(status.to_string());
            }
            if self.peer() == Peer::Alive {
                return Ok(self.started.elapsed());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let seconds = self.started.elapsed().as_secs_f64();
        Err(format!("silent after {seconds:.1} s"))
    }
}
