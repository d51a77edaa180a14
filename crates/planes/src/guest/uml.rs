//! A kernel that is a program: User Mode Linux, from Debian's package `user-mode-linux`.
//!
//! It shares two things with its host: a file of memory, which the guest sees as `/dev/mmapper`;
//! and interfaces of the namespace that it was started in, on which the guest's driver opens raw
//! sockets (`vec0`, `vec1`, …). It needs no virtualisation hardware.
//!
//! What it cannot do: more than one core per guest (User Mode Linux is a uniprocessor), and the
//! guest's system calls and faults cost far more than on the metal. The figures of a deployment on
//! it are those of this kind of kernel-per-core, and the reports name it.

use std::path::Path;
use std::process::Command;

use super::image::Module;
use super::plan::{Files, Plan};
use super::registers;
use crate::error::Error;

/// The kernel's program, as Debian installs it.
const KERNEL: &str = "/usr/bin/linux.uml";

/// What it has to load: nothing, all is built in.
///
/// # Errors
/// The kernel's program is not installed.
pub(super) fn modules() -> Result<Vec<Module>, Error> {
    if Path::new(KERNEL).exists() {
        return Ok(Vec::new());
    }
    Err(Error::NotInstalled(format!(
        "{KERNEL} is not installed: a kernel per core without KVM needs Debian's package \
         user-mode-linux"
    )))
}

/// The kernel and its command line.
pub(super) fn arguments(command: &mut Command, plan: &Plan<'_>, files: &Files) {
    command
        .arg(KERNEL)
        .arg(format!("umid={}", files.name))
        .arg(format!("uml_dir={}/", files.directory.display()))
        .arg(format!("mem={}M", plan.memory_mib))
        .arg(format!("initrd={}", files.initramfs.display()))
        .arg(format!("iomem=mmapper,{}", files.shared.display()))
        .args(["con=null", "con0=null,fd:1", "quiet", "panic=-1"]);
    for (index, interface) in plan.interfaces.iter().enumerate() {
        command.arg(format!(
            "vec{index}:transport=raw,ifname={interface},depth=128,gro=0,mtu={}",
            plan.mtu
        ));
    }
    registers::fit(command);
}
