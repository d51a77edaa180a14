//! The planes of a network element, on one kernel or several.

pub mod advise;
mod cause;
pub mod channel;
pub mod compare;
pub mod control;
pub mod deployment;
mod error;
pub mod flows;
mod group;
pub mod guest;
pub mod iperf;
pub mod load;
pub mod management;
pub mod page;
pub mod plan;
pub mod result;
pub mod routes;
pub mod site;
mod watch;
