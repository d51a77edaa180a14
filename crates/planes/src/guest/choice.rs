//! Which kind of guests this machine gets, and why.
//!
//! KVM is asked three things: whether its device can be opened, whether it speaks the one stable
//! version of its interface, and whether it makes a machine (Linux,
//! `Documentation/virt/kvm/api.rst`, 4.1 and 4.2). A host that is a guest itself may answer all
//! three and run nothing, so a guest is booted on trial. Where that fails guests are User Mode
//! Linux.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use host::{CoreId, Namespace};

use super::plan::{Kind, Plan};
use super::running::Guest;
use crate::error::Error;

const DEVICE: &str = "/dev/kvm";
/// `KVM_GET_API_VERSION` and what it has answered since Linux 2.6.22.
const GET_API_VERSION: libc::c_ulong = 0xAE00;
const API_VERSION: i32 = 12;
/// `KVM_CREATE_VM`; it answers with a descriptor.
const CREATE_VM: libc::c_ulong = 0xAE01;
/// A guest on KVM is up in a part of this.
const TRIAL_PATIENCE: Duration = Duration::from_secs(5);
const TRIAL_MEMORY_MIB: u32 = 128;

/// The kind of a run's guests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// What they are.
    pub kind: Kind,
    /// Why, as a sentence's end.
    pub reason: String,
    /// Why not KVM, where they are something else though nobody asked for it.
    pub no_kvm: Option<String>,
}

impl Choice {
    /// What was asked for.
    pub fn forced(kind: Kind) -> Self {
        Self {
            kind,
            reason: "as asked for".to_owned(),
            no_kvm: None,
        }
    }

    /// KVM where a guest boots on it, else User Mode Linux. `program` is the guest's.
    pub fn make(core: CoreId, program: &Path) -> Self {
        match trial(core, program) {
            Ok(boot) => Self {
                kind: Kind::Kvm,
                reason: format!(
                    "{DEVICE} works, a guest was up after {:.1} s",
                    boot.as_secs_f64()
                ),
                no_kvm: None,
            },
            Err(why) => Self {
                kind: Kind::UserModeLinux,
                reason: format!("KVM cannot be used: {why}"),
                no_kvm: Some(why),
            },
        }
    }

    /// "Guests are User Mode Linux: KVM cannot be used: …".
    pub fn sentence(&self) -> String {
        format!("Guests are {}: {}.", self.kind.name(), self.reason)
    }
}

/// Boots a guest on KVM; how long it took, or why KVM cannot be used.
fn trial(core: CoreId, program: &Path) -> Result<Duration, String> {
    let device = File::options().read(true).write(true).open(DEVICE);
    let device = device.map_err(|error| format!("{DEVICE}: {error}"))?;
    answers(&device)?;
    let namespace = Namespace::new("trial").map_err(|error| error.to_string())?;
    let guest = Guest::boot(&Plan {
        kind: Kind::Kvm,
        core,
        namespace: &namespace,
        interfaces: &[],
        mtu: 0,
        memory_mib: TRIAL_MEMORY_MIB,
        program,
        patience: TRIAL_PATIENCE,
    });
    match guest {
        Ok(guest) => Ok(guest.boot_time()),
        Err(Error::Boot { outcome, console }) => {
            let last = console.lines().last().unwrap_or("its console is empty");
            Err(format!(
                "{DEVICE} answers, but a guest on trial did not come up ({outcome}: {last})"
            ))
        }
        Err(error) => Err(format!("{DEVICE} answers, but {error}")),
    }
}

fn answers(device: &File) -> Result<(), String> {
    let ask = |request| {
        // SAFETY: both requests take a number and no pointer (api.rst, 4.1 and 4.2).
        match unsafe { libc::ioctl(device.as_raw_fd(), request as _, 0) } {
            answer if answer >= 0 => Ok(answer),
            _ => Err(io::Error::last_os_error()),
        }
    };
    let version =
        ask(GET_API_VERSION).map_err(|error| format!("{DEVICE} is no KVM device: {error}"))?;
    if version != API_VERSION {
        return Err(format!(
            "{DEVICE} speaks version {version}, not {API_VERSION}"
        ));
    }
    let machine = ask(CREATE_VM).map_err(|error| format!("{DEVICE} makes no machine: {error}"))?;
    // SAFETY: the answer is a new descriptor that nobody else has.
    drop(unsafe { OwnedFd::from_raw_fd(machine) });
    Ok(())
}

#[cfg(test)]
#[path = "../../tests/unit/choice.rs"]
mod tests;
