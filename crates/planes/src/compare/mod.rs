//! The comparison itself: every deployment, each plane alone and beside the other.

mod bench;
mod stage;
mod watch;

use std::{path::Path, time::Duration};

use host::Environment;

pub use bench::LOSS;
pub(crate) use {stage::StageError, watch::watched};

use self::stage::Stage;
use crate::{
    cause,
    deployment::{Cores, Deployment},
    load::LoadError,
    management::ManagementError,
    protocol::UserPlaneMode,
    result::{Comparison, SCHEMA},
    settings,
    site::Site,
};

/// Requests a second: a busy operator's page, some tenth of a core.
pub(crate) const REQUESTS_PER_SECOND: f64 = 20.0;
/// After which a request counts as timed out.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
/// Route changes a second of the control plane.
pub(crate) const CHANGES_PER_SECOND: u32 = 500;

/// What to compare.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Deployments.
    pub deployments: Vec<Deployment>,
    /// User plane modes.
    pub modes: Vec<UserPlaneMode>,
    /// UDP payloads in bytes.
    pub payloads: Vec<u32>,
    /// Shorter trials.
    pub quick: bool,
    /// Seed, for the record.
    pub seed: u64,
}

impl Plan {
    fn trial(&self) -> Duration {
        Duration::from_millis(if self.quick { 120 } else { 300 })
    }

    fn asking(&self) -> Duration {
        Duration::from_millis(if self.quick { 1_500 } else { 4_000 })
    }
}

/// Why a comparison could not be made at all.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// Fewer than two cores.
    #[error("planes need two cores, this process may use {0}: allow more (taskset, cgroup)")]
    Cores(usize),
    /// Not root.
    #[error("namespaces, guests and partitions need root; run the command with sudo")]
    NotRoot,
    /// The namespaces.
    #[error(transparent)]
    Namespace(#[from] host::namespace::Error),
    /// The web server.
    #[error(transparent)]
    Management(#[from] ManagementError),
    /// Ctrl-C.
    #[error("interrupted; everything that was made is removed")]
    Interrupted,
}

/// Compares the deployments of `plan`; `say` hears what is being done. A deployment that this
/// machine cannot have is named in the result, and the others go on.
///
/// # Errors
/// [`CompareError`].
pub fn compare(
    plan: &Plan,
    program: &Path,
    environment: Environment,
    mut say: impl FnMut(&str),
) -> Result<Comparison, CompareError> {
    if !host::process::is_root() {
        return Err(CompareError::NotRoot);
    }
    let all = host::allowed_cores().unwrap_or_default();
    let count = all.len();
    let cores = Cores::divide(all).ok_or(CompareError::Cores(count))?;
    crate::guest::sweep_leftovers();
    settings::sweep_leftovers();
    let mut comparison = Comparison {
        schema: SCHEMA.to_owned(),
        environment,
        cells: Vec::new(),
        channels: Vec::new(),
        causes: Vec::new(),
        not_measured: vec![
            "hardware counters and cache partitions, which would tell shared cache from memory bandwidth".to_owned(),
        ],
        user_core: cores.user.0,
        cores: cores.all.iter().map(|core| core.0).collect(),
        requests_per_second: REQUESTS_PER_SECOND,
        route_changes_per_second: CHANGES_PER_SECOND,
        quick: plan.quick,
    };
    for &deployment in &plan.deployments {
        for &mode in &plan.modes {
            let site = Site::new(deployment.user_planes())?;
            let stage = Stage {
                plan,
                deployment,
                mode,
                cores: &cores,
                site: &site,
            };
            say(&format!(
                "{}, packets in {}",
                deployment.name(),
                mode.name()
            ));
            match stage.run(program, &mut comparison, &mut say) {
                Ok(()) => {}
                Err(StageError::Load(LoadError::Interrupted)) => {
                    return Err(CompareError::Interrupted);
                }
                Err(error) => comparison.not_measured.push(format!(
                    "{} with packets in {}: {error}",
                    deployment.name(),
                    mode.name()
                )),
            }
            if host::interrupted() {
                return Err(CompareError::Interrupted);
            }
        }
    }
    match cause::investigate(plan, program, &cores, &mut comparison, say) {
        Ok(()) => Ok(comparison),
        Err(_) => Err(CompareError::Interrupted),
    }
}
