use super::*;

/// As `nfnl_hook_dump_one` of `net/netfilter/nfnetlink_hook.c` writes it.
fn entry(function: &str, module: &str, chain: Option<u32>) -> Vec<u8> {
    let mut payload = vec![NFPROTO_IPV4, 0, 0, 0];
    for (kind, value) in [(FUNCTION, function), (MODULE, module)] {
        if !value.is_empty() {
            append(&mut payload, kind, format!("{value}\0").as_bytes());
        }
    }
    if let Some(chain) = chain {
        let mut inside = Vec::new();
        append(&mut inside, TYPE, &chain.to_be_bytes());
        append(&mut payload, CHAIN, &inside);
    }
    payload
}

#[test]
fn whoever_is_not_known_to_be_harmless_is_named() {
    let of = |function, module, chain| user(&entry(function, module, chain));
    assert_eq!(of("nft_do_chain_inet", "nf_tables", Some(1)), None);
    assert_eq!(of("ipv4_conntrack_in", "nf_conntrack", None), None);
    assert_eq!(of("selinux_ip_forward", "", None), None);
    let said = |text: &str| Some(text.to_owned());
    let vs = of("ip_vs_out_hook", "ip_vs", None);
    assert_eq!(vs, said("ip_vs_out_hook of module ip_vs"));
    assert_eq!(of("ipt_do_table", "", None), said("ipt_do_table"));
    // A BPF program: `NFNL_HOOK_TYPE_BPF`.
    assert_eq!(of("nf_hook_run_bpf", "", Some(2)), said("nf_hook_run_bpf"));
    assert_eq!(user(&[]), None);
}
