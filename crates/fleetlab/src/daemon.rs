//! The routing daemon of the spreader and of the nodes: which one, its life, and what it is told.

use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;
use std::time::Duration;

use host::Namespace;
use host::process::{Group, Signal, signal};
use serde::{Deserialize, Serialize};

use crate::program::{ended_well, run};
use crate::{Failure, bird, frr};

/// How long a look for a program may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which daemon speaks BGP and BFD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// BIRD 2.
    Bird,
    /// FRR 8 or later.
    Frr,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Bird => "bird",
            Self::Frr => "frr",
        })
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut all = [Self::Bird, Self::Frr].into_iter();
        let found = all.find(|kind| kind.to_string() == text);
        found.ok_or_else(|| "the daemons are bird and frr".to_owned())
    }
}

/// A daemon that runs.
#[derive(Debug)]
pub struct Daemon {
    kind: Kind,
    /// In the order in which they end.
    groups: Vec<Group>,
    files: PathBuf,
}

/// The log of a spreader's daemon, in its directory.
pub fn log(files: &Path) -> PathBuf {
    files.join("log")
}

/// The file that `corelane drain` writes for BIRD.
pub fn drain_file(files: &Path) -> PathBuf {
    files.join("drain.conf")
}

impl Daemon {
    /// Starts the spreader's, beside so many nodes, with a BFD packet in so many ms. `files` is a
    /// directory for it alone.
    ///
    /// # Errors
    /// When it is not there, refuses its configuration, or does not start.
    pub fn of_spreader(
        kind: Kind,
        namespace: &Namespace,
        files: &Path,
        nodes: u8,
        bfd_ms: u16,
    ) -> Result<Self, Failure> {
        let text = match kind {
            Kind::Bird => bird::spreader(nodes, &log(files), bfd_ms),
            Kind::Frr => frr::spreader(nodes, &log(files), bfd_ms),
        };
        Self::start(kind, namespace, files, &text)
    }

    /// Starts that of the node `number`, as above.
    ///
    /// # Errors
    /// As above.
    pub fn of_node(
        kind: Kind,
        namespace: &Namespace,
        files: &Path,
        number: u8,
        bfd_ms: u16,
    ) -> Result<Self, Failure> {
        let text = match kind {
            Kind::Bird => bird::node(number, &drain_file(files), bfd_ms),
            Kind::Frr => frr::node(number, &log(files), bfd_ms),
        };
        Self::start(kind, namespace, files, &text)
    }

    fn start(kind: Kind, namespace: &Namespace, files: &Path, text: &str) -> Result<Self, Failure> {
        let groups = match kind {
            Kind::Bird => vec![bird::begin(namespace, files, text)?],
            Kind::Frr => frr::begin(namespace, files, text)?,
        };
        Ok(Self {
            kind,
            groups,
            files: files.to_owned(),
        })
    }

    /// Sends all its processes a signal.
    ///
    /// # Errors
    /// When one has ended.
    pub fn signal(&self, which: Signal) -> Result<(), Failure> {
        for group in &self.groups {
            let sent = signal(group.leader.id(), which);
            sent.map_err(|error| format!("a signal to {}: {error}; did it end?", self.kind))?;
        }
        Ok(())
    }

    /// Has it end in order; false when it did not end well.
    ///
    /// # Errors
    /// As [`Daemon::signal`].
    pub fn end(mut self) -> Result<bool, Failure> {
        let mut is_well = true;
        for group in &mut self.groups {
            signal(group.leader.id(), Signal::TERM)?;
            is_well &= ended_well(group)?;
        }
        Ok(is_well)
    }

    /// Has it announce the community of RFC 8326, or no more: what `corelane drain` tells it.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn shut_down_gracefully(&self, is: bool) -> Result<(), Failure> {
        match self.kind {
            Kind::Bird => {
                fs::write(drain_file(&self.files), draining(is))?;
                bird::tell(&self.files, &["configure"])
            }
            Kind::Frr => {
                let no = if is { "" } else { "no " };
                let line = format!("{no}bgp graceful-shutdown");
                frr::tell(&self.files, "bgpd", &line)
            }
        }
    }

    /// Takes the route that the node `number` announces away from it, or gives it back.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn have_route(&self, number: u8, has: bool) -> Result<(), Failure> {
        match self.kind {
            Kind::Bird => {
                let verb = if has { "enable" } else { "disable" };
                bird::tell(&self.files, &[verb, "service"])
            }
            Kind::Frr => {
                let no = if has { "" } else { "no " };
                let line = format!("{no}{}", frr::service(number));
                frr::tell(&self.files, "staticd", &line)
            }
        }
    }
}

/// The constant of the file that `corelane drain` writes for BIRD.
pub(crate) fn draining(is: bool) -> String {
    format!("define corelane_draining = {is};\n")
}

/// Writes into `place` the program that tells the daemon in `files` something. `corelane drain`
/// finds it as it finds that of a machine.
///
/// # Errors
/// When there is none on this machine.
pub fn tool(kind: Kind, place: &Path, files: &Path) -> Result<(), Failure> {
    let (name, words) = match kind {
        Kind::Bird => ("birdc", format!("-s {}", bird::control(files).display())),
        Kind::Frr => ("vtysh", format!("--vty_socket {}", files.display())),
    };
    let mut which = Command::new("sh");
    let (_, real) = run(which.args(["-c", &format!("command -v {name}")]), PATIENCE)?;
    if real.is_empty() {
        return Err(format!("there is no {name}; install bird2 or frr, as --daemon says").into());
    }
    let file = place.join(name);
    fs::write(&file, format!("#!/bin/sh\nexec {real} {words} \"$@\"\n"))?;
    Ok(fs::set_permissions(
        file,
        fs::Permissions::from_mode(0o755),
    )?)
}
