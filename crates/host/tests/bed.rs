//! Beds carry packets, and go away.

use host::bed::{Bed, Plan, mac_text, side};
use host::offload::Offload;
use host::{namespace, process};

fn root() -> bool {
    needs::root("to make network namespaces")
}

#[test]
fn a_plan_without_root_says_so() {
    if !process::is_root() {
        let error = Bed::plan().namespace("x").lay().unwrap_err().to_string();
        assert!(error.contains("sudo"), "{error}");
    }
}

/// A host, a router, a network behind a second host that answers for it.
fn routed() -> Plan {
    Bed::plan()
        .forwarding("router")
        .queues(2)
        .mtu(1400)
        .cable(
            side("host", "e0")
                .address("10.0.0.2/24")
                .address("fd00::2/64"),
            side("router", "r0")
                .address("10.0.0.1/24")
                .address("fd00::1/64")
                .neighbour("10.0.0.9")
                .switch(Offload::GenericReceive, true),
        )
        .cable(
            side("far", "e0")
                .address("10.0.1.2/24")
                .link("alias far-end"),
            side("router", "r1")
                .address("10.0.1.1/24")
                .route("10.9.0.0/16", "10.0.1.2"),
        )
        .ip("host", "route replace default via 10.0.0.1")
        .ip("host", "route replace default via fd00::1")
        .ip("far", "route replace default via 10.0.1.1")
        .ip("far", "addr replace 10.9.0.1/32 dev lo")
}

fn answered(bed: &Bed, address: &str) -> bool {
    let mut ping = bed.namespace("host").unwrap().command("ping");
    let ping = ping.args(["-q", "-c1", "-W2", address]).output().unwrap();
    ping.status.success()
}

#[test]
fn packets_find_their_way_also_after_a_flap_and_all_goes_away() {
    if !root() {
        return;
    }
    let bed = routed().lay().unwrap();
    assert!(answered(&bed, "10.9.0.1") && answered(&bed, "fd00::1"));
    let router = bed.namespace("router").unwrap().clone();
    let shown = || router.ip("-d addr show").unwrap() + &router.ip("route show").unwrap();
    let before = shown();
    let [near, far] = [("host", "e0"), ("router", "r0")].map(|(a, b)| bed.end(a, b).unwrap());
    assert_eq!(bed.cables()[0].b.index, far.index);
    for part in [
        "numtxqueues 2",
        "mtu 1400",
        &mac_text(far.mac),
        "10.9.0.0/16",
    ] {
        assert!(before.contains(part), "{part} in {before}");
    }
    let neighbours = router.ip("neigh show 10.0.0.9").unwrap();
    let permanent = format!("{} PERMANENT", mac_text(near.mac));
    assert!(neighbours.contains(&permanent), "{neighbours}");
    let alias = bed.namespace("far").unwrap().ip("link show e0").unwrap();
    assert!(alias.contains("far-end"), "{alias}");
    assert!(bed.end("router", "zz").is_err() && bed.namespace("zz").is_err());

    bed.flap("router").unwrap();
    assert_eq!(shown().matches("10.9.0.0/16").count(), 1);
    assert!(answered(&bed, "10.9.0.1"));

    let end = near.clone();
    let names = ["host", "router", "far"].map(|name| bed.namespace(name).unwrap().name().into());
    drop((bed, router));
    let [host, others @ ..]: [String; 3] = names;
    let existing = namespace::existing();
    assert!(existing.contains(&host), "its end holds it");
    assert!(!others.iter().any(|name| existing.contains(name)));
    drop(end);
    assert!(!namespace::existing().contains(&host));
}

#[test]
fn cables_can_be_added_and_a_bed_that_fails_leaves_nothing() {
    if !root() {
        return;
    }
    let mut bed = Bed::plan().namespace("growing").lay().unwrap();
    let more = Bed::plan().cable(side("growing", "a0"), side("grown", "b0"));
    bed.add(&more).unwrap();
    bed.end("grown", "b0").unwrap();
    let again = bed.add(&more).unwrap_err().to_string();
    assert!(again.contains("link add name a0"), "{again}");

    let long = Bed::plan().cable(side("long", "a-very-long-interface"), side("long", "b"));
    let error = long.lay().unwrap_err().to_string();
    assert!(error.contains("15 characters"), "{error}");
    let wrong = Bed::plan().ip("wrong", "route replace nonsense").lay();
    let error = wrong.unwrap_err().to_string();
    assert!(error.contains("route replace nonsense"), "{error}");
    assert!(
        !namespace::existing()
            .iter()
            .any(|name| name.contains("wrong"))
    );
}
