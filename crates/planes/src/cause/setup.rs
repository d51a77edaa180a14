//! What is the same in all trials of one deployment.

use std::time::Duration;

use crate::deployment::{Cores, Variant};
use crate::routes::Origin;
use crate::site::Site;

/// What is the same in all trials.
pub(super) struct Setup<'a> {
    pub(super) variant: Variant,
    pub(super) cores: &'a Cores,
    pub(super) site: &'a Site,
    pub(super) payload: u32,
    /// Frames a second.
    pub(super) rate: f64,
    pub(super) trial: Duration,
    /// Whence route changes.
    pub(super) origin: Origin,
}
