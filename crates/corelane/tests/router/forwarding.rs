//! What a user sees first: ping, traceroute, path MTU, TCP with offloads on, tables, tags,
//! neighbours.

use host::namespace::OnFailure;

use super::lab::{Lab, is_root, ping, text, wait_for};

#[test]
fn packets_take_the_fast_path_and_the_kernel_answers_the_rest() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let router = lab.run(&["r0", "r1"], &["--require", "native"]);
    assert!(
        router.ready.contains("r0=native r1=native"),
        "{}",
        router.ready
    );
    for address in ["10.1.0.2", "2001:db8:1::2"] {
        // The first packets resolve the neighbours by the kernel; the rest goes past it.
        lab.wait_for_fast_path(&router, &[address]);
        let before = router.forwarded();
        assert!(ping(&lab.a, address, 20));
        let after = router.forwarded();
        assert!(
            after - before >= 40,
            "{address}: {} of 40 went by the fast path",
            after - before
        );
    }
    assert!(
        lab.ping("10.0.0.1") && lab.ping("10.1.0.1"),
        "the router's own addresses answer"
    );
    if needs::program("traceroute") {
        for (address, hop) in [("10.1.0.2", "10.0.0.1"), ("2001:db8:1::2", "2001:db8::1")] {
            let output = lab
                .a
                .command("traceroute")
                .args(["-n", "-q1", "-w1", address])
                .output()
                .unwrap();
            let printed = text(&output);
            assert!(
                printed.contains(&format!(" 1  {hop}"))
                    && printed.contains(&format!(" 2  {address}")),
                "{printed}"
            );
        }
    }
    assert!(router.reason("ipv4-time-to-live") > 0);
    assert_eq!(router.verify()["different"], 0);
    let sum = |row: &serde_json::Value, key: &str| row[key].as_u64().unwrap();
    for core in router.show("workers").as_array().unwrap() {
        let parts = sum(core, "forwarded") + sum(core, "to_kernel") + sum(core, "dropped");
        assert_eq!(
            sum(core, "received"),
            parts,
            "every frame has one fate: {core}"
        );
    }
}

#[test]
fn a_path_mtu_is_discovered_through_it() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    lab.r.ip("link set r1 mtu 1300").unwrap();
    let router = lab.run(&["r0", "r1"], &[]);
    lab.wait_for_fast_path(&router, &["10.1.0.2", "2001:db8:1::2"]);
    let large = lab
        .a
        .command("ping")
        .args(["-M", "do", "-c1", "-W1", "-s", "1400", "10.1.0.2"])
        .output()
        .unwrap();
    assert!(
        text(&large).contains("mtu = 1300") || text(&large).contains("mtu=1300"),
        "{}",
        text(&large)
    );
    lab.a
        .command("ping")
        .args([
            "-M",
            "do",
            "-c2",
            "-i0.1",
            "-W1",
            "-s",
            "1400",
            "2001:db8:1::2",
        ])
        .output()
        .unwrap();
    let learned = lab.a.ip("-6 route get 2001:db8:1::2").unwrap();
    assert!(learned.contains("mtu 1300"), "{learned}");
    assert!(router.reason("too-big") >= 2);
}

#[test]
fn tcp_works_with_every_offload_on() {
    if !is_root() || !needs::program("iperf3") {
        return;
    }
    let lab = Lab::new();
    let router = lab.run(&["r0", "r1"], &[]);
    lab.wait_for_fast_path(&router, &["10.1.0.2", "2001:db8:1::2"]);
    for address in ["10.1.0.2", "2001:db8:1::2"] {
        lab.tcp(address);
    }
    assert_eq!(router.verify()["different"], 0);
}

/// Before Linux 6.3 nobody can say whether a veth takes redirected frames, so none of a native
/// program go there; in generic mode any device takes them. Before 6.8 nobody can say what tags the
/// frames of a veth had.
pub(crate) fn mode() -> &'static [&'static str] {
    let uname = rustix::system::uname();
    let release = uname.release().to_string_lossy().into_owned();
    let mut numbers = release
        .split(['.', '-'])
        .map_while(|number| number.parse::<u32>().ok());
    let version = (numbers.next().unwrap(), numbers.next().unwrap());
    if version < (6, 3) {
        &["--require", "generic", "--bypass-vlan-offload"]
    } else {
        &["--bypass-vlan-offload"]
    }
}

#[test]
fn a_vrf_has_routes_of_its_own() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    if lab.r.ip("link add blue type vrf table 10").is_err() {
        needs::skipped!("this kernel has no VRF devices");
        return;
    }
    let lines = "link set blue up\nlink set r0 master blue\nlink set r1 master blue\n";
    lab.r.batch(lines, OnFailure::Stop).unwrap();
    let router = lab.run(&["r0", "r1"], mode());
    lab.wait_for_fast_path(&router, &["10.1.0.2"]);
    let before = router.forwarded();
    assert!(ping(&lab.a, "10.1.0.2", 10));
    assert!(router.forwarded() - before >= 20);
    let tables = router.show("tables");
    let blue = tables
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["vrf"] == "blue");
    let blue = blue.unwrap_or_else(|| panic!("{tables:#}"));
    assert!(
        blue["table"] == 10 && blue["forwarded"].as_u64() >= Some(20),
        "{blue}"
    );
    assert_eq!(router.verify()["different"], 0);
}

#[test]
fn a_vlan_is_tagged_on_its_way_out_and_in() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    if lab
        .r
        .ip("link add link r1 name r1.30 type vlan id 30")
        .is_err()
    {
        needs::skipped!("this kernel has no VLAN devices");
        return;
    }
    let lines = "addr add 10.30.0.1/24 dev r1.30\nlink set r1.30 up\n";
    lab.r.batch(lines, OnFailure::Stop).unwrap();
    // Without the route b answers by its default route, without a tag.
    let lines = "link add link e1 name e1.30 type vlan id 30\naddr add 10.30.0.2/24 dev e1.30\n\
                 link set e1.30 up\nroute add 10.0.0.0/24 via 10.30.0.1\n";
    lab.b.batch(lines, OnFailure::Stop).unwrap();
    // Tags stay in frames, where every kernel shows them to a program.
    let mut ethtool = lab.b.command("ethtool");
    let status = ethtool.args(["-K", "e1", "txvlan", "off"]).status();
    assert!(status.unwrap().success());
    // What comes by r1 without a tag is not forwarded, so the way back counts only with one. A port
    // that does not forward would believe redirects, which leaves all IPv4 to the kernel.
    for (setting, value) in [
        ("r1.forwarding", "0"),
        ("all.accept_redirects", "0"),
        ("r1.accept_redirects", "0"),
    ] {
        lab.r
            .set(&format!("net.ipv4.conf.{setting}"), value)
            .unwrap();
    }
    let kernel = || wait_for("the kernel", 5, || lab.ping("10.30.0.2"));
    kernel();
    let symbols = std::fs::read_to_string("/proc/kallsyms").unwrap();
    if !symbols.contains(" bpf_xdp_metadata_rx_vlan_tag") {
        // At tc the tag lies beside the frame, where every kernel shows it.
        let router = lab.run(&["r0", "r1"], &["--engine", "xdp"]);
        assert_eq!(router.state("r1"), "kept by the kernel");
        let why = router.left_to_kernel();
        assert!(why.iter().any(|why| why.contains("txvlan off")), "{why:?}");
        kernel();
        assert_eq!(router.forwarded(), 0);
    }
    let router = lab.run(&["r0", "r1"], mode());
    lab.wait_for_fast_path(&router, &["10.30.0.2"]);
    let before = router.forwarded();
    assert!(ping(&lab.a, "10.30.0.2", 10));
    assert!(router.forwarded() - before >= 20);
    let vlans = router.show("vlans");
    let row = &vlans[0];
    assert!(
        row["link"] == "r1.30" && row["port"] == "r1" && row["vlan"] == 30,
        "{vlans:#}"
    );
    assert!(row["received"].as_u64() >= Some(10) && row["forwarded"].as_u64() >= Some(10));
}

#[test]
fn neighbours_in_use_are_kept_alive() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    // An entry is good for at most 0.75 s. The delay before a probe must be shorter than that: a
    // kernel that would have used the entry within it confirms it over and over by itself, and
    // nothing is left to be kept alive.
    for (setting, value) in [
        ("delay_first_probe_time", "0"),
        ("base_reachable_time_ms", "500"),
    ] {
        lab.r
            .set(&format!("net.ipv4.neigh.r1.{setting}"), value)
            .unwrap();
    }
    let router = lab.run(&["r0", "r1"], &[]);
    lab.wait_for_fast_path(&router, &["10.1.0.2"]);
    let state = || lab.r.ip("neigh show 10.1.0.2").unwrap();
    let refreshed = || {
        let engine = router.show("engine");
        engine["neighbours_refreshed"].as_u64().unwrap()
    };
    // From here on nothing passes the kernel: without us the entry would stay stale until it is
    // thrown away.
    wait_for("the entry to grow stale", 5, || {
        assert!(ping(&lab.a, "10.1.0.2", 5));
        state().contains("STALE")
    });
    // Stale entries in use are looked for every 5 s, so it takes 5 s and what a busy machine adds.
    let before = refreshed();
    wait_for("a refresh", 12, || {
        assert!(ping(&lab.a, "10.1.0.2", 5));
        refreshed() > before
    });
    wait_for("the kernel's own answer to it", 5, || {
        state().contains("REACHABLE") || refreshed() > before + 1
    });
    assert!(!state().contains("FAILED"), "{}", state());
}
