//! What the kernel does to forwarded packets besides routing them. A fast path would go past it; so
//! the ports concerned stay with the kernel, and the log says why.
//!
//! Looked at: nftables chains on the way of forwarded packets, whoever else hooks into it (legacy
//! iptables tables and IPVS where the kernel does not list these), xfrm (`IPsec`) policies,
//! queueing disciplines that shape, tc filters, BPF programs at tc (tcx), and forwarding being
//! switched off. What an engine at tc sends passes the disciplines, so these do not count there.
//! Rules are not interpreted: any rule on the way counts for every port, because what a rule means
//! may depend on any other.
//!
//! The kernel answers some of the questions only when nobody else changes links, which may take
//! seconds. So a thread looks, and the control plane goes on meanwhile ([`Look`]).

mod finding;
pub mod hooks;
mod look;
pub mod netfilter;
pub mod traffic_control;
mod xfrm;

use std::io;

use fastpath::forward::ReversePath;
use host::netlink::{Dumped, Message, Protocol, Socket};

use self::finding::unread;
pub use self::finding::{Finding, Scope, Treatment};
pub use self::look::{Look, Seen};
use super::settings::Setting;
use crate::engine::MAIN_TABLE;

/// How often a dump is asked for that the kernel changed meanwhile.
const ATTEMPTS: u32 = 20;

/// Groups of rtnetlink.
const RTNLGRP_TC: u32 = 4;
const RTNLGRP_IPV4_RULE: u32 = 8;
const RTNLGRP_IPV6_RULE: u32 = 19;

/// What tells of changes, as far as the kernel announces them: nftables, `IPsec` policies, policy
/// rules, queueing disciplines and filters. A kernel without one of these has nothing to tell.
pub fn watch() -> Vec<Socket> {
    let watched = [
        netfilter::watch(),
        xfrm::watch(),
        Socket::open(None, &[RTNLGRP_TC, RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE]),
    ];
    watched.into_iter().flatten().collect()
}

/// A dump of one piece. Nothing when this kernel has nobody to answer.
///
/// # Errors
/// When it cannot be read: then nobody knows what there is.
fn list<T: Default>(
    protocol: Option<Protocol>,
    kind: u16,
    body: &[u8],
    take: impl Fn(&mut T, Message<'_>),
) -> io::Result<Option<T>> {
    let absent = |error: &io::Error| {
        let codes = [libc::EINVAL, libc::EOPNOTSUPP, libc::EPROTONOSUPPORT];
        error
            .raw_os_error()
            .is_some_and(|code| codes.contains(&code))
    };
    let read = || {
        let mut socket = Socket::open(protocol, &[])?;
        for _ in 0..ATTEMPTS {
            let mut all = T::default();
            if socket.dump(kind, body, |message| take(&mut all, message))? == Dumped::Whole {
                return Ok(all);
            }
        }
        Err(io::Error::other("it changed while it was read, every time"))
    };
    match read() {
        Err(error) if absent(&error) => Ok(None),
        all => all.map(Some),
    }
}

/// What a link's settings say. `hides_tags`: can frames have lost a tag before the engine sees
/// them? `validates`: does the engine check sources itself?
pub fn settings(setting: &Setting, hides_tags: bool, validates: bool, found: &mut Vec<Finding>) {
    let (name, accepts) = (&setting.link.name, &setting.accepts);
    let mut say = |what: String, treatment| {
        found.push(Finding::new(Scope::Port(name.clone()), what, treatment));
    };
    if !accepts.v4 {
        let what = format!("IPv4 forwarding is off (sysctl net.ipv4.conf.{name}.forwarding=1)");
        say(what, Treatment::Setting);
    }
    if !accepts.v6 {
        let what = format!(
            "IPv6 forwarding is off, or IPv6 is (sysctl net.ipv6.conf.all.forwarding=1 \
             net.ipv6.conf.{name}.disable_ipv6=0)"
        );
        say(what, Treatment::Setting);
    }
    if hides_tags {
        let what = format!(
            "VLAN tags may be gone from frames before the program sees them (ethtool -K {name} \
             rxvlan off; of a veth only its peer decides: ethtool -K PEER txvlan off)"
        );
        say(what, Treatment::VlanOffload);
    }
    if !validates && accepts.reverse_path != ReversePath::Off {
        let what = format!(
            "sources are validated, which this engine leaves to the kernel \
             (net.ipv4.conf.{name}.rp_filter, or engine xdp)"
        );
        say(what, Treatment::Setting);
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
            found.push(Finding::new(scope.clone(), what, Treatment::PolicyRules));
        }
        if mirror.has_other_order(family) {
            found.push(Finding::new(
                scope,
                format!(
                    "the policy rules for local, main and VRFs are not all there, or in another \
                     order (ip -{family} rule)"
                ),
                Treatment::PolicyRules,
            ));
        }
    }
    found
}
