//! What an experiment gets, and why it may not run.

use std::time::Duration;

use host::cores::CoreId;
use host::pressure::Caches;
use thiserror::Error;

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
    /// Asked in loops; yes ends the experiment.
    pub interrupted: fn() -> bool,
}

impl Bench {
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
