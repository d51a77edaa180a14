//! One user plane of a deployment: an agent in a process or in a kernel of its own, and the link to
//! it.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use agent::protocol::{Counters, Interface};
use host::favour::Rank;
use host::napi;
use host::partition::Partition;
use host::tasks::bind;
use host::{CoreId, Namespace, temporary};
use icc::{Link, Mapping, Peer, PeerWatch};

use super::{AGENT_PATIENCE, DeploymentError, Means, host};
use crate::control::{self, ControlError};
use crate::group::{kill_group, own_group};
use crate::guest::{self, BOOT_PATIENCE, Guest, Plan};
use crate::site::{MTU, Pair};

const BEAT_PATIENCE: Duration = Duration::from_secs(2);
const GUEST_MEMORY_MIB: u32 = 128;

/// One user plane: an agent, wherever it runs, and the link to it.
pub struct UserPlane {
    pub(super) home: Home,
    interfaces: Vec<Interface>,
    counters: Counters,
}

pub(super) enum Home {
    Guest(Box<Guest>),
    Process(Box<AgentProcess>),
}

impl UserPlane {
    pub(super) fn guest(
        device: &Namespace,
        names: [&str; 2],
        core: CoreId,
        means: Means<'_>,
        pair: &Pair,
    ) -> Result<Self, DeploymentError> {
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
    ) -> Result<Self, DeploymentError> {
        let agent = AgentProcess::start(device, program)?;
        if let Some(partition) = partition {
            partition.take(agent.child.id())?;
        }
        if let Some(core) = bound {
            bind(agent.child.id(), &[core])?;
            for name in names {
                napi::to_core(device, name, core, Rank::First(1), false)?;
            }
        }
        Ok(Self {
            home: Home::Process(Box::new(agent)),
            interfaces: pair.interfaces(names, false),
            counters: Counters::default(),
        })
    }

    /// The link to its agent.
    pub fn link(&mut self) -> &mut Link<Mapping> {
        match &mut self.home {
            Home::Guest(guest) => guest.link(),
            Home::Process(agent) => &mut agent.link,
        }
    }

    /// Its counters as it has last sent them.
    ///
    /// # Errors
    /// A link that it has spoilt.
    pub fn read_counters(&mut self) -> Result<Counters, ControlError> {
        if let Some(counters) = control::counters(self.link())? {
            self.counters = counters;
        }
        Ok(self.counters)
    }

    /// What is known of its agent now.
    pub fn peer(&mut self) -> Peer {
        match &mut self.home {
            Home::Guest(guest) => guest.peer(),
            Home::Process(agent) => agent.peer(),
        }
    }

    /// Whether it reads the same tick counter as we do.
    pub(crate) fn shares_ticks(&self) -> bool {
        match &self.home {
            Home::Guest(guest) => guest.kind().shares_ticks(),
            Home::Process(_) => true,
        }
    }

    /// How long its kernel took to come up, where it has one of its own.
    pub fn boot_time(&self) -> Option<Duration> {
        match &self.home {
            Home::Guest(guest) => Some(guest.boot_time()),
            Home::Process(_) => None,
        }
    }

    /// The process that leads all its processes.
    pub fn process(&self) -> u32 {
        match &self.home {
            Home::Guest(guest) => guest.process(),
            Home::Process(agent) => agent.child.id(),
        }
    }

    /// Its interfaces, the sender's first.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }
}

/// An agent beside others under our own kernel.
pub(super) struct AgentProcess {
    pub(super) child: Child,
    link: Link<Mapping>,
    watch: PeerWatch,
    started: Instant,
    _files: temporary::Directory,
}

impl AgentProcess {
    fn start(device: &Namespace, program: &Path) -> Result<Self, DeploymentError> {
        let files = temporary::Directory::new("agent").map_err(host("make a directory"))?;
        let shared = files.path().join("shared");
        let link =
            Link::create(guest::shared_memory(&shared).map_err(host("make shared memory"))?)?;
        let mut command = device.command(program);
        let child = own_group(&mut command)
            .arg(&shared)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(host("start the user plane's agent"))?;
        let mut agent = Self {
            child,
            link,
            watch: PeerWatch::new(BEAT_PATIENCE.as_nanos() as u64, 0),
            started: Instant::now(),
            _files: files,
        };
        while agent.peer() != Peer::Alive {
            if agent.started.elapsed() > AGENT_PATIENCE || agent.peer() == Peer::Closed {
                return Err(DeploymentError::Agent);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(agent)
    }

    fn peer(&mut self) -> Peer {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return Peer::Closed;
        }
        let now = self.started.elapsed().as_nanos() as u64;
        self.link.peer(&mut self.watch, now)
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        kill_group(self.child.id());
        let _ = self.child.wait();
    }
}
