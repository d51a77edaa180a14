//! Longest-prefix match for a router: tables that packets are looked up in while routes change.
//!
//! - [`Table`] keeps the routes of one family and writes flat arrays; [`View`] reads them. Readers
//!   take no lock and write nothing; each sees the old answer or the new one.
//! - [`next_hop`] maps what a look-up returns to what forwarding needs.
//! - [`quiescence`] tells the writer when readers have moved on, so that memory can be reused.
//! - [`organisation`] puts these together in three ways: one mutex, one shared table, a copy for
//!   each worker.
//! - [`layout`] describes the arrays for readers in other languages.
//! - [`golden`] is the slow table that everything is compared with.
//! - [`prefix_file`] reads a table; [`generated`] makes one of the Internet's size and shape.
//!
//! This crate does no I/O, takes no clock and starts no thread.

pub mod address;
#[cfg(feature = "generated")]
pub mod generated;
pub mod golden;
pub mod layout;
pub mod memory;
pub mod next_hop;
pub mod organisation;
pub mod prefix;
pub mod prefix_file;
mod quarantine;
pub mod quiescence;
pub mod storage;
mod sync;
pub mod table;

pub use address::Address;
pub use memory::MemoryReport;
pub use next_hop::{NextHop, NextHopEntry, NextHopTable};
pub use organisation::TableOrganisation;
pub use prefix::{IpPrefix, Prefix};
pub use table::{Family, Table, View};
