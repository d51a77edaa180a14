//! The control plane: a mirror of the kernel's links, addresses, neighbours, nexthop objects, rules
//! and routes.
//!
//! ```text
//!  model          the kernel's objects as plain values
//!  surroundings   links, ports, addresses, neighbours
//!  next_hops      numbers that routes answer with; buckets: members of groups;
//!                 objects: `ip nexthop`
//!  routes         every route, 16 bytes each, and their ways; slots: the map under them
//!  family         the answer for a prefix, composed of the kernel's tables, and neighbours as
//!                 routes; shared: what families share, and from a way to its next hop
//!  digest         whether two routers have the same routes
//!  mirror         the state machine: events in, changes out
//! ```
//!
//! Everything in this list is pure: no I/O, no clock. Around it:
//!
//! ```text
//!  netlink        what the kernel's messages mean
//!  follower       reads them, feeds the mirror, fills the engine;
//!                 reread: the kernel's tables once more; keep_alive: neighbours in use
//!  guard          what the kernel does to packets besides routing them
//!  settings       what it lets links forward; sysctl: one setting
//!  reader         a thread that reads for these two
//!  troubles       what has failed and is tried again
//!  verify         every answer compared with the kernel's
//! ```

pub mod buckets;
pub mod digest;
pub mod family;
pub mod follower;
pub mod guard;
pub mod health;
mod keep_alive;
pub mod mirror;
pub mod model;
pub mod netlink;
pub mod next_hops;
pub mod objects;
pub mod reader;
mod reread;
pub mod routed;
pub mod routes;
pub mod settings;
pub mod shared;
pub(crate) mod slots;
pub mod surroundings;
pub mod sysctl;
pub mod troubles;
pub mod verify;
