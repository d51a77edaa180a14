//! nftables chains, and what the kernel does not list with them: legacy iptables tables, IPVS.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::{fs, io};

use host::netlink::{Message, NETFILTER, attributes, text};

use super::known::State;
use super::{Finding, Scope, Treatment, list, unread};

/// The group that tells of changes.
pub(super) const NFNLGRP_NFTABLES: u32 = 7;
const NFNL_SUBSYS_NFTABLES: u16 = 10 << 8;
const NFT_MSG_NEWTABLE: u16 = NFNL_SUBSYS_NFTABLES;
const NFT_MSG_DELRULE: u16 = NFNL_SUBSYS_NFTABLES | 8;
const NFT_MSG_NEWCHAIN: u16 = NFNL_SUBSYS_NFTABLES | 3;
const NFT_MSG_GETCHAIN: u16 = NFNL_SUBSYS_NFTABLES | 4;
const NFT_MSG_NEWRULE: u16 = NFNL_SUBSYS_NFTABLES | 6;
const NFT_MSG_GETRULE: u16 = NFNL_SUBSYS_NFTABLES | 7;
const NFPROTO_INET: u8 = 1;
pub(super) const NFPROTO_IPV4: u8 = 2;
const NFPROTO_NETDEV: u8 = 5;
pub(super) const NFPROTO_IPV6: u8 = 10;

/// Family, table and name.
type Name = (u8, String, String);

/// Chains that packets pass, and the rules in every chain by their handles.
#[derive(Debug, Default)]
pub struct Ruleset {
    chains: BTreeMap<Name, Chain>,
    rules: BTreeMap<Name, HashSet<u64>>,
}

#[derive(Debug)]
struct Chain {
    hook: u32,
    drops: bool,
    /// As long as one is there, the kernel translates the connections that any had rules for.
    translates: bool,
    devices: Vec<String>,
    /// It is on devices by the beginnings of their names, such as `eth*`.
    by_prefix: bool,
}

impl Ruleset {
    pub(super) fn read() -> io::Result<Self> {
        let part = |kind| list(Some(NETFILTER), kind, &[0; 4], Self::take);
        let (chains, rules) = (part(NFT_MSG_GETCHAIN)?, part(NFT_MSG_GETRULE)?);
        Ok(Self {
            chains: chains.unwrap_or_default().chains,
            rules: rules.unwrap_or_default().rules,
        })
    }

    /// Takes in one message, of a dump of chains or of rules, or of what was added.
    pub fn take(&mut self, message: Message<'_>) {
        match message.kind {
            NFT_MSG_NEWCHAIN => self.chains.extend(base_chain(message.payload)),
            NFT_MSG_NEWRULE => {
                if let Some((chain, handle)) = rule(message.payload) {
                    self.rules.entry(chain).or_default().insert(handle);
                }
            }
            _ => {}
        }
    }

    /// Which of it forwarded packets pass.
    pub fn find(&self, found: &mut Vec<Finding>) {
        let passed =
            |(name, chain): &(&Name, &Chain)| chain.translates || on_the_way(name.0, chain.hook);
        for (name, chain) in self.chains.iter().filter(passed) {
            let count = self.rules.get(name).map_or(0, HashSet::len);
            if count == 0 && !chain.drops && !chain.translates {
                continue;
            }
            let (family, table, name) = name;
            let policy = match (chain.drops, chain.translates) {
                (true, _) => ", policy drop",
                (_, true) => ", type nat",
                _ => "",
            };
            let what = format!(
                "nftables chain {table} {name} has {count} rules{policy} (nft list ruleset)"
            );
            let scopes = match *family {
                NFPROTO_IPV4 => vec![Scope::V4],
                NFPROTO_IPV6 => vec![Scope::V6],
                NFPROTO_NETDEV if !chain.by_prefix => {
                    chain.devices.iter().cloned().map(Scope::Port).collect()
                }
                _ => vec![Scope::All],
            };
            found.extend(
                scopes
                    .into_iter()
                    .map(|scope| Finding::new(scope, what.clone(), Treatment::Netfilter)),
            );
        }
    }
}

impl State for Ruleset {
    /// What changes the elements of a set changes nothing here.
    fn hear(&mut self, message: Message<'_>) -> bool {
        self.take(message);
        (NFT_MSG_NEWTABLE..=NFT_MSG_DELRULE).contains(&message.kind)
    }

    fn join(&mut self, other: Self) {
        self.chains.extend(other.chains);
        for (chain, rules) in other.rules {
            self.rules.entry(chain).or_default().extend(rules);
        }
    }
}

/// Does a forwarded packet pass this chain?
fn on_the_way(family: u8, hook: u32) -> bool {
    const PREROUTING: u32 = 0;
    const FORWARD: u32 = 2;
    const POSTROUTING: u32 = 4;
    const INGRESS: u32 = 5;
    match family {
        NFPROTO_INET | NFPROTO_IPV4 | NFPROTO_IPV6 => {
            matches!(hook, PREROUTING | FORWARD | POSTROUTING | INGRESS)
        }
        NFPROTO_NETDEV => true,
        _ => false,
    }
}

fn big_endian(value: &[u8]) -> u32 {
    value
        .first_chunk()
        .map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

fn base_chain(payload: &[u8]) -> Option<(Name, Chain)> {
    const TABLE: u16 = 1;
    const NAME: u16 = 3;
    const HOOK: u16 = 4;
    const POLICY: u16 = 5;
    const TYPE: u16 = 7;
    let (mut table, mut name) = (String::new(), String::new());
    let mut chain = Chain {
        hook: 0,
        drops: false,
        translates: false,
        devices: Vec::new(),
        by_prefix: false,
    };
    let mut hooked = false;
    for (kind, value) in attributes(payload.get(4..)?) {
        match kind {
            TABLE => table = text(value),
            NAME => name = text(value),
            POLICY => chain.drops = big_endian(value) == 0,
            TYPE => chain.translates = text(value) == "nat",
            HOOK => {
                hooked = true;
                read_hook(value, &mut chain);
            }
            _ => {}
        }
    }
    let family = *payload.first()?;
    hooked.then_some(((family, table, name), chain))
}

fn read_hook(value: &[u8], chain: &mut Chain) {
    const NUMBER: u16 = 1;
    const DEVICE: u16 = 3;
    const DEVICES: u16 = 4;
    for (kind, value) in attributes(value) {
        match kind {
            NUMBER => chain.hook = big_endian(value),
            DEVICE => read_device(NAME, value, chain),
            DEVICES => attributes(value).for_each(|(kind, name)| read_device(kind, name, chain)),
            _ => {}
        }
    }
}

/// `NFTA_DEVICE_NAME`; every other kind, and a name without its zero (Linux 6.16), is the beginning
/// of names.
const NAME: u16 = 1;

fn read_device(kind: u16, name: &[u8], chain: &mut Chain) {
    chain.by_prefix |= kind != NAME || !name.ends_with(&[0]);
    chain.devices.push(text(name));
}

/// The chain that a rule is in, and its handle.
fn rule(payload: &[u8]) -> Option<(Name, u64)> {
    const TABLE: u16 = 1;
    const CHAIN: u16 = 2;
    const HANDLE: u16 = 3;
    let (mut table, mut chain, mut handle) = (String::new(), String::new(), 0);
    for (kind, value) in attributes(payload.get(4..)?) {
        match kind {
            TABLE => table = text(value),
            CHAIN => chain = text(value),
            HANDLE => {
                handle = value
                    .first_chunk()
                    .map_or(0, |bytes| u64::from_be_bytes(*bytes));
            }
            _ => {}
        }
    }
    Some(((*payload.first()?, table, chain), handle))
}

/// The old interface has no dump; that a table is loaded is all that can be read without disturbing
/// it. IPVS: its services take packets off their way, replies too; the kernel lists them behind
/// three lines of headings.
pub(super) fn unlisted(directory: &Path, found: &mut Vec<Finding>) {
    let files = [
        ("ip_tables_names", Scope::V4, 0),
        ("ip6_tables_names", Scope::V6, 0),
        ("ip_vs", Scope::All, 3),
    ];
    for (file, scope, headings) in files {
        let content = match fs::read_to_string(directory.join(file)) {
            Ok(content) => content,
            // Nobody has ever had one.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            // Root and its group may read it, and need no capability for that.
            Err(error) => {
                let what = format!("/proc/net/{file} (legacy iptables, IPVS)");
                found.push(Finding {
                    scope,
                    ..unread(&what, &error, Treatment::Netfilter)
                });
                continue;
            }
        };
        let lines: Vec<&str> = content.lines().skip(headings).collect();
        if lines.is_empty() {
            continue;
        }
        let what = match scope {
            Scope::V4 => legacy("iptables-legacy", &lines),
            Scope::V6 => legacy("ip6tables-legacy", &lines),
            _ => format!(
                "IPVS has {} services and servers (ipvsadm -Ln)",
                lines.len()
            ),
        };
        found.push(Finding::new(scope, what, Treatment::Netfilter));
    }
}

fn legacy(command: &str, names: &[&str]) -> String {
    let names = names.join(", ");
    format!("legacy iptables tables are loaded: {names} ({command}-save)")
}

#[cfg(test)]
#[path = "../../../tests/unit/netfilter.rs"]
mod tests;
