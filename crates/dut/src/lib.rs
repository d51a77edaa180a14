//! Devices under test: everything that Corelane measures, opened as it ships.
//!
//! [`device::Device`] is what the study measures; each device has a file with a function `open`.

pub mod case;
pub mod changer;
pub mod device;
pub mod error;
pub mod kernel;
pub mod kind;
pub mod memory;
pub mod offer;
pub mod open;
pub mod router;
pub mod routes;
pub mod tally;
pub mod testpmd;
