//! What each event of a fleet costs: frames lost, the longest outage, flows moved, time until it was
//! noticed.
//!
//! ```text
//! source ─ spreader ─┬─ node1 ─┬─ sink
//!                    └─ node2 ─┘
//! ```
//!
//! All are network namespaces. The spreader is Linux with ECMP over addresses and ports, and a
//! routing daemon that speaks BGP and BFD with each node. A node has the same daemon and a real
//! `corelane run`. The source sends numbered UDP frames of many flows; the sink has a cable from
//! each node, so the cable by which a frame comes names the node that carried it.
//!
//! - which events there are: [`event`]
//! - what was sent and what came: [`traffic`]; what that says: [`count`], [`timeline`]
//! - the place: [`site`], [`node`], the daemon: [`daemon`],
//!   [`bird`], [`frr`]
//! - when the spreader noticed: [`notice`]; its group of next hops: [`resilient`]
//! - one event after another: [`measure`]; what is written and shown: [`result`],
//!   [`page`]; what must hold: `must`
//!
//! What a fleet carries is told without traffic: [`forecast`] from one node's rate and the
//! spread of flows, [`spread`] by the kernel's own hash, [`answer`] for people.
//!
//! Namespaces, files and programs end with the run; after a crash the next run removes them. It
//! needs root. It measures correctness and outage of few frames a second, not speed.

pub mod answer;
pub mod bird;
pub mod count;
pub mod daemon;
mod draw;
pub mod event;
pub mod forecast;
pub mod frr;
pub mod measure;
mod must;
pub mod node;
pub mod notice;
pub mod page;
mod program;
pub mod resilient;
pub mod result;
pub mod site;
pub mod spread;
mod stamp;
pub mod timeline;
pub mod traffic;

/// Why it could not be measured, in words with a remedy; or
/// [`Interrupted`](host::cleanup::Interrupted).
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The network behind the nodes, and the sink's address in it.
pub const SERVICE: &str = "203.0.113.0/24";
/// Other routes that a node announces have 32 bits of this network.
pub(crate) const OTHERS: &str = "100.64.0.0/10";
