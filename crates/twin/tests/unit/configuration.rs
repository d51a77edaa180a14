//! Of `twin/src/configuration/mod.rs`.

use super::*;

const MARKS: [Mark; 4] = [Mark::Rules, Mark::Vrfs, Mark::Tables, Mark::None];

#[test]
fn a_seed_gives_the_same_configuration_and_every_kind_is_drawn() {
    let all = |seed| {
        let mut dice = Dice::new(seed);
        let drawn: Vec<String> = (0..300)
            .flat_map(|place: usize| draw(&mut dice, MARKS[place % 4], true))
            .collect();
        drawn.join("\n")
    };
    assert_eq!(all(3), all(3));
    let text = all(4);
    for word in [
        "blackhole",
        "throw",
        "nhid",
        "nexthop via",
        "group",
        "inet6",
        "onlink",
        "metric",
        "mtu",
        "nud permanent",
        "rp_filter=1",
        "disable_ipv6=1",
        "bc_forwarding",
        "vlan",
        "master red",
        "iptables-legacy",
        "nft add rule",
        "ip rule",
        "ip xfrm",
        "tc qdisc",
        "_block 7",
        "action mirred",
        "tcx r",
        "restart",
        " del ",
    ] {
        assert!(text.contains(word), "{word}");
    }
}

#[test]
fn nothing_is_drawn_that_treats_one_of_several_ways_alone() {
    let mut dice = Dice::new(5);
    for _ in 0..2000 {
        let lines = draw(&mut dice, Mark::None, false);
        if !lines.iter().any(|line| line.contains(" nexthop via")) {
            continue;
        }
        let treats = |line: &&String| {
            ["nft ", "tc ", "ip xfrm "]
                .iter()
                .any(|tool| line.starts_with(tool))
        };
        for line in lines.iter().filter(treats) {
            let twin = line.replace(" r1", " r2");
            let alike = line.starts_with("tc") && lines.contains(&twin);
            let answers = ["dev r0 ", "block 7"]
                .iter()
                .any(|place| line.contains(place));
            assert!(alike || answers || !line.contains(" r1"), "{line}");
            assert!(
                !line.contains("hook input") || line.contains(" arp "),
                "{line}"
            );
        }
    }
}

#[test]
fn no_port_hears_the_link_local_address_of_another_ports_host() {
    let mut dice = Dice::new(6);
    let mut heard = 0;
    for _ in 0..5000 {
        for line in draw(&mut dice, Mark::None, false) {
            if line.contains("mirred ingress") {
                heard += 1;
                assert!(!line.contains("\"1,6 0 0 4294967295\""), "{line}");
            }
        }
    }
    assert!(heard > 10, "{heard}");
}
