//! Transfers: what programs get through a device, over the kernel's own sockets.
//!
//! ```text
//! [ sender: e0 ]──veth──[ in :router: out ]──veth──[ e1: receiver ]
//! ```
//!
//! The tester's frames are whole and finished when they leave. Those of ordinary programs are not:
//! the kernel hands a network card segments of 64 kB with checksums still to be made, and a cable
//! between namespaces carries them as they are. A device that is fast with the former may be slow
//! with the latter, so this crate measures these.
//!
//! - [`site`]: the namespaces; the device is whatever forwards in the one between the hosts
//! - [`load`]: what is sent: TCP, UDP in segments, a mix of datagrams; by how many flows
//! - [`carry`](mod@carry): one transfer: rate, the machine's time, what was repeated or lost
//! - `tcp` and `datagrams` are the two ends of a flow, each a thread
//!
//! Each flow has a thread that sends and one that receives, on a core each. TCP slows down by
//! itself. Senders of datagrams wait for what is on its way, so that no rate is one at which most
//! was thrown away.
//!
//! The site owns its namespaces and cables, a transfer its sockets and threads; both are gone when
//! it is dropped or has returned. It cannot tell the time of the device from that of the hosts:
//! they share the machine, and all of it is counted. What other programs do meanwhile is counted
//! too.

pub mod carry;
mod counts;
mod datagrams;
mod error;
mod flow;
pub mod load;
pub mod site;
mod tcp;

pub use carry::{Carried, carry};
pub use error::Error;
pub use load::{Load, Transfer};
pub use site::{Offloads, Site};
