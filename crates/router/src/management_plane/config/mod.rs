//! The router's configuration: one TOML file, or the same from the command line.
//!
//! Every key, its default and its allowed values are in [`Config`] and in `docs/router.md`. A file
//! that is wrong anywhere starts nothing: the error names file, line, key and what is allowed.

mod console;
mod drain;
mod keys;
mod recorder;
mod sflow;
mod values;

use std::path::{Path, PathBuf};
use std::time::Duration;

use fastpath::forward::{Capacity, PuntLimits};
use serde::Deserialize;

use crate::control_plane::guard::Treatment;
use crate::engine::{EngineKind, Require, SocketOptions};

pub use self::drain::Routing;
pub use self::keys::{KEYS, Key};
pub use self::recorder::Recorder;
pub use self::sflow::Sflow;
pub use self::values::{Allow, InstanceName, Metrics, Stale};

/// A configuration; [`Config::check`] says what no single key can.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a key of the file, for itself"
)]
pub struct Config {
    /// `engine`: `auto` (default), `xdp`, `xdp-kernel-fib`, `tc`, `af-xdp` or `af-packet`.
    pub engine: EngineKind,
    /// `ports`: the interfaces to forward between, at least one.
    pub ports: Vec<String>,
    /// `require`: `any` (default), `native`, `generic`, `zero-copy`.
    pub require: Require,
    /// `bypass-netfilter`: go past nftables and iptables (default false).
    pub bypass_netfilter: bool,
    /// `bypass-ipsec`: go past `IPsec` policies (default false).
    pub bypass_ipsec: bool,
    /// `bypass-policy-rules`: look in the main table whatever `ip rule` says (default false).
    pub bypass_policy_rules: bool,
    /// `bypass-tc`: go past queueing disciplines, tc filters and programs (default false).
    pub bypass_tc: bool,
    /// `bypass-vlan-offload`: frames have their tags, whatever devices do (default false).
    pub bypass_vlan_offload: bool,
    /// `instance`: name of this router among those of the machine (default `default`).
    #[serde(deserialize_with = "values::from_text")]
    pub instance: InstanceName,
    /// `run-directory`: where the socket is (default `/run/corelane`).
    pub run_directory: PathBuf,
    /// `metrics`: address that serves the metrics (default `127.0.0.1:9470`); empty: none.
    #[serde(deserialize_with = "values::from_text")]
    pub metrics: Metrics,
    /// `metrics-allow`: who may read them beside this machine (default nobody).
    pub metrics_allow: Allow,
    /// `console`: a page that shows the router, where the metrics are (default false).
    pub console: bool,
    /// `console-token`: what its viewers must know (default nothing).
    pub console_token: String,
    /// `console-peers`: consoles of other routers, which it leads to (default none).
    pub console_peers: Vec<String>,
    /// `verify-seconds`: time between comparisons with the kernel (default 300); 0: never.
    #[serde(rename = "verify-seconds", deserialize_with = "values::seconds")]
    pub verify: Option<Duration>,
    /// `stale-milliseconds`: how long routes count as right when the control plane has fallen
    /// silent (default 2000); 0: for ever.
    #[serde(rename = "stale-milliseconds")]
    pub stale: Stale,
    /// `punt-limits`: frames of each class that the kernel gets from a port in a second.
    #[serde(deserialize_with = "values::from_text")]
    pub punt_limits: PuntLimits,
    /// `busy-poll`: workers do the driver's receiving themselves (default false; engine `af-xdp`
    /// only).
    pub busy_poll: bool,
    /// `long-frames`: workers carry frames longer than 1792 bytes, too (default false; engine
    /// `af-xdp` only, Linux 6.6).
    pub long_frames: bool,
    /// `table-words`: room for a family of the main table, in words of 8 bytes (default 2097152).
    pub table_words: u32,
    /// `vrfs`: tables beside the main one, at once (default 7).
    pub vrfs: u32,
    /// `vrf-words`: room for a family of each of these (default 65536).
    pub vrf_words: u32,
    /// `group-buckets`: buckets of all groups together (default 1048576).
    pub group_buckets: u32,
    /// `vlans`: VLANs of all ports together (default 4096).
    pub vlans: u32,
    /// `drain-routing`: the daemon that `corelane drain` tells: `none` (default), `frr`, `bird`.
    pub drain_routing: Routing,
    /// `drain-withdraw`: a command in its place (default none).
    pub drain_withdraw: String,
    /// `drain-restore`: what undoes that.
    pub drain_restore: String,
    /// `drain-bird-file`: what BIRD's configuration includes (default
    /// `/etc/bird/corelane-drain.conf`).
    pub drain_bird_file: PathBuf,
    /// `drain-below-frames`: the traffic has gone when fewer frames a second pass (default 100).
    pub drain_below_frames: u32,
    /// `drain-quiet-seconds`: for so long (default 3).
    pub drain_quiet_seconds: u32,
    /// `drain-limit-seconds`: how long that may take (default 60).
    pub drain_limit_seconds: u32,
    /// `[sflow]`: what is sent to a collector (default nothing).
    pub sflow: Sflow,
    /// `[recorder]`: when recordings are written (default never).
    pub recorder: Recorder,
}

impl Default for Config {
    fn default() -> Self {
        let capacity = Capacity::default();
        Self {
            engine: EngineKind::default(),
            ports: Vec::new(),
            require: Require::default(),
            bypass_netfilter: false,
            bypass_ipsec: false,
            bypass_policy_rules: false,
            bypass_tc: false,
            bypass_vlan_offload: false,
            instance: InstanceName::default(),
            run_directory: PathBuf::from("/run/corelane"),
            metrics: Metrics::default(),
            metrics_allow: Allow::default(),
            console: false,
            console_token: String::new(),
            console_peers: Vec::new(),
            verify: Some(Duration::from_mins(5)),
            stale: Stale::default(),
            punt_limits: PuntLimits::default(),
            busy_poll: false,
            long_frames: false,
            table_words: capacity.main_v4 as u32,
            vrfs: capacity.more_tables as u32,
            vrf_words: capacity.more_words as u32,
            group_buckets: capacity.buckets as u32,
            vlans: capacity.vlans as u32,
            drain_routing: Routing::default(),
            drain_withdraw: String::new(),
            drain_restore: String::new(),
            drain_bird_file: PathBuf::from("/etc/bird/corelane-drain.conf"),
            drain_below_frames: 100,
            drain_quiet_seconds: 3,
            drain_limit_seconds: 60,
            sflow: Sflow::default(),
            recorder: Recorder::default(),
        }
    }
}

impl Config {
    /// May this treatment of the kernel's be gone past?
    pub fn bypasses(&self, treatment: Treatment) -> bool {
        match treatment {
            Treatment::Netfilter => self.bypass_netfilter,
            Treatment::Ipsec => self.bypass_ipsec,
            Treatment::PolicyRules => self.bypass_policy_rules,
            Treatment::TrafficControl => self.bypass_tc,
            Treatment::VlanOffload => self.bypass_vlan_offload,
            Treatment::Setting => false,
        }
    }

    /// How much room the forwarding state gets.
    pub fn capacity(&self) -> Capacity {
        Capacity {
            main_v4: self.table_words as usize,
            main_v6: self.table_words as usize,
            more_tables: self.vrfs as usize,
            more_words: self.vrf_words as usize,
            buckets: self.group_buckets as usize,
            vlans: self.vlans as usize,
            ..Capacity::default()
        }
    }

    /// How the sockets of engine `af-xdp` are set up.
    pub fn sockets(&self) -> SocketOptions {
        SocketOptions {
            busy_poll: self.busy_poll,
            long_frames: self.long_frames,
        }
    }

    /// The socket of this instance.
    pub fn socket(&self) -> PathBuf {
        self.instance.socket(&self.run_directory)
    }

    /// Reads and checks a file.
    ///
    /// # Errors
    /// When it cannot be read or anything in it is wrong.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| ConfigError {
            file: file.clone(),
            line: 0,
            what: format!("{error}; give the path of a TOML file"),
        })?;
        Self::parse(&text, &file)
    }

    /// Checks the text of a file.
    ///
    /// # Errors
    /// When anything in it is wrong.
    pub fn parse(text: &str, file: &str) -> Result<Self, ConfigError> {
        let error = |line: usize, what: String| ConfigError {
            file: file.to_owned(),
            line,
            what,
        };
        let config: Self = toml::from_str(text).map_err(|refusal| {
            let at = refusal.span().map_or(0, |span| span.start.min(text.len()));
            let line = text[..at].matches('\n').count() + 1;
            error(line, explained(text, at, refusal.message()))
        })?;
        config.check().map_err(|what| {
            let key = what.split([':', ' ']).next().unwrap_or_default();
            // In its table, or with that in front.
            let short = key.split_once('.').map_or(key, |(_, short)| short);
            let has = |line: &str| line.starts_with(key) || line.starts_with(short);
            let line = text.lines().position(has);
            error(line.map_or(1, |before| before + 1), what)
        })?;
        Ok(config)
    }

    /// Are there ports, each an interface's name and named once, and somebody who could poll?
    ///
    /// # Errors
    /// The key, what is wrong with its value and what to do about it.
    pub fn check(&self) -> Result<(), String> {
        if self.ports.is_empty() {
            return Err(
                "ports: name the interfaces to forward between, such as ports = [\"r0\", \"r1\"]"
                    .to_owned(),
            );
        }
        for (at, port) in self.ports.iter().enumerate() {
            let fits = (1..=15).contains(&port.len()) && !port.contains(['/', ' ']) && port != "lo";
            if !fits {
                return Err(format!(
                    "ports: {port:?} is no interface name (1 to 15 characters, not lo; see ip link)"
                ));
            }
            if self.ports[..at].contains(port) {
                return Err(format!("ports: {port:?} is named twice"));
            }
        }
        let sizes = [
            self.table_words,
            self.vrfs,
            self.vrf_words,
            self.group_buckets,
            self.vlans,
            self.drain_below_frames,
            self.drain_quiet_seconds,
            self.drain_limit_seconds,
        ];
        for (size, (key, least, most)) in sizes.into_iter().zip(SIZES) {
            if !(least..=most).contains(&size) {
                return Err(format!("{key} = {size}: allowed are {least} to {most}"));
            }
        }
        if let Some(address) = self.metrics.0
            && !address.ip().is_loopback()
            && self.metrics_allow.is_empty()
        {
            return Err(format!(
                "metrics = \"{address}\": beyond loopback only with metrics-allow, which names who \
                 may read them"
            ));
        }
        self.check_console()?;
        self.check_drain()?;
        self.sflow.check()?;
        self.recorder.check()?;
        if self.busy_poll && self.engine != EngineKind::AfXdp {
            return Err(
                "busy-poll = true: only workers of engine = \"af-xdp\" poll; choose it or leave \
                 busy-poll out"
                    .to_owned(),
            );
        }
        if self.long_frames && self.engine != EngineKind::AfXdp {
            return Err(
                "long-frames = true: only workers of engine = \"af-xdp\" have a limit; choose it \
                 or leave long-frames out"
                    .to_owned(),
            );
        }
        Ok(())
    }
}

/// Keys that are numbers, with the least and the most.
const SIZES: [(&str, u32, u32); 8] = [
    ("table-words", 4096, 16 << 20),
    ("vrfs", 0, 255),
    ("vrf-words", 256, 1 << 20),
    ("group-buckets", 64, 4 << 20),
    ("vlans", 1, 64 * 4094),
    ("drain-below-frames", 1, u32::MAX),
    ("drain-quiet-seconds", 1, 3600),
    ("drain-limit-seconds", 1, 86400),
];

/// What the parser says about the place `at`, with the key there and what is allowed for it.
fn explained(text: &str, at: usize, message: &str) -> String {
    let message = message.replace('\n', "; ");
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    let assignment = text[..end]
        .lines()
        .rev()
        .find_map(|line| line.split_once('='));
    let Some((key, value)) = assignment.map(|(key, value)| (key.trim(), value.trim())) else {
        return format!("{message}; a line is KEY = VALUE");
    };
    let table = text[..at].lines().rev().find_map(|line| {
        let name = line.trim().strip_prefix('[')?.strip_suffix(']')?;
        name.chars().all(char::is_alphanumeric).then_some(name)
    });
    let whole = table.map_or_else(|| key.to_owned(), |table| format!("{table}.{key}"));
    if let Some(Key { allowed, .. }) = KEYS.iter().find(|known| known.name == whole) {
        // Which word is unknown, the value shows.
        let said = if message.starts_with("unknown variant") || message == *allowed {
            String::new()
        } else {
            format!("{message}; ")
        };
        return format!("{key} = {value}: {said}{allowed}");
    }
    let known = KEYS.map(|key| key.name).join(", ");
    format!("{key}: no such key; allowed are {known}")
}

/// What is wrong with a configuration, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {what}", if *line == 0 { String::new() } else { format!(":{line}") })]
pub struct ConfigError {
    /// The file.
    pub file: String,
    /// The line, from 1; 0 when the file could not be read.
    pub line: usize,
    /// The key, its value, what is allowed.
    pub what: String,
}
