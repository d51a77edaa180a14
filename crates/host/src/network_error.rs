//! Why namespaces, interfaces or cables cannot be had.

use std::io;

/// A namespace or interface could not be made, used or removed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The rights are missing.
    #[error(
        "network namespaces need root; run the command with sudo, or choose an engine that needs \
         none"
    )]
    NotRoot,
    /// The `ip` command is missing.
    #[error("the command \"ip\" cannot be run: {0}; install the package iproute2")]
    NoIp(io::Error),
    /// The `ip` command failed.
    #[error("\"ip {arguments}\" failed: {message}")]
    Ip {
        /// What it was asked.
        arguments: String,
        /// What it answered.
        message: String,
    },
    /// The namespace could not be joined.
    #[error("cannot join the network namespace {name}: {source}; was it deleted meanwhile?")]
    Join {
        /// The namespace.
        name: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// A setting below `/proc/sys` or a switch of an interface could not be written.
    #[error("cannot set {key} to {value} in {name}: {source}")]
    Setting {
        /// The namespace.
        name: String,
        /// The setting, as in `sysctl`.
        key: String,
        /// The value.
        value: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// A cable does not come up.
    #[error(
        "the interface {interface} in {name} does not come up; look at the kernel's log (dmesg) \
         and try again"
    )]
    Down {
        /// The namespace.
        name: String,
        /// The interface.
        interface: String,
    },
    /// A name that a bed does not have.
    #[error("the bed has no {0}; its plan must name it")]
    NoPlace(String),
    /// An interface has gone.
    #[error(
        "the interface {interface} in {name} has vanished; leave the namespaces cl-* alone \
         while a run lasts"
    )]
    Vanished {
        /// The namespace.
        name: String,
        /// The interface.
        interface: String,
    },
}
