//! What a guest is to have.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use host::{CoreId, Namespace};
use serde::{Deserialize, Serialize};

/// What a guest's boot should take at most; reports say when it took longer.
pub const BOOT_BOUND: Duration = Duration::from_secs(3);
/// How long a guest may take that is known to work.
pub const BOOT_PATIENCE: Duration = Duration::from_secs(15);

/// What a guest's kernel runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// User Mode Linux: a kernel that is a program.
    #[value(name = "uml")]
    UserModeLinux,
    /// A virtual machine on KVM.
    Kvm,
    /// A virtual machine whose processor is emulated: slow, for machines that have neither.
    Emulated,
}

impl Kind {
    /// As tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::UserModeLinux => "User Mode Linux",
            Self::Kvm => "KVM",
            Self::Emulated => "QEMU without KVM",
        }
    }

    /// The name that the guest's kernel gives an interface.
    pub fn interface(self, index: usize) -> String {
        match self {
            Self::UserModeLinux => format!("vec{index}"),
            Self::Kvm | Self::Emulated => format!("eth{index}"),
        }
    }

    /// Whether the guest reads the same tick counter as its host. A virtual machine's begins anew.
    pub fn shares_ticks(self) -> bool {
        self == Self::UserModeLinux
    }
}

/// What a guest is to have.
#[derive(Debug, Clone)]
pub struct Plan<'a> {
    /// Whose kernel it is and what runs it.
    pub kind: Kind,
    /// The core that all of the guest runs on.
    pub core: CoreId,
    /// Where its interfaces lie.
    pub namespace: &'a Namespace,
    /// Interfaces of the namespace; in the guest they have the names of [`Kind::interface`], in
    /// this order.
    pub interfaces: &'a [&'a str],
    /// Largest IP packet on them in bytes.
    pub mtu: u32,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// The static program that becomes the guest's first process.
    pub program: &'a Path,
    /// A guest that has not joined its link by then has failed.
    pub patience: Duration,
}

/// What a kernel is started with, beside the plan.
pub(super) struct Files {
    /// The name by which our guests are known.
    pub(super) name: String,
    /// A place for its files.
    pub(super) directory: PathBuf,
    /// The file system that it boots from.
    pub(super) initramfs: PathBuf,
    /// The memory of the link, `LINK_BYTES` long.
    pub(super) shared: PathBuf,
}
