//! Why there is no transfer.

use std::io;

/// What kept a transfer from being made or measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A namespace or cable.
    #[error(transparent)]
    Network(#[from] host::namespace::Error),
    /// A thread did not get its core.
    #[error(transparent)]
    Pin(#[from] host::pin::PinError),
    /// A signal came.
    #[error(transparent)]
    Interrupted(#[from] host::cleanup::Interrupted),
    /// The kernel refused something of a flow.
    #[error("flow {flow}: cannot {doing}: {source}")]
    Flow {
        /// Which, counted from 1.
        flow: usize,
        /// What was being done.
        doing: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
}
