//! nftables chains and legacy iptables tables.

use std::path::Path;
use std::{fs, io};

use host::netlink::{NETFILTER, Socket, attributes, text};

use super::{Finding, Scope, Treatment};

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
const NFPROTO_IPV4: u8 = 2;
const NFPROTO_NETDEV: u8 = 5;
const NFPROTO_IPV6: u8 = 10;

struct Chain {
    family: u8,
    table: String,
    name: String,
    hook: u32,
    drops: bool,
    devices: Vec<String>,
}

pub(super) fn nftables(found: &mut Vec<Finding>) {
    let Ok(mut socket) = Socket::open(Some(NETFILTER), &[]) else {
        return;
    };
    let mut chains = Vec::new();
    let mut rules = Vec::new();
    // A kernel without nftables refuses: then there are no rules of it.
    let listed = socket.dump(NFT_MSG_GETCHAIN, &[0; 4], |message| {
        if message.kind == NFT_MSG_NEWCHAIN {
            chains.extend(base_chain(message.payload));
        }
    });
    if failed(listed, found) {
        return;
    }
    let listed = socket.dump(NFT_MSG_GETRULE, &[0; 4], |message| {
        if message.kind == NFT_MSG_NEWRULE
            && let Some(key) = rule_chain(message.payload)
        {
            rules.push(key);
        }
    });
    if failed(listed, found) {
        return;
    }
    for chain in chains.iter().filter(|chain| on_the_way(chain)) {
        let count = rules
            .iter()
            .filter(|(family, table, name)| {
                (*family, table, name) == (chain.family, &chain.table, &chain.name)
            })
            .count();
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
        found.extend(scopes.into_iter().map(|scope| Finding {
            scope,
            what: what.clone(),
            treatment: Treatment::Netfilter,
        }));
    }
}

/// Could the rules not be read? A kernel without nftables refuses, and has none; else they are
/// there, and nobody knows what they say.
fn failed<T>(listed: io::Result<T>, found: &mut Vec<Finding>) -> bool {
    let Err(error) = listed else {
        return false;
    };
    let absent = [libc::EINVAL, libc::EOPNOTSUPP, libc::EPROTONOSUPPORT];
    if !error
        .raw_os_error()
        .is_some_and(|code| absent.contains(&code))
    {
        found.push(Finding {
            scope: Scope::All,
            what: format!("nftables rules could not be read: {error} (nft list ruleset)"),
            treatment: Treatment::Netfilter,
        });
    }
    true
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
        let names =
            fs::read_to_string(Path::new("/proc/thread-self/net").join(file)).unwrap_or_default();
        let names: Vec<&str> = names.split_whitespace().collect();
        if !names.is_empty() {
            let what = format!(
                "legacy iptables tables are loaded: {} ({command}-save)",
                names.join(", ")
            );
            found.push(Finding {
                scope,
                what,
                treatment: Treatment::Netfilter,
            });
        }
    }
}
