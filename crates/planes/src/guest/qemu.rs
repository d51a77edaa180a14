//! A kernel in a virtual machine: QEMU, on KVM or emulating the processor, with this system's own
//! kernel in it.
//!
//! The link's memory is a PCI device (`ivshmem-plain`: its second BAR is a file of the host). Each
//! interface of the namespace is bridged to a tap that the guest has as `eth0`, `eth1`, …, without
//! segmentation or checksum offloads: a frame is in the guest what it is on the cable. The machine
//! has one processor and runs on one core, its input and output threads too.
//!
//! Emulated it is far slower than any core: good to see that everything works, not to measure a
//! deployment by.

use std::path::{Path, PathBuf};
use std::process::Command;

use agent::protocol::LINK_BYTES;
use host::Namespace;

use super::image::{Image, Module};
use super::plan::{Files, Kind, Plan};
use crate::error::Error;

/// The program, as Debian's package `qemu-system-x86` installs it.
const PROGRAM: &str = "qemu-system-x86_64";
/// Where the kernel moves packets between taps and guests itself, if it can.
const VHOST: &str = "/dev/vhost-net";
/// What a guest needs to see its interfaces.
const MODULES: [&str; 2] = ["virtio_pci", "virtio_net"];
const NO_OFFLOADS: &str = "csum=off,gso=off,guest_csum=off,guest_tso4=off,guest_tso6=off,\
                           guest_ufo=off,guest_ecn=off,host_tso4=off,host_tso6=off,host_ufo=off,\
                           host_ecn=off";

/// The kernel's modules in the order to load them.
///
/// # Errors
/// QEMU, a kernel or one of its modules is not installed.
pub(super) fn modules() -> Result<Vec<Module>, Error> {
    if program().is_none() {
        return Err(Error::NotInstalled(format!(
            "{PROGRAM} is not installed: a virtual machine needs Debian's package qemu-system-x86"
        )));
    }
    Image::find()?.modules(&MODULES)
}

fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(PROGRAM))
        .find(|file| file.exists())
}

/// The machine and its kernel's command line; the bridges and taps stay as long as what is
/// returned.
pub(super) fn arguments(
    command: &mut Command,
    plan: &Plan<'_>,
    files: &Files,
) -> Result<Cables, Error> {
    let (accelerator, processor) = match plan.kind {
        Kind::Kvm => ("kvm", "host"),
        Kind::Emulated | Kind::UserModeLinux => ("tcg", "max"),
    };
    command
        .arg(PROGRAM)
        .args(["-name", &format!("guest={}", files.name)])
        .args(["-machine", &format!("q35,accel={accelerator}")])
        .args(["-cpu", processor, "-smp", "1"])
        .args(["-m", &plan.memory_mib.to_string()])
        .args(["-nodefaults", "-no-user-config", "-no-reboot"])
        .args(["-display", "none", "-serial", "stdio"])
        .arg("-kernel")
        .arg(Image::find()?.kernel)
        .arg("-initrd")
        .arg(&files.initramfs)
        .args(["-append", "console=ttyS0 quiet panic=-1"])
        .arg("-object")
        .arg(format!(
            "memory-backend-file,id=link,share=on,size={LINK_BYTES},mem-path={}",
            files.shared.display()
        ))
        .args(["-device", "ivshmem-plain,memdev=link"]);
    let mut cables = Cables {
        namespace: plan.namespace.clone(),
        interfaces: Vec::new(),
    };
    let vhost = if Path::new(VHOST).exists() {
        "on"
    } else {
        "off"
    };
    for (index, interface) in plan.interfaces.iter().enumerate() {
        let tap = cables.lay(interface, plan.mtu)?;
        let mtu = plan.mtu;
        command
            .arg("-netdev")
            .arg(format!(
                "tap,id=n{index},ifname={tap},script=no,downscript=no,vhost={vhost}"
            ))
            .arg("-device")
            .arg(format!(
                "virtio-net-pci,netdev=n{index},romfile=,host_mtu={mtu},{NO_OFFLOADS}"
            ));
    }
    Ok(cables)
}

/// Bridges and taps in a namespace, removed when dropped.
pub(super) struct Cables {
    namespace: Namespace,
    interfaces: Vec<String>,
}

impl Cables {
    /// Bridges `interface` to a new tap, and returns the tap's name.
    fn lay(&mut self, interface: &str, mtu: u32) -> Result<String, Error> {
        let (bridge, tap) = (format!("b-{interface}"), format!("t-{interface}"));
        let ip = |line: String| self.namespace.ip(line);
        ip(format!("link add {bridge} type bridge mcast_snooping 0"))?;
        self.interfaces.push(bridge.clone());
        ip(format!("tuntap add dev {tap} mode tap"))?;
        self.interfaces.push(tap.clone());
        for name in [&tap, interface] {
            ip(format!("link set {name} mtu {mtu} master {bridge} up"))?;
        }
        ip(format!("link set {bridge} mtu {mtu} up"))?;
        Ok(tap)
    }
}

impl Drop for Cables {
    fn drop(&mut self) {
        for interface in &self.interfaces {
            // With the namespace they are gone already.
            let _ = self.namespace.ip(format!("link delete {interface}"));
        }
    }
}
