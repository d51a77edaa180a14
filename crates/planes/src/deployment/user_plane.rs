//! One user plane of a deployment: an agent in a process or in a kernel of its own, and the link to
//! it.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use agent::protocol::{Counters, Interface};
use host::favour::Rank;
use host::napi;
use host::partition::Partition;
use host::tasks::bind;
use host::{CoreId, Namespace, temporary};
use icc::{Link, Mapping, Peer};

use crate::control;
use crate::error::{Error, host};
use crate::guest::{BOOT_PATIENCE, Guest, Kind, Plan};
use crate::linked::Linked;
use crate::site::{MTU, Pair};

const AGENT_PATIENCE: Duration = Duration::from_secs(5);
const GUEST_MEMORY_MIB: u32 = 128;

/// What user planes are made of.
#[derive(Debug, Clone, Copy)]
pub struct Means<'a> {
    /// The agent, a static program.
    pub program: &'a Path,
    /// What the kernels of guests run in.
    pub guests: Kind,
}

/// One user plane: an agent, wherever it runs, and the link to it.
pub struct UserPlane {
    pub(super) home: Home,
    interfaces: Vec<Interface>,
    counters: Counters,
}

pub(super) enum Home {
    Guest(Box<Guest>),
    Process {
        agent: Box<Linked>,
        _files: temporary::Directory,
    },
}

impl UserPlane {
    pub(super) fn guest(
        device: &Namespace,
        names: [&str; 2],
        core: CoreId,
        means: Means<'_>,
        pair: &Pair,
    ) -> Result<Self, Error> {
        let kind = means.guests;
        let guest = Guest::boot(&Plan {
            kind,
            core,
            namespace: device,
            interfaces: &names,
            mtu: MTU,
            memory_mib: GUEST_MEMORY_MIB,
            program: means.program,
            patience: BOOT_PATIENCE,
        })?;
        let names = [kind.interface(0), kind.interface(1)];
        Ok(Self {
            home: Home::Guest(Box::new(guest)),
            interfaces: pair.interfaces(names.each_ref().map(String::as_str), true),
            counters: Counters::default(),
        })
    }

    pub(super) fn agent(
        device: &Namespace,
        names: [&str; 2],
        bound: Option<CoreId>,
        partition: Option<&Partition>,
        program: &Path,
        pair: &Pair,
    ) -> Result<Self, Error> {
        let plane = Self {
            home: start(device, program)?,
            interfaces: pair.interfaces(names, false),
            counters: Counters::default(),
        };
        if let Some(partition) = partition {
            partition.take(plane.process())?;
        }
        if let Some(core) = bound {
            bind(plane.process(), &[core])?;
            for name in names {
                napi::to_core(device, name, core, Rank::First(1), false)?;
            }
        }
        Ok(plane)
    }

    /// The link to its agent.
    pub fn link(&mut self) -> &mut Link<Mapping> {
        match &mut self.home {
            Home::Guest(guest) => guest.link(),
            Home::Process { agent, .. } => &mut agent.link,
        }
    }

    /// Its counters as it has last sent them.
    ///
    /// # Errors
    /// A link that it has spoilt.
    pub fn read_counters(&mut self) -> Result<Counters, Error> {
        if let Some(counters) = control::counters(self.link())? {
            self.counters = counters;
        }
        Ok(self.counters)
    }

    /// What is known of its agent now.
    pub fn peer(&mut self) -> Peer {
        match &mut self.home {
            Home::Guest(guest) => guest.peer(),
            Home::Process { agent, .. } => agent.peer(),
        }
    }

    /// Whether it reads the same tick counter as we do.
    pub(crate) fn shares_ticks(&self) -> bool {
        match &self.home {
            Home::Guest(guest) => guest.kind().shares_ticks(),
            Home::Process { .. } => true,
        }
    }

    /// How long its kernel took to come up, where it has one of its own.
    pub fn boot_time(&self) -> Option<Duration> {
        match &self.home {
            Home::Guest(guest) => Some(guest.boot_time()),
            Home::Process { .. } => None,
        }
    }

    /// The process that leads all its processes.
    pub fn process(&self) -> u32 {
        match &self.home {
            Home::Guest(guest) => guest.process(),
            Home::Process { agent, .. } => agent.process(),
        }
    }

    /// Its interfaces, the sender's first.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }
}

/// Starts an agent beside others under our own kernel.
fn start(device: &Namespace, program: &Path) -> Result<Home, Error> {
    let files = temporary::Directory::new("agent").map_err(host("make a directory"))?;
    let shared = files.path().join("shared");
    let link = Linked::link(&shared)?;
    let mut command = device.command(program);
    command
        .arg(&shared)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let mut agent = Linked::start(&mut command, link)?;
    agent.wait_until_up(AGENT_PATIENCE).map_err(Error::Agent)?;
    Ok(Home::Process {
        agent: Box::new(agent),
        _files: files,
    })
}
