//! Why a deployment cannot be measured; the others go on.

use host::tasks::TaskError;

use crate::control::ControlError;
use crate::deployment::DeploymentError;
use crate::load::LoadError;
use crate::management::ManagementError;
use crate::routes::BirdError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum StageError {
    #[error(transparent)]
    Deployment(#[from] DeploymentError),
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error(transparent)]
    Routes(#[from] BirdError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Management(#[from] ManagementError),
    #[error(transparent)]
    Namespace(#[from] host::namespace::Error),
}
