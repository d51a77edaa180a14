//! nftables chains, and what the kernel does not list with them: legacy iptables tables, IPVS.

use std::path::Path;
use std::{fs, io};

use host::netlink::{Message, NETFILTER, Socket, attributes, text};

use super::{Finding, Scope, Treatment, list, unread};

/// A socket that is readable when nftables rules changed.
///
/// # Errors
/// When the kernel has no nftables, or refuses.
pub(super) fn watch() -> io::Result<Socket> {
    Socket::open(Some(NETFILTER), &[NFNLGRP_NFTABLES])
}

const NFNLGRP_NFTABLES: u32 = 7;
const NFNL_SUBSYS_NFTABLES: u16 = 10 << 8;
const NFT_MSG_NEWCHAIN: u16 = NFNL_SUBSYS_NFTABLES | 3;
const NFT_MSG_GETCHAIN: u16 = NFNL_SUBSYS_NFTABLES | 4;
const NFT_MSG_NEWRULE: u16 = NFNL_SUBSYS_NFTABLES | 6;
const NFT_MSG_GETRULE: u16 = NFNL_SUBSYS_NFTABLES | 7;
const NFPROTO_INET: u8 = 1;
pub(super) const NFPROTO_IPV4: u8 = 2;
const NFPROTO_NETDEV: u8 = 5;
pub(super) const NFPROTO_IPV6: u8 = 10;

/// Chains that packets pass, and which chain each rule is in.
#[derive(Debug, Default)]
pub struct Ruleset {
    chains: Vec<Chain>,
    rules: Vec<(u8, String, String)>,
}

#[derive(Debug)]
struct Chain {
    family: u8,
    table: String,
    name: String,
    hook: u32,
    drops: bool,
    devices: Vec<String>,
}

impl Ruleset {
    fn read() -> io::Result<Self> {
        let part = |kind| list(Some(NETFILTER), kind, &[0; 4], Self::take);
        let (chains, rules) = (part(NFT_MSG_GETCHAIN)?, part(NFT_MSG_GETRULE)?);
        Ok(Self {
            chains: chains.unwrap_or_default().chains,
            rules: rules.unwrap_or_default().rules,
        })
    }

    /// Takes in one message of a dump of chains or of rules.
    pub fn take(&mut self, message: Message<'_>) {
        match message.kind {
            NFT_MSG_NEWCHAIN => self.chains.extend(base_chain(message.payload)),
            NFT_MSG_NEWRULE => self.rules.extend(rule_chain(message.payload)),
            _ => {}
        }
    }

    /// Which of it forwarded packets pass.
    pub fn find(&self, found: &mut Vec<Finding>) {
        for chain in self.chains.iter().filter(|chain| on_the_way(chain)) {
            let rules = self.rules.iter().filter(|(family, table, name)| {
                (*family, table, name) == (chain.family, &chain.table, &chain.name)
            });
            let count = rules.count();
            if count == 0 && !chain.drops {
                continue;
            }
            let policy = if chain.drops { ", policy drop" } else { "" };
            let what = format!(
                "nftables chain {} {} has {count} rules{policy} (nft list ruleset)",
                chain.table, chain.name
            );
            let scopes = match chain.family {
                NFPROTO_IPV4 => vec![Scope::V4],
                NFPROTO_IPV6 => vec![Scope::V6],
                NFPROTO_NETDEV => chain.devices.iter().cloned().map(Scope::Port).collect(),
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

pub(super) fn nftables(found: &mut Vec<Finding>) {
    match Ruleset::read() {
        Ok(rules) => rules.find(found),
        Err(error) => {
            let what = "nftables rules (nft list ruleset)";
            found.push(unread(what, &error, Treatment::Netfilter));
        }
    }
}

/// Does a forwarded packet pass this chain?
fn on_the_way(chain: &Chain) -> bool {
    const PREROUTING: u32 = 0;
    const FORWARD: u32 = 2;
    const POSTROUTING: u32 = 4;
    const INGRESS: u32 = 5;
    match chain.family {
        NFPROTO_INET | NFPROTO_IPV4 | NFPROTO_IPV6 => {
            matches!(chain.hook, PREROUTING | FORWARD | POSTROUTING | INGRESS)
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

fn base_chain(payload: &[u8]) -> Option<Chain> {
    const TABLE: u16 = 1;
    const NAME: u16 = 3;
    const HOOK: u16 = 4;
    const POLICY: u16 = 5;
    let mut chain = Chain {
        family: *payload.first()?,
        table: String::new(),
        name: String::new(),
        hook: 0,
        drops: false,
        devices: Vec::new(),
    };
    let mut hooked = false;
    for (kind, value) in attributes(payload.get(4..)?) {
        match kind {
            TABLE => chain.table = text(value),
            NAME => chain.name = text(value),
            POLICY => chain.drops = big_endian(value) == 0,
            HOOK => {
                hooked = true;
                read_hook(value, &mut chain);
            }
            _ => {}
        }
    }
    hooked.then_some(chain)
}

fn read_hook(value: &[u8], chain: &mut Chain) {
    const NUMBER: u16 = 1;
    const DEVICE: u16 = 3;
    const DEVICES: u16 = 4;
    for (kind, value) in attributes(value) {
        match kind {
            NUMBER => chain.hook = big_endian(value),
            DEVICE => chain.devices.push(text(value)),
            DEVICES => chain
                .devices
                .extend(attributes(value).map(|(_, name)| text(name))),
            _ => {}
        }
    }
}

fn rule_chain(payload: &[u8]) -> Option<(u8, String, String)> {
    const TABLE: u16 = 1;
    const CHAIN: u16 = 2;
    let (mut table, mut chain) = (String::new(), String::new());
    for (kind, value) in attributes(payload.get(4..)?) {
        match kind {
            TABLE => table = text(value),
            CHAIN => chain = text(value),
            _ => {}
        }
    }
    Some((*payload.first()?, table, chain))
}

/// The old interface has no dump; that a table is loaded is all that can be read without disturbing
/// it.
pub(super) fn legacy_tables(found: &mut Vec<Finding>) {
    for (file, scope, command) in [
        ("ip_tables_names", Scope::V4, "iptables-legacy"),
        ("ip6_tables_names", Scope::V6, "ip6tables-legacy"),
    ] {
        let names = match fs::read_to_string(Path::new("/proc/thread-self/net").join(file)) {
            Ok(names) => names,
            // Root and its group may read it, and need no capability for that.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let what = format!("legacy iptables tables ({command}-save; /proc/net/{file})");
                found.push(Finding {
                    scope,
                    ..unread(&what, &error, Treatment::Netfilter)
                });
                continue;
            }
            // Nobody has ever had one.
            Err(_) => continue,
        };
        let names: Vec<&str> = names.split_whitespace().collect();
        if !names.is_empty() {
            let what = format!(
                "legacy iptables tables are loaded: {} ({command}-save)",
                names.join(", ")
            );
            found.push(Finding::new(scope, what, Treatment::Netfilter));
        }
    }
}

/// IPVS: its services take packets off their way, replies too. The kernel lists them behind three
/// lines of headings.
pub(super) fn virtual_services(found: &mut Vec<Finding>) {
    let services = fs::read_to_string("/proc/thread-self/net/ip_vs").unwrap_or_default();
    let count = services.lines().skip(3).count();
    if count > 0 {
        found.push(Finding::new(
            Scope::All,
            format!("IPVS has {count} services and servers (ipvsadm -Ln)"),
            Treatment::Netfilter,
        ));
    }
}
