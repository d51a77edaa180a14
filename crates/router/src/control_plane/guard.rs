//! What the kernel does to forwarded packets besides routing them. A fast path would go past it; so the ports concerned
//! stay with the kernel, and the log says why.
//!
//! Looked at: nftables chains on the way of forwarded packets, legacy iptables tables, xfrm (`IPsec`) policies, queueing
//! disciplines that shape, tc filters, BPF programs at tc (tcx), and forwarding being switched off. Rules are not
//! interpreted: any rule on the way counts for every port, because what a rule means may depend on any other.

use std::fs;
use std::io;
use std::path::Path;

use super::netlink::attributes::{attributes, text};
use super::netlink::socket::Socket;
use crate::engine::MAIN_TABLE;

/// Whom a finding concerns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Every packet of IPv4.
    V4,
    /// Every packet of IPv6.
    V6,
    /// Every packet.
    All,
    /// The packets of one port.
    Port(String),
}

/// Something that the kernel does to packets on their way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Whom it concerns.
    pub scope: Scope,
    /// What it is, and where to look.
    pub what: String,
    /// Forwarding is off, which an engine that asks the kernel for every packet hears by itself.
    pub switched_off: bool,
}

/// A port to look at.
#[derive(Debug, Clone)]
pub struct Watched {
    /// Name.
    pub name: String,
    /// Interface index.
    pub index: u32,
}

/// The nftables family of names that belong to this program's own tables, which concern nobody else.
pub const OWN_TABLE: &str = "corelane";

/// Everything found in the calling thread's network namespace, in a fixed order.
pub fn look(ports: &[Watched]) -> Vec<Finding> {
    let mut found = Vec::new();
    nftables(&mut found);
    legacy_tables(&mut found);
    xfrm(&mut found);
    for port in ports {
        traffic_control(port, &mut found);
        tcx(port, &mut found);
    }
    switched_off(ports, &mut found);
    found.sort();
    found.dedup();
    found
}

/// A socket that is readable when nftables rules changed.
///
/// # Errors
/// When the kernel has no nftables, or refuses.
pub fn watch_nftables() -> io::Result<Socket> {
    Socket::open(libc::NETLINK_NETFILTER, &[NFNLGRP_NFTABLES])
}

const NFNLGRP_NFTABLES: libc::c_int = 7;
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

fn nftables(found: &mut Vec<Finding>) {
    let Ok(mut socket) = Socket::open(libc::NETLINK_NETFILTER, &[]) else {
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
    if listed.is_err() {
        return;
    }
    let listed = socket.dump(NFT_MSG_GETRULE, &[0; 4], |message| {
        if message.kind == NFT_MSG_NEWRULE
            && let Some(key) = rule_chain(message.payload)
        {
            rules.push(key);
        }
    });
    if listed.is_err() {
        return;
    }
    for chain in chains
        .iter()
        .filter(|chain| on_the_way(chain) && !chain.table.starts_with(OWN_TABLE))
    {
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
            switched_off: false,
        }));
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

/// The old interface has no dump; that a table is loaded is all that can be read without disturbing it.
fn legacy_tables(found: &mut Vec<Finding>) {
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
                switched_off: false,
            });
        }
    }
}

const XFRM_MSG_NEWPOLICY: u16 = 0x13;
const XFRM_MSG_GETPOLICY: u16 = 0x15;
/// Size of `struct xfrm_userpolicy_id`.
const XFRM_POLICY_ID: usize = 64;

fn xfrm(found: &mut Vec<Finding>) {
    let Ok(mut socket) = Socket::open(libc::NETLINK_XFRM, &[]) else {
        return;
    };
    let mut policies = 0;
    let listed = socket.dump(XFRM_MSG_GETPOLICY, &[0; XFRM_POLICY_ID], |message| {
        policies += u32::from(message.kind == XFRM_MSG_NEWPOLICY);
    });
    if listed.is_ok() && policies > 0 {
        found.push(Finding {
            scope: Scope::All,
            what: format!("{policies} IPsec policies (ip xfrm policy)"),
            switched_off: false,
        });
    }
}

const TCA_KIND: u16 = 1;
/// Where filters hang: root, ingress, and both ends of `clsact`.
const TC_PARENTS: [u32; 4] = [0, 0xFFFF_0000, 0xFFFF_FFF2, 0xFFFF_FFF3];
/// Disciplines that neither shape nor reorder by class.
const HARMLESS: [&str; 9] = [
    "noqueue",
    "pfifo_fast",
    "pfifo",
    "bfifo",
    "fq_codel",
    "fq",
    "mq",
    "clsact",
    "ingress",
];

fn traffic_control(port: &Watched, found: &mut Vec<Finding>) {
    let Ok(mut socket) = Socket::open(libc::NETLINK_ROUTE, &[]) else {
        return;
    };
    let scope = || Scope::Port(port.name.clone());
    let body = |parent: u32| {
        let mut body = [0; 20];
        body[4..8].copy_from_slice(&port.index.to_ne_bytes());
        body[12..16].copy_from_slice(&parent.to_ne_bytes());
        body
    };
    let kind = |payload: &[u8]| {
        let attribute = attributes(payload.get(20..)?).find(|(kind, _)| *kind == TCA_KIND)?;
        let of_port = payload.get(4..8) == Some(&port.index.to_ne_bytes());
        of_port.then(|| text(attribute.1))
    };
    // Where the kernel has no traffic control the request is refused, and there is nothing to find.
    let _ = socket.dump(libc::RTM_GETQDISC, &[0; 20], |message| {
        if let Some(kind) = kind(message.payload).filter(|kind| !HARMLESS.contains(&kind.as_str()))
        {
            let what = format!(
                "queueing discipline {kind} (tc qdisc show dev {})",
                port.name
            );
            found.push(Finding {
                scope: scope(),
                what,
                switched_off: false,
            });
        }
    });
    for parent in TC_PARENTS {
        let _ = socket.dump(libc::RTM_GETTFILTER, &body(parent), |message| {
            if let Some(kind) = kind(message.payload) {
                let what = format!("tc filter {kind} (tc filter show dev {})", port.name);
                found.push(Finding {
                    scope: scope(),
                    what,
                    switched_off: false,
                });
            }
        });
    }
}

const BPF_PROG_QUERY: libc::c_long = 16;
const BPF_TCX_INGRESS: u32 = 46;
const BPF_TCX_EGRESS: u32 = 47;

/// The part of `union bpf_attr` that queries use.
#[repr(C)]
#[derive(Default)]
struct ProgramQuery {
    ifindex: u32,
    attach_type: u32,
    query_flags: u32,
    attach_flags: u32,
    ids: u64,
    count: u32,
    pad: u32,
    attach_flags_list: u64,
    link_ids: u64,
    link_attach_flags: u64,
    revision: u64,
}

fn tcx(port: &Watched, found: &mut Vec<Finding>) {
    for attach_type in [BPF_TCX_INGRESS, BPF_TCX_EGRESS] {
        let mut query = ProgramQuery {
            ifindex: port.index,
            attach_type,
            ..ProgramQuery::default()
        };
        // SAFETY: the pointer is to `query`, of the size given; its inner pointers are null, which asks for counts only.
        let result = unsafe {
            libc::syscall(
                libc::SYS_bpf,
                BPF_PROG_QUERY,
                &raw mut query,
                size_of::<ProgramQuery>(),
            )
        };
        if result == 0 && query.count > 0 {
            let what = format!(
                "{} BPF programs at tc (bpftool net show dev {})",
                query.count, port.name
            );
            found.push(Finding {
                scope: Scope::Port(port.name.clone()),
                what,
                switched_off: false,
            });
        }
    }
}

fn switched_off(ports: &[Watched], found: &mut Vec<Finding>) {
    let off = |path: String| fs::read_to_string(path).is_ok_and(|value| value.trim() == "0");
    if off("/proc/sys/net/ipv6/conf/all/forwarding".to_owned()) {
        let what = "IPv6 forwarding is off (sysctl net.ipv6.conf.all.forwarding=1)".to_owned();
        found.push(Finding {
            scope: Scope::V6,
            what,
            switched_off: true,
        });
    }
    for port in ports {
        if off(format!("/proc/sys/net/ipv4/conf/{}/forwarding", port.name)) {
            let what = format!(
                "IPv4 forwarding is off on {0} (sysctl net.ipv4.conf.{0}.forwarding=1)",
                port.name
            );
            found.push(Finding {
                scope: Scope::V4,
                what,
                switched_off: true,
            });
        }
    }
}

/// Policy rules as findings: which table a packet looks in depends on more than its destination.
pub fn policy_rules(mirror: &super::mirror::Mirror) -> Vec<Finding> {
    let mut found = Vec::new();
    for (family, scope) in [(4, Scope::V4), (6, Scope::V6)] {
        for rule in mirror.policy_rules(family) {
            let table = if rule.table == MAIN_TABLE {
                "main".to_owned()
            } else {
                rule.table.to_string()
            };
            let what = format!(
                "policy rule {} looks in table {table} (ip -{family} rule)",
                rule.priority
            );
            found.push(Finding {
                scope: scope.clone(),
                what,
                switched_off: false,
            });
        }
    }
    found
}
