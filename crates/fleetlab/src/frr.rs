//! FRR of the spreader and of the nodes: its configuration as one text, as in docs/fleet.md, with
//! the lab's addresses and a log; and its four daemons.
//!
//! They run as root: a change of user would take away that they end with us.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use host::Namespace;
use host::process::{Group, silent};

use crate::program::{run, start_preferred, wait};
use crate::{Failure, OTHERS, SERVICE};

/// Where its daemons are, in Debian and elsewhere.
const DAEMONS: &str = "/usr/lib/frr";
/// The first serves the others, and ends last.
const NAMES: [&str; 4] = ["zebra", "staticd", "bfdd", "bgpd"];
/// Who may use vtysh: FRR wants to be one of them.
const VTY: &str = "frrvty";
/// How long an answer, or a start, may take.
const PATIENCE: Duration = Duration::from_secs(30);

fn head(name: &str, log: &Path, bfd_ms: u16) -> String {
    format!(
        "frr defaults datacenter\nhostname {name}\nlog file {}\nlog timestamp precision 6\n\
         bfd\n profile fast\n  detect-multiplier 3\n  receive-interval {bfd_ms}\n  \
         transmit-interval {bfd_ms}\n!\n",
        log.display()
    )
}

/// The spreader's, beside so many nodes, with a BFD packet in so many ms.
pub fn spreader(nodes: u8, log: &Path, bfd_ms: u16) -> String {
    let mut text = head("spreader", log, bfd_ms)
        // FRR 8.4 leaves a member out of its kernel's next-hop group that went and came with a link.
        + "no zebra nexthop kernel enable\ndebug bgp updates in\nrouter bgp 65000\n bgp router-id 198.18.0.1\n \
           bgp bestpath as-path multipath-relax\n bgp log-neighbor-changes\n \
           neighbor nodes peer-group\n neighbor nodes bfd profile fast\n \
           neighbor nodes timers connect 1\n";
    for node in 1..=nodes {
        let (peer, system) = (format!("198.18.{node}.2"), 65000 + u32::from(node));
        let _ = write!(
            text,
            " neighbor {peer} remote-as {system}\n neighbor {peer} peer-group nodes\n"
        );
    }
    text + " address-family ipv4 unicast\n  neighbor nodes route-map from-nodes in\n  \
            neighbor nodes prefix-list nothing out\n  maximum-paths 8\n exit-address-family\n!\n\
            ip prefix-list nothing seq 5 deny any\n!\n\
            bgp community-list standard graceful-shutdown seq 5 permit graceful-shutdown\n\
            route-map from-nodes permit 10\n match community graceful-shutdown\n \
            set local-preference 0\n!\nroute-map from-nodes permit 20\n!\n"
}

/// A node's.
pub fn node(node: u8, log: &Path, bfd_ms: u16) -> String {
    let (peer, system) = (format!("198.18.{node}.1"), 65000 + u32::from(node));
    head(&format!("node{node}"), log, bfd_ms)
        + &format!(
            "{}\nrouter bgp {system}\n bgp router-id 198.18.{node}.2\n \
             neighbor {peer} remote-as 65000\n neighbor {peer} bfd profile fast\n \
             neighbor {peer} timers connect 1\n address-family ipv4 unicast\n  \
             network {SERVICE}\n  redistribute kernel\n  \
             neighbor {peer} route-map announced out\n  \
             neighbor {peer} route-map learned in\n exit-address-family\n!\n\
             ip prefix-list service seq 5 permit {SERVICE}\n\
             ip prefix-list service seq 10 permit {OTHERS} ge 32\n\
             route-map announced permit 10\n match ip address prefix-list service\n!\n\
             route-map learned deny 10\n match ip address prefix-list service\n!\n\
             route-map learned permit 20\n!\n",
            service(node)
        )
}

/// The route that a node announces.
pub fn service(node: u8) -> String {
    format!("ip route {SERVICE} 198.19.{node}.2")
}

/// Starts the daemons after a check of the whole configuration. `files` is a directory for them
/// alone.
///
/// # Errors
/// When FRR is not there, refuses the text, or does not start.
pub fn begin(namespace: &Namespace, files: &Path, text: &str) -> Result<Vec<Group>, Failure> {
    let file = files.join("frr.conf");
    fs::write(&file, text)?;
    let mut check = Command::new("vtysh");
    let (status, said) = run(check.args(["-C", "-f"]).arg(&file), PATIENCE)?;
    if !status.success() {
        return Err(format!("vtysh refuses its configuration: {said}; FRR 8 is needed").into());
    }
    let said = files.join("said");
    let zebra = files.join("zserv");
    let mut groups = Vec::new();
    for name in NAMES {
        let mut command = namespace.command(PathBuf::from(DAEMONS).join(name));
        command.args(["-u", "root", "-g", VTY, "-f"]).arg(&file);
        command.arg("-i").arg(files.join(format!("{name}.pid")));
        command.arg("-z").arg(&zebra).arg("--vty_socket").arg(files);
        if name == "bfdd" {
            command.arg("--bfdctl").arg(files.join("bfdd.sock"));
        }
        // Stamps of its log are in local time.
        let command = silent(command.env("TZ", "UTC"));
        groups.push(start_preferred(command.stderr(File::create(&said)?))?);
        let socket = files.join(format!("{name}.vty"));
        let is_there = || Ok(socket.exists() && zebra.exists());
        if !wait(PATIENCE, is_there)? {
            let said = fs::read_to_string(&said).unwrap_or_default();
            return Err(format!("FRR's {name} does not start: {said}; install frr").into());
        }
    }
    groups.reverse();
    Ok(groups)
}

/// Tells a daemon a line of configuration.
///
/// # Errors
/// When it does not answer, with what `vtysh` says.
pub fn tell(files: &Path, daemon: &str, line: &str) -> Result<(), Failure> {
    let mut command = Command::new("vtysh");
    command.arg("--vty_socket").arg(files).args(["-d", daemon]);
    command.args(["-c", "configure terminal", "-c", line]);
    let (status, said) = run(&mut command, PATIENCE)?;
    if status.success() {
        return Ok(());
    }
    Err(format!("vtysh -c '{line}': {said}; look whether FRR runs").into())
}
