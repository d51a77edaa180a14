//! The kernel as the oracle: what a router may do is what the kernel alone would have done.
//!
//! [`Twins`] are two beds of namespaces that are alike to the last hardware address: hosts a, b
//! and c around a router. In one the kernel forwards alone, in the other the program under test
//! does. A [`Case`] configures both by the same commands and sends the same frames into both. Then
//! every frame that left is compared, byte for byte and where; and so is every frame that did not
//! leave. [`search()`] draws cases from a seed; [`replay`] runs one that was kept.
//!
//! - [`case`](Case): a configuration and frames, as text
//! - `configuration`, `scene`, `frame`, `capture`: cases drawn at random
//! - `half`: one bed; `hands`: its router, configured and taken back; `attached`: programs of others
//!   there; `kernel`: what is asked of it directly; `program`: the router under test
//! - `outcome`: what left, compared; every [`Exception`] has its sentence
//! - `cause`: why something differed once
//! - `shrink`: the smallest case that still differs; `simpler`: its frames
//! - `cases/`: what was found once, replayed by the tests
//!
//! Frames carry their numbers in every eight bytes of their payload, so fragments and the quotes of
//! ICMP errors are known too. What differs is tried again, more slowly. What differs twice is a
//! finding; what differs once is counted by its [`Cause`], and one without a cause is shown.
//!
//! It cannot tell which of several ways a flow should take, only that it takes one of them; it
//! sends from one host; and it says nothing about speed.

mod attached;
mod capture;
mod case;
mod cause;
mod configuration;
mod dice;
mod frame;
mod half;
mod hands;
mod headers;
mod kernel;
mod outcome;
mod program;
mod scene;
mod search;
mod shrink;
mod simpler;
mod twins;

use std::io;

pub use capture::{Captured, captured};
pub use case::{Case, marker};
pub use cause::Cause;
pub use frame::Macs;
pub use outcome::{Difference, Exception};
pub use program::Start;
pub use search::{Finding, Order, Summary, replay, search};
pub use twins::Twins;

/// Why nothing could be compared.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A bed could not be laid or configured.
    #[error(transparent)]
    Bed(#[from] host::namespace::Error),
    /// A host's socket failed.
    #[error(transparent)]
    Socket(#[from] port::PortError),
    /// A program or a temporary file failed.
    #[error("cannot run a program or write a temporary file: {0}")]
    Tool(#[source] io::Error),
    /// The router ended before it was ready.
    #[error("the router is not ready; its last words: {0}")]
    NotReady(String),
    /// A case's file cannot be read.
    #[error("cannot read the case {file}: {source}")]
    File {
        /// The file.
        file: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// A case's file has a line that says nothing.
    #[error("{file}, line {line}: {what}")]
    Case {
        /// The file.
        file: String,
        /// The line's number.
        line: usize,
        /// What is wrong with it, and what is allowed.
        what: String,
    },
}
