//! The router, in the three planes of the trade.
//!
//! ```text
//!  control_plane     kernel (rtnetlink) -> mirror -> changes        no packet is touched here
//!  engine            changes -> what moves frames                   one trait, one file per engine
//!  user_plane        frames in -> frames out                        no control plane's system call
//!  samples           one frame in so many -> a collector            while somebody wants them
//!  management_plane  configuration, socket, metrics                 people
//! ```
//!
//! The kernel stays in charge: interfaces, addresses, neighbours and routes are Linux's own, set by
//! `ip`, FRR or BIRD. The control plane copies them into an [`engine::Engine`], which forwards what
//! is plain forwarding and leaves everything else to the kernel.
//!
//! The engine and the user plane are a crate of their own, `engines`: each is compiled as it needs.

pub use engines::{engine, log, privileges, user_plane};

pub mod control_plane;
pub mod instance;
pub mod management_plane;
pub mod samples;
pub mod system_calls;
pub mod take_over;
