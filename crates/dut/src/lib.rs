//! Devices under test: everything that Corelane measures, opened as it ships.
//!
//! [`device::Device`] is what the study measures: case by case, on generators and sinks of all
//! cores. [`stand::Stand`] is what the tests of the RFCs measure: a device between the tester's
//! ports. Each device has a file with a function `open`.

pub mod bare;
pub mod between_hosts;
pub mod budget;
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
pub mod stand;
pub mod tally;
pub mod testpmd;
