//! The kernel that virtual machines boot: one of this system's own, with the modules that it needs
//! to see its devices.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, host};

/// Where distributions put kernels; their modules are in `../lib/modules/<version>`.
const BOOT: &str = "/boot";
/// Names another kernel, whose modules lie beside it as they do beside [`BOOT`].
const VARIABLE: &str = "CORELANE_GUEST_KERNEL";
const PREFIX: &str = "vmlinuz-";

/// A kernel and its modules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Image {
    /// The compressed kernel (`bzImage`).
    pub(super) kernel: PathBuf,
    modules: PathBuf,
}

/// A module as the guest loads it.
pub(super) struct Module {
    /// The file's name, which tells by its ending whether it is compressed.
    pub(super) name: String,
    pub(super) content: Vec<u8>,
}

impl Image {
    /// What `CORELANE_GUEST_KERNEL` names, else the last kernel of `/boot` by name that has
    /// modules.
    ///
    /// # Errors
    /// [`Error::NotInstalled`].
    pub(super) fn find() -> Result<Self, Error> {
        let mut kernels: Vec<PathBuf> = match std::env::var_os(VARIABLE) {
            Some(named) => vec![named.into()],
            None => fs::read_dir(BOOT)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path())
                .collect(),
        };
        kernels.sort();
        kernels
            .iter()
            .rev()
            .find_map(|kernel| Self::of(kernel))
            .ok_or_else(|| {
                Error::NotInstalled(format!(
                    "no kernel for a virtual machine is installed ({BOOT}/{PREFIX}* with its \
                     modules): Debian has the package linux-image-cloud-amd64, or name one in \
                     {VARIABLE}"
                ))
            })
    }

    fn of(kernel: &Path) -> Option<Self> {
        let version = kernel.file_name()?.to_str()?.strip_prefix(PREFIX)?;
        let modules = kernel.parent()?.parent()?.join("lib/modules").join(version);
        (kernel.exists() && modules.join("modules.dep").exists()).then(|| Self {
            kernel: kernel.to_owned(),
            modules,
        })
    }

    /// The modules `names` and what they need, each after what it needs. What the kernel has built
    /// in is left out.
    ///
    /// # Errors
    /// A file of a module cannot be read.
    pub(super) fn modules(&self, names: &[&str]) -> Result<Vec<Module>, Error> {
        let read = |name: &str| {
            fs::read(self.modules.join(name)).map_err(host("read a module of the guest's kernel"))
        };
        let dependencies = String::from_utf8_lossy(&read("modules.dep")?).into_owned();
        let files = order(&dependencies, names);
        let modules = files.into_iter().map(|file| {
            Ok(Module {
                name: file.rsplit('/').next().unwrap_or(file).to_owned(),
                content: read(file)?,
            })
        });
        modules.collect()
    }
}

/// Files of the modules `names` from `modules.dep` (depmod(8): `file: dependency…`, the last to be
/// loaded first), each once.
fn order<'a>(dependencies: &'a str, names: &[&str]) -> Vec<&'a str> {
    let mut files = Vec::new();
    for name in names {
        let line = dependencies.lines().find_map(|line| {
            let (file, needs) = line.split_once(':')?;
            let stem = file.rsplit('/').next()?.split('.').next()?;
            (stem.replace('-', "_") == *name).then_some((file, needs))
        });
        let Some((file, needs)) = line else { continue };
        let needs: Vec<&str> = needs.split_whitespace().collect();
        for file in needs.into_iter().rev().chain([file]) {
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    files
}

#[cfg(test)]
#[path = "../../tests/unit/image.rs"]
mod tests;
