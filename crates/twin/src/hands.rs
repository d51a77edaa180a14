//! The hands that configure the router of a bed: a case's commands, and what takes them back.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Seek, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use host::Namespace;
use host::namespace::OnFailure;
use host::process::silent;

use crate::Error;
use crate::attached::attach;
use crate::kernel::Kernel;

/// The hosts' names, by number.
pub(crate) const HOSTS: [&str; 3] = ["a", "b", "c"];

/// What takes back settings; it stands among the commands.
const PUT_BACK: &str = "put-back";
/// What forgets neighbours.
const FORGET: &str = "forget";
/// Words of commands that change settings, by themselves or by what they do to a link.
const UNSETTLING: [&str; 5] = ["sysctl ", " mtu ", " down", " type vlan ", " master "];
/// Those that take addresses away.
const BEREAVING: [&str; 2] = ["ip addr del ", " down"];

/// The settings of a bed's router as they were, and what has been done to it since.
pub(crate) struct Hands {
    router: Namespace,
    kernel: Kernel,
    /// The hardware addresses of its ports.
    macs: [String; HOSTS.len()],
    settings: Vec<(PathBuf, String)>,
    commands: Vec<String>,
    /// Of others, at tc.
    programs: Vec<OwnedFd>,
}

impl Hands {
    /// Takes a router over as it is; `macs` are the hardware addresses of its ports.
    pub(crate) fn new(router: Namespace, macs: [String; HOSTS.len()]) -> Result<Self, Error> {
        let mut hands = Self {
            kernel: Kernel::of(&router)?,
            router,
            macs,
            settings: Vec::new(),
            commands: Vec::new(),
            programs: Vec::new(),
        };
        hands.configure(&[])?;
        // Not before: some follow the MTU.
        hands.settings = hands.router.enter(settings)?;
        Ok(hands)
    }

    pub(crate) const fn kernel(&mut self) -> &mut Kernel {
        &mut self.kernel
    }

    /// Takes everything back that the last case did, and does what this one says.
    pub(crate) fn configure(&mut self, commands: &[String]) -> Result<(), Error> {
        let mut lines = taking_back(&self.commands, &self.macs);
        self.commands = commands.to_vec();
        self.programs.clear();
        lines.extend_from_slice(commands);
        for group in groups(&lines) {
            let text = group
                .iter()
                .filter_map(|line| line.split_once(' '))
                .fold(String::new(), |text, (_, words)| text + words + "\n");
            match tool(&group[0]) {
                "ip" => self.router.batch(&text, OnFailure::Continue)?,
                "ip -6" => {
                    for line in text.lines() {
                        let _ = self.router.ip(line);
                    }
                }
                "sysctl" => self.router.enter(|| {
                    for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
                        let path = Path::new("/proc/sys").join(key.trim().replace('.', "/"));
                        let _ = fs::write(path, value.trim());
                    }
                })?,
                FORGET => self.kernel.forget_neighbours()?,
                PUT_BACK => self.router.enter(|| put_back(&self.settings))?,
                "nft" => feed(self.router.command("nft").args(["-f", "-"]), &text)?,
                "tc" => {
                    let mut tc = Command::new("tc");
                    let tc = tc.args(["-n", self.router.name(), "-force", "-b", "-"]);
                    feed(tc, &text)?;
                }
                program @ ("iptables-legacy" | "ip6tables-legacy") => {
                    for words in text.lines() {
                        let mut command = self.router.command(program);
                        feed(command.args(words.split(' ')), "")?;
                    }
                }
                "tcx" => {
                    let attached = || group.iter().filter_map(|line| attach(line).ok()).collect();
                    self.programs.append(&mut self.router.enter(attached)?);
                }
                // The others are not the kernel's.
                _ => {}
            }
            if group.iter().any(|line| is_slow(line)) {
                self.kernel.await_addresses()?;
            }
        }
        Ok(())
    }
}

/// What is handed to one tool at once. Between two groups the kernel can finish.
fn groups(lines: &[String]) -> impl Iterator<Item = &[String]> {
    let bereaves = |line: &String| BEREAVING.iter().any(|word| line.contains(word));
    lines.chunk_by(move |a, b| tool(a) == tool(b) && !bereaves(b))
}

/// Whether the kernel finishes what a command says after the command has ended.
fn is_slow(line: &str) -> bool {
    line.starts_with("ip addr add ") && line.contains(':')
}

/// The commands that undo these, whichever of them succeeded; `macs` are those of the ports.
fn taking_back(commands: &[String], macs: &[String]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut say = |line: &str| lines.push(line.to_owned());
    let used = |start: &str| commands.iter().any(|line| line.starts_with(start));
    let ports: Vec<String> = (0..HOSTS.len())
        .map(|number| format!("r{number}"))
        .collect();
    if used("nft") {
        say("nft flush ruleset");
    }
    if used("tc ") {
        for port in &ports {
            for place in ["root", "ingress", "clsact"] {
                say(&format!("tc qdisc del dev {port} {place}"));
            }
        }
    }
    for line in commands.iter().rev() {
        if let Some((program, words)) = line.split_once("tables-legacy -t ") {
            let table = words.split(' ').next().unwrap_or_default();
            say(&format!("{program}tables-legacy -t {table} -F"));
            say(&format!(
                "{program}tables-legacy -t {table} -P FORWARD ACCEPT"
            ));
        } else if line.contains(" rule add ") || line.contains(" neigh add proxy ") {
            say(&line.replace(" add ", " del "));
        } else if let Some((_, name)) = line.split_once(" name ") {
            let name = name.split(' ').next().unwrap_or_default();
            say(&format!("ip link del {name}"));
        }
    }
    if used("ip xfrm") {
        say("ip xfrm policy flush");
        say("ip xfrm state flush");
        say("ip xfrm policy setdefault in accept fwd accept out accept");
    }
    for (port, mac) in ports.iter().zip(macs) {
        if used(&format!("ip link set dev {port} address")) {
            say(&format!("ip link set dev {port} address {mac}"));
        }
        say(&format!(
            "ip link set {port} mtu 1500 arp on promisc off up"
        ));
        say(&format!("ip addr flush dev {port}"));
    }
    say("ip nexthop flush");
    say("ip route flush table all proto boot");
    say("ip route flush table all proto boot root ::/0");
    say(FORGET);
    let unsettles = |line: &String| UNSETTLING.iter().any(|word| line.contains(word));
    if commands.iter().any(unsettles) {
        say(PUT_BACK);
    }
    for port in &ports {
        say(&format!("ip addr add fe80::1/64 dev {port} nodad"));
    }
    lines
}

/// Runs a command that reads lines; those that it refuses are passed over.
fn feed(command: &mut Command, lines: &str) -> Result<(), Error> {
    let mut file = tempfile::tempfile().map_err(Error::Tool)?;
    file.write_all(lines.as_bytes()).map_err(Error::Tool)?;
    file.rewind().map_err(Error::Tool)?;
    let command = silent(command).stdin(Stdio::from(file));
    command.status().map_err(Error::Tool)?;
    Ok(())
}

fn tool(command: &str) -> &str {
    if command.starts_with("ip -6 ") {
        return "ip -6";
    }
    command.split(' ').next().unwrap_or_default()
}

/// Every setting of IPv4 and IPv6 of this namespace that can be read, with its value; those for
/// all interfaces come before those for one.
fn settings() -> Vec<(PathBuf, String)> {
    let mut found = BTreeMap::new();
    let mut places = vec![
        PathBuf::from("/proc/sys/net/ipv4"),
        PathBuf::from("/proc/sys/net/ipv6"),
    ];
    while let Some(place) = places.pop() {
        for entry in fs::read_dir(place).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if path.is_dir() {
                places.push(path);
            } else if !name.starts_with("tcp_")
                && !name.starts_with("udp_")
                && let Ok(value) = fs::read_to_string(&path)
            {
                found.insert(path, value);
            }
        }
    }
    found.into_iter().collect()
}

fn put_back(settings: &[(PathBuf, String)]) {
    for (path, value) in settings {
        if fs::read_to_string(path).is_ok_and(|now| now != *value) {
            // Some show what cannot be written.
            let _ = fs::write(path, value);
        }
    }
}

#[cfg(test)]
#[path = "../tests/unit/hands.rs"]
mod tests;
