//! What an experiment gets, and why it may not run.

use std::io;
use std::time::Duration;

use host::cores::CoreId;
use host::pressure::Caches;
use host::topology::Topology;
use thiserror::Error;

use super::installed;
use crate::harness::order::order;
use crate::harness::plan::Placement;
use crate::measure::Request;

/// The place an experiment runs on.
#[derive(Debug, Clone)]
pub struct Bench {
    /// Cores in the order of a sweep, at least one.
    pub cores: Vec<CoreId>,
    /// Sizes of the caches.
    pub caches: Caches,
    /// Measure less.
    pub quick: bool,
    /// Seed of everything random.
    pub seed: u64,
    /// This program, for loops in processes of their own.
    pub program: String,
    /// Build the real kernel too, from the distribution's source package.
    pub kernel: bool,
    /// Who chooses the cores of what is swept, the first for what is said of it.
    pub placements: Vec<Placement>,
    /// Asked in loops; yes ends the experiment.
    pub interrupted: fn() -> bool,
}

impl Bench {
    /// This machine, with its own program.
    ///
    /// # Errors
    /// When the program or its cores cannot be told.
    pub fn here(quick: bool, seed: u64) -> io::Result<Self> {
        let topology = Topology::read();
        Ok(Self {
            cores: order(&topology, &host::allowed_cores()?),
            caches: Caches::read(&topology),
            quick,
            seed,
            program: std::env::current_exe()?.display().to_string(),
            kernel: false,
            placements: vec![Placement::Pinned],
            interrupted: host::interrupted,
        })
    }

    /// A sweep of a command as the bench has it placed, everything else by default.
    pub fn request<'a>(&self, command: impl IntoIterator<Item = &'a str>) -> Request {
        let command = command.into_iter().map(str::to_owned).collect();
        Request {
            placements: self.placements.clone(),
            ..Request::pinned(command, self.quick, self.seed)
        }
    }

    /// For use with `?` in loops.
    ///
    /// # Errors
    /// When interrupted.
    pub fn go_on(&self) -> Result<(), Unable> {
        if (self.interrupted)() {
            return Err(Unable::Interrupted);
        }
        Ok(())
    }

    /// The core for the only thread, or for the one that must not be disturbed least: the last of
    /// the sweep, because the kernel prefers the first for everything else.
    pub fn last(&self) -> CoreId {
        self.cores.last().copied().unwrap_or(CoreId(0))
    }

    /// The first core.
    pub fn first(&self) -> CoreId {
        self.cores.first().copied().unwrap_or(CoreId(0))
    }

    /// Whether there are two cores; an experiment about two says so when there are not.
    ///
    /// # Errors
    /// With fewer than two cores.
    pub fn two(&self) -> Result<(CoreId, CoreId), Unable> {
        if self.cores.len() < 2 {
            return Err(Unable::Cores {
                needed: 2,
                allowed: self.cores.len(),
            });
        }
        Ok((self.cores[0], self.cores[1]))
    }

    /// `full` as it is, or a third of it when measuring less.
    pub fn time(&self, full: Duration) -> Duration {
        if self.quick { full / 3 } else { full }
    }
}

/// Why a workload could not run here.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unable {
    /// A program is absent.
    #[error("{program} is not installed; install it with `apt-get install {packages}`")]
    Absent {
        /// The program.
        program: String,
        /// Debian's packages that have it.
        packages: String,
    },
    /// Too few cores.
    #[error(
        "needs {needed} cores, {allowed} may be used here; widen the affinity or the control group"
    )]
    Cores {
        /// Needed.
        needed: usize,
        /// Allowed.
        allowed: usize,
    },
    /// Something failed.
    #[error("{0}")]
    Failed(String),
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

impl Unable {
    /// Something failed: what, and the reason.
    pub fn failed<E: std::fmt::Display>(what: &str) -> impl Fn(E) -> Self {
        move |reason| Self::Failed(format!("{what}: {reason}"))
    }

    /// That `program` is there.
    ///
    /// # Errors
    /// When it is absent; Debian has it in `packages`.
    pub fn unless_installed(program: &str, packages: &str) -> Result<(), Self> {
        if installed(program) {
            return Ok(());
        }
        Err(Self::Absent {
            program: program.to_owned(),
            packages: packages.to_owned(),
        })
    }
}
