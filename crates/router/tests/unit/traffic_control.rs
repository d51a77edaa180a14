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

/// A `struct tcmsg` with its kind, and with the number of a shared block where frames come in.
fn said(index: u32, handle: u32, parent: u32, kind: &str, block: Option<u32>) -> Vec<u8> {
    let mut payload = vec![0; 20];
    for (at, value) in [(4, index), (8, handle), (12, parent)] {
        payload[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }
    append(&mut payload, TCA_KIND, format!("{kind}\0").as_bytes());
    if let Some(block) = block {
        append(&mut payload, TCA_INGRESS_BLOCK, &block.to_ne_bytes());
    }
    payload
}

/// 8 is a VLAN sub-interface, whose discipline nobody passes.
fn link(index: u32, passes_discipline: bool) -> Watched {
    let is_port = index != 8;
    Watched {
        name: format!("p{index}"),
        index,
        is_port,
        own_at_tc: 0,
        passes_discipline: is_port && passes_discipline,
    }
}

fn found(all: &Disciplines, passes_discipline: bool) -> Vec<String> {
    let mut found = Vec::new();
    let links = [7, 8].map(|index| link(index, passes_discipline));
    all.find(&links, &mut found);
    found.into_iter().map(|found| found.what).collect()
}

#[test]
fn disciplines_and_filters_count_from_their_announcement_on() {
    let mut all = Disciplines::default();
    let mut hear = |kind, payload: Vec<u8>| all.hear(message(kind, &payload));
    assert!(hear(
        libc::RTM_NEWQDISC,
        said(7, 0, u32::MAX, "fq_codel", None)
    ));
    assert!(hear(
        libc::RTM_NEWQDISC,
        said(7, 0, INGRESS, "clsact", None)
    ));
    assert!(hear(libc::RTM_NEWQDISC, said(9, 1, u32::MAX, "tbf", None)));
    assert!(hear(libc::RTM_DELTFILTER, said(9, 1, INGRESS, "bpf", None)));
    assert!(!hear(libc::RTM_NEWTCLASS, said(9, 1, 0, "htb", None)));
    assert_eq!(found(&all, false), [""; 0]);
    let mut hear = |kind, payload: Vec<u8>| all.hear(message(kind, &payload));
    hear(libc::RTM_NEWQDISC, said(8, 1, u32::MAX, "tbf", None));
    hear(libc::RTM_NEWTFILTER, said(7, 1, INGRESS, "bpf", None));
    // The head of a list of programs may be all that there is of it.
    hear(libc::RTM_NEWTFILTER, said(8, 0, INGRESS, "bpf", None));
    // On the discipline of a port: only who goes past the discipline goes past it.
    hear(libc::RTM_NEWTFILTER, said(7, 0, 0x10000, "u32", None));
    let filter = |kind: &str| format!("tc filter {kind} (tc filter show dev p7)");
    let shaper = "queueing discipline tbf (tc qdisc show dev p8)".to_owned();
    let all_found = [filter("u32"), filter("bpf"), shaper.clone()];
    assert_eq!(found(&all, false), all_found);
    assert_eq!(found(&all, true), [filter("bpf"), shaper]);
}

#[test]
fn filters_of_a_shared_block_count_on_all_its_links() {
    let mut all = Disciplines::default();
    // Dumped before, without filters: 7 and 9 share block 3.
    for index in [7, 9] {
        all.take(message(
            libc::RTM_NEWQDISC,
            &said(index, 0, INGRESS, "clsact", Some(3)),
        ));
    }
    all.hear(message(
        libc::RTM_NEWTFILTER,
        &said(SHARED_BLOCK, 1, 4, "bpf", None),
    ));
    assert_eq!(found(&all, false), [""; 0], "of another block");
    all.hear(message(
        libc::RTM_NEWTFILTER,
        &said(SHARED_BLOCK, 1, 3, "bpf", None),
    ));
    assert_eq!(
        found(&all, false),
        ["tc filter bpf (tc filter show dev p7)"]
    );
    // Whoever joins a block may have its filters from now on.
    all.hear(message(
        libc::RTM_NEWQDISC,
        &said(8, 0, INGRESS, "clsact", Some(5)),
    ));
    assert_eq!(found(&all, true).len(), 2);
}

#[test]
fn our_own_program_counts_where_it_is_another_process_s() {
    let (options, name) = (2, 7);
    let mut payload = said(7, 1, INGRESS, "bpf", None);
    let mut inside = Vec::new();
    append(&mut inside, name, b"corelane segment\0");
    append(&mut payload, options, &inside);
    let mut all = Disciplines::default();
    all.hear(message(libc::RTM_NEWTFILTER, &payload));
    let found = |own_at_tc| {
        let link = Watched {
            own_at_tc,
            ..link(7, true)
        };
        let mut found = Vec::new();
        all.find(&[link], &mut found);
        found.len()
    };
    assert_eq!((found(0), found(1)), (1, 0));
}
