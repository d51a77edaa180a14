//! What is the same in all trials of one deployment.

use std::time::Duration;

use agent::protocol::UserPlaneMode;

use crate::deployment::{Cores, Deployment};
use crate::routes::Origin;
use crate::site::Site;

/// What is the same in all trials.
pub(super) struct Setup<'a> {
    pub(super) deployment: Deployment,
    pub(super) mode: UserPlaneMode,
    pub(super) cores: &'a Cores,
    pub(super) site: &'a Site,
    pub(super) payload: u32,
    /// Frames a second.
    pub(super) rate: f64,
    pub(super) trial: Duration,
    /// Whence route changes.
    pub(super) origin: Origin,
}
