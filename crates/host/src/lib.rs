//! This machine: which cores there are and which we may use, pinning, noise, environment, network
//! namespaces, and cleaning up after ourselves.
//!
//! What the crate makes, it removes: a [`Namespace`] and a [`temporary::Directory`] are deleted
//! when dropped. Ctrl-C does not kill the process at once: after [`cleanup::on_signal`] it sets a
//! flag that loops poll with [`interrupted`], so that they return and the guards run. After a crash
//! nothing of this runs; therefore every name carries the id of the process that made it, and
//! [`namespace::sweep_leftovers`] removes what belongs to dead ones.
//!
//! Linux only. Reading `/sys` and `/proc` never fails the caller where a default is honest: what is
//! not known is an empty string or `None`, never a guess.

pub mod bed;
pub mod cleanup;
pub mod cores;
pub mod environment;
pub mod favour;
pub mod loops;
pub mod namespace;
pub mod noise;
pub mod observe;
pub mod offload;
pub mod partition;
pub mod pin;
pub mod pressure;
pub mod process;
pub mod realtime;
pub mod settings;
pub mod tasks;
pub mod temporary;
pub mod topology;

pub use bed::{Bed, Veth};
pub use cleanup::interrupted;
pub use cores::{CoreId, allowed_cores};
pub use environment::Environment;
pub use favour::Favoured;
pub use namespace::Namespace;
pub use noise::Noise;
pub use pin::Pinned;
pub use realtime::RealTime;
pub use topology::Topology;
