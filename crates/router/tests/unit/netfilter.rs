use host::netlink::append;

use super::*;

fn message(kind: u16, payload: &[u8]) -> Message<'_> {
    Message {
        kind,
        flags: 0,
        payload,
        dumped: false,
    }
}

/// As `nf_tables_fill_chain_info` of `net/netfilter/nf_tables_api.c` writes a base chain `t c`.
fn chain(family: u8, hook: u32, device: Option<(u16, &[u8])>) -> Vec<u8> {
    let mut payload = vec![family, 0, 0, 0];
    append(&mut payload, 1, b"t\0");
    append(&mut payload, 3, b"c\0");
    let mut inside = Vec::new();
    append(&mut inside, 1, &hook.to_be_bytes());
    if let Some((kind, name)) = device {
        let mut devices = Vec::new();
        append(&mut devices, kind, name);
        append(&mut inside, 4, &devices);
    }
    append(&mut payload, 4, &inside);
    payload
}

/// As `nf_tables_fill_rule_info` writes a rule in it.
fn rule_in(family: u8, handle: u64) -> Vec<u8> {
    let mut payload = vec![family, 0, 0, 0];
    append(&mut payload, 1, b"t\0");
    append(&mut payload, 2, b"c\0");
    append(&mut payload, 3, &handle.to_be_bytes());
    payload
}

fn found(rules: &Ruleset) -> Vec<(Scope, String)> {
    let mut found = Vec::new();
    rules.find(&mut found);
    found
        .into_iter()
        .map(|found| (found.scope, found.what))
        .collect()
}

#[test]
fn a_rule_counts_from_its_announcement_on_and_once() {
    let mut rules = Ruleset::default();
    assert!(rules.hear(message(NFT_MSG_NEWCHAIN, &chain(NFPROTO_INET, 2, None))));
    assert_eq!(found(&rules), []);
    for handle in [7, 8, 7] {
        assert!(rules.hear(message(NFT_MSG_NEWRULE, &rule_in(NFPROTO_INET, handle))));
    }
    let mut looked = Ruleset::default();
    looked.take(message(NFT_MSG_NEWCHAIN, &chain(NFPROTO_INET, 2, None)));
    looked.take(message(NFT_MSG_NEWRULE, &rule_in(NFPROTO_INET, 8)));
    let what = "nftables chain t c has 2 rules (nft list ruleset)".to_owned();
    assert_eq!(found(&rules), [(Scope::All, what)]);
    looked.join(rules);
    assert_eq!(found(&looked).len(), 1);
    assert!(found(&looked)[0].1.contains("2 rules"));
}

#[test]
fn a_chain_that_translates_counts_without_rules_and_at_any_hook() {
    const OUTPUT: u32 = 3;
    let mut payload = chain(NFPROTO_INET, OUTPUT, None);
    let mut rules = Ruleset::default();
    rules.take(message(NFT_MSG_NEWCHAIN, &payload));
    assert_eq!(found(&rules), []);
    append(&mut payload, 7, b"nat\0");
    rules.take(message(NFT_MSG_NEWCHAIN, &payload));
    let what = "nftables chain t c has 0 rules, type nat (nft list ruleset)".to_owned();
    assert_eq!(found(&rules), [(Scope::All, what)]);
}

#[test]
fn elements_of_sets_are_no_change() {
    const NEWSETELEM: u16 = NFNL_SUBSYS_NFTABLES | 0xC;
    let mut rules = Ruleset::default();
    assert!(!rules.hear(message(NEWSETELEM, &[1, 0, 0, 0])));
    assert!(rules.hear(message(NFT_MSG_DELRULE, &rule_in(NFPROTO_INET, 1))));
}

#[test]
fn a_chain_on_beginnings_of_names_concerns_every_port() {
    for (device, scope) in [
        ((NAME, &b"r0\0"[..]), Scope::Port("r0".to_owned())),
        // As Linux 6.16 writes `r*`, and as later ones do: `NFTA_DEVICE_PREFIX`.
        ((NAME, &b"r"[..]), Scope::All),
        ((2, &b"r\0"[..]), Scope::All),
    ] {
        let mut rules = Ruleset::default();
        let chain = chain(NFPROTO_NETDEV, 0, Some(device));
        rules.take(message(NFT_MSG_NEWCHAIN, &chain));
        rules.take(message(NFT_MSG_NEWRULE, &rule_in(NFPROTO_NETDEV, 1)));
        let scopes: Vec<Scope> = found(&rules).into_iter().map(|(scope, _)| scope).collect();
        assert_eq!(scopes, [scope]);
    }
}

#[test]
fn a_list_that_cannot_be_read_is_not_an_empty_one() {
    let directory = tempfile::tempdir().unwrap();
    let look = || {
        let mut found = Vec::new();
        unlisted(directory.path(), &mut found);
        found.sort();
        found
    };
    assert_eq!(look(), [], "nobody has ever had one");
    for name in ["ip_tables_names", "ip_vs"] {
        std::fs::create_dir(directory.path().join(name)).unwrap();
    }
    let unreadable = look();
    let scopes: Vec<&Scope> = unreadable.iter().map(|found| &found.scope).collect();
    assert_eq!(scopes, [&Scope::V4, &Scope::All]);
    assert!(
        unreadable
            .iter()
            .all(|found| found.what.contains("could not be read"))
    );
    for (name, content) in [
        ("ip_tables_names", ""),
        ("ip6_tables_names", "filter\nmangle\n"),
        (
            "ip_vs",
            "IP Virtual Server\nProt\n  -> Remote\nTCP 0A000001:0050 rr\n",
        ),
    ] {
        let path = directory.path().join(name);
        let _there = std::fs::remove_dir(&path);
        std::fs::write(path, content).unwrap();
    }
    let read: Vec<String> = look().into_iter().map(|found| found.what).collect();
    assert_eq!(
        read,
        [
            "legacy iptables tables are loaded: filter, mangle (ip6tables-legacy-save)",
            "IPVS has 1 services and servers (ipvsadm -Ln)",
        ]
    );
}
