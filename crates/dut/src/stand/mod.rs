//! Test stands: a device between the tester's ports, set up, reset and taken down, for the tests of
//! the RFCs.
//!
//! Each kind of device has a file with a function `open`: [`kernel`] and [`program`] (`corelane
//! run`) in namespaces of our own, [`external`] between given interfaces, perhaps with the other
//! end on a [`far`] machine, [`calibrated`] in memory. [`rigs`] makes rigs of any generator over
//! their ports.
//!
//! A stand owns its namespaces, cables and programs; they go when it is dropped. It cannot give two
//! rigs over the same ports at once.

pub mod calibrated;
mod counters;
pub mod external;
pub mod far;
pub mod filters;
pub mod kernel;
pub mod namespaces;
pub mod program;
mod reasons;
pub mod rigs;

use tester::rig::{Rig, RigError};

use crate::error::Error;

/// A device with the tester's ends towards it, and cables for the self-test.
pub trait Stand: Sync {
    /// The rig with the device in it.
    ///
    /// # Errors
    /// The kernel refuses the ports, or the generator cannot work on them.
    fn rig(&self) -> Result<Box<dyn Rig>, RigError>;

    /// The rig with cables in its place.
    ///
    /// # Errors
    /// As [`Stand::rig`].
    fn wire(&self) -> Result<Box<dyn Rig>, RigError>;

    /// Facts for the report, each with its name.
    fn facts(&self) -> Vec<(String, String)>;

    /// What [`Stand::reset`] does, in words.
    fn reset_words(&self) -> &'static str {
        "nothing, for the device has no reset of its own"
    }

    /// Resets the device in its own way, where it has one.
    ///
    /// # Errors
    /// It does not come back.
    fn reset(&self) -> Result<(), Error> {
        Ok(())
    }
}
