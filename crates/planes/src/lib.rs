//! The planes of a network element on one kernel or several: who disturbs whom, and through what.
//!
//! ```text
//!  site, flows            hosts on both sides, a device between them, cables; the load's flows
//!  plan                   what is compared, and how long each phase takes
//!  deployment, guest      the ways to put the planes on cores; kernels of their own for some
//!  linked, control,       the link to a user plane's agent, and what the link costs
//!  channel
//!  routes, load,          what loads the planes: route changes, packets, requests,
//!  management, iperf      and iperf3 as a second opinion
//!  compare, watch         every deployment, each plane alone and beside the other
//!  cause                  one shared thing taken away at a time: what disturbs, and how much
//!  result, page, advise   what was found; tables and sentences; which deployment to take
//! ```
//!
//! Rooms stand from the ground up: each imports those above it in this list. [`compare::compare`]
//! fills a [`result::Comparison`]; all that is printed is a pure function of one.
//!
//! The memory of a link is a file of the control plane, which makes it and removes it; the agent in
//! a process or guest maps it. Namespaces, guests, servers and partitions belong to the value that
//! made them, and dropping it ends them. After a crash [`guest::sweep_leftovers`] and the sweeps of
//! the crate `host` do so.
//!
//! What it cannot do: a guest has one core; on one machine the tester shares cores with what it
//! tests; without hardware counters shared cache and memory bandwidth are told apart by pressure
//! only.

pub mod advise;
mod cause;
pub mod channel;
pub mod compare;
pub mod control;
pub mod deployment;
mod error;
pub mod flows;
pub mod guest;
pub mod iperf;
mod linked;
pub mod load;
pub mod management;
pub mod page;
pub mod plan;
pub mod result;
pub mod routes;
pub mod site;
mod watch;

pub use error::Error;
