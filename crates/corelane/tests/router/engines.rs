//! The engines in user space, `af-xdp` and `af-packet`: what they forward, what stays the kernel's,
//! and what is left when they end.

use serde_json::Value;

use super::lab::{Lab, Router, is_root, ping, text, wait_for};

fn sum(row: &Value, key: &str) -> u64 {
    row[key].as_u64().unwrap()
}

/// Starts the engine between r0 and r1 and waits until both families go through.
fn start(lab: &Lab, engine: &str) -> Router {
    let router = lab.run(&["r0", "r1"], &["--engine", engine]);
    lab.wait_for_fast_path(&router, &["10.1.0.2", "2001:db8:1::2"]);
    router
}

fn forwards_and_leaves_the_rest(engine: &str) -> (Lab, Router) {
    let lab = Lab::new();
    let router = start(&lab, engine);
    for address in ["10.1.0.2", "2001:db8:1::2"] {
        // While neighbours are being resolved, a frame that waits for its worker can lose its way;
        // while the kernel looks for one again, a frame is the kernel's.
        wait_for("twenty answers, all by workers", 10, || {
            let before = router.forwarded();
            let words = "ping -q -n -i 0.02 -W 1 -c 20".split(' ');
            let mut words = words.chain([address]);
            let program = words.next().unwrap_or_default();
            let output = lab.a.command(program).args(words).output().unwrap();
            let printed = text(&output);
            // A frame that the kernel and a worker both forwarded would be a duplicate.
            assert!(!printed.contains("duplicates"), "{printed}");
            let by_workers = router.forwarded() - before;
            println!("{address}: {by_workers} of 40 went by the workers");
            printed.contains(" 0% packet loss") && by_workers >= 40
        });
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
                .args(["-n", "-q1", "-w1", "-N1", address])
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
    for core in router.show("workers").as_array().unwrap() {
        let parts = sum(core, "forwarded") + sum(core, "to_kernel") + sum(core, "dropped");
        assert_eq!(
            sum(core, "received"),
            parts,
            "every frame has one fate: {core}"
        );
    }
    (lab, router)
}

#[test]
fn af_xdp_forwards_and_leaves_the_rest_to_the_kernel() {
    if !is_root() {
        return;
    }
    let (_lab, router) = forwards_and_leaves_the_rest("af-xdp");
    assert!(
        router.ready.contains("r0=native,copy r1=native,copy"),
        "{}",
        router.ready
    );
}

#[test]
fn af_packet_forwards_each_frame_once_and_leaves_the_rest_to_the_kernel() {
    if !is_root() {
        return;
    }
    let (_lab, router) = forwards_and_leaves_the_rest("af-packet");
    assert!(
        router.ready.contains("r0=tc,copy r1=tc,copy"),
        "{}",
        router.ready
    );
}

#[test]
fn tcp_works_through_workers_with_every_offload_on() {
    if !is_root() || !needs::program("iperf3") {
        return;
    }
    let lab = Lab::new();
    for engine in ["af-xdp", "af-packet"] {
        let _router = start(&lab, engine);
        for address in ["10.1.0.2", "2001:db8:1::2"] {
            lab.tcp(address);
        }
    }
}

/// An address behind b is reached after its route is there, and not after it is gone.
#[test]
fn workers_follow_a_route_change() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    lab.b.ip("addr add 10.9.0.9/32 dev lo").unwrap();
    for engine in ["af-xdp", "af-packet"] {
        let router = start(&lab, engine);
        assert!(!lab.ping("10.9.0.9"));
        lab.r.ip("route add 10.9.0.0/24 via 10.1.0.2").unwrap();
        wait_for("the new route", 5, || lab.ping("10.9.0.9"));
        let before = router.forwarded();
        assert!(ping(&lab.a, "10.9.0.9", 10));
        assert!(router.forwarded() - before >= 20);
        lab.r.ip("route del 10.9.0.0/24").unwrap();
        wait_for("the end of the route", 5, || !lab.ping("10.9.0.9"));
        assert_eq!(router.verify()["different"], 0);
    }
}

#[test]
fn after_the_workers_the_kernel_forwards() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let attached = || {
        let links = lab.r.ip("-d link").unwrap();
        let at_tc = lab.r.command("bpftool").args(["net"]).output();
        let at_tc = at_tc.map(|output| text(&output)).unwrap_or_default();
        links.contains("prog/xdp") || at_tc.contains("take")
    };
    for engine in ["af-xdp", "af-packet"] {
        for signal in [libc::SIGKILL, libc::SIGINT] {
            let mut router = start(&lab, engine);
            assert!(ping(&lab.a, "10.1.0.2", 5));
            router.end(signal);
            assert!(
                ping(&lab.a, "10.1.0.2", 5),
                "{engine} after signal {signal}"
            );
            assert!(!attached(), "{engine} after signal {signal}");
        }
    }
}

#[test]
fn workers_take_up_a_port_that_comes_back() {
    if !is_root() {
        return;
    }
    for engine in ["af-xdp", "af-packet"] {
        let mut lab = Lab::new();
        let router = start(&lab, engine);
        lab.r.ip("link del r1").unwrap();
        wait_for("the port's absence", 5, || {
            router.state("r1") != "forwarding"
        });
        assert!(lab.ping("10.0.0.1"), "the other port answers");
        lab.link("b", 1);
        lab.b.ip("route replace default via 10.1.0.1").unwrap();
        wait_for("the port's return", 10, || {
            let before = router.forwarded();
            ping(&lab.a, "10.1.0.2", 5) && router.forwarded() - before >= 10
        });
        lab.r.ip("link set r1 down").unwrap();
        wait_for("the port to be down", 5, || {
            router.state("r1") != "forwarding"
        });
        lab.r.ip("link set r1 up").unwrap();
        wait_for("the port to be up", 10, || {
            let before = router.forwarded();
            ping(&lab.a, "10.1.0.2", 5) && router.forwarded() - before >= 10
        });
    }
}

/// A veth chooses the queue by the flow: each worker serves one, and with many flows each has some.
#[test]
fn every_queue_has_its_worker() {
    if !is_root() || std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return;
    }
    let mut lab = Lab::new();
    for (number, host) in [(0, "a"), (1, "b")] {
        lab.r.ip(format!("link del r{number}")).unwrap();
        let host = lab.link_with(host, number, 2);
        host.ip(format!("route replace default via 10.{number}.0.1"))
            .unwrap();
    }
    let router = lab.run(&["r0", "r1"], &["--engine", "af-xdp"]);
    wait_for("the first answer", 5, || lab.ping("10.1.0.2"));
    for last in 10..30 {
        let address = format!("10.1.0.{last}");
        lab.b.ip(format!("addr add {address}/24 dev e1")).unwrap();
        wait_for("an answer", 5, || ping(&lab.a, &address, 2));
    }
    let workers = router.show("workers");
    let busy = workers.as_array().unwrap().iter();
    let busy = busy.filter(|core| sum(core, "forwarded") > 0).count();
    assert_eq!(busy, 2, "{workers}");
}

/// What the kernel says of every `AF_XDP` socket of a process: option by option, as it stands now.
fn socket_options(process: u32) -> Vec<[i32; 3]> {
    const SO_PREFER_BUSY_POLL: i32 = 69;
    const SO_BUSY_POLL_BUDGET: i32 = 70;
    // SAFETY: numbers only; the process is a child that has not been waited for.
    let of = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) } as i32;
    assert!(of >= 0, "{}", std::io::Error::last_os_error());
    let ask = |socket, level, option| {
        let (mut value, mut length) = (-1_i32, 4);
        let to = (&raw mut value).cast();
        // SAFETY: the kernel writes at most `length` bytes to `value`.
        unsafe { libc::getsockopt(socket, level, option, to, &raw mut length) };
        value
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(format!("/proc/{process}/fd")).unwrap() {
        let number: i32 = entry
            .unwrap()
            .file_name()
            .to_str()
            .unwrap()
            .parse()
            .unwrap();
        // SAFETY: numbers only.
        let ours = unsafe { libc::syscall(libc::SYS_pidfd_getfd, of, number, 0) } as i32;
        if ours < 0 {
            continue;
        }
        if ask(ours, libc::SOL_SOCKET, libc::SO_DOMAIN) == libc::AF_XDP {
            let options = [SO_PREFER_BUSY_POLL, libc::SO_BUSY_POLL, SO_BUSY_POLL_BUDGET];
            found.push(options.map(|option| ask(ours, libc::SOL_SOCKET, option)));
        }
        // SAFETY: it was given to us a moment ago, and nobody else knows it.
        unsafe { libc::close(ours) };
    }
    // SAFETY: as above.
    unsafe { libc::close(of) };
    found
}

#[test]
fn busy_polling_is_switched_on_when_it_was_asked_for_and_only_then() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    for (more, modes, wanted) in [
        (&[][..], "r0=native,copy r1=native,copy ", [0, 0]),
        (
            &["--busy-poll"][..],
            "r0=native,copy,busy-poll r1=native,copy,busy-poll ",
            [1, 20],
        ),
    ] {
        let router = lab.run(&["r0", "r1"], &[&["--engine", "af-xdp"], more].concat());
        assert!(router.ready.contains(modes), "{}", router.ready);
        let sockets = socket_options(router.id());
        assert!(sockets.len() >= 2, "one for each port");
        for options in sockets {
            assert_eq!(options[..2], wanted, "{options:?}");
        }
        lab.wait_for_fast_path(&router, &["10.1.0.2", "2001:db8:1::2"]);
        assert!(ping(&lab.a, "10.1.0.2", 20));
    }
    let said = lab.refused(&["--engine", "xdp", "--port", "r0", "--busy-poll"]);
    assert!(said.contains("only workers of engine"), "{said}");
}

#[test]
fn zero_copy_is_an_error_where_it_was_required_and_cannot_be() {
    if !is_root() {
        return;
    }
    let lab = Lab::new();
    let said = lab.refused(&[
        "--engine",
        "af-xdp",
        "--port",
        "r0",
        "--port",
        "r1",
        "--require",
        "zero-copy",
    ]);
    assert!(said.contains("zero copy was required"), "{said}");
    let said = lab.refused(&["--engine", "xdp", "--port", "r0", "--require", "zero-copy"]);
    assert!(said.contains("only engine af-xdp"), "{said}");
    let said = lab.refused(&[
        "--engine",
        "af-packet",
        "--port",
        "r0",
        "--require",
        "native",
    ]);
    assert!(said.contains("has no XDP program"), "{said}");
}

/// Without `CAP_PERFMON` the verifier allows no arithmetic between pointers, so that it refuses our
/// program.
#[test]
fn a_program_that_the_verifier_refuses_starts_nothing_and_says_why() {
    if !is_root() || !needs::program("setpriv") {
        return;
    }
    let lab = Lab::new();
    for engine in ["xdp", "xdp-kernel-fib", "tc", "af-xdp", "af-packet"] {
        let output = lab
            .r
            .command("setpriv")
            .args(["--bounding-set", "-perfmon,-sys_admin"])
            .arg(env!("CARGO_BIN_EXE_corelane"))
            .args(["run", "--port", "r0", "--port", "r1", "--metrics", ""])
            .args(["--engine", engine, "--run-directory"])
            .arg(lab.directory.path())
            .output()
            .unwrap();
        let said = text(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        for part in ["the kernel refused eBPF program", "CAP_PERFMON"] {
            assert!(said.contains(part), "{engine}: {said}");
        }
        // With the others, programs come first that need the right for something else.
        assert!(
            engine != "af-xdp" || said.contains("prohibited"),
            "{engine}: {said}"
        );
        let links = lab.r.ip("-d link").unwrap();
        assert!(!links.contains("prog/xdp"), "{links}");
        assert!(ping(&lab.a, "10.1.0.2", 2), "the kernel forwards");
    }
}
