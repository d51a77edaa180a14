//! What can go wrong with the programs of this crate, each with what to do about it.

use std::fmt::Display;

/// An error of this crate; its text names the thing, the value and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel refused a program, a map or an attachment.
    #[error(transparent)]
    Bpf(#[from] bpf::Error),
    /// A route or next hop found no room; nothing has changed.
    #[error("forwarding state: {0}")]
    Full(String),
    /// No such port.
    #[error("interface index {0} is no port of the forwarder; attach it first")]
    NoPort(u32),
    /// A value that the caller gave is out of range.
    #[error("{what}: {value}; {remedy}")]
    Value {
        /// Which setting.
        what: &'static str,
        /// What was given.
        value: String,
        /// What would be right.
        remedy: String,
    },
}

impl Error {
    pub(crate) fn value(
        what: &'static str,
        value: impl Display,
        remedy: impl Into<String>,
    ) -> Self {
        Self::Value {
            what,
            value: format!("{value}"),
            remedy: remedy.into(),
        }
    }
}

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;
