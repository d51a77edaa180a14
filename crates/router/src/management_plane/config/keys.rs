//! Every key of the file: what it may be, its unit and its default.

use fastpath::forward::PUNT_LIMITS_ALLOWED;

use super::{Config, console, recorder, sflow, values};

/// A key of the file.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// As it is written.
    pub name: &'static str,
    /// What the value counts; empty where it counts nothing.
    pub unit: &'static str,
    /// What it may be, as errors say it.
    pub allowed: &'static str,
    /// What it is for.
    pub meaning: &'static str,
    default: fn(&Config) -> String,
}

impl Key {
    /// The value where the file has none, as the file would have it.
    pub fn default_value(&self) -> String {
        (self.default)(&Config::default())
    }
}

const BOOLEAN: &str = "allowed are true, false";

const fn key(
    name: &'static str,
    unit: &'static str,
    allowed: &'static str,
    meaning: &'static str,
    default: fn(&Config) -> String,
) -> Key {
    Key {
        name,
        unit,
        allowed,
        meaning,
        default,
    }
}

/// All of them.
pub const KEYS: [Key; 44] = [
    key(
        "ports",
        "",
        "allowed are a list of interface names, such as [\"r0\", \"r1\"]",
        "Forward between these interfaces, at least one",
        |config| format!("{:?}", config.ports),
    ),
    key(
        "engine",
        "",
        "allowed are auto, xdp, xdp-kernel-fib, tc, af-xdp, af-packet",
        "What moves the frames",
        |config| quoted(config.engine.name()),
    ),
    key(
        "require",
        "",
        "allowed are any, native, generic, zero-copy",
        "How the engine must be attached to every port",
        |config| quoted(config.require.name()),
    ),
    key(
        "bypass-netfilter",
        "",
        BOOLEAN,
        "Bypass nftables and iptables",
        |config| config.bypass_netfilter.to_string(),
    ),
    key(
        "bypass-ipsec",
        "",
        BOOLEAN,
        "Bypass IPsec policies",
        |config| config.bypass_ipsec.to_string(),
    ),
    key(
        "bypass-policy-rules",
        "",
        BOOLEAN,
        "Look in the main table, whatever ip rule says",
        |config| config.bypass_policy_rules.to_string(),
    ),
    key(
        "bypass-tc",
        "",
        BOOLEAN,
        "Bypass queueing disciplines, filters and programs at tc",
        |config| config.bypass_tc.to_string(),
    ),
    key(
        "bypass-vlan-offload",
        "",
        BOOLEAN,
        "Frames count as untagged where a device takes tags out unseen",
        |config| config.bypass_vlan_offload.to_string(),
    ),
    key(
        "instance",
        "",
        values::INSTANCE_ALLOWED,
        "Name of this router among those of the machine",
        |config| quoted(&config.instance.to_string()),
    ),
    key(
        "run-directory",
        "",
        "allowed are the path of a directory",
        "Where the socket is",
        |config| quoted(&config.run_directory.display().to_string()),
    ),
    key(
        "metrics",
        "",
        values::METRICS_ALLOWED,
        "Where the metrics are served",
        |config| quoted(&config.metrics.to_string()),
    ),
    key(
        "metrics-allow",
        "",
        values::ALLOW_ALLOWED,
        "Who may read the metrics beside this machine",
        |config| config.metrics_allow.to_string(),
    ),
    key(
        "console",
        "",
        BOOLEAN,
        "A page that shows the router, where the metrics are",
        |config| config.console.to_string(),
    ),
    key(
        "console-token",
        "",
        "allowed are 16 or more letters, digits and signs, or \"\" for none",
        "What viewers of the console must know",
        |config| quoted(&config.console_token),
    ),
    key(
        "console-peers",
        "",
        console::PEERS_ALLOWED,
        "Consoles of other routers, which it leads to",
        |config| format!("{:?}", config.console_peers),
    ),
    key(
        "verify-seconds",
        "seconds",
        "allowed are 0 (never) to 4294967295",
        "Time between comparisons with the kernel",
        |config| config.verify.map_or(0, |time| time.as_secs()).to_string(),
    ),
    key(
        "stale-milliseconds",
        "milliseconds",
        values::STALE_ALLOWED,
        "How long routes are used when the control plane has fallen silent",
        |config| {
            config
                .stale
                .0
                .map_or(0, |time| time.as_millis())
                .to_string()
        },
    ),
    key(
        "punt-limits",
        "frames a second",
        PUNT_LIMITS_ALLOWED,
        "What the kernel gets of each class from a port",
        |config| quoted(&config.punt_limits.to_string()),
    ),
    key(
        "busy-poll",
        "",
        BOOLEAN,
        "Workers do the driver's receiving (engine af-xdp)",
        |config| config.busy_poll.to_string(),
    ),
    key(
        "long-frames",
        "",
        BOOLEAN,
        "Workers carry frames longer than 1792 bytes, too (engine af-xdp)",
        |config| config.long_frames.to_string(),
    ),
    key(
        "table-words",
        "words of 8 bytes",
        "allowed are 4096 to 16777216",
        "Room for a family of the main table",
        |config| config.table_words.to_string(),
    ),
    key(
        "vrfs",
        "tables",
        "allowed are 0 to 255",
        "Tables beside the main one, at once",
        |config| config.vrfs.to_string(),
    ),
    key(
        "vrf-words",
        "words of 8 bytes",
        "allowed are 256 to 1048576",
        "Room for a family of each of these",
        |config| config.vrf_words.to_string(),
    ),
    key(
        "group-buckets",
        "buckets of 2 bytes",
        "allowed are 64 to 4194304",
        "Room for all groups of next hops together",
        |config| config.group_buckets.to_string(),
    ),
    key(
        "vlans",
        "VLANs",
        "allowed are 1 to 262016",
        "Room for the VLANs of all ports together",
        |config| config.vlans.to_string(),
    ),
    key(
        "drain-routing",
        "",
        "allowed are none, frr, bird",
        "The daemon that `corelane drain` tells",
        |config| quoted(config.drain_routing.name()),
    ),
    key(
        "drain-withdraw",
        "",
        "allowed is a command, such as \"…\"",
        "A command in its place",
        |config| quoted(&config.drain_withdraw),
    ),
    key(
        "drain-restore",
        "",
        "allowed is a command, such as \"…\"",
        "What undoes that",
        |config| quoted(&config.drain_restore),
    ),
    key(
        "drain-bird-file",
        "",
        "allowed are the path of a file",
        "What BIRD's configuration includes",
        |config| quoted(&config.drain_bird_file.display().to_string()),
    ),
    key(
        "drain-below-frames",
        "frames a second",
        "allowed are 1 to 4294967295",
        "The traffic has gone when fewer pass",
        |config| config.drain_below_frames.to_string(),
    ),
    key(
        "drain-quiet-seconds",
        "s",
        "allowed are 1 to 3600",
        "For so long",
        |config| config.drain_quiet_seconds.to_string(),
    ),
    key(
        "drain-limit-seconds",
        "s",
        "allowed are 1 to 86400",
        "How long that may take",
        |config| config.drain_limit_seconds.to_string(),
    ),
    key(
        "sflow.collector",
        "",
        sflow::COLLECTOR_ALLOWED,
        "Where samples are sent as sFlow version 5, by UDP",
        |config| quoted(&config.sflow.collector.to_string()),
    ),
    key(
        "sflow.agent",
        "",
        sflow::AGENT_ALLOWED,
        "The address by which the collector knows this router",
        |config| quoted(&config.sflow.agent.to_string()),
    ),
    key(
        "sflow.sampling",
        "frames",
        "allowed are 1 to 16777216",
        "One frame in so many is a sample",
        |config| config.sflow.sampling.to_string(),
    ),
    key(
        "sflow.polling-seconds",
        "seconds",
        "allowed are 0 (never) to 3600",
        "Time between two samples of an interface's counters",
        |config| config.sflow.polling_seconds.to_string(),
    ),
    key(
        "sflow.discards",
        "frames a second",
        "allowed are 0 to 10000",
        "Discarded frames that are told, at most",
        |config| config.sflow.discards.to_string(),
    ),
    key(
        "recorder.directory",
        "",
        "allowed are a path from / on, or \"\" for none",
        "Where recordings are written when something goes wrong",
        |config| quoted(&config.recorder.directory),
    ),
    key(
        "recorder.seconds",
        "seconds",
        "allowed are 1 to 900",
        "How far back a recording goes",
        |config| config.recorder.seconds.to_string(),
    ),
    key(
        "recorder.above",
        "frames a second",
        recorder::ABOVE_ALLOWED,
        "One is written when a reason has more",
        |config| quoted(&config.recorder.above.to_string()),
    ),
    key(
        "recorder.stall-seconds",
        "seconds",
        "allowed are 0 (never) to 900",
        "One is written when frames come and none is forwarded for so long",
        |config| config.recorder.stall_seconds.to_string(),
    ),
    key(
        "recorder.different",
        "",
        BOOLEAN,
        "One is written when a comparison with the kernel finds a difference",
        |config| config.recorder.different.to_string(),
    ),
    key(
        "recorder.sampling",
        "frames",
        "allowed are 0 (none) to 16777216",
        "One frame in so many is kept for recordings",
        |config| config.recorder.sampling.to_string(),
    ),
    key(
        "recorder.keep",
        "files",
        "allowed are 1 to 1000",
        "So many recordings are kept, the newest",
        |config| config.recorder.keep.to_string(),
    ),
];

fn quoted(text: &str) -> String {
    format!("{text:?}")
}
