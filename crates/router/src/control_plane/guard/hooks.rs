//! Whoever hooks into the way of forwarded packets, as the kernel lists them (`nft list hooks`; a
//! kernel with `CONFIG_NETFILTER_NETLINK_HOOK`): legacy iptables, IPVS, BPF programs, modules of
//! any origin.

use host::netlink::{Message, NETFILTER, append, attributes, text};

use super::netfilter::{NFPROTO_IPV4, NFPROTO_IPV6};
use super::{Finding, Scope, Treatment, list, unread};

/// `NFNL_SUBSYS_HOOK`, and in it `NFNL_MSG_HOOK_GET`.
const HOOK_GET: u16 = 12 << 8;
const HOOK_NUMBER: u16 = 1;
const FUNCTION: u16 = 4;
const MODULE: u16 = 5;
const CHAIN: u16 = 6;
/// In [`CHAIN`]: the type, and that of nftables, whose chains are known better by their rules.
const TYPE: u16 = 2;
const NFTABLES: [u8; 4] = 1_u32.to_be_bytes();
const ON_THE_WAY: [(&str, u32); 3] = [("prerouting", 0), ("forward", 2), ("postrouting", 4)];
/// Beginnings of functions that let every forwarded packet go on as it is: they note connections,
/// join fragments for that, label for programs here, or do what the rules of nftables and iptables
/// say, which are found by themselves.
const HARMLESS: [&str; 11] = [
    "ipv4_conntrack_",
    "ipv6_conntrack_",
    "ipv4_confirm",
    "ipv6_confirm",
    "nf_confirm",
    "ipv6_defrag",
    "nf_nat_",
    "selinux_",
    "apparmor_",
    "smack_",
    "nft_do_chain",
];

/// Adds what is found; false when the kernel does not list hooks.
pub(super) fn look(found: &mut Vec<Finding>) -> bool {
    let mut lists = true;
    for (family, scope) in [(NFPROTO_IPV4, Scope::V4), (NFPROTO_IPV6, Scope::V6)] {
        for (name, number) in ON_THE_WAY {
            // `struct nfgenmsg`: family, version, resource.
            let mut body = vec![family, 0, 0, 0];
            append(&mut body, HOOK_NUMBER, &number.to_be_bytes());
            match list(Some(NETFILTER), HOOK_GET, &body, take) {
                Ok(None) => lists = false,
                Ok(Some(users)) => found.extend(users.into_iter().map(|user| {
                    Finding::new(
                        scope.clone(),
                        format!("{user} is at the hook {name} (nft list hooks)"),
                        Treatment::Netfilter,
                    )
                })),
                Err(error) => {
                    let what = "netfilter's hooks (nft list hooks)";
                    found.push(unread(what, &error, Treatment::Netfilter));
                }
            }
        }
    }
    lists
}

/// Takes in one message of a list of hooks: who it is, unless it is harmless.
pub fn take(users: &mut Vec<String>, message: Message<'_>) {
    if message.kind == HOOK_GET {
        users.extend(user(message.payload));
    }
}

fn user(payload: &[u8]) -> Option<String> {
    let (mut function, mut module) = (String::new(), String::new());
    for (kind, value) in attributes(payload.get(4..)?) {
        match kind {
            FUNCTION => function = text(value),
            MODULE => module = text(value),
            CHAIN if attributes(value).any(|(kind, value)| kind == TYPE && value == NFTABLES) => {
                return None;
            }
            _ => {}
        }
    }
    let harmless = HARMLESS.iter().any(|known| function.starts_with(known));
    (!harmless).then(|| match module.as_str() {
        "" => function,
        module => format!("{function} of module {module}"),
    })
}

#[cfg(test)]
#[path = "../../../tests/unit/hooks.rs"]
mod tests;
