//! Whatever the kernel might answer when it is asked what it does to packets besides routing them:
//! rules of nftables, users of netfilter's hooks, queueing disciplines and filters. No panic, and
//! nothing hides from the guard what stands behind it.

use host::netlink::{Message, append, messages};
use router::control_plane::guard::netfilter::Ruleset;
use router::control_plane::guard::traffic_control::Disciplines;
use router::control_plane::guard::{Finding, Scope, hooks};
use router::control_plane::settings::Watched;

use crate::shape;

const NEWCHAIN: u16 = 10 << 8 | 3;
const NEWRULE: u16 = 10 << 8 | 6;
const HOOK: u16 = 12 << 8;
/// Kinds, and bytes of their fixed headers.
const RULES: [(u16, usize); 2] = [(NEWCHAIN, 4), (NEWRULE, 4)];
const HOOKS: [(u16, usize); 1] = [(HOOK, 4)];
const DISCIPLINES: [(u16, usize); 2] = [(libc::RTM_NEWQDISC, 20), (libc::RTM_NEWTFILTER, 20)];

pub(crate) fn run(bytes: &[u8]) {
    let (choice, bytes) = bytes.split_first().unwrap_or((&0, &[]));
    match choice % 3 {
        0 => rules(bytes),
        1 => users(bytes),
        _ => disciplines(bytes),
    }
}

fn message(kind: u16, payload: &[u8]) -> Message<'_> {
    Message {
        kind,
        flags: 0,
        payload,
        dumped: true,
    }
}

fn rules(bytes: &[u8]) {
    let mut rules = Ruleset::default();
    let bytes = shape::messages(bytes, &RULES);
    messages(&bytes, None, true).for_each(|message| rules.take(message));
    let (table, name) = (b"behind\0", b"forward\0");
    // `struct nfgenmsg` of IPv6; NFTA_CHAIN_TABLE, NFTA_CHAIN_NAME, NFTA_CHAIN_HOOK with
    // NFTA_HOOK_HOOKNUM.
    let mut chain = vec![10, 0, 0, 0];
    append(&mut chain, 1, table);
    append(&mut chain, 3, name);
    let mut hook = Vec::new();
    append(&mut hook, 1, &2_u32.to_be_bytes());
    append(&mut chain, 4, &hook);
    // NFTA_RULE_TABLE, NFTA_RULE_CHAIN.
    let mut rule = vec![10, 0, 0, 0];
    append(&mut rule, 1, table);
    append(&mut rule, 2, name);
    rules.take(message(NEWCHAIN, &chain));
    rules.take(message(NEWRULE, &rule));
    let mut found = Vec::new();
    rules.find(&mut found);
    let is_it = |finding: &Finding| {
        finding.scope == Scope::V6 && finding.what.contains("chain behind forward has ")
    };
    assert!(found.iter().any(is_it), "{found:?}");
}

fn users(bytes: &[u8]) {
    let mut users = Vec::new();
    let bytes = shape::messages(bytes, &HOOKS);
    messages(&bytes, None, true).for_each(|message| hooks::take(&mut users, message));
    // NFNLA_HOOK_FUNCTION_NAME.
    let mut user = vec![2, 0, 0, 0];
    append(&mut user, 4, b"behind\0");
    hooks::take(&mut users, message(HOOK, &user));
    assert_eq!(users.last().map(String::as_str), Some("behind"));
}

fn disciplines(bytes: &[u8]) {
    let mut all = Disciplines::default();
    let bytes = shape::messages(bytes, &DISCIPLINES);
    messages(&bytes, None, true).for_each(|message| all.take(message));
    // `struct tcmsg` of link 7; TCA_KIND.
    let mut discipline = vec![0; 20];
    discipline[4..8].copy_from_slice(&7_u32.to_ne_bytes());
    append(&mut discipline, 1, b"behind\0");
    all.take(message(libc::RTM_NEWQDISC, &discipline));
    let port = Watched {
        name: "p7".to_owned(),
        index: 7,
        is_port: true,
        own_at_tc: 0,
        passes_discipline: false,
    };
    let mut found = Vec::new();
    all.find(&[port], &mut found);
    let is_it = |finding: &Finding| finding.what.starts_with("queueing discipline behind ");
    assert!(found.iter().any(is_it), "{found:?}");
}
