//! Why devices drop, as they say themselves.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use host::Namespace;
use router::management_plane::client;
use tester::places::Reasons;

/// Of the kernel's forwarding between interfaces in a namespace: what it counts of IP
/// (`/proc/net/snmp`), and what the queueing disciplines of the interfaces dropped (`tc`).
pub(super) fn kernel(namespace: Namespace, interfaces: Vec<String>) -> Reasons {
    Box::new(move || {
        let read = |name: &'static str| {
            let path = format!("/proc/thread-self/net/{name}");
            let text = namespace.enter(|| fs::read_to_string(path));
            text.ok().and_then(Result::ok).unwrap_or_default()
        };
        let queued = interfaces.iter().flat_map(|interface| {
            let words = ["-s", "qdisc", "show", "dev", interface];
            let shown = namespace.command("tc").args(words).output();
            let shown = shown.map(|output| output.stdout).unwrap_or_default();
            queueing(&String::from_utf8_lossy(&shown))
        });
        let queued: Vec<_> = queued.collect();
        let counted = snmp(&read("snmp")).into_iter().chain(snmp6(&read("snmp6")));
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for (reason, frames) in queued.into_iter().chain(counted) {
            *sums.entry(reason).or_default() += frames;
        }
        sums.into_iter().collect()
    })
}

/// Of a running `corelane run` whose socket is there.
pub(super) fn router(socket: PathBuf) -> Reasons {
    Box::new(move || {
        let answer = client::ask(&socket, "drops").unwrap_or_default();
        dropped(&answer)
    })
}

/// Counters of IP that are drops on a router (RFC 1213 and 4293).
const DROPS: [&str; 8] = [
    "InHdrErrors",
    "InTooBigErrors",
    "InNoRoutes",
    "InAddrErrors",
    "InDiscards",
    "OutDiscards",
    "OutNoRoutes",
    "FragFails",
];

/// A line of names and a line of figures for each protocol.
fn snmp(text: &str) -> Vec<(String, u64)> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Ip: "));
    let (Some(names), Some(figures)) = (lines.next(), lines.next()) else {
        return Vec::new();
    };
    let pairs = names.split(' ').zip(figures.split(' '));
    let pairs = pairs.filter(|(name, _)| DROPS.contains(name));
    pairs
        .filter_map(|(name, figure)| Some((format!("Ip{name}"), figure.parse().ok()?)))
        .collect()
}

/// A line for each counter.
fn snmp6(text: &str) -> Vec<(String, u64)> {
    let pairs = text.lines().filter_map(|line| {
        let (name, figure) = line.split_once(char::is_whitespace)?;
        let drop = name
            .strip_prefix("Ip6")
            .is_some_and(|name| DROPS.contains(&name));
        drop.then_some((name.to_owned(), figure.trim().parse().ok()?))
    });
    pairs.collect()
}

/// What `tc -s qdisc` shows: a line with the kind of each discipline, its counts in the next. An
/// outer one counts the drops of those inside it too.
fn queueing(text: &str) -> Vec<(String, u64)> {
    let mut kind = None;
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some(words) = line.strip_prefix("qdisc ") {
            let root = words.contains(" root ");
            kind = words.split(' ').next().filter(|_| root);
        } else if let (Some(kind), Some((_, rest))) = (kind, line.split_once("(dropped ")) {
            let digits = rest.split(|one: char| !one.is_ascii_digit()).next();
            let frames = digits.and_then(|digits| digits.parse().ok());
            found.extend(frames.map(|frames| (format!("queueing discipline {kind}"), frames)));
        }
    }
    found
}

/// What a router answers to `drops`: of all ports, without what it left to the kernel.
fn dropped(answer: &str) -> Vec<(String, u64)> {
    let answer: serde_json::Value = serde_json::from_str(answer).unwrap_or_default();
    let rows = answer["drops"].as_array().into_iter().flatten();
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for row in rows.filter(|row| row["fate"] == "dropped") {
        if let (Some(reason), Some(frames)) = (row["reason"].as_str(), row["frames"].as_u64()) {
            *sums.entry(reason.to_owned()).or_default() += frames;
        }
    }
    sums.into_iter().collect()
}

#[cfg(test)]
#[path = "../../tests/unit/reasons.rs"]
mod tests;
