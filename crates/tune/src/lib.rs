//! What would make a machine's interfaces forward faster: said, done, undone.
//!
//! - what a setting is, and a change of one: [`setting`]
//! - what the machine is like: [`facts`]
//! - which changes would help, and why, from the facts alone: [`rules`], [`hints`]
//! - reading and writing a setting: [`access`]
//! - making changes and putting back what was: [`change`]; what was: [`record`]
//!
//! A change is made in this order: the value that was is in the record and on disk, then the
//! setting is written. So a process that is killed in between leaves a record that says at least
//! what was changed, and putting back a value that never changed does nothing.
//!
//! A record belongs to a port of a network namespace until the machine starts anew: it lies in
//! `/run`, which goes away with the settings. A port that was removed takes its settings along; one
//! that came later under its name is another, which the index of the interface tells.
//!
//! It cannot see what a driver does not say, and does not measure. The peer of a cable is not
//! touched. The calling thread's `/sys` must be that of its network namespace, as it is after
//! `ip netns exec`; otherwise the facts are an error.

pub mod access;
pub mod change;
pub mod facts;
pub mod hints;
pub mod record;
pub mod rules;
pub mod setting;

pub use access::{Access, System};
pub use change::{Made, Outcome, apply, apply_all, undo};
pub use facts::{Entry, Machine, Port};
pub use record::{Records, TuneError};
pub use setting::{Change, Setting};
