//! What can be measured, by name.

use std::fmt;

use fib::TableOrganisation;
use router::engine::EngineKind;
use serde::{Deserialize, Serialize};

/// How the workers share the forwarding table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Table {
    /// The one that the workers of `corelane run` read, which they never lock, without its network.
    Shipped,
    /// One table behind one mutex, counters under it.
    Locked,
    /// One table that all read and none writes for a frame.
    Shared,
    /// A copy for every worker.
    PerCore,
    /// One table that all read, one address at a time.
    OneByOne,
    /// A copy for every worker behind a mutex of its own, one address at a time.
    LockedPerCore,
    /// The kernel's own.
    Kernel,
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Shipped => "shipped",
            Self::Locked => "locked",
            Self::Shared => "shared",
            Self::PerCore => "per-core",
            Self::OneByOne => "one-by-one",
            Self::LockedPerCore => "locked-per-core",
            Self::Kernel => "kernel",
        })
    }
}

/// What moves the frames of a case, and by which table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Workers between memory ports: no network. `None`: the worker loop and the tables of
    /// `corelane run`. A table organisation: an experiment, for no shipped engine has it.
    Memory(Option<TableOrganisation>),
    /// Linux's own forwarding, the baseline of every engine between interfaces.
    Kernel,
    /// An engine of the router as `corelane run` starts it.
    Router(EngineKind),
}

impl Kind {
    /// All of them, in the order in which reports name them.
    pub const ALL: [Self; 13] = [
        Self::Memory(None),
        Self::Memory(Some(TableOrganisation::Locked)),
        Self::Memory(Some(TableOrganisation::Shared)),
        Self::Memory(Some(TableOrganisation::PerCore)),
        Self::Memory(Some(TableOrganisation::OneByOne)),
        Self::Memory(Some(TableOrganisation::LockedPerCore)),
        Self::Kernel,
        Self::Router(EngineKind::Auto),
        Self::Router(EngineKind::Xdp),
        Self::Router(EngineKind::XdpKernelFib),
        Self::Router(EngineKind::Tc),
        Self::Router(EngineKind::AfXdp),
        Self::Router(EngineKind::AfPacket),
    ];

    /// The name of its engine in options and results.
    pub const fn engine(self) -> &'static str {
        match self {
            Self::Memory(_) => "memory",
            Self::Kernel => "kernel",
            Self::Router(kind) => kind.name(),
        }
    }

    /// How its workers share the table.
    pub const fn table(self) -> Table {
        match self {
            Self::Memory(None) => Table::Shipped,
            Self::Memory(Some(TableOrganisation::Locked)) => Table::Locked,
            Self::Memory(Some(TableOrganisation::PerCore)) => Table::PerCore,
            Self::Memory(Some(TableOrganisation::OneByOne)) => Table::OneByOne,
            Self::Memory(Some(TableOrganisation::LockedPerCore)) => Table::LockedPerCore,
            Self::Kernel | Self::Router(EngineKind::XdpKernelFib) => Table::Kernel,
            Self::Memory(Some(TableOrganisation::Shared)) | Self::Router(_) => Table::Shared,
        }
    }

    /// Whether it needs network namespaces.
    pub const fn needs_root(self) -> bool {
        !matches!(self, Self::Memory(_))
    }
}

#[cfg(test)]
#[path = "../tests/unit/kind.rs"]
mod tests;
