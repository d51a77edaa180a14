//! The ways to put the planes on cores, and the user plane running in one of them.
//!
//! The same program (the agent), the same link and the same commands in every deployment; what
//! differs is who schedules it and whose kernel moves the packets:
//!
//! - SMP free: kernel: one; user plane: anywhere; interrupts' work (NAPI): on the core where the
//!   packet arrives
//! - SMP divided: kernel: one; user plane: anywhere; interrupts' work: divided over all cores, each
//!   flow on one of them (receive packet steering, for these interfaces have one queue)
//! - SMP bound: kernel: one; user plane: its core; interrupts' work (NAPI): a thread for each
//!   interface, bound to its core
//! - partitioned: kernel: one; user plane: an isolated cpuset on its core; interrupts' work (NAPI):
//!   as bound
//! - AMP: kernel: one per plane; user plane: a guest kernel on its core; interrupts' work (NAPI):
//!   the guest's
//! - AMP spread: kernel: one per user plane; user plane: guests on several cores, flows spread over
//!   them; interrupts' work (NAPI): the guests'

mod user_plane;

use std::fmt;
use std::path::Path;

use agent::protocol::{Command, UserPlaneMode};
use clap::ValueEnum;
use host::CoreId;
use host::partition::Partition;
use host::settings::Setting;
use host::tasks::{bind, descendants};
use serde::{Deserialize, Serialize};

use self::user_plane::Home;
pub use self::user_plane::{Means, UserPlane};
use crate::control;
use crate::error::{Error, host};
use crate::site::Site;

/// A way to put the planes on cores; in the order of the tables.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Deployment {
    /// One kernel, tasks float.
    #[default]
    SmpFree,
    /// One kernel, tasks float, the work of interrupts is divided over all cores.
    SmpDivided,
    /// One kernel, workers and NAPI threads bound to the user plane's core.
    SmpBound,
    /// One kernel, the user plane's core in an isolated cpuset partition.
    Partitioned,
    /// A kernel of its own for the user plane.
    Amp,
    /// Several such kernels, flows spread over them.
    AmpSpread,
}

impl Deployment {
    /// As it is called in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::SmpFree => "SMP free",
            Self::SmpDivided => "SMP divided",
            Self::SmpBound => "SMP bound",
            Self::Partitioned => "partitioned",
            Self::Amp => "AMP",
            Self::AmpSpread => "AMP spread",
        }
    }

    /// Whether the scheduler decides where the user plane runs.
    pub(crate) fn floats(self) -> bool {
        matches!(self, Self::SmpFree | Self::SmpDivided)
    }

    /// How many user planes it has.
    pub fn user_planes(self) -> u8 {
        if self == Self::AmpSpread { 2 } else { 1 }
    }

    /// Whether each user plane has a kernel of its own.
    pub fn own_kernel(self) -> bool {
        matches!(self, Self::Amp | Self::AmpSpread)
    }
}

/// The ways in which packets are moved, in the order of the tables.
pub const MODES: [UserPlaneMode; 2] = [UserPlaneMode::Kernel, UserPlaneMode::UserSpace];

/// A deployment, and how its user planes move packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Variant {
    /// Where the planes are.
    pub deployment: Deployment,
    /// How packets are moved.
    #[serde(rename = "user_plane_mode")]
    pub mode: UserPlaneMode,
}

impl Variant {
    /// Each of `deployments` in each of `modes`.
    pub fn all(
        deployments: &[Deployment],
        modes: &[UserPlaneMode],
    ) -> impl Iterator<Item = Self> + Clone {
        let of = |&deployment| modes.iter().map(move |&mode| Self { deployment, mode });
        deployments.iter().flat_map(of)
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { deployment, mode } = self;
        write!(f, "{}, packets in {}", deployment.name(), mode.name())
    }
}

/// Which cores are whose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cores {
    /// All that we may use.
    pub all: Vec<CoreId>,
    /// The user plane's where it is bound: the last.
    pub user: CoreId,
}

impl Cores {
    /// The last core is the user plane's, the others are for everything else. `None` with fewer
    /// than two cores: there is nothing to place.
    pub fn divide(all: Vec<CoreId>) -> Option<Self> {
        let user = *all.last().filter(|_| all.len() >= 2)?;
        Some(Self { all, user })
    }

    /// The cores of control and management plane where planes are kept apart.
    pub fn others(&self) -> Vec<CoreId> {
        self.all
            .iter()
            .copied()
            .filter(|&core| core != self.user)
            .collect()
    }

    /// The same in a deployment that keeps the planes apart; `None` where they float.
    pub(crate) fn kept_apart(&self, deployment: Deployment) -> Option<Vec<CoreId>> {
        (!deployment.floats()).then(|| self.others())
    }
}

/// The default size of a socket's receive buffer, and what the raw sockets of a guest's interfaces
/// have instead (`net.core.rmem_default`): the default holds some 270 frames, less than come in a
/// guest's pause of a millisecond.
const SOCKET_BUFFER: &str = "/proc/sys/net/core/rmem_default";
const RECEIVED: u32 = 4 << 20;

/// User planes that run, in one deployment. Dropping it ends them and gives the cores back.
pub struct Running {
    planes: Vec<UserPlane>,
    _partition: Option<Partition>,
}

impl Running {
    /// Brings the user planes of `site` up as `variant` says.
    ///
    /// # Errors
    /// [`Error`]; nothing is left running.
    pub fn start(
        variant: Variant,
        site: &Site,
        cores: &Cores,
        means: Means<'_>,
    ) -> Result<Self, Error> {
        let Variant { deployment, mode } = variant;
        let partition = match deployment {
            Deployment::Partitioned => Some(Partition::isolate(&[cores.user], &cores.all)?),
            _ => None,
        };
        if deployment == Deployment::SmpDivided {
            for pair in &site.pairs {
                pair.input.b.receive_on(&cores.all)?;
                pair.output.b.receive_on(&cores.all)?;
            }
        }
        // A guest's interfaces open their sockets when they are brought up, and keep the size they
        // had then.
        let _larger = deployment
            .own_kernel()
            .then(|| Setting::change(Path::new(SOCKET_BUFFER), &RECEIVED.to_string()))
            .transpose()
            .map_err(host("raise the size of sockets' receive buffers"))?;
        let count = usize::from(deployment.user_planes());
        let mut planes = Vec::new();
        for (number, pair) in site.pairs.iter().take(count).enumerate() {
            let names = [format!("u{number}"), format!("v{number}")];
            let names = [names[0].as_str(), names[1].as_str()];
            let plane = if deployment.own_kernel() {
                // The first has the user plane's core to itself, further ones share the others'.
                let core = cores.all[cores.all.len() - 1 - number % cores.all.len()];
                UserPlane::guest(&site.device, names, core, means, pair)?
            } else {
                let bound = (!deployment.floats()).then_some(cores.user);
                UserPlane::agent(
                    &site.device,
                    names,
                    bound,
                    partition.as_ref(),
                    means.program,
                    pair,
                )?
            };
            planes.push(plane);
        }
        let mut running = Self {
            planes,
            _partition: partition,
        };
        for (plane, pair) in running.planes.iter_mut().zip(&site.pairs) {
            let start = Command::Start {
                mode,
                interfaces: plane.interfaces().to_vec(),
                routes: pair.routes(),
            };
            control::command(plane.link(), &start)?;
            if let Home::Process { agent, .. } = &plane.home {
                // Its worker has bound itself to one core; where it may run is the deployment's
                // say.
                let cores = if deployment.floats() {
                    cores.all.as_slice()
                } else {
                    std::slice::from_ref(&cores.user)
                };
                bind(agent.process(), cores)?;
            }
        }
        Ok(running)
    }

    /// The user planes.
    pub fn planes(&mut self) -> &mut [UserPlane] {
        &mut self.planes
    }

    /// The processes that they consist of: agents, or all of their kernels'.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let processes = self.planes.iter().flat_map(|plane| match &plane.home {
            Home::Guest(guest) => descendants(guest.process()),
            Home::Process { agent, .. } => vec![agent.process()],
        });
        processes.collect()
    }
}
