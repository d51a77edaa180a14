//! More than there is room for, and ports that fail: the process lives, the kernel carries what we
//! do not, and it is ours again when room or port are back.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

use host::Namespace;

use super::held;
use super::lab::{Lab, Router, is_root, ping, text, wait_for};

/// Many lines for `ip`, all of which must be right.
fn batch(place: &Namespace, lines: &str) {
    let mut ip = place.command("ip");
    let mut child = ip
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(lines.as_bytes()).unwrap();
    drop(input);
    assert!(child.wait().unwrap().success());
}

/// One line for each number.
fn lines(numbers: std::ops::Range<u32>, line: impl Fn(u32) -> String) -> String {
    numbers.fold(String::new(), |mut lines, number| {
        writeln!(lines, "{}", line(number)).unwrap();
        lines
    })
}

/// Ports r0, r1, r2; host b is behind r1 and r2, and has 192.168.0.0/16.
fn lab() -> Lab {
    let mut lab = Lab::new();
    lab.link("b", 2);
    lab.b.ip("route add local 192.168.0.0/16 dev lo").unwrap();
    lab
}

fn not_carried(router: &Router, what: &str) -> u64 {
    router.show("engine")["not_carried"][what].as_u64().unwrap()
}

/// The lines of the log about an event, none of which is long.
fn said(router: &mut Router, event: &str) -> usize {
    let log = router.log();
    assert!(log.lines().all(|line| line.len() <= 300), "{log}");
    log.matches(&format!("event={event}")).count()
}

#[test]
fn ten_thousand_groups_with_weights_are_carried_as_far_as_there_is_room() {
    const GROUPS: u32 = 10_000;
    if !is_root() {
        return;
    }
    let lab = lab();
    let mut router = lab.run(&["r0", "r1", "r2"], &[]);
    let address = |number: u32| format!("192.168.{}.{}", number >> 8, number & 255);
    let groups = lines(0..GROUPS, |number| {
        format!("nexthop add id {} group 1,200/2,199", 1000 + number)
    });
    let hops = "nexthop add id 1 via 10.1.0.2 dev r1\nnexthop add id 2 via 10.2.0.2 dev r2\n";
    batch(&lab.r, &format!("{hops}{groups}"));
    wait_for("all groups", 10, || {
        router.show("routes 0")["objects"] == GROUPS + 2
    });
    assert_eq!(not_carried(&router, "groups"), 0, "nobody uses them");
    let route = |number| format!("{}/32 nhid {}", address(number), 1000 + number);
    batch(
        &lab.r,
        &lines(0..GROUPS, |number| format!("route add {}", route(number))),
    );
    wait_for("groups without room", 10, || {
        not_carried(&router, "groups") == u64::from(GROUPS) - 1024
    });
    for number in [0, GROUPS - 1] {
        wait_for("an answer", 5, || lab.ping(&address(number)));
    }
    assert_eq!(router.verify()["different"], 0);
    assert_eq!(said(&mut router, "not-carried"), 1);
    let most = lines(0..GROUPS - 500, |number| {
        format!("route del {}", route(number))
    });
    batch(&lab.r, &most);
    wait_for("room", 30, || not_carried(&router, "groups") == 0);
    lab.wait_for_fast_path(&router, &[&address(GROUPS - 1)]);
    assert_eq!(router.verify()["different"], 0);
    assert_eq!(said(&mut router, "carried-again"), 1);
    assert!(!router.ended());
}

#[test]
fn seventy_thousand_next_hops_are_carried_as_far_as_there_are_numbers() {
    const OBJECTS: u32 = 70_000;
    if !is_root() {
        return;
    }
    let lab = lab();
    let mut router = lab.run(&["r0", "r1", "r2"], &[]);
    lab.wait_for_fast_path(&router, &["10.1.0.2", "10.2.0.2"]);
    batch(
        &lab.r,
        &lines(1..OBJECTS + 1, |number| {
            format!("nexthop add id {number} via 10.1.0.2 dev r1")
        }),
    );
    wait_for("those without a number", 10, || {
        router.show("routes 0")["objects"] == OBJECTS && not_carried(&router, "next-hops") > 4000
    });
    // The shorter prefix has another way out, which must not be taken.
    lab.r.ip("route add 192.168.0.0/16 via 10.2.0.2").unwrap();
    lab.r
        .ip(format!("route add 192.168.9.0/24 nhid {OBJECTS}"))
        .unwrap();
    let kind = |router: &Router| {
        let answer = router.show("routes 192.168.9.1");
        answer["answers"][0]["entries"][0]["kind"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    wait_for("the route", 5, || kind(&router) == "punt");
    assert!(lab.ping("192.168.9.1"), "the kernel carries it");
    assert_eq!(router.verify()["different"], 0);
    assert_eq!(said(&mut router, "not-carried"), 1);
    batch(
        &lab.r,
        &lines(1..6000, |number| format!("nexthop del id {number}")),
    );
    wait_for("a number", 15, || kind(&router) == "adjacency");
    lab.wait_for_fast_path(&router, &["192.168.9.1"]);
    wait_for("numbers for all", 15, || {
        not_carried(&router, "next-hops") == 0
    });
    assert_eq!(router.verify()["different"], 0);
    assert!(!router.ended());
}

#[test]
fn a_family_of_too_many_routes_is_the_kernels_until_they_are_fewer() {
    const ROUTES: u32 = 33_000;
    if !is_root() {
        return;
    }
    let lab = lab();
    // A quarter of the room that there is unless told.
    let file = lab.path("router.toml");
    std::fs::write(
        &file,
        "ports = [\"r0\", \"r1\", \"r2\"]\nmetrics = \"\"\ntable-words = 524288\n",
    )
    .unwrap();
    let mut router = lab.run_words(&["run".to_owned(), file.to_str().unwrap().to_owned()]);
    // Each far from all others: nodes of its own.
    let route = |number: u32| {
        let bits = u64::from(number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 4;
        let address = std::net::Ipv6Addr::from(u128::from(bits | 1 << 61) << 64);
        format!("{address}/64 via 2001:db8:1::2")
    };
    batch(
        &lab.r,
        &lines(0..ROUTES, |number| format!("route add {}", route(number))),
    );
    wait_for("too many", 10, || not_carried(&router, "tables") == 1);
    wait_for("IPv6 by the kernel", 5, || lab.ping("2001:db8:1::2"));
    lab.wait_for_fast_path(&router, &["10.1.0.2", "10.2.0.2"]);
    assert_eq!(router.verify()["different"], 0);
    assert_eq!(said(&mut router, "not-carried"), 1);
    let most = lines(10..ROUTES, |number| format!("route del {}", route(number)));
    batch(&lab.r, &most);
    wait_for("room", 30, || not_carried(&router, "tables") == 0);
    lab.wait_for_fast_path(&router, &["2001:db8:1::2", "10.1.0.2"]);
    assert_eq!(router.verify()["different"], 0);
    assert!(!router.ended());
}

#[test]
fn a_port_that_flaps_ends_nothing_and_disturbs_no_other() {
    if !is_root() {
        return;
    }
    let mut lab = lab();
    // Workers are started again each time, which takes its time.
    for (engine, flaps) in [("xdp", 50), ("af-xdp", 10)] {
        let mut router = lab.run(&["r0", "r1", "r2"], &["--engine", engine]);
        lab.wait_for_fast_path(&router, &["10.1.0.2"]);
        let traffic = lab
            .a
            .command("ping")
            .args([
                "-q", "-n", "-i", "0.01", "-W", "10", "-c", "200", "10.1.0.2",
            ])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        lab.r.ip("link del r2").unwrap();
        for _ in 0..flaps {
            // What is done in between depends on how far the router has come.
            let flap = "link add r2 type veth peer name p2\nlink set r2 up\nlink del r2\n";
            batch(&lab.r, flap);
        }
        let printed = text(&traffic.wait_with_output().unwrap());
        assert!(!router.ended(), "{engine}: {}", router.log());
        if engine == "xdp" {
            assert!(printed.contains(" 0% packet loss"), "{printed}");
        }
        lab.link("b", 2);
        wait_for("the port to forward again", 10, || {
            router.state("r2") == "forwarding" && lab.ping("10.2.0.2")
        });
        lab.wait_for_fast_path(&router, &["10.1.0.2", "10.2.0.2"]);
        said(&mut router, "engine");
    }
}

#[test]
fn a_port_that_another_program_holds_is_tried_again_until_it_is_free() {
    if !is_root() {
        return;
    }
    let lab = lab();
    let file = lab.path("router.toml");
    let configure = |ports: &str| {
        let text = format!("ports = [{ports}]\nmetrics = \"\"\n");
        std::fs::write(&file, text).unwrap();
    };
    for (engine, other, said_of_it) in [
        ("xdp", "xdp", "another XDP program"),
        ("auto", "tc", "another Corelane"),
        ("af-xdp", "xdp", "another XDP program"),
    ] {
        configure("\"r0\", \"r1\"");
        let more = ["--engine", engine];
        let words = ["run", file.to_str().unwrap(), more[0], more[1]].map(str::to_owned);
        let mut router = lab.run_words(&words);
        lab.wait_for_fast_path(&router, &["10.1.0.2"]);
        let foreign = lab.run(&["r2"], &["--engine", other, "--instance", "foreign"]);
        configure("\"r0\", \"r1\", \"r2\"");
        router.signal(libc::SIGHUP);
        let error = failure(&router, "r2");
        assert!(error.contains(said_of_it), "{error}");
        assert!(router.left_to_kernel()[0].contains("port r2"));
        assert!(
            ping(&lab.a, "10.2.0.2", 5),
            "the kernel carries what leaves by it"
        );
        lab.wait_for_fast_path(&router, &["10.1.0.2"]);
        drop(foreign);
        wait_for("the port", 10, || router.state("r2") == "forwarding");
        lab.wait_for_fast_path(&router, &["10.1.0.2", "10.2.0.2"]);
        assert_eq!(
            said(&mut router, "engine"),
            1,
            "once, however often it was tried"
        );
        assert_eq!(router.left_to_kernel(), [""; 0]);
        assert!(!router.ended());
    }
}

/// Why a port has failed. It is coming until that is known.
fn failure(router: &Router, name: &str) -> String {
    let mut error = None;
    wait_for("the failure", 5, || {
        let ports = router.show("ports");
        let port = ports
            .as_array()
            .unwrap()
            .iter()
            .find(|port| port["port"] == name);
        let failed = port.filter(|port| port["state"] == "failed");
        error = failed.and_then(|port| port["error"].as_str().map(str::to_owned));
        error.is_some()
    });
    error.unwrap()
}

#[test]
fn a_port_that_cannot_be_set_up_at_the_start_disturbs_no_other() {
    if !is_root() {
        return;
    }
    for (engine, other, said_of_it) in [
        ("xdp", "xdp", "another XDP program"),
        ("auto", "tc", "another Corelane"),
        ("af-xdp", "xdp", "another XDP program"),
    ] {
        let mut lab = lab();
        let foreign = lab.run(&["r2"], &["--engine", other, "--instance", "foreign"]);
        let mut router = lab.run(&["r2", "r0", "r3", "r1"], &["--engine", engine]);
        let ready = router.ready.clone();
        assert!(
            ready.contains("r2=none r0=") && ready.contains("r3=none r1="),
            "{ready}"
        );
        lab.wait_for_fast_path(&router, &["10.1.0.2"]);
        let error = failure(&router, "r2");
        assert!(error.contains(said_of_it), "{error}");
        wait_for("the kernel, which carries what leaves by it", 5, || {
            ping(&lab.a, "10.2.0.2", 5)
        });
        assert_eq!(router.state("r3"), "absent", "{engine}");
        lab.link("b", 3);
        wait_for("the port that was not there", 10, || {
            router.state("r3") == "forwarding"
        });
        drop(foreign);
        wait_for("the port that was held", 10, || {
            router.state("r2") == "forwarding"
        });
        lab.wait_for_fast_path(&router, &["10.1.0.2", "10.2.0.2", "10.3.0.2"]);
        assert_eq!(
            said(&mut router, "engine"),
            2,
            "one line for each: {}",
            router.log()
        );
        assert_eq!(router.left_to_kernel(), [""; 0]);
        assert!(!router.ended());
    }
}

#[test]
fn a_port_whose_sockets_cannot_be_opened_at_the_start_disturbs_no_other() {
    if !is_root() {
        return;
    }
    let mut lab = Lab::new();
    lab.link_with("b", 2, 65);
    let router = lab.run(&["r2", "r0", "r1"], &["--engine", "af-xdp"]);
    assert!(router.ready.contains("r2=none r0="), "{}", router.ready);
    let error = failure(&router, "r2");
    assert!(error.contains("at most 64 queues"), "{error}");
    lab.wait_for_fast_path(&router, &["10.1.0.2"]);
}

/// Somebody else changes links for long: whoever attaches a program waits for them, and the router
/// goes on.
#[test]
fn nothing_waits_for_a_port_that_is_being_attached() {
    if !is_root() {
        return;
    }
    let lab = lab();
    let foreign = lab.run(&["r2"], &["--engine", "xdp", "--instance", "foreign"]);
    let router = lab.run(&["r0", "r1", "r2"], &["--engine", "xdp"]);
    lab.wait_for_fast_path(&router, &["10.1.0.2"]);
    failure(&router, "r2");
    let held = held::hold();
    wait_for("a thread that waits for the kernel", 10, || {
        let threads = std::fs::read_dir(format!("/proc/{}/task", router.id())).unwrap();
        threads.flatten().any(|thread| {
            let stat = std::fs::read_to_string(thread.path().join("stat"));
            stat.is_ok_and(|stat| stat.contains("(attach) D "))
        })
    });
    for number in 0..20 {
        let route = format!("2001:db9:{number:x}::/48");
        lab.r.ip(format!("-6 route add blackhole {route}")).unwrap();
        wait_for("the route", 5, || {
            let answer = router.show(&format!("routes 2001:db9:{number:x}::1"));
            answer["answers"][0]["entries"][0]["kind"] == "blackhole"
        });
    }
    held.release();
    drop(foreign);
    wait_for("the port", 10, || router.state("r2") == "forwarding");
    lab.wait_for_fast_path(&router, &["10.1.0.2", "10.2.0.2"]);
}

#[test]
fn a_port_that_was_in_another_namespace_forwards_again() {
    if !is_root() {
        return;
    }
    let lab = lab();
    let router = lab.run(&["r0", "r1", "r2"], &[]);
    lab.wait_for_fast_path(&router, &["10.1.0.2", "10.2.0.2"]);
    lab.r
        .ip(format!("link set r2 netns {}", lab.b.name()))
        .unwrap();
    wait_for("the port to be gone", 5, || router.state("r2") == "absent");
    lab.b
        .ip(format!("link set r2 netns {}", lab.r.name()))
        .unwrap();
    lab.r.ip("addr add 10.2.0.1/24 dev r2").unwrap();
    lab.r.ip("link set r2 up").unwrap();
    wait_for("the port", 5, || router.state("r2") == "forwarding");
    lab.wait_for_fast_path(&router, &["10.1.0.2", "10.2.0.2"]);
}
