//! What the kernel does to forwarded packets besides routing them is never gone past, unless
//! somebody says so.

use std::cell::Cell;
use std::net::UdpSocket;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use bpf::sys::{Hook, Instruction, link_create, program_load};

use super::lab::{Lab, is_root, ping, text, wait_for};

#[test]
fn rules_of_the_kernel_are_not_gone_past() {
    if !is_root() || !needs::program("nft") {
        return;
    }
    let lab = Lab::new();
    let nft = |words: &[&str]| {
        let output = lab.r.command("nft").args(words).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
    };
    let mut router = lab.run(&["r0", "r1"], &[]);
    wait_for("the first answer", 5, || lab.ping("10.1.0.2"));
    assert_eq!(router.state("r0"), "forwarding");
    nft(&["add", "table", "inet", "t"]);
    nft(&[
        "add",
        "chain",
        "inet",
        "t",
        "f",
        "{ type filter hook forward priority 0; }",
    ]);
    nft(&[
        "add",
        "rule",
        "inet",
        "t",
        "f",
        "icmp",
        "type",
        "echo-request",
        "drop",
    ]);
    wait_for("the rule to hold", 5, || !lab.ping("10.1.0.2"));
    assert_eq!(router.state("r0"), "kept by the kernel");
    assert!(router.log().contains("nftables chain t f has 1 rules"));
    nft(&["delete", "table", "inet", "t"]);
    wait_for("the ports to be taken over again", 5, || {
        router.state("r0") == "forwarding"
    });
    assert!(lab.ping("10.1.0.2"));
    nft(&["add", "table", "ip6", "t"]);
    nft(&[
        "add",
        "chain",
        "ip6",
        "t",
        "f",
        "{ type filter hook forward priority 0; policy drop; }",
    ]);
    wait_for("IPv6 to stop", 5, || !lab.ping("2001:db8:1::2"));
    assert!(
        lab.ping("10.1.0.2") && router.state("r0") == "forwarding",
        "IPv4 is not concerned"
    );
    drop(router);
    let bypassing = lab.run(&["r0", "r1"], &["--bypass-netfilter"]);
    lab.a
        .ip(format!(
            "-6 neigh replace 2001:db8:0::1 lladdr {} dev e0",
            mac(&lab, "r0")
        ))
        .unwrap();
    wait_for("IPv6 past the rule", 10, || {
        ping(&lab.r, "2001:db8:1::2", 1) && lab.ping("2001:db8:1::2")
    });
    drop(bypassing);
}

/// Translation goes on for connections that have begun, when the rule that began them is gone and
/// somebody else, here what this machine itself takes in, wants connections to be known.
#[test]
fn a_connection_is_translated_as_it_began() {
    if !is_root() || !needs::program("nft") {
        return;
    }
    let pass = |engine: Option<&str>| {
        let lab = Lab::new();
        let nft = |words: &str| {
            let output = lab.r.command("nft").arg(words).output().unwrap();
            assert!(output.status.success(), "{}", text(&output));
        };
        let router = engine.map(|engine| lab.run(&["r0", "r1"], &["--engine", engine]));
        wait_for("b", 5, || lab.ping("10.1.0.2"));
        nft("add table ip n; add chain ip n p { type nat hook postrouting priority 100; }");
        nft("add rule ip n p masquerade");
        nft("add chain ip n i { type filter hook input priority 0; }");
        nft("add rule ip n i ct state established accept");
        let socket = |place: &host::Namespace, address: &str| {
            let socket = place.enter(|| UdpSocket::bind((address, 4000))).unwrap();
            socket.unwrap()
        };
        let (from, to) = (socket(&lab.a, "10.0.0.2"), socket(&lab.b, "10.1.0.2"));
        to.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let source = || {
            from.send_to(b"#corelane", "10.1.0.2:4000").unwrap();
            to.recv_from(&mut [0; 20]).unwrap().1.ip().to_string()
        };
        let left = || {
            router
                .iter()
                .flat_map(|router| router.left_to_kernel())
                .next()
        };
        if router.is_some() {
            wait_for("the rule", 5, || left().is_some());
        }
        let before = source();
        nft("flush chain ip n p");
        // Whatever is no longer there would be heard of.
        std::thread::sleep(Duration::from_millis(500));
        (before, source(), left())
    };
    let (before, after, _) = pass(None);
    assert_eq!([before, after], ["10.1.0.1"; 2], "the kernel alone");
    // Engines that leave unfinished sums to the kernel would forward none of it in any case.
    let (before, after, left) = pass(Some("tc"));
    assert_eq!([before, after], ["10.1.0.1"; 2], "{left:?}");
}

fn mac(lab: &Lab, interface: &str) -> String {
    let path = format!("/sys/class/net/{interface}/address");
    text(&lab.r.command("cat").arg(path).output().unwrap())
        .trim()
        .to_owned()
}

/// Something that the kernel does to forwarded packets.
struct Treatment {
    /// How it is set up, and taken away again.
    set: &'static str,
    unset: &'static str,
    /// What the router says about it.
    said: &'static str,
}

const TREATMENTS: [Treatment; 10] = [
    Treatment {
        set: "nft add table inet e; \
              nft add chain inet e p '{ type nat hook output priority 100; }'",
        unset: "nft delete table inet e",
        said: "nftables chain e p has 0 rules, type nat",
    },
    Treatment {
        set: "nft add table ip n; nft add chain ip n p '{ type nat hook postrouting priority 100; \
              }'; nft add rule ip n p masquerade",
        unset: "nft delete table ip n",
        said: "nftables chain n p has 1 rules",
    },
    Treatment {
        set: "ip xfrm policy add dir fwd src 10.0.0.0/24 dst 10.8.0.0/24",
        unset: "ip xfrm policy flush",
        said: "IPsec policies",
    },
    Treatment {
        set: "ip xfrm policy setdefault fwd block",
        unset: "ip xfrm policy setdefault fwd accept",
        said: "IPsec blocks what has no policy",
    },
    Treatment {
        set: "tc qdisc add dev r1 root tbf rate 100mbit burst 32kbit latency 50ms",
        unset: "tc qdisc del dev r1 root",
        said: "queueing discipline tbf",
    },
    Treatment {
        set: "tc qdisc add dev r0 clsact; \
              tc filter add dev r0 ingress protocol ip u32 match ip src 10.9.0.0/16 classid 1:1",
        unset: "tc qdisc del dev r0 clsact",
        said: "tc filter u32 (tc filter show dev r0)",
    },
    Treatment {
        set: "tc qdisc add dev r1 ingress_block 7 clsact; \
              tc filter add block 7 protocol ip u32 match ip src 10.9.0.0/16 classid 1:1",
        unset: "tc qdisc del dev r1 clsact",
        said: "tc filter u32 (tc filter show dev r1)",
    },
    Treatment {
        set: "ip rule add from 10.9.0.0/16 lookup 100",
        unset: "ip rule del from 10.9.0.0/16 lookup 100",
        said: "policy rule",
    },
    Treatment {
        set: "ip rule add pref 32800 lookup main; ip rule del pref 32766",
        unset: "ip rule add pref 32766 lookup main; ip rule del pref 32800",
        said: "in another order",
    },
    Treatment {
        set: "sysctl -qw net.ipv6.conf.all.forwarding=0",
        unset: "sysctl -qw net.ipv6.conf.all.forwarding=1",
        said: "IPv6 forwarding is off",
    },
];

#[test]
fn what_the_kernel_does_besides_routing_is_left_to_it_and_said() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let shell = |line: &str| {
        let output = lab.r.command("sh").args(["-ec", line]).output().unwrap();
        output.status.success()
    };
    // At tc the disciplines are not gone past.
    let mut router = lab.run(&["r0", "r1"], &["--engine", "xdp"]);
    assert_eq!(router.left_to_kernel(), [""; 0]);
    let mut there = Vec::new();
    for treatment in &TREATMENTS {
        if shell(treatment.set) {
            there.push(treatment);
        } else {
            needs::skipped!("this machine does not do `{}`", treatment.set);
            shell(treatment.unset);
        }
    }
    assert!(!there.is_empty());
    let said = |router: &super::lab::Router, treatment: &Treatment| {
        let reasons = router.left_to_kernel();
        reasons.iter().any(|reason| reason.contains(treatment.said))
    };
    for treatment in &there {
        wait_for(treatment.said, 6, || said(&router, treatment));
        assert!(router.log().contains("event=left-to-kernel"));
    }
    println!("{:#?}", router.left_to_kernel());
    let before = router.forwarded();
    lab.ping("10.1.0.2");
    assert_eq!(router.forwarded(), before, "every port is the kernel's");
    drop(router);
    // Those who say that they mean it get what they asked for, and a list of what is gone past;
    // what is switched off stays off.
    // Each option goes past what it names, and past nothing else.
    let options = [
        "--bypass-netfilter",
        "--bypass-ipsec",
        "--bypass-policy-rules",
        "--bypass-tc",
    ];
    for one in options {
        let others = options.into_iter().filter(|other| *other != one);
        let others: Vec<&str> = ["--engine", "xdp"].into_iter().chain(others).collect();
        let mut router = lab.run(&["r0", "r1"], &others);
        wait_for("what is left", 5, || {
            router.log().contains("event=left-to-kernel")
        });
        let remedy = format!("remove it, or {one}");
        let log = router.log();
        let left = |line: &&str| line.contains("event=left-to-kernel") && !line.contains("setting");
        assert!(
            log.lines().filter(left).all(|line| line.contains(&remedy)),
            "{log}"
        );
    }
    let all: Vec<&str> = ["--engine", "xdp"].into_iter().chain(options).collect();
    let mut bypassing = lab.run(&["r0", "r1"], &all);
    assert_eq!(bypassing.state("r0"), "forwarding");
    wait_for("the list", 5, || {
        bypassing.log().matches("event=bypass").count() >= there.len() - 1
    });
    for treatment in &there {
        assert!(shell(treatment.unset), "{}", treatment.unset);
    }
    drop(bypassing);
    let router = lab.run(&["r0", "r1"], &[]);
    assert_eq!(router.left_to_kernel(), [""; 0], "all of it is gone");
    lab.wait_for_fast_path(&router, &["10.1.0.2"]);
}

/// How soon each counts, in the best three of seven times: other tests may have the cores.
#[test]
fn a_treatment_counts_within_a_fifth_of_a_second() {
    if !is_root() || !needs::program("nft") {
        return;
    }
    let lab = Lab::new();
    let router = lab.run(&["r0", "r1"], &["--engine", "xdp"]);
    let shell = |line: &str| lab.r.command("sh").args(["-ec", line]).output().unwrap();
    let counts = |said: &str| {
        let began = Instant::now();
        let there = || {
            router
                .left_to_kernel()
                .iter()
                .any(|left| left.contains(said))
        };
        wait_for(said, 10, there);
        began.elapsed()
    };
    let prompt = |said: &str, set: &mut dyn FnMut(), unset: &mut dyn FnMut()| {
        let mut took = Vec::new();
        for _ in 0..7 {
            set();
            took.push(counts(said));
            unset();
            wait_for("nothing to be left", 10, || {
                router.left_to_kernel().is_empty()
            });
        }
        took.sort();
        println!("{said}: {took:?}");
        assert!(took[2] <= Duration::from_millis(200), "{said}: {took:?}");
    };
    for treatment in &TREATMENTS {
        let run = |line: &str| {
            let done = shell(line).status.success();
            assert!(done, "{line}");
        };
        let mut set = || run(treatment.set);
        let mut unset = || run(treatment.unset);
        prompt(treatment.said, &mut set, &mut unset);
    }
    // Nobody announces these.
    let program = Cell::new(None);
    prompt(
        "1 BPF programs at tc",
        &mut || program.set(Some(lab.r.enter(pass_on_at_tc).unwrap())),
        &mut || program.set(None),
    );
}

/// Another's program at tc of `r0`, which passes everything on.
fn pass_on_at_tc() -> OwnedFd {
    // TCX_NEXT.
    let program = [(0xb7, -1), (0x95, 0)].map(|(code, immediate)| Instruction {
        code,
        registers: 0,
        offset: 0,
        immediate,
    });
    let loaded = program_load(Hook::Tc, "next", &program, "MIT", 0, 0, &mut []).unwrap();
    let index = bpf::attach::index_of("r0").unwrap();
    link_create(Hook::Tc, loaded.as_fd(), index, 0).unwrap()
}

/// What leaves by tc passes the discipline of its port; nobody goes past what is in front of the
/// program.
#[test]
fn at_tc_frames_pass_disciplines_and_programs_in_front_keep_their_port() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let tc = |words: &str| {
        let output = lab.r.command("tc").args(words.split(' ')).output().unwrap();
        assert!(output.status.success(), "{words}: {}", text(&output));
        text(&output)
    };
    let router = lab.run(&["r0", "r1"], &["--engine", "tc"]);
    lab.wait_for_fast_path(&router, &["10.1.0.2"]);
    tc("qdisc add dev r1 root tbf rate 100mbit burst 32kbit latency 50ms");
    let another = lab.r.enter(pass_on_at_tc).unwrap();
    let left = |router: &super::lab::Router| router.left_to_kernel().join(" ");
    wait_for("the program", 6, || {
        left(&router).contains("1 BPF programs at tc")
    });
    assert!(!left(&router).contains("tbf"), "{}", left(&router));
    drop(another);
    wait_for("nothing to be left", 6, || left(&router).is_empty());
    lab.wait_for_fast_path(&router, &["10.1.0.2"]);
    let before = router.forwarded();
    assert!(ping(&lab.a, "10.1.0.2", 20));
    assert!(router.forwarded() - before >= 40);
    let shown = tc("-s -j qdisc show dev r1");
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert!(shown[0]["packets"].as_u64().unwrap() >= 20, "{shown}");
}
